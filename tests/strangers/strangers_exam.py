"""An exam of another package: how much attention is on the first words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch

from verax.exams import Exam, register
from verax.exams.authoring import (
    HIGHER,
    UNIT_INTERVAL,
    Judged,
    Limits,
    Measure,
    ModelSummary,
    Table,
    column,
    lean,
    measure_id,
    number_cell,
    option,
    part,
    summary_frame,
    titles,
    wide,
)
from verax.models import Trace
from verax.statistics import mean

OPENING = Table(
    "opening",
    "attention on the first words of a document",
    (Measure("mean", "share of the weight", better=HIGHER, bounds=UNIT_INTERVAL),),
    titles({"first": "the first words"}),
)
ID = measure_id(OPENING.id, "first", "mean")


@dataclass(frozen=True)
class OpeningOptions:
    size: int = option(2, "words that are the opening", minimum=1)
    draws: int = option(1, "shares its name with an option of erasure", minimum=1)


@register
class OpeningExam(Exam):
    """The weight that attention gives the first `size` items."""

    name = "opening"
    title = "Opening"
    question = "Does attention look at how a document begins?"
    comparison = "attention on the first words"
    explanation = "The weights of the first words are summed."
    options_class = OpeningOptions
    summary_tables = (OPENING,)
    tidy_tables = ("opening",)
    charts = "strangers_charts"
    limits: Mapping[str, float] = {"for_above": 0.5, "against_below": 0.4}

    @torch.no_grad()
    def see(self, model: Any, trace: Trace) -> None:
        place = trace.mask.cumsum(-1)
        first = trace.mask & (place <= self.options.size)
        share = (trace.weights.double() * first).sum(-1)
        everyone = torch.ones(len(trace), dtype=torch.bool)
        self.builder.add("opening", trace.ids, {"share": share}, everyone)

    @classmethod
    def summarise(cls, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        shares = wide(tables["opening"])["share"].to_numpy()
        cell = number_cell(OPENING.id, "first", "mean", mean(shares), len(shares))
        return summary_frame(cls.name, [cell])

    @classmethod
    def document_values(cls, tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
        shares = column(tables["opening"], "share")
        yield part(pd.Series(shares.index), ID, shares)

    @classmethod
    def judge(cls, model: ModelSummary, limits: Limits) -> Sequence[Judged]:
        number = model.number(OPENING.id, "first", "mean")
        if number is None:
            return ()
        above, below = limits["for_above"], limits["against_below"]
        verdict = lean(number, above=above, below=below)
        rule = f"for it above {above:g}, against it below {below:g}"
        words = "Attention looks at the opening."
        return (Judged(cls.name, ID, verdict, number, "on the opening", "", words, limits=rule),)
