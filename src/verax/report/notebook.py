"""What notebooks show: results of every kind, and words in colour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import pandas as pd
from markupsafe import Markup

from verax.drawing.palette import css, legend, shade
from verax.drawing.rendering import printable
from verax.errors import VeraxError, nearest
from verax.exams.judgement.judgement import Judgement
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import numeral
from verax.exams.judgement.row import Judged
from verax.exams.titles import exam_title, measure_title
from verax.exams.verdict import Verdict
from verax.importance.explanation import has_sign
from verax.report.adversary_parts import curve_heads, curve_table
from verax.report.adversary_text import chosen_words, yardstick_words
from verax.report.comparison_parts import difference, p_value
from verax.report.tables import Cell, html_table
from verax.report.templating import fill
from verax.studies import Adversaries, Comparison, StudyResults, Sweep
from verax.studies.engines.engine import count
from verax.studies.summaries import model_summaries

MOST_WORDS = 2_000
"""Words of one text that a notebook shows; the others are counted."""
_HEADS = ("value, 95% interval", "compared", "speaks")
_NOT_SCORES = {
    *("text", "word", "position", "label", "probability", "sentence", "id"),
    *("target", "target_probability", "special_share"),
}


@singledispatch
def html_of(result: object) -> str:
    """The HTML that a notebook shows of a result; its `repr`, where its kind has nothing more."""
    return str(fill("notebook", "plain", words=repr(result)))


@html_of.register
def verdict_html(verdict: Verdict) -> str:
    """The headline, what each exam says, and the caveat."""
    return judgement_html(verdict.judgement)


@html_of.register
def judgement_html(judgement: Judgement) -> str:
    """The headline of a judgement, what each exam says, and the caveats."""
    rows = [([exam_title(row.exam), row.label], _cells(row)) for row in judgement.rows]
    note = " ".join([*judgement.caveats, f"Limits {judgement.limits.version}."])
    return _html(judgement.headline, html_table(["exam", "", *_HEADS], rows, 2), note)


@html_of.register
def comparison_html(comparison: Comparison) -> str:
    """Every measure of every group beside the reference's, and whether it is better."""
    table = comparison.table()
    if table.empty:
        return str(fill("notebook", "plain", words=repr(comparison)))
    rows: list[tuple[list[str], list[Cell]]] = []
    lines: Iterable[Any] = table.itertuples()
    for row in lines:
        values = (row.reference_value, row.value)
        cells = [numeral(Number(value, unit=row.unit)) for value in values]
        judged = row.judged or row.note
        labels = [str(row.group), measure_title(str(row.measure))]
        rows.append((labels, [*cells, difference(row), p_value(row.holm), judged]))
    heads = ["model", "measure", comparison.reference, "value", "difference", "p, Holm", ""]
    note = "Differences with 95% intervals; p corrected by Holm for the measures judged."
    return _html("", html_table(heads, rows, 2), note)


@html_of.register
def sweep_html(sweep: Sweep) -> str:
    """Every measure's mean at every λ, and how it moves with λ."""
    points, moves = sweep.points(), sweep.correlations().set_index("measure")["tau"]
    lams = sorted(set(points["lam"]))
    means = points.pivot(index="measure", columns="lam", values="mean")
    rows = [
        ([str(m)], [numeral(Number(float(value))) for value in (*means.loc[m, lams], moves[m])])
        for m in dict.fromkeys(points["measure"])
    ]
    heads = ["measure", *(f"λ {lam:g}".replace("-", "−") for lam in lams), "τ-b with λ"]
    over = f"Larger λ is sparser. Intervals, over {points['over'].iloc[0]}, are in points()."
    return _html(f"A model for each of {len(lams)} λ of sparsegen", html_table(heads, rows), over)


@html_of.register
def adversaries_html(adversaries: Adversaries) -> str:
    """The adversary that was chosen, the curve over λ, and other seeds of the base."""
    table = html_table(curve_heads(adversaries), curve_table(adversaries))
    note = ". ".join(yardstick_words(adversaries)) + "."
    return _html(chosen_words(adversaries), table, note)


@html_of.register
def study_html(results: StudyResults) -> str:
    """What was asked, how far it is, and what exams say of each configuration, over seeds."""
    counts = ", ".join(f"{number:,} {status}" for status, number in results.counts.items())
    title, line = results.question or results.name, f"{results.name}: {counts or 'no cells'}"
    if "summary" not in results.tables:
        return _html(title, Markup(), lines=[line])
    models = model_summaries(results)
    rows = [
        ([model.name, exam_title(row.exam)], _cells(row))
        for model in models
        for row in model.judgement.rows
    ]
    caveats = dict.fromkeys(line for model in models for line in model.judgement.caveats)
    table = html_table(["model", "exam", *_HEADS], rows, 2)
    return _html(title, table, " ".join(caveats), [line])


