"""Trained adversaries as parts of a page: the curve, the yardstick, the controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from verax.exams.judgement.model_summary import Number
from verax.exams.judgement.phrasing import numeral
from verax.exams.judgement.row import NOT_APPLICABLE, Judged
from verax.exams.measures import measure_id
from verax.exams.titles import question
from verax.report.facts import closed, facts
from verax.report.markup import element, text
from verax.report.opposed import chosen_words, one_item_words, score_name, yardstick_words
from verax.report.page import Part
from verax.report.sections import ABOUT, Chart, cards, figures
from verax.report.tables import html_table, shown
from verax.studies import Adversaries
from verax.studies.adversaries.measures import lambda_row
from verax.studies.adversaries.recipes import control_title

EXAM = "adversaries"
_SHARES = ("same", "accuracy", "f1")
_CAVEAT = (
    "An adversary is another model: it shows that this architecture can say the same by another "
    "attention, not that the base could."
)


def adversary_parts(found: Adversaries, charts: Sequence[Chart] = (), note: str = "") -> list[Part]:
    """What was chosen and how far it is, the curve over λ, controls, and how all was made."""
    parts = [_first(found), _curve(found, charts, note)]
    controls = _controls(found)
    if controls:
        parts.append(Part("controls", "Controls", controls, EXAM))
    base = found.manifest.get("base", {})
    told = {key: value for key, value in found.manifest.items() if key != "base"}
    inner = facts(told, "the adversaries")
    if base:
        inner += closed("The base", facts(base, "the base"))
    return [*parts, Part("about", ABOUT, inner)]


def _first(found: Adversaries) -> Part:
    points = found.points()
    chosen = points[points["chosen"]].to_dict("records")[0]
    inner = element("p", text(question(EXAM)), {"class": "question"})
    inner += element("p", text(_sentence(chosen_words(found))), {"class": "headline small"})
    inner += cards(_statements(found, chosen))
    lines = [*yardstick_words(found), f"Intervals are 95%, over {chosen['over']}.", _CAVEAT]
    notes = "".join(element("li", text(_sentence(line))) for line in lines)
    inner += element("ul", notes, {"class": "caveat"})
    return Part("verdict", "The chosen adversary", inner)


def _statements(found: Adversaries, chosen: Mapping[Any, Any]) -> list[Judged]:
    yard: dict[Any, Any] = found.yardstick().set_index("measure").to_dict("index")
    base = found.controls().to_dict("records")[0]
    score = score_name(len(found.manifest["classes"]))
    labels = {
        "jsd": f"JSD of its attention (λ {chosen['lam']:g}) from the base's, in nats",
        "tvd": "TVD of its outputs from the base's",
        "same": "of its decisions are the base's",
        "accuracy": f"accuracy on {found.split}",
        "f1": f"{score} on {found.split}",
    }
    said = []
    for measure, label in labels.items():
        beside = []
        if measure in ("accuracy", "f1"):
            beside.append(f"the base {_told(measure, base[measure])}")
        elif measure == "jsd":
            beside.append("at most 0.693")
        if found.has_yardstick:
            beside.append(f"other seeds of the base {_told(measure, yard[measure]['mean'])}")
        number = _number(measure, chosen)
        id_ = measure_id(EXAM, lambda_row(chosen["lam"]), measure)
        said.append(Judged(EXAM, id_, NOT_APPLICABLE, number, label, "; ".join(beside), ""))
    return said


def _curve(found: Adversaries, charts: Sequence[Chart], note: str) -> Part:
    score = score_name(len(found.manifest["classes"]))
    told = (
        f"On {found.split}, attention (JSD) and outputs (TVD) from the base's, for every λ, the "
        "weight on attending elsewhere."
    )
    inner = element("p", text(told), {"class": "note"})
    inner += figures(charts)
    for line in (note, one_item_words(found)):
        inner += element("p", text(_sentence(line)), {"class": "note"}) if line else ""
    measures = ("jsd", "tvd", *_SHARES)
    heads = ["λ", "JSD", "TVD", "same decisions", "accuracy", score]
    points = found.points().to_dict("records")
    beyond: dict[Any, Any] = found.against_yardstick().set_index("lam").to_dict("index")
    rows = []
    for row in points:
        cells = [shown(_number(measure, row)) for measure in measures]
        if found.has_yardstick:
            own = beyond[row["lam"]]
            cells.append(shown(Number(own["difference"], own["low"], own["high"])))
        rows.append(([_lam(row)], cells))
    if found.has_yardstick:
        heads.append("JSD beyond other seeds")
        yard: dict[Any, Any] = found.yardstick().set_index("measure").to_dict("index")
        cells = [
            shown(_scaled(m, yard[m]["mean"], yard[m]["low"], yard[m]["high"])) for m in measures
        ]
        rows.append((["other seeds of the base"], [*cells, ""]))
    inner += html_table(heads, rows, title=f"on {found.split}, with 95% intervals")
    validation = [
        ([_lam(row)], [shown(_scaled(m, row[f"validation_{m}"])) for m in measures])
        for row in points
    ]
    title = "On validation, which chooses λ"
    inner += closed(title, html_table(heads[:6], validation, title=title.lower()))
    inner += closed("Where the base attends sharply, and where it does not", _by_weight(found))
    return Part("curve", "The curve", inner, EXAM)


def _by_weight(found: Adversaries) -> str:
    frame = found.by_weight()
    bins = list(dict.fromkeys(zip(frame["from"], frame["below"], strict=True)))
    rows: dict[tuple[str, str], list[str]] = {}
    for row in frame.to_dict("records"):
        who = "other seeds" if math.isnan(row["lam"]) else f"λ {row['lam']:g}"
        number = Number(row["jsd"], row["low"], row["high"])
        cell = shown(number) if row["n"] else "–"
        rows.setdefault((who, f"decided {row['decision']}"), []).append(cell)
    heads = ["", "", *(f"{start:g} to {end:g}" for start, end in bins)]
    title = "JSD by the base's largest weight and decision"
    return html_table(heads, [(list(key), cells) for key, cells in rows.items()], 2, title)


def _controls(found: Adversaries) -> str:
    frame = found.controls().to_dict("records")
    if len(frame) < 2:
        return ""
    measures = ("f1", "accuracy", "jsd", "tvd")
    rows = [
        ([control_title(row["name"])], [shown(_number(measure, row)) for measure in measures])
        for row in frame
        if not row["note"]
    ]
    told = "Uniform attention, and models that see each word by itself (mlp), beside the base."
    inner = element("p", text(told), {"class": "note"})
    heads = ["", score_name(len(found.manifest["classes"])), "accuracy", "JSD", "TVD"]
    inner += html_table(heads, rows)
    for row in frame:
        if row["note"]:
            told = f"Left out: {control_title(row['name'])}; {row['note']}"
            inner += element("p", text(told), {"class": "note"})
    return inner


def _number(measure: str, row: Mapping[Any, Any]) -> Number:
    return _scaled(measure, row[measure], row[f"{measure}_low"], row[f"{measure}_high"])


def _scaled(measure: str, value: float, low: float = math.nan, high: float = math.nan) -> Number:
    if measure in _SHARES:
        return Number(100 * value, 100 * low, 100 * high, unit="percent")
    return Number(value, low, high)


def _told(measure: str, value: float) -> str:
    return numeral(_scaled(measure, value))


def _lam(row: Mapping[Any, Any]) -> str:
    return f"{row['lam']:g}{', chosen' if row['chosen'] else ''}"


def _sentence(words: str) -> str:
    first = words[:1].upper() if words[:1].isascii() else words[:1]  # λ stays λ
    return f"{first}{words[1:]}{'' if words.endswith('.') else '.'}"
