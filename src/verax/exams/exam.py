"""What every exam is."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.encoded import EncodedDocuments
from verax.exams.measures import NEITHER, Classes, Place, Table, measure_id
from verax.exams.own_importances import named
from verax.exams.tables import TableBuilder
from verax.importance import Importance
from verax.models.classifier import AttentionClassifier
from verax.models.trace import Trace

if TYPE_CHECKING:
    from types import ModuleType

    from verax.exams.judgement.limits import Limits
    from verax.exams.judgement.model_summary import ModelSummary
    from verax.exams.judgement.row import Judged


@dataclass(frozen=True)
class NoOptions:
    """The options of an exam that has none."""


@dataclass(frozen=True)
class Cost:
    """Seconds a token takes on one core: at all, through the encoder, and by a text's length."""

    token: float = 5e-6
    through_encoder: float = 0.0
    by_length: float = 0.0


@dataclass(frozen=True)
class Pair:
    """Two groups of models that are compared.

    dense     whether every item has weight in both: an item without has neither gradient nor
              leave-one-out importance, so that rankings of items agree at zeros by arithmetic
    encoders  the encoders of both
    attended  words, sentences: what both attend
    """

    dense: bool = True
    encoders: Collection[str] = ()
    attended: Collection[str] = ()


class Exam(ABC):
    """Sees every batch of a split, then gives its tables.

    All that belongs to an exam is said here, and registered in one line
    (`verax.exams.register`): keyword and flag, tables, summary, comparison, judgement, part of a
    report, columns of a study and estimate follow.

    name             id of the exam, of its table and of its flag
    title            heading of its part of a report
    question         what it asks, in a sentence
    comparison       what its numbers are, over a table that compares models
    explanation      how it asks, and how its numbers are read
    options_class    a dataclass of `verax.options.option` fields: keywords of `examine` and flags
    summary_tables   the tables of its summary, the most important first
    tidy_tables      names of the tables it gives, a row per document and measure
    charts           dotted name of the module that draws them: `charts(models)` yields charts
    cost             what a token takes, for the estimate of a study
    limits           limits of its judgement by name, where no file of limits has them
    of_items         whether its numbers are of what attention weighs, so that models that attend
                     words and models that attend sentences do not compare
    decisions_table  the tidy table that has `correct`, if one has
    decides_again    whether those decisions are made again in double precision
    needs_labels     whether it cannot be taken on documents without labels
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    question: ClassVar[str] = ""
    comparison: ClassVar[str] = ""
    explanation: ClassVar[str] = ""
    options_class: ClassVar[type] = NoOptions
    summary_tables: ClassVar[tuple[Table, ...]] = ()
    tidy_tables: ClassVar[tuple[str, ...]] = ()
    charts: ClassVar[str | None] = None
    cost: ClassVar[Cost] = Cost()
    limits: ClassVar[Mapping[str, float]] = {}
    of_items: ClassVar[bool] = False
    decisions_table: ClassVar[str | None] = None
    decides_again: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False

    def __init__(
        self,
        options: Any,
        seed: int,
        importances: Mapping[str, Importance],
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.options = options
        self.seed = seed
        self.importances = named(importances)
        self.max_tokens = max_tokens
        self.builder = TableBuilder()

    def begin(  # noqa: B027  most exams need no warning
        self, model: AttentionClassifier, documents: EncodedDocuments
    ) -> None:
        """Called once, before the first batch, with what will be read."""

    @abstractmethod
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch; batches come in any order."""

    def conclude(  # noqa: B027  nor anything to do at the end
        self, watch: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]
    ) -> None:
        """After the last batch: work that needs all of them; `watch(what)` shows how far it got."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """Name → tidy table: those of the builder."""
        return self.builder.tables()

    @staticmethod
    @abstractmethod
    def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        """Every number over the tidy tables, made by `summary_frame` of cells with ids."""

    @staticmethod
    def document_values(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Values of single documents, by the id of the number that is their mean.

        What comparisons are made of; frames as `verax.exams.values.part` makes them.
        """
        yield from ()

    @staticmethod
    def split_values(tables: Mapping[str, pd.DataFrame]) -> dict[str, float]:
        """Numbers by id to which documents do not add up, for comparisons over seeds."""
        return {}

    @staticmethod
    def better(place: Place, pair: Pair) -> tuple[str, str]:
        """Which way a number is better between two groups of models, and why neither, if so."""
        return place.measure.better, ""

    @staticmethod
    def label(place: Place, classes: Classes = ()) -> str:
        """A number by a few words, among others of this exam."""
        row = place.table.title_of_row(place.row, classes)
        column = place.table.title_of_column(place.column)
        return f"{row}: {column}" if column else row

    @staticmethod
    def counted_as(place: Place) -> str:
        """What a number counts as where measures are counted: alike for several of one kind."""
        return measure_id(place.table.id, place.row, place.column)

    @staticmethod
    def is_compared(place: Place, note: str) -> bool:
        """Whether a comparison shows a number; what says the same as another need not be."""
        return True

    @staticmethod
    def judge(model: ModelSummary, limits: Limits) -> Sequence[Judged]:
        """What the exam says of the attention, or of several subjects; nothing without an answer.

        `limits` are those of this exam, by name.
        """
        return ()

    @classmethod
    def cost_of(cls, options: Mapping[str, Any], length: float) -> Cost:
        """What a token of documents of such a length costs with these options."""
        return cls.cost

    @classmethod
    def drawing(cls) -> ModuleType | None:
        """The module that draws the exam's charts, imported now; None where it has none."""
        return None if cls.charts is None else importlib.import_module(cls.charts)


def no_direction(note: str) -> tuple[str, str]:
    """Neither way is better, and why."""
    return NEITHER, note
