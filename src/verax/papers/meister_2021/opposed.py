"""Claim 7: what other attention costs, put on a finished model and learnt by another one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verax.exams.adversary.measures import ANY_OUTPUT, epsilon_row
from verax.papers.claims import Finding, all_of
from verax.papers.comparing import Comparison, above, below
from verax.papers.meister_2021.models import ADVERSARIES, ENCODERS, SOFTMAX, SPARSEMAX
from verax.papers.meister_2021.wording import between, judged_on
from verax.papers.numbers import Number
from verax.papers.results import Missing, PaperResults
from verax.papers.rows import lambda_words
from verax.papers.saying import tally
from verax.studies.adversaries.measures import MEAN as YARDSTICK
from verax.studies.adversaries.measures import lambda_of

POST_HOC, TRAINED, SEEDS = "adversary", "adversaries", "adversaries.seeds"
LET_GO, KEPT = ANY_OUTPUT, epsilon_row(0.05)
"""The farthest attention whatever it says, and within Jain & Wallace's tolerance."""
HURT = 1.0
"""Points of accuracy: what a trained adversary may lose and still count as deciding as well."""


@dataclass(frozen=True)
class Base:
    """A model that others oppose: of one corpus, encoder and projection."""

    corpus: str
    encoder: str
    projection: str

    def __str__(self) -> str:
        return f"{self.corpus}, {ENCODERS[self.encoder]}, {self.projection}"

    @property
    def where(self) -> dict[str, Any]:
        own = {"corpus": self.corpus, "encoder": self.encoder, "projection": self.projection}
        return {"part": ADVERSARIES, **own}

    @property
    def labels(self) -> dict[str, Any]:
        name = ENCODERS[self.encoder]
        return {"corpus": self.corpus, "model": name, "projection": self.projection}


def bases(results: PaperResults) -> list[Base]:
    cells = results.select(
        part=ADVERSARIES, encoder=tuple(ENCODERS), projection=(SOFTMAX, SPARSEMAX)
    )
    columns = ("corpus", "encoder", "projection")
    rows = cells.to_dict("records")
    return list(dict.fromkeys(Base(*(str(row[name]) for name in columns)) for row in rows))


def accuracy(results: PaperResults, base: Base, cells: tuple[str, ...] | None = None) -> Number:
    """Of the models themselves on test, in percent; of these cells alone."""
    chosen = results.fact("test_accuracy", **base.where, **({"cell": cells} if cells else {}))
    if chosen is None:
        raise Missing(f"no accuracy of {base}")
    return Number.of([100 * value for value in chosen.values], chosen.cells)


def post_hoc_costs_trained_does_not(results: PaperResults) -> Finding:
    """Claim 7.

    Post hoc, attention that is kept from moving the output costs next to nothing by construction.
    The claim can only be of attention that is not kept: the farthest, whatever it says. What is as
    far and keeps the output, which is found exactly, is told beside it. Of trained adversaries
    it is the one with the most divergent attention, whose choice owes nothing to accuracy; one
    that is no farther than another seed's model is none, and is left out.
    """
    costs: list[Comparison] = []
    learnt: list[Comparison] = []
    kept: list[tuple[Number, Number]] = []
    distances, near, on = [], [], []
    for base in bases(results):
        fall = results.find(POST_HOC, LET_GO, "delta_accuracy", **base.where)
        if fall is not None and not math.isnan(fall.value):
            costs.append(below(f"{base}: post hoc", fall, -HURT))
            on.append(base.corpus)
            kept += _kept(results, base)
        adversary = most_divergent(results, base)
        if adversary is None:
            continue
        row, distance = adversary
        yardstick = results.find(SEEDS, YARDSTICK, "jsd", **base.where)
        if yardstick is not None and distance.value <= yardstick.value:
            near.append(str(base))
            continue
        label = f"{base}: trained, {lambda_words(lambda_of(row))}"
        learnt.append(above(label, change(results, base, row), -HURT))
        distances.append(distance)
        on.append(base.corpus)
    if not on and not near:
        raise Missing("no finished cell has adversaries of softmax or sparsemax (part adversaries)")
    told = _told(costs, learnt, kept, distances, near)
    parts = [("post hoc costs", costs, 1.0), ("trained does not", learnt, 1.0)]
    return all_of(parts, " ".join([*told, judged_on(on)]).strip())


def most_divergent(results: PaperResults, base: Base) -> tuple[str, Number] | None:
    """The row and JSD of the adversary whose attention is farthest, of those with λ > 0."""
    found = []
    for row in results.rows(TRAINED, "jsd", **base.where):
        distance = results.find(TRAINED, row, "jsd", **base.where)
        if lambda_of(row) > 0 and distance is not None and not math.isnan(distance.value):
            found.append((row, distance))
    return max(found, key=lambda one: one[1].value, default=None)


def change(results: PaperResults, base: Base, row: str) -> Number:
    """An adversary's accuracy less its own base's, in points.

    With one seed the interval is the adversary's over documents, as if the base's were known.
    """
    own = results.number(TRAINED, row, "accuracy", **base.where)
    of = accuracy(results, base, own.cells)
    values = [a - b for a, b in zip(own.values, of.values, strict=True)]
    ends = (own.low - of.value, own.high - of.value)
    return Number.of(values, own.cells, own.n, ends)


def _kept(results: PaperResults, base: Base) -> Iterator[tuple[Number, Number]]:
    distance = results.find(POST_HOC, KEPT, "jsd", **base.where)
    fall = results.find(POST_HOC, KEPT, "delta_accuracy", **base.where)
    if distance is not None and fall is not None:
        yield distance, fall


def _told(
    costs: list[Comparison],
    learnt: list[Comparison],
    kept: list[tuple[Number, Number]],
    distances: list[Number],
    near: list[str],
) -> Iterator[str]:
    if costs:
        yield (
            f"The farthest attention over the same states, whatever it says, changes accuracy by "
            f"{between((c.a for c in costs), 1)} points: a fall of more than {HURT:g} in "
            f"{tally(costs)} models."
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
            f"{between((c.a for c in learnt), 1)} points: less than {HURT:g} downwards in "
            f"{tally(learnt)}."
        )
    elif not near:
        yield "No trained adversary is among the results."
    if near:
        yield f"No farther than another seed, and left out: {'; '.join(near)}."
