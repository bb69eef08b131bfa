"""What replacement says of each document."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.exams.replacement.measures import PERMUTED, REPLACEMENT, TRAINED, UNIFORM, score_id
from verax.exams.replacement.summary import replacements
from verax.exams.tables import measured
from verax.exams.values import Tables, estimate_part, number, part

DECISIONS = "decisions"
"""The room of numbers about decisions, whichever exam they come from."""


def values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Whether the decision survives, how far the output moves, and F1 with what it loses."""
    instances, replaced = tables["replacement_instances"], tables["replacement"]
    ids = pd.Series(instances["id"].unique())
    for measure, column in (("survived", "survival"), ("tvd", "tvd")):
        for kind in (UNIFORM, PERMUTED):
            own = replaced[replaced["attention"] == kind]
            means = pd.Series(measured(own, measure).mean(axis=0))
            yield part(ids, number(REPLACEMENT, kind, column), means)
    scores = {kind: one.score for kind, one in replacements(tables).items()}
    name = score_id(int(measured(instances, "classes")[0, 0]))
    yield estimate_part(instances, f"{DECISIONS}.{name}", scores[TRAINED])
    for kind in (UNIFORM, PERMUTED):
        moved = scores[kind] - scores[TRAINED]
        yield estimate_part(instances, number(REPLACEMENT, kind, f"delta_{name}"), moved)
