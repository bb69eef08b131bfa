"""What agreement with other importances says of attention."""

from __future__ import annotations

from verax.exams.agreement.measures import AGREEMENT, NAME, pair
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.phrases import beside, listed, of_all, with_interval
from verax.exams.judgement.row import ATTENTION, Judged, lean
from verax.exams.measures import measure_id

_DELETING, _GRADIENT = "leave-one-out", "gradient"


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Whether attention ranks words as deleting each one does."""
    for on in ("inputs", "items"):
        row = pair(on, ATTENTION, _DELETING)
        number = model.number(AGREEMENT.id, row, "tau")
        if number is not None:
            break
    else:
        return []
    others = {
        "with gradients": model.number(AGREEMENT.id, pair(on, ATTENTION, _GRADIENT), "tau"),
        "gradients with leave-one-out": model.number(
            AGREEMENT.id, pair(on, _GRADIENT, _DELETING), "tau"
        ),
    }
    what = model.item if on == "items" else "word"
    above, below = limits["for_above"], limits["against_below"]
    return [
        Judged(
            NAME,
            measure_id(AGREEMENT.id, row, "tau"),
            lean(number, above=above, below=below),
            number,
            f"rank agreement (τ) of attention with what deleting a {what} does",
            listed(others),
            f"Attention ranks {what}s as leaving each one out does with τ = "
            f"{with_interval(number)}, where 1 is the same order and 0 none{beside(others)}.",
            of_all(number, model),
            f"for it above {above:g}, against it below {below:g}",
        )
    ]
