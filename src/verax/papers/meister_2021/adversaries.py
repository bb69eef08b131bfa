"""Claim 7: the cost of other attention, given to a finished model or learnt by a new one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verax.exams.adversary.measures import ANY_OUTPUT, epsilon_row
from verax.papers.claims import ClaimList, Comparisons, Finding, all_of
from verax.papers.meister_2021.models import (
    ADVERSARIES,
    ENCODERS,
    FIXED_LAM,
    SOFTMAX,
    SPARSEMAX,
    Model,
    between,
    judged_on,
)
from verax.papers.numbers import SeedMean
from verax.papers.words import lambda_words
from verax.papers.results import Missing, PaperResults
from verax.studies.adversaries.measures import MEAN as YARDSTICK
from verax.studies.adversaries.measures import lambda_of

POST_HOC, TRAINED, SEEDS = "adversary", "adversaries", "adversaries.seeds"
LET_GO, KEPT = ANY_OUTPUT, epsilon_row(0.05)
"""The farthest attention with any output, and within Jain & Wallace's tolerance."""
HURT = 1.0
"""Points of accuracy that a trained adversary may lose and still count as equally good."""
CLAIMS = ClaimList()


def bases(results: PaperResults) -> list[Model]:
    """The models that adversaries oppose: of one corpus, encoder and projection."""
    cells = results.select(
        part=ADVERSARIES, encoder=tuple(ENCODERS), projection=(SOFTMAX, SPARSEMAX)
    )
    keys = {
        (str(row["corpus"]), str(row["encoder"]), str(row["projection"])): None
        for row in cells.to_dict("records")
    }
    return [Model(*key, FIXED_LAM[key[-1]], ADVERSARIES) for key in keys]


def percent_of(results: PaperResults, model: Model, column: str, **where: Any) -> SeedMean | None:
    """A share of the test split, such as test_accuracy, in percent."""
    share = results.fact(column, **model.where, **where)
    return None if share is None else share.scaled(100.0)


@CLAIMS.add(
    7,
    "Other attention put on a finished model costs accuracy; a model trained to attend "
    "elsewhere loses none.",
    "Appendix C",
)
def post_hoc_costs_trained_does_not(results: PaperResults) -> Finding:
    """Claim 7.

    Post hoc attention that may not move the output costs next to nothing by construction. So the
    claim can only be on free attention: the farthest, for any output. The exact farthest attention
    that keeps the output is reported beside it. Of trained adversaries the claim is on the one
    with the most divergent attention, whose choice does not depend on accuracy. An adversary that
    is no farther than a model of another seed is left out.
    """
    costs, learnt = Comparisons(), Comparisons()
    kept: list[tuple[SeedMean, SeedMean]] = []
    distances, near, corpora = [], [], []
    for base in bases(results):
        fall = base.find(results, POST_HOC, LET_GO, "delta_accuracy")
        if fall is not None:
            costs.below(f"{base}: post hoc", fall, -HURT)
            corpora.append(base.corpus)
            jsd, change_kept = (
                base.find(results, POST_HOC, KEPT, column) for column in ("jsd", "delta_accuracy")
            )
            if jsd is not None and change_kept is not None:
                kept.append((jsd, change_kept))
        adversary = most_divergent(results, base)
        if adversary is None:
            continue
        row, distance = adversary
        yardstick = base.find(results, SEEDS, YARDSTICK, "jsd")
        if yardstick is not None and distance.value <= yardstick.value:
            near.append(str(base))
            continue
        label = f"{base}: trained, {lambda_words(row)}"
        learnt.above(label, change(results, base, row), -HURT)
        distances.append(distance)
        corpora.append(base.corpus)
    if not corpora and not near:
        raise Missing("no finished cell has adversaries of softmax or sparsemax (part adversaries)")
    sentences = _sentences(costs, learnt, kept, distances, near)
    parts = [("post hoc costs", costs, 1.0), ("trained does not", learnt, 1.0)]
    return all_of(parts, " ".join([*sentences, judged_on(corpora)]).strip())


def most_divergent(results: PaperResults, base: Model) -> tuple[str, SeedMean] | None:
    """The row and JSD of the adversary whose attention is farthest, of those with λ > 0."""
    distances = []
    for row in results.rows(TRAINED, "jsd", **base.where):
        distance = base.find(results, TRAINED, row, "jsd")
        if lambda_of(row) > 0 and distance is not None:
            distances.append((row, distance))
    return max(distances, key=lambda pair: pair[1].value, default=None)


def change(results: PaperResults, base: Model, row: str) -> SeedMean:
    """The accuracy of an adversary less that of its base, in points.

    With one seed the interval is the adversary's over documents, as if the base's were known.
    """
    adversary = results.number(TRAINED, row, "accuracy", **base.where)
    opposed = percent_of(results, base, "test_accuracy", cell=adversary.cells)
    if opposed is None:
        raise Missing(f"no accuracy of {base}")
    values = [a - b for a, b in zip(adversary.values, opposed.values, strict=True)]
    ends = (adversary.low - opposed.value, adversary.high - opposed.value)
    return SeedMean.of(values, adversary.cells, adversary.n, ends)


def _sentences(
    costs: Comparisons,
    learnt: Comparisons,
    kept: list[tuple[SeedMean, SeedMean]],
    distances: list[SeedMean],
    near: list[str],
) -> Iterator[str]:
    if costs:
        yield (
            f"The farthest attention over the same states, whatever it says, changes accuracy by "
            f"{costs.span('.1f')} points: a fall of more than {HURT:g} in "
            f"{costs.tally} models."
        )
    else:
        yield "No other attention over the same states is among the results."
    if kept:
        yield (
            f"Kept within 0.05 of the output it is {between(jsd for jsd, _ in kept)} nats away, "
            f"and accuracy changes by {between((fall for _, fall in kept), 1)}."
        )
    if learnt:
        yield (
            f"Trained adversaries, {between(distances)} nats away, change accuracy by "
            f"{learnt.span('.1f')} points: less than {HURT:g} downwards in "
            f"{learnt.tally}."
        )
    elif not near:
        yield "No trained adversary is among the results."
    if near:
        yield f"No farther than another seed, and left out: {'; '.join(near)}."
