"""Trained adversaries as parts of a page: the curve, other seeds of the base, the controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from verax.drawing.chart import Chart
from verax.exams.judgement.model_summary import Number
from verax.exams.judgement.phrasing import numeral
from verax.exams.judgement.row import NOT_APPLICABLE, Judged
from verax.exams.measures import measure_id
from verax.exams.titles import question
from verax.report.adversary_text import chosen_words, one_item_words, score_name, yardstick_words
from verax.report.facts import facts
from verax.report.page import Part
from verax.report.sections import ABOUT, cards, figures
from verax.report.tables import Rows, html_table
from verax.report.templating import fill, fold
from verax.studies import Adversaries
from verax.studies.adversaries import lambda_row
from verax.studies.adversary_scores import control_title

EXAM = "adversaries"
MEASURES = ("jsd", "tvd", "same", "accuracy", "f1")
_SHARES = MEASURES[2:]
_CAVEAT = (
    "An adversary is another model: it shows that this architecture can say the same by another "
    "attention, not that the base could."
)


def adversary_parts(
    adversaries: Adversaries, charts: Sequence[Chart] = (), note: str = ""
) -> list[Part]:
    """The parts of a page: the chosen adversary, the curve over λ, controls, and facts."""
    parts = [_first(adversaries), _curve(adversaries, charts, note)]
    controls = adversaries.controls().to_dict("records")
    if len(controls) > 1:
        inner = _controls(controls, _score(adversaries))
        parts.append(Part("controls", "Controls", inner, EXAM))
    base = adversaries.manifest.get("base", {})
    rest = {key: value for key, value in adversaries.manifest.items() if key != "base"}
    inner = facts(rest, "the adversaries")
    if base:
        inner += fold("The base", facts(base, "the base"))
    return [*parts, Part("about", ABOUT, inner)]


def curve_table(adversaries: Adversaries, measures: Sequence[str] = MEASURES) -> Rows:
    """A row for each λ and one for other seeds of the base: each measure with its interval."""
    rows: list[tuple[list[str], list[Number]]] = [
        ([f"λ {_lam(row)}"], [_number(measure, row) for measure in measures])
        for row in adversaries.points().to_dict("records")
    ]
    if adversaries.has_yardstick:
        seeds = _other_seeds(adversaries)
        numbers = [_number(m, seeds[m], ("mean", "low", "high")) for m in measures]
        rows.append((["other seeds of the base"], numbers))
    return rows


def curve_heads(adversaries: Adversaries) -> list[str]:
    """The heads of `curve_table`."""
    return ["", "JSD", "TVD", "same decisions", "accuracy", _score(adversaries)]


def _first(adversaries: Adversaries) -> Part:
    points = adversaries.points()
    chosen = points[points["chosen"]].to_dict("records")[0]
    over = f"Intervals are 95%, over {chosen['over']}."
    inner = fill(
        "studies",
        "first",
        question=question(EXAM),
        headline=_sentence(chosen_words(adversaries)),
        style="headline small",
        cards=cards(_cards(adversaries, chosen)),
        caveats=[_sentence(line) for line in (*yardstick_words(adversaries), over, _CAVEAT)],
    )
    return Part("verdict", "The chosen adversary", inner)


def _cards(adversaries: Adversaries, chosen: Mapping[Any, Any]) -> list[Judged]:
    seeds = _other_seeds(adversaries)
    base = adversaries.controls().to_dict("records")[0]
    labels = {
        "jsd": f"JSD of its attention (λ {chosen['lam']:g}) from the base's, in nats",
        "tvd": "TVD of its outputs from the base's",
        "same": "of its decisions are the base's",
        "accuracy": f"accuracy on {adversaries.split}",
        "f1": f"{_score(adversaries)} on {adversaries.split}",
    }
    rows = []
    for measure, label in labels.items():
        compared = []
        if measure in ("accuracy", "f1"):
            compared.append(f"the base {numeral(_number(measure, base, (measure,)))}")
        elif measure == "jsd":
            compared.append("at most 0.693")
        if adversaries.has_yardstick:
            other = numeral(_number(measure, seeds[measure], ("mean",)))
            compared.append(f"other seeds of the base {other}")
        number = _number(measure, chosen)
        id_ = measure_id(EXAM, lambda_row(chosen["lam"]), measure)
        rows.append(Judged(EXAM, id_, NOT_APPLICABLE, number, label, "; ".join(compared), ""))
    return rows


def _curve(adversaries: Adversaries, charts: Sequence[Chart], note: str) -> Part:
    heads = curve_heads(adversaries)
    points = adversaries.points().to_dict("records")
    rows = [(list(labels), list(cells)) for labels, cells in curve_table(adversaries)]
    if adversaries.has_yardstick:
        heads = [*heads, "JSD beyond other seeds"]
        beyond: dict[Any, Any] = adversaries.against_yardstick().set_index("lam").to_dict("index")
        for (_, cells), point in zip(rows, points, strict=False):
            cells.append(_number("jsd", beyond[point["lam"]], ("difference", "low", "high")))
        rows[-1][1].append("")
    validation = [
        ([f"λ {_lam(row)}"], [_number(m, row, (f"validation_{m}",)) for m in MEASURES])
        for row in points
    ]
    title = "On validation, which chooses λ"
    sharp = "Where the base attends sharply, and where it does not"
    inner = fill(
        "studies",
        "part",
        note=(
            f"On {adversaries.split}, attention (JSD) and outputs (TVD) from the base's, for every "
            "λ, the weight on attending elsewhere."
        ),
        figures=figures(charts),
        notes=[_sentence(line) for line in (note, one_item_words(adversaries)) if line],
        table=html_table(heads, rows, title=f"on {adversaries.split}, with 95% intervals"),
        folded=[
            (title, html_table(heads[:6], validation, title=title.lower())),
            (sharp, _by_weight(adversaries)),
        ],
    )
    return Part("curve", "The curve", inner, EXAM)


def _by_weight(adversaries: Adversaries) -> Markup:
    frame = adversaries.by_weight()
    bins = list(dict.fromkeys(zip(frame["from"], frame["below"], strict=True)))
    rows: dict[tuple[str, str], list[Number | str]] = {}
    for row in frame.to_dict("records"):
        model = "other seeds" if math.isnan(row["lam"]) else f"λ {row['lam']:g}"
        cell = _number("jsd", row, ("jsd", "low", "high")) if row["n"] else "–"
        rows.setdefault((model, f"decided {row['decision']}"), []).append(cell)
    heads = ["", "", *(f"{start:g} to {end:g}" for start, end in bins)]
    title = "JSD by the base's largest weight and decision"
    return html_table(heads, list(rows.items()), 2, title)


def _controls(controls: Sequence[Mapping[Any, Any]], score: str) -> Markup:
    measures = ("f1", "accuracy", "jsd", "tvd")
    rows = [
        ([control_title(row["name"])], [_number(measure, row) for measure in measures])
        for row in controls
        if not row["note"]
    ]
    note = "Uniform attention, and models that see each word by itself (mlp), beside the base."
    table = html_table(["", score, "accuracy", "JSD", "TVD"], rows)
    missing = [
        f"Left out: {control_title(row['name'])}; {row['note']}" for row in controls if row["note"]
    ]
    return fill("studies", "part", note=note, table=table) + fill(
        "studies", "unjudged", lines=missing
    )


def _other_seeds(adversaries: Adversaries) -> dict[Any, Any]:
    return adversaries.yardstick().set_index("measure").to_dict("index")


def _score(adversaries: Adversaries) -> str:
    return score_name(len(adversaries.manifest["classes"]))


def _number(measure: str, row: Mapping[Any, Any], keys: Sequence[str] = ()) -> Number:
    """A measure of a row with its interval, from these columns or its own; shares in percent."""
    names = keys or (measure, f"{measure}_low", f"{measure}_high")
    is_share = measure in _SHARES
    values = [100 * row[name] if is_share else row[name] for name in names]
    value, low, high = (*values, math.nan, math.nan)[:3]
    return Number(value, low, high, unit="percent" if is_share else "number")


def _lam(row: Mapping[Any, Any]) -> str:
    return f"{row['lam']:g}{', chosen' if row['chosen'] else ''}"


def _sentence(words: str) -> str:
    first = words[:1].upper() if words[:1].isascii() else words[:1]  # λ stays λ
    return f"{first}{words[1:]}{'' if words.endswith('.') else '.'}"
