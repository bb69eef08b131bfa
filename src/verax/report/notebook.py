"""What notebooks show: results of every kind, and words in colour."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import pandas as pd

from verax.drawing.rendering import printable
from verax.errors import VeraxError, nearest
from verax.exams.judgement.judgement import Judgement
from verax.exams.judgement.number import Number
from verax.exams.judgement.numerals import interval, numeral
from verax.exams.judgement.row import Judged
from verax.exams.titles import exam_title, measure_title
from verax.exams.verdict import Verdict
from verax.papers.checking import Checked
from verax.papers.claims import Finding
from verax.papers.phrasing import TRIAL, alone, tallies
from verax.report.markup import element, named, text
from verax.report.opposed import chosen_words, score_name, yardstick_words
from verax.report.tables import html_table
from verax.studies import Adversaries, Comparison, StudyResults, Sweep
from verax.studies.summaries import model_summaries

MOST_WORDS = 2_000
"""Words of one text that a notebook shows; the others are counted."""
MORE, LESS = (70, 150, 240), (230, 97, 0)
"""Blue for scores above 0, orange below, as on a page: told apart by the colour-blind."""


@singledispatch
def html_of(result: object) -> str:
    """What a notebook shows of a result; its `repr`, where its kind has nothing more."""
    return element("p", text(repr(result)))


@html_of.register
def verdict_html(verdict: Verdict) -> str:
    """The headline, what each exam says, and the caveat."""
    return judgement_html(verdict.judgement)


@html_of.register
def judgement_html(judgement: Judgement) -> str:
    """The same of a judgement."""
    rows = [([exam_title(row.exam), row.label], _row_cells(row)) for row in judgement.rows]
    title = element("p", element("b", text(judgement.headline)))
    note = " ".join([*judgement.caveats, f"Limits {judgement.limits.version}."])
    table = html_table(["exam", "", *_HEADS], rows, 2)
    return _styled(title + table + element("p", element("small", text(note))))


@html_of.register
def comparison_html(comparison: Comparison) -> str:
    """Every measure of every group beside the reference's, and whether it is better."""
    table = comparison.table()
    if table.empty:
        return element("p", text(repr(comparison)))
    rows = []
    for row in table.to_dict("records"):
        unit = str(row["unit"])
        difference = Number(row["difference"], row["low"], row["high"], 0, _of_difference(unit))
        cells = [
            text(numeral(Number(row["reference_value"], unit=unit))),
            text(numeral(Number(row["value"], unit=unit))),
            _told(difference),
            text("" if math.isnan(row["holm"]) else f"{row['holm']:.3g}"),
            text(row["judged"] or row["note"]),
        ]
        rows.append(([str(row["group"]), measure_title(str(row["measure"]))], cells))
    heads = ["model", "measure", comparison.reference, "value", "difference", "p, Holm", ""]
    note = "Differences with 95% intervals; p corrected by Holm for the measures judged."
    return _styled(html_table(heads, rows, 2) + element("p", element("small", text(note))))


@html_of.register
def sweep_html(sweep: Sweep) -> str:
    """Every measure's mean at every λ, and how it moves with λ."""
    points, moves = sweep.points(), sweep.correlations().set_index("measure")["tau"]
    lams = sorted(set(points["lam"]))
    means = points.pivot(index="measure", columns="lam", values="mean")
    rows = [
        ([str(m)], [_plain(value) for value in (*means.loc[m, lams], moves[m])])
        for m in dict.fromkeys(points["measure"])
    ]
    title = element("p", element("b", text(f"A model for each of {len(lams)} λ of sparsegen")))
    heads = ["measure", *(f"λ {lam:g}".replace("-", "−") for lam in lams), "τ-b with λ"]
    over = f"Larger λ is sparser. Intervals, over {points['over'].iloc[0]}, are in points()."
    return _styled(title + html_table(heads, rows) + element("p", element("small", text(over))))


@html_of.register
def adversaries_html(found: Adversaries) -> str:
    """The adversary that was chosen, the curve over λ, and the yardstick."""
    title = element("p", element("b", text(chosen_words(found))))
    measures = ("jsd", "tvd", "same", "accuracy", "f1")
    rows = []
    for row in found.points().to_dict("records"):
        cells = [_opposed(m, [row[m + end] for end in ("", "_low", "_high")]) for m in measures]
        rows.append(([f"λ {row['lam']:g}{', chosen' if row['chosen'] else ''}"], cells))
    if found.has_yardstick:
        yard: dict[Any, Any] = found.yardstick().set_index("measure").to_dict("index")
        ends = [[yard[m][end] for end in ("mean", "low", "high")] for m in measures]
        cells = [_opposed(m, own) for m, own in zip(measures, ends, strict=True)]
        rows.append((["other seeds of the base"], cells))
    score = score_name(len(found.manifest["classes"]))
    heads = ["", "JSD", "TVD", "same decisions", "accuracy", score]
    note = element("p", element("small", text(". ".join(yardstick_words(found)) + ".")))
    return _styled(title + html_table(heads, rows) + note)


