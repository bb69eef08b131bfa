"""The result of an examination: tidy tables, a summary over them, and both as a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from verax.errors import VeraxError, nearest
from verax.exams.described import MANIFEST, check_together, columns_of
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.measures import VALUE, measure_id
from verax.exams.titles import column_title, row_title
from verax.results import Result
from verax.schema import Columns, Kind

if TYPE_CHECKING:
    from verax.exams.judgement.judgement import Judgement
    from verax.exams.judgement.limits import LimitSet

FORMAT = 2
SUMMARY, KIND = "summary", "kind"
COLUMNS = ["exam", "table", "row", "column", "measure", "value", "low", "high", "n", "unit"]


@dataclass(frozen=True, eq=False)
class Verdict(Result):
    """The results of one model on one split.

    tables    name → tidy DataFrame, one row per instance and measure
    manifest  what was examined and how: model, corpus, split, seed, options, versions, counts
    """

    kind, format, remedy = "verdict", FORMAT, "examine the model again"

    tables: Mapping[str, pd.DataFrame]
    manifest: Mapping[str, Any] = field(default_factory=dict)
    _summary: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=COLUMNS))

    def __repr__(self) -> str:
        exams = ", ".join(self.manifest.get("exams", []))
        return f"Verdict({exams}: {', '.join(f'{n} {len(t):,}' for n, t in self.tables.items())})"

    def __str__(self) -> str:
        return str(self.judgement)

    @cached_property
    def judgement(self) -> Judgement:
        """The judgement of the attention, by the limits named when it was examined."""
        return self.judge()

    def judge(self, limits: str | Path | Mapping[str, Any] | LimitSet | None = None) -> Judgement:
        """The judgement of the attention by other limits.

        Args:
            limits: a version, a file, or a mapping as a file has it; those of the examination,
                unless given.
        """
        from verax.exams.judgement.judgement import judge

        return judge(self.model_summary(), limits)

    def card(self, level: int = 2) -> str:
        """The verdict as Markdown for a model card: the answer first, then numbers and limits.

        Args:
            level: of the heading, 1 to 6.

        Names are escaped. No text of a document is in it.

        >>> import verax
        >>> corpus = verax.load_corpus("planted", documents=120)
        >>> model = verax.train(corpus, encoder="none", epochs=1)
        >>> card = verax.examine(model, corpus, "replacement", limits="2026-11").card()
        >>> card.splitlines()[0]
        "## Can this model's attention be trusted?"
        >>> "- Limits: 2026-11" in card.splitlines()
        True
        """
        from verax.exams.judgement.card import card

        return card(self.judgement, self.manifest, level)

    def metrics(self, *, full: bool = False, prefix: str = "") -> dict[str, float]:
        """The verdict as a flat dictionary of floats, for any experiment tracker.

        Args:
            full: every number of the summary, and not only those that are judged.
            prefix: stands before each name, such as "verax/".

        Returns:
            `exams.for`, `exams.against` and `exams.open`: how many say so. `withheld`: 1 if there
            is no verdict, else 0; then no exam is counted. `learnt`: 1 or 0. `says.EXAM`, or
            `says.EXAM.SCORE` where several scores are judged: 1 for, 0 open, −1 against.
            `accuracy`, and each judged number by its id; with `.low` and `.high` the ends of its
            95% interval. Names have letters, digits and `_ . / -` alone. What is not a number is
            left out.

        >>> import verax
        >>> corpus = verax.load_corpus("planted", documents=120)
        >>> model = verax.train(corpus, encoder="none", epochs=1)
        >>> metrics = verax.examine(model, corpus, "replacement").metrics()
        >>> sorted(metrics)[:4]
        ['accuracy', 'accuracy.high', 'accuracy.low', 'exams.against']
        >>> metrics["withheld"]  # of 20 documents
        1.0
        """
        from verax.exams.judgement.metrics import metrics

        return metrics(self.judgement, self._summary if full else None, prefix)

    def model_summary(self, name: str = "") -> ModelSummary:
        """The summary with what was examined, as judgements and reports read it.

        Args:
            name: what to call the model.
        """
        return ModelSummary(name, self._summary, self.manifest)

    def value(self, measure: str) -> float:
        """One number of the summary.

        Args:
            measure: its id, such as `replacement.uniform.survival`.
        """
        return self.number(measure).value

    def number(self, measure: str) -> Number:
        """One number of the summary with its interval, n and unit.

        Args:
            measure: its id, such as `replacement.uniform.survival`.
        """
        rows = self._summary[self._summary["measure"] == measure]
        if rows.empty:
            known = list(dict.fromkeys(self._summary["measure"]))
            raise VeraxError(
                f"no measure {measure!r} in the summary: {nearest(measure, known)}",
                code="result.unknown-name",
            )
        row = rows.iloc[0]
        value, low, high = (float(row[name]) for name in ("value", "low", "high"))
        return Number(value, low, high, int(row["n"]), str(row["unit"]))

    def document_values(self) -> pd.DataFrame:
        """Values of single documents: id, measure, value, and the reason where there is none.

        `measure` is the id of the number that is their mean over documents.
        """
        from verax.exams.document_values import document_values

        return document_values(self)

    def summary(self, table: str | None = None) -> pd.DataFrame:
        """Every number of every table, one a row, or one table as it is printed.

        Args:
            table: a table's id, or the last part of it (`excess` for `erasure.excess`): that table
                alone, its rows by its columns, both by their titles.

        Returns:
            Without `table`, a frame with these columns:

            exam, table, row, column   where the number stands, as ids
            measure                    its id
            value, low, high           the number and its 95% interval over instances, or NaN
            n                          the instances it is over
            unit                       count, percent, points (of percent) or number
        """
        if table is None:
            return self._summary.copy()
        rows = self._summary[self._summary["table"] == self._table(table)]
        name = str(rows["table"].iloc[0])
        shown = rows.pivot(index="row", columns="column", values="value")
        shown = shown.loc[list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["column"]))]
        classes = self.manifest.get("classes") or ()
        shown.index = pd.Index([row_title(name, str(row), classes) for row in shown.index])
        shown.columns = pd.Index([column_title(name, str(c)) or VALUE for c in shown.columns])
        return shown

    def _table(self, name: str) -> str:
        """The id of the table that a name stands for: its own, or the last part of it."""
        tables = [str(table) for table in dict.fromkeys(self._summary["table"])]
        fitting = [t for t in tables if t == name] or [t for t in tables if t.endswith(f".{name}")]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise VeraxError(
                f"several tables are called {name!r}: give {', '.join(fitting)}",
                code="option.ambiguous",
            )
        raise VeraxError(
            f"no table {name!r} in the summary: it has {', '.join(tables)}",
            code="result.unknown-name",
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {**self.tables, SUMMARY: self._summary}

    @classmethod
    def _schema(cls) -> Kind:
        return MANIFEST

    @classmethod
    def _columns(cls, table: str) -> Columns:
        return columns_of(table)

    @classmethod
    def _names(cls, manifest: Mapping[str, Any]) -> tuple[str, ...]:
        return (*manifest["tables"], SUMMARY)

    @classmethod
    def _restored(cls, tables: Mapping[str, pd.DataFrame], manifest: dict[str, Any]) -> Verdict:
        check_together(tables, manifest)
        kind = manifest.get("model", {}).get(KIND)  # in a file, `kind` is that of the result
        manifest |= {} if kind is None else {KIND: kind}
        own = _Tables({name: tables[name] for name in manifest["tables"]})
        return cls(own, manifest, tables[SUMMARY])


class _Tables(dict[str, pd.DataFrame]):
    """Tables of a saved verdict; one that it has not is an error for the user."""

    def __missing__(self, name: str) -> pd.DataFrame:
        raise VeraxError(
            f"this verdict has no table {name!r}: {Verdict.remedy}", code="result.unknown-name"
        )


def load_verdict(folder: str | Path) -> Verdict:
    """The verdict saved in a folder.

    Args:
        folder: where `Verdict.save` put it.
    """
    return Verdict.load(folder)


def summary_frame(exam: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The summary of an exam as a frame, made of cells.

    Args:
        exam: the exam's name.
        rows: cells as `number_cell`, `percent_cell`, `points_cell` and `count_cell` make them.
    """
    frame = pd.DataFrame([{"exam": exam, **row} for row in rows], columns=COLUMNS)
    places = zip(frame["table"], frame["row"], frame["column"], strict=True)
    frame["measure"] = [measure_id(*place) for place in places]
    for name in ("value", "low", "high"):
        frame[name] = frame[name].astype("float64")
    frame["n"] = frame["n"].astype("int64")
    return frame
