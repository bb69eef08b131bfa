"""Measures: every number that an exam gives, declared once beside the exam.

A number stands in a table of its exam's summary, in a row and a column. All three are ids, and so
is the number: `replacement.uniform.survival` is the column `survival` of the row `uniform` of the
table `replacement`. Titles are for people, and are looked up where something is drawn or printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from verax.models.kinds import KINDS

COUNT, PERCENT, POINTS, NUMBER = "count", "percent", "points", "number"
"""Units: a count, a share of a hundred, a difference of such shares, and any other number."""
SCALE = {PERCENT: 100.0, POINTS: 100.0, NUMBER: 1.0, COUNT: 1.0}
"""What a document's value is multiplied by to be in its measure's unit."""
HIGHER, LOWER, NEITHER = "higher", "lower", ""
"""Which way is better: attention is the more truthful, or decisions are the more accurate."""
VALUE = "value"
"""The only column of a table of counts, and no part of its numbers' ids."""
ANY = (-math.inf, math.inf)
AT_LEAST_ZERO = (0.0, math.inf)
UNIT_INTERVAL = (0.0, 1.0)
"""The bounds of a measure that is a share or a probability."""
PERCENT_RANGE = (0.0, 100.0)
JSD = (0.0, math.log(2))
"""The bounds of a Jensen–Shannon divergence, in nats."""

_BOUNDS = {PERCENT: PERCENT_RANGE, POINTS: (-100.0, 100.0), COUNT: AT_LEAST_ZERO, NUMBER: ANY}

Classes = Sequence[str]
"""Names of a model's classes, in order; empty where they are not known."""
RowTitle = Callable[[str, Classes], str]


@dataclass(frozen=True)
class Measure:
    """One number of a table.

    id        the column's id, or in a table of counts the row's
    title     a few words
    unit      count, percent, points or number
    better    higher, lower, or neither
    bounds    the least and the most it can be; by its unit, unless given
    excluded  whether it counts what the other numbers of its row leave out
    whole     whether it counts everything, so that it is no exclusion in a table of counts
    chosen    whether it counts what was examined, where nothing counts what was not
    """

    id: str
    title: str
    unit: str = NUMBER
    better: str = NEITHER
    bounds: tuple[float, float] | None = None
    excluded: bool = False
    whole: bool = False
    chosen: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that the number can be."""
        return _BOUNDS[self.unit] if self.bounds is None else self.bounds


def titles(names: Mapping[str, str]) -> RowTitle:
    """Row titles from a mapping; a row that it lacks is shown by its id."""
    return lambda row, classes: names.get(row, row)


def _same(row: str, classes: Classes) -> str:
    return row


def _no_variants(column: str) -> Measure | None:
    return None


@dataclass(frozen=True)
class Table:
    """A table of a summary: its measures by column, or by row where it counts documents.

    id         the exam's name, or that and a name of its own: `erasure.excess`
    title      a line over the table
    measures   one a column; in a table of counts one a row
    row_title  row id and the model's classes → words
    counts     whether rows are the measures, under the one column `value`
    variants   columns that are made from data, such as one for every ε: column id → its measure,
               or None where the column is none of these
    kinds      kinds of model that have it (`verax.models.kinds`)
    """

    id: str
    title: str
    measures: tuple[Measure, ...]
    row_title: RowTitle = _same
    counts: bool = False
    variants: Callable[[str], Measure | None] = field(default=_no_variants)
    kinds: tuple[str, ...] = KINDS

    @property
    def has_variants(self) -> bool:
        """Whether some columns are made from data."""
        return self.variants is not _no_variants

    def measure(self, row: str, column: str) -> Measure | None:
        """The measure of a cell; None where none is declared."""
        wanted = row if self.counts else column
        declared = next((measure for measure in self.measures if measure.id == wanted), None)
        return declared or (None if self.counts else self.variants(column))

    def id_of(self, row: str, column: str) -> str:
        """The id of the number in a row and a column."""
        return measure_id(self.id, row, column)

    def title_of_row(self, row: str, classes: Classes = ()) -> str:
        """A row in words."""
        if self.counts:
            measure = self.measure(row, VALUE)
            return row if measure is None else measure.title
        return self.row_title(row, classes)

    def title_of_column(self, column: str) -> str:
        """A column in words; a table of counts has no head over its numbers."""
        if self.counts:
            return ""
        measure = self.measure("", column)
        return column if measure is None else measure.title


def counts(exam: str, *measures: Measure, title: str = "documents") -> Table:
    """The table `documents` of an exam: what was counted, a row each."""
    return Table(f"{exam}.documents", title, measures, counts=True)


def measure_id(table: str, row: str, column: str) -> str:
    """The id of a number.

    >>> measure_id("replacement", "uniform", "survival")
    'replacement.uniform.survival'
    >>> measure_id("erasure.documents", "one_item", "value")
    'erasure.documents.one_item'
    """
    return f"{table}.{row}" if column == VALUE else f"{table}.{row}.{column}"


@dataclass(frozen=True)
class MeasurePlace:
    """The place of a number: its exam, table, row, column and measure."""

    exam: str
    table: Table
    row: str
    column: str
    measure: Measure


def place_of(id: str, exam: str, tables: Sequence[Table]) -> MeasurePlace | None:
    """The place of the number with this id among an exam's tables; None where it has none."""
    # the longest name first: agreement.on_support before agreement
    for table in sorted(tables, key=lambda table: -len(table.id)):
        if not id.startswith(f"{table.id}."):
            continue
        rest = id[len(table.id) + 1 :]
        if table.counts:
            measure = table.measure(rest, VALUE)
            return None if measure is None else MeasurePlace(exam, table, rest, VALUE, measure)
        for measure in table.measures:
            if rest.endswith(f".{measure.id}"):
                row = rest[: -len(measure.id) - 1]
                return MeasurePlace(exam, table, row, measure.id, measure)
        # a column made from data may have a dot in it, as ε has
        dots = [at for at, letter in enumerate(rest) if letter == "."]
        for at in dots:
            variant = table.variants(rest[at + 1 :])
            if variant is not None:
                return MeasurePlace(exam, table, rest[:at], rest[at + 1 :], variant)
        return None
    return None
