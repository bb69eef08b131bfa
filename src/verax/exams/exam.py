"""The base class of exams."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from verax.corpora.batching import MAX_TOKENS
from verax.exams.measures import NEITHER, Classes, MeasurePlace, Table
from verax.exams.reading import named
from verax.exams.tables import TableBuilder
from verax.importance import Importance
from verax.models.base import TextClassifier
from verax.models.kinds import KINDS, POOLED

if TYPE_CHECKING:
    from types import ModuleType

    from verax.corpora.corpus import Corpus, Documents
    from verax.exams.judgement.candidate import CandidateMeasure
    from verax.exams.judgement.limits import Limits
    from verax.exams.judgement.model_summary import ModelSummary
    from verax.exams.judgement.row import Judged


NO_GRADIENTS = "exact, without gradients of inputs: the model shows no word vectors"
"""What exams promise of a pooled model without `embed` (`verax.from_module`)."""


@dataclass(frozen=True)
class NoOptions:
    """The options of an exam that has none."""


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
    """An exam: sees every batch of a split, then gives its tables.

    A subclass declares all that belongs to an exam, and `verax.exams.register` makes it known.
    Then it has a keyword of `examine` and a flag, tables, a summary, a part in comparisons,
    judgements and reports, and columns of a study.

    name             id of the exam, of its table and of its flag
    title            heading of its part of a report
    question         what it asks, in a sentence
    comparison       what its numbers are, over a table that compares models
    explanation      how it asks, and how its numbers are read
    options_class    a dataclass of `verax.options.option` fields: keywords of `examine` and flags
    version          a whole number from 1; raise it when a default, or what the exam computes with
                     the same options, changes: stored cells of studies with the exam are then kept
                     apart from new ones. A new option whose default changes nothing needs none
    summary_tables   the tables of its summary, the most important first
    tidy_tables      names of the tables it gives, a row per document and measure
    charts           dotted name of the module that draws them: `charts(models)` yields charts
    limits           limits of its judgement by name, where no file of limits has them
    limit_ranges     limit → the least and the most it can be; a file with another is refused
    candidates       the numbers by which it may be judged, of which a calibration chooses one
    of_items         whether its numbers are of what attention weighs, so that models that attend
                     words and models that attend sentences do not compare
    decisions_table  the tidy table that has `correct`, if one has
    decides_again    whether those decisions are made again in double precision
    needs_labels     whether it cannot be taken on documents without labels
    needs_rationales whether it cannot be taken on documents without people's marks
    needs_own        whether it cannot be taken without importances of one's own
    costly           whether it takes more time than in proportion to a document's words: within a
                     limit of time it comes after the others, and may be broken off in a batch; it
                     must then keep what it finds in `builder` alone
    needs_all        whether it has nothing to say where it has not seen all documents
    kinds            kinds of model that this class examines (`verax.models.kinds`)
    variants         other kinds of model → the class that examines these, as "module:Class"; it is
                     derived from this one, gives the same tables, and may give more
    reasons          kind of model → why the exam does not apply to it, where the kind itself is
                     not reason enough
    default_for      kinds of model that it is taken on where no exams are named
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    question: ClassVar[str] = ""
    comparison: ClassVar[str] = ""
    explanation: ClassVar[str] = ""
    options_class: ClassVar[type] = NoOptions
    version: ClassVar[int] = 1
    summary_tables: ClassVar[tuple[Table, ...]] = ()
    tidy_tables: ClassVar[tuple[str, ...]] = ()
    charts: ClassVar[str | None] = None
    limits: ClassVar[Mapping[str, float]] = {}
    limit_ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}
    candidates: ClassVar[tuple[CandidateMeasure, ...]] = ()
    of_items: ClassVar[bool] = False
    decisions_table: ClassVar[str | None] = None
    decides_again: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    needs_rationales: ClassVar[bool] = False
    needs_own: ClassVar[bool] = False
    costly: ClassVar[bool] = False
    needs_all: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = (POOLED,)
    variants: ClassVar[Mapping[str, str]] = {}
    reasons: ClassVar[Mapping[str, str]] = {}
    default_for: ClassVar[tuple[str, ...]] = KINDS

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
        self.setup()

    @classmethod
    def why_not(cls, model: TextClassifier) -> str:
        """Why this model cannot be examined, though it is of the right kind; empty if it can be.

        Args:
            model: the model to examine.
        """
        return ""

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        """What the numbers are for this model: exact, bounded, searched or sampled.

        Args:
            model: the model to examine.
        """
        return "exact"

    def setup(self) -> None:  # noqa: B027  most exams need none
        """Check the options together, and prepare what batches are gathered in."""

    def prepare(  # noqa: B027  nor the corpus
        self, corpus: Corpus, documents: Documents, split: str
    ) -> None:
        """Called once, before `begin`.

        Args:
            corpus: what the documents are from, read as the model reads it.
            documents: those to be examined, in the order of `begin`'s.
            split: train, validation, test or all: the documents' split.
        """

    def begin(  # noqa: B027  most exams need no warning
        self, model: Any, documents: Any
    ) -> None:
        """Called once, before the first batch.

        Args:
            model: the model that is examined.
            documents: all documents of the split, as the model reads them.
        """

    @abstractmethod
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch and add its measures to `self.builder`.

        Args:
            model: the model that is examined, such as an `AttentionClassifier`.
            trace: one batch's forward pass, such as a `Trace`; batches come in any order.
        """

    def settle(self) -> None:  # noqa: B027  most exams put nothing off
        """Look at what was seen now: what comes next is no part of it."""

    def mark(self) -> Any:
        """What was gathered so far; for `back_to`."""
        return self.builder.mark()

    def back_to(self, mark: Any) -> None:
        """Forget what was seen after a mark."""
        self.builder.back_to(mark)

    def conclude(  # noqa: B027  nor anything to do at the end
        self, watch: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]
    ) -> None:
        """Called once, after the last batch: work that needs all of them.

        Args:
            watch: `watch("clustering")(steps)` passes steps on and shows how many are done.
        """

    def tables(self) -> dict[str, pd.DataFrame]:
        """Name → tidy table, a row per document and measure; those of the builder."""
        return self.builder.tables()

    @staticmethod
    @abstractmethod
    def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        """The exam's summary: every number over its tidy tables, made by `summary_frame`.

        Args:
            tables: name → tidy table, as `tables` gave them, or as they were saved.
        """

    @staticmethod
    def document_values(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Values of single documents, of which comparisons are made.

        Args:
            tables: name → tidy table.

        Yields:
            Frames as `part` makes them, a measure each: its id is that of the number of the
            summary that is their mean.
        """
        yield from ()

    @staticmethod
    def split_values(tables: Mapping[str, pd.DataFrame]) -> dict[str, float]:
        """Numbers by id that are no mean over documents, for comparisons over seeds.

        Args:
            tables: name → tidy table.
        """
        return {}

    @staticmethod
    def better(place: MeasurePlace, pair: Pair) -> tuple[str, str]:
        """Which way a number is better (higher, lower, neither), and why neither, if so.

        Args:
            place: the number's table, row, column and measure.
            pair: the two groups of models that are compared.
        """
        return place.measure.better, ""

    @staticmethod
    def label(place: MeasurePlace, classes: Classes = ()) -> str:
        """A few words for a number, among others of this exam.

        Args:
            place: the number's table, row, column and measure.
            classes: names of the model's classes.
        """
        row = place.table.title_of_row(place.row, classes)
        column = place.table.title_of_column(place.column)
        return f"{row}: {column}" if column else row

    @staticmethod
    def counted_as(place: MeasurePlace) -> str:
        """The id under which a number is counted; numbers with one id count once.

        Args:
            place: the number's table, row, column and measure.
        """
        return place.table.id_of(place.row, place.column)

    @staticmethod
    def is_compared(place: MeasurePlace, note: str) -> bool:
        """Whether a comparison shows a number: one that repeats another need not be shown.

        Args:
            place: the number's table, row, column and measure.
            note: why neither way is better, as `better` gave it.
        """
        return True

    @staticmethod
    def judge(model: ModelSummary, limits: Limits) -> Sequence[Judged]:
        """The rows that the exam adds to a judgement; none where it has no answer.

        Args:
            model: every number of the summary, with what was examined.
            limits: the limits of this exam, by name.
        """
        return ()

    @staticmethod
    def remark(model: ModelSummary) -> str:
        """A sentence over the exam's part of a page; empty where there is nothing to say.

        Args:
            model: every number of the summary, with what was examined.
        """
        return ""

    @classmethod
    def drawing(cls) -> ModuleType | None:
        """The module that draws the exam's charts, imported now; None where it has none."""
        return None if cls.charts is None else importlib.import_module(cls.charts)


def no_direction(note: str) -> tuple[str, str]:
    """The answer of `Exam.better` where neither way is better, with the reason."""
    return NEITHER, note