@html_of.register
def study_html(results: StudyResults) -> str:
    """What was asked, how far it is, and what exams say of each configuration, over seeds."""
    title = element("p", element("b", text(results.question or results.name)))
    counts = ", ".join(f"{number:,} {status}" for status, number in results.counts.items())
    title += element("p", text(f"{results.name}: {counts or 'no cells'}"))
    if "summary" not in results.tables:
        return _styled(title)
    models = model_summaries(results)
    rows = [
        ([model.name, exam_title(row.exam)], _row_cells(row))
        for model in models
        for row in model.judgement.rows
    ]
    lines = dict.fromkeys(line for model in models for line in model.judgement.caveats)
    note = element("p", element("small", text(" ".join(lines))))
    return _styled(title + html_table(["model", "exam", *_HEADS], rows, 2) + note)


@html_of.register
def paper_html(checked: Checked) -> str:
    """Every claim, and whether it holds."""
    told = " ".join([*([TRIAL] if checked.is_trial else []), *tallies(checked)])
    title = element("p", element("b", text(f"{checked.paper.authors}: {checked.paper.title}")))
    rows = [
        (
            [str(claim.id), claim.text],
            [text(claim.where), text(_verdict(checked, finding, own)), text(finding.why)],
        )
        for claim, finding, own in checked.judged
    ]
    heads = ["claim", "", "where", "", "why"]
    # a sentence wraps, other than a number
    style = f".{_CLASS} .paper td:last-child{{white-space:normal;min-width:20em}}"
    table = element("div", element("style", style) + html_table(heads, rows, 2), {"class": "paper"})
    return _styled(title + element("p", text(told)) + table)


def _verdict(checked: Checked, finding: Finding, own: Finding | None) -> str:
    return finding.said if own is None else f"{finding.said} ({alone(checked)}: {own.said})"


@dataclass(frozen=True, eq=False)
class Heat:
    """Words of texts on a background as strong as their scores; made by `heat`.

    texts  text → its decision, and words with scores
    """

    texts: Mapping[int, tuple[str, list[tuple[str, float]]]]
    by: str

    def __repr__(self) -> str:
        return f"Heat({self.by}: {len(self.texts)} texts)"

    def _repr_html_(self) -> str:
        lines = [element("p", element("small", text(f"by {self.by}")))]
        for decision, words in self.texts.values():
            most = max((abs(s) for _, s in words if not math.isnan(s)), default=0.0) or 1.0
            told = " ".join(_warm(word, score, most) for word, score in words[:MOST_WORDS])
            if len(words) > MOST_WORDS:
                told += text(f" … and {len(words) - MOST_WORDS:,} more words")
            who = element("b", named(decision)) + " " if decision else ""
            lines.append(element("p", who + told, {"style": _LINE}))
        return element("div", "".join(lines))


def heat(explanation: pd.DataFrame, by: str | None = None) -> Heat:
    """The words of an explanation in colour, for a notebook.

    explanation  what `model.explain(texts)` gave
    by           which of its importances; the first, unless one is named

    Scores are shown relative to the strongest of each text: blue above 0, orange below.
    """
    known = [str(c) for c in explanation if str(c) not in _OTHER and _is_number(explanation[c])]
    if not known or not {"text", "word"} <= set(explanation):
        raise VeraxError("this table has no scores of words: give what model.explain returns")
    chosen = known[0] if by is None else by
    if chosen not in known:
        raise VeraxError(f"no importance {by!r} in this explanation: {nearest(str(by), known)}")
    texts = {}
    for number, (_, own) in enumerate(explanation.groupby("text", sort=False, observed=True)):
        decision = str(own["label"].iloc[0]) if "label" in own else ""
        words = [(str(w), float(s)) for w, s in zip(own["word"], own[chosen], strict=True)]
        texts[number] = (decision, words)
    return Heat(texts, chosen)


_CLASS = "verax-notebook"
_LINE = "line-height:1.9;max-width:60em;overflow-wrap:anywhere"
_OTHER = {"text", "word", "position", "label", "probability", "sentence", "id"}


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_float_dtype(column)


def _warm(word: str, score: float, most: float) -> str:
    if math.isnan(score) or score == 0:
        return element("span", named(printable(word)), {"style": "opacity:.6"})
    share = min(1.0, abs(score) / most)
    red, green, blue = (round(255 + share * (end - 255)) for end in (MORE if score > 0 else LESS))
    style = f"background:rgb({red},{green},{blue});color:#000;border-radius:3px;padding:0 2px"
    return element("span", named(printable(word)), {"style": style, "title": f"{score:.4g}"})


_HEADS = ("value, 95% interval", "compared", "speaks")


def _row_cells(row: Judged) -> list[str]:
    return [_told(row.number), text(row.compared), text(row.verdict)]


def _opposed(measure: str, values: Sequence[float]) -> str:
    """A number of adversaries with its interval; what is a share in percent."""
    is_share = measure not in ("jsd", "tvd")
    value, low, high = (100 * own if is_share else own for own in values)
    return _told(Number(value, low, high, unit="percent" if is_share else "number"))


def _plain(value: float) -> str:
    return text(numeral(Number(float(value))))


def _told(number: Number) -> str:
    within = interval(number)
    return text(numeral(number) + (f" ({within})" if within else ""))


def _styled(inner: str) -> str:
    """Notebooks centre what is in tables; words read better from the left."""
    style = f".{_CLASS} :is(th,td){{text-align:left;vertical-align:top}}"
    style += f".{_CLASS} tbody th{{font-weight:normal}}.{_CLASS} td{{white-space:nowrap}}"
    return element("div", element("style", style) + inner, {"class": _CLASS})


def _of_difference(unit: str) -> str:
    return "points" if unit in ("percent", "points") else "number"