@dataclass(frozen=True, eq=False)
class Heat:
    """Words of texts on a background as strong as their scores; made by `heat`.

    Attributes:
        texts: the decision about each text, and its words with scores.
        by: the importance that the scores are of.
        targets: the classes explained, where they were chosen.
        notes: for each text what is beside its words, such as the share of special tokens.
    """

    texts: Mapping[int, tuple[str, list[tuple[str, float]]]]
    by: str
    targets: tuple[str, ...] = ()
    notes: Mapping[int, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Heat({self.by}: {count(len(self.texts), 'text')})"

    def _repr_html_(self) -> str:
        texts = []
        for number, (decision, words) in self.texts.items():
            most = max((abs(s) for _, s in words if not math.isnan(s)), default=0.0) or 1.0
            shown = [
                (printable(word), f"{score:.4g}", _colour(score / most))
                for word, score in words[:MOST_WORDS]
            ]
            note = self.notes.get(number, "")
            texts.append((decision, shown, max(0, len(words) - MOST_WORDS), note))
        scores = (score for _, words in self.texts.values() for _, score in words)
        meanings = legend(has_sign(self.by, scores), self.targets).items()
        shown_legend = [(printable(meaning), css(colour)) for colour, meaning in meanings]
        return str(fill("notebook", "heat", by=self.by, legend=shown_legend, texts=texts))


def heat(explanation: pd.DataFrame, by: str | None = None) -> Heat:
    """The words of an explanation in colour, for a notebook.

    Scores are shown relative to the strongest of each text: blue where a word supports the class
    explained, the decision unless another was chosen, orange where it is against it. An importance
    without a sign is blue throughout.

    Args:
        explanation: what `model.explain(texts)` returns.
        by: which of its importances; the first, unless one is named.
    """
    names = importances_of(explanation)
    chosen = names[0] if by is None else by
    if chosen not in names:
        raise VeraxError(
            f"no importance {by!r} in this explanation: {nearest(str(by), names)}",
            code="option.unknown-value",
        )
    texts, notes = {}, {}
    for number, (_, rows) in enumerate(explanation.groupby("text", sort=False, observed=True)):
        words = [(str(w), float(s)) for w, s in zip(rows["word"], rows[chosen], strict=True)]
        texts[number], notes[number] = (decision(rows), words), beside_words(rows)
    return Heat(texts, chosen, targets(explanation), notes)


def importances_of(explanation: pd.DataFrame) -> list[str]:
    """The importances that an explanation has scores by; an error where it has none."""
    names = [str(c) for c in explanation if str(c) not in _NOT_SCORES]
    names = [name for name in names if pd.api.types.is_float_dtype(explanation[name])]
    if not names or not {"text", "word"} <= set(explanation):
        raise VeraxError(
            "this table has no scores of words: give what model.explain returns",
            code="result.wrong-kind",
        )
    return names


def decision(rows: pd.DataFrame) -> str:
    """What was decided about a text, and which class is explained where it was chosen.

    Empty where the rows do not say.
    """
    if "label" not in rows:
        return ""
    words = _with_share(rows, "label", "probability")
    if "target" in rows:
        words += f"; explained: {_with_share(rows, 'target', 'target_probability')}"
    return words


def beside_words(rows: pd.DataFrame) -> str:
    """How much attention goes to no word of a text; empty where the rows do not say."""
    if "special_share" not in rows:
        return ""
    share = rows["special_share"].iloc[0]
    return (
        f"{share:.1%} of the last layer's attention goes to special tokens or sinks, not to words."
    )


def targets(explanation: pd.DataFrame) -> tuple[str, ...]:
    """The classes that an explanation is about, each once; empty where none was chosen."""
    return tuple(map(str, explanation["target"].unique())) if "target" in explanation else ()


def _with_share(rows: pd.DataFrame, name: str, probability: str) -> str:
    """A class with its probability, where the rows have one."""
    share = f" ({rows[probability].iloc[0]:.1%})" if probability in rows else ""
    return f"{rows[name].iloc[0]}{share}"


def _colour(share: float) -> str:
    """The background of a word; none where its score is 0 or missing."""
    return "" if math.isnan(share) or share == 0 else css(shade(share))


def _cells(row: Judged) -> list[Cell]:
    return [row.number, row.compared, row.verdict]


def _html(title: str, table: Markup, note: str = "", lines: Sequence[str] = ()) -> str:
    values = {"title": title, "lines": lines, "table": table, "note": note}
    return str(fill("notebook", "result", **values))
