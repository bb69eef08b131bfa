"""Agreement for models that Verax did not train: scores of words, and controls of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.exams.agreement.exam import DELETION, AgreementExam, AgreementOptions
from verax.exams.deletion.rankings import available, scores_of
from verax.exams.reading import correct, labels_of
from verax.importance import names_of, score
from verax.importance.transformers import DERIVED
from verax.models.layers import decisions
from verax.options import option


@dataclass(frozen=True)
class TransformerAgreementOptions(AgreementOptions):
    inputs: str = option(
        "gradient,integrated-gradients,leave-one-out", "importances to compare scores with"
    )
    items: str = option("", "none: words are the items of this model")
    derived: str | None = option(
        None, "scores to compare with these [all that are derived from attention]"
    )
    top_k: int | None = option(3, "the overlap of the k highest, too", minimum=1)


class TransformerAgreement(AgreementExam):
    """Rank agreement of each score derived from attention, or of one's own, with controls.

    Gives the tables of `AgreementExam`: pairs of a score and a control on inputs, over all words,
    then controls with leave-one-out. Every word counts as one with weight.
    """

    question = "Do scores derived from attention rank words as gradients and leave-one-out do?"
    options_class: ClassVar[type[AgreementOptions]] = TransformerAgreementOptions

    def setup(self) -> None:
        if self.options.items.strip():
            raise VeraxError(
                "items: words are the items of this model, give inputs alone",
                code="option.not-applicable",
            )
        self._controls = names_of(self.options.inputs, "inputs", None)
        if not self._controls:
            raise VeraxError(
                "nothing to compare scores with: name importances of inputs",
                code="importance.missing",
            )

    def begin(self, model: Any, documents: Any) -> None:
        """Check what only the model can tell: its importances."""
        names_of(self._controls, "inputs", model.kind)
        self._derived = self._scored(model)

    def _scored(self, model: Any) -> list[str]:
        if self.options.derived is None:
            return available(DERIVED, model)
        return names_of(self.options.derived, "inputs", model.kind)

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        settings: dict[str, Any] = {"seed": self.seed, "max_tokens": self.max_tokens}
        scores = {name: score(name, model, trace, **settings) for name in self._derived}
        scores |= scores_of([], self.importances, model, trace, self.seed, self.max_tokens)
        controls = {name: score(name, model, trace, **settings) for name in self._controls}
        pairs = [(first, second) for first in scores for second in controls if first != second]
        if DELETION in controls:
            pairs += [(name, DELETION) for name in controls if name != DELETION]
        every: dict[str, Tensor] = {**controls, **scores}
        labels: list[dict[str, str | int]] = [
            {"on": "inputs", "first": first, "second": second, "over": "all"}
            for first, second in pairs
        ]
        firsts, seconds = ([every[pair[k]] for pair in pairs] for k in (0, 1))
        self.compare(trace, labels, firsts, seconds, [trace.mask] * len(pairs))
        words = trace.mask.sum(-1)
        measures = {
            "words": words,
            "items": words,
            "support": words,
            "support_share": torch.ones_like(words),
            "correct": correct(labels_of(trace), decisions(trace.logits)),
        }
        self.builder.add("agreement_instances", trace.ids, measures)


@dataclass(frozen=True)
class PredictAgreementOptions(AgreementOptions):
    inputs: str = option(DELETION, "importances to compare one's own with")
    items: str = option("", "none: words are the items of this model")
    top_k: int | None = option(3, "the overlap of the k highest, too", minimum=1)


class PredictAgreement(TransformerAgreement):
    """Rank agreement of importances of one's own with leave-one-out."""

    question = "Do importances of one's own rank words as leave-one-out does?"
    options_class = PredictAgreementOptions
    needs_own = True

    def _scored(self, model: Any) -> list[str]:
        return []
