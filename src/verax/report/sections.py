"""The parts of a page: the first screen, a part for each exam, the stand, what was examined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from verax.exams.judgement.judgement import Judgement
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import interval, numeral
from verax.exams.judgement.row import AGAINST, FOR, NOT_APPLICABLE, OPEN, Judged
from verax.exams.registry import EXAMS, tables_of
from verax.exams.titles import exam_title, question, table_title
from verax.report.facts import closed, facts
from verax.report.markup import element, named, text
from verax.report.page import Part
from verax.report.tables import (
    counts_exclusions,
    excluded,
    exclusion_words,
    html_table,
    shown,
    summary_table,
)

CARDS = 6
DECISIONS = "decisions"
"""Stands for an exam where accuracy is shown beside what exams say."""
ABOUT = "What was examined"
_WIDTH, _HEIGHT = (re.compile(rf'<svg[^>]* {side}="([\d.]+)"') for side in ("width", "height"))
_SIGNS = {
    FOR: ("✓", "speaks for it"),
    AGAINST: ("✗", "speaks against it"),
    OPEN: ("?", "leaves it open"),
    NOT_APPLICABLE: ("·", "not judged"),
}
_CLASSES = {FOR: "for", AGAINST: "against", OPEN: "open", NOT_APPLICABLE: "aside"}
"""Verdict → class of style."""
_COUNTED = {
    (True, False): "have exams for them and none against",
    (True, True): "have exams for and against them",
    (False, True): "have exams against them and none for",
    (False, False): "are left open",
}
"""Whether an exam speaks for a model's attention, and whether one against it → in words."""


class Chart(Protocol):
    """What a page needs of a chart (see `verax.report.charts`)."""

    @property
    def name(self) -> str: ...

    @property
    def exam(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def reading(self) -> str: ...

    def svg(self) -> str: ...


def first_screen(models: Sequence[ModelSummary], stand: bool = False) -> Part:
    """Whether attention can be trusted, compared to what, and the caveat."""
    judgement = models[0].judgement
    inner = _numbers(judgement) if len(models) == 1 else _several(models)
    notes = "".join(element("li", note) for note in _caveats(models))
    inner += element("ul", notes, {"class": "caveat"})
    if stand:
        items = f"{models[0].item}s"
        link = f'<a href="#stand">Look at documents, and erase {items} yourself</a>'
        inner += element("p", link, {"class": "onward"})
    if len(models) == 1:
        points = "".join(_point(row) for row in judgement.judged)
        inner += element("ul", points, {"class": "said"})
    return Part("verdict", "The verdict", inner)


def exam_part(
    exam: str, models: Sequence[ModelSummary], charts: Sequence[Chart], note: str = ""
) -> Part:
    """The question, the judgement in a sentence, figures, tables, and what was left out."""
    inner = element("p", text(question(exam)), {"class": "question"})
    rows = [(m, row) for m in models for row in m.judgement.rows if row.exam == exam]
    if len(models) == 1:
        inner += "".join(element("p", text(row.sentence)) for _, row in rows)
    inner += _judged(rows)
    if note:
        inner += element("p", text(note), {"class": "note"})
    inner += figures([chart for chart in charts if chart.exam == exam])
    names = list(dict.fromkeys(name for model in models for name in model.tables(exam)))
    first = next((table.id for table in tables_of(exam) if table.id in names), "")
    if not first and names:
        first = names[0]
    if first:
        inner += summary_table(first, models)
    for name in names:
        if name != first:
            title = table_title(name)
            inner += closed(title[:1].upper() + title[1:], summary_table(name, models))
    inner += _left_out(exam, models)
    if exam in EXAMS and EXAMS[exam].explanation:
        inner += closed("How it is measured", element("p", text(EXAMS[exam].explanation)))
    return Part(f"exam-{exam}", exam_title(exam), inner, exam)


def stand_part(found: str) -> Part:
    """Where documents take the stand: filled in the browser, from data in the page.

    found  JSON that is safe inside a script element (see `verax.report.stand`)
    """
    inner = element(
        "p",
        "Documents, the most surprising first. Click words, or sentences where attention is on "
        "these, to erase their state at the attention layer and see what the model would decide.",
        {"class": "question"},
    )
    root = '<div id="stand-root"><noscript><p>The stand needs JavaScript.</p></noscript></div>'
    held = f'<script type="application/json" id="stand-data">{found}</script>'
    return Part("stand", "The stand", inner + root + held)


def about_part(models: Sequence[ModelSummary]) -> Part:
    """What was examined and how, from the manifests."""
    inner = ""
    for model in models:
        told = facts(model.manifest, f"what was examined: {model.name}")
        inner += told if len(models) == 1 else closed(model.name, told)
    return Part("about", ABOUT, inner)


def figure(chart: Chart) -> str:
    """A chart as it stands in the page, with how to read it and buttons to save it."""
    label = {"class": "drawing", "tabindex": "0", "role": "region", "aria-label": chart.title}
    svg = chart.svg()
    if wide := _WIDTH.search(svg):
        label["style"] = f"--drawn: {float(wide[1]):g}px"
    drawn = element("div", svg, label)
    buttons = "".join(
        element("button", kind.upper(), {"type": "button", "data-save": kind, "hidden": True})
        for kind in ("svg", "png")
    )
    told = f"<b>{text(chart.title)}.</b> {text(chart.reading)}"
    caption = element("figcaption", told + element("span", buttons, {"class": "save"}))
    return element("figure", drawn + caption, {"data-exam": chart.exam, "data-chart": chart.name})


def figures(charts: Sequence[Chart]) -> str:
    """Charts as they stand together; nothing where there are none."""
    drawn = [figure(chart) for chart in charts]
    if not drawn:
        return ""
    heights = [float(found[1]) for one in drawn if (found := _HEIGHT.search(one))]
    # two columns of an odd number alike leave a hole: the last takes the width of both
    last = len(drawn) % 2 == 1 and max(heights, default=1) < 1.4 * min(heights, default=1)
    return element("div", "".join(drawn), {"class": "figures alike" if last else "figures"})


def cards(rows: Sequence[Judged]) -> str:
    """The numbers of the first screen, large."""
    return element("ul", "".join(_card(row) for row in rows[:CARDS]), {"class": "cards"})


def _numbers(judgement: Judgement) -> str:
    return element("p", text(judgement.headline), {"class": "headline"}) + cards(_shown(judgement))


def _shown(judgement: Judgement) -> list[Judged]:
    """Rows in the order of the first screen: what is judged, accuracy, and what is not judged."""
    rows = [*judgement.judged]
    if judgement.accuracy is not None:
        rows.append(_accuracy(judgement.accuracy))
    return rows + [row for row in judgement.rows if not row.counts]


def _accuracy(number: Number) -> Judged:
    """How well the model decides, beside what exams say."""
    return Judged(
        DECISIONS,
        f"{DECISIONS}.accuracy",
        NOT_APPLICABLE,
        number,
        "accuracy of the decisions",
        "says how well it decides, not why",
        "",
    )


def _several(models: Sequence[ModelSummary]) -> str:
    judged = {m.name: {row.exam: row for row in _shown(m.judgement)} for m in models}
    exams = list(dict.fromkeys(exam for own in judged.values() for exam in own))[:CARDS]
    labels = {
        exam: next(row.label for own in judged.values() if (row := own.get(exam))) for exam in exams
    }
    rows = []
    for model in models:
        cells = [text(model.judgement.short)]
        for exam in exams:
            row = judged[model.name].get(exam)
            cells.append("" if row is None else _marked(row))
        rows.append(([model.name], cells))
    lines = ""
    if len(models) <= CARDS:
        for model in models:
            line = f"<b>{named(model.name)}</b> {text(model.judgement.headline)}"
            lines += element("p", line, {"class": "headline small"})
    else:
        lines = element("p", _counted(models), {"class": "headline small"})
    heads = ["model", "exams", *(f"{exam_title(exam)}: {labels[exam]}" for exam in exams)]
    return lines + html_table(heads, rows, title="what exams say of each attention")


def _counted(models: Sequence[ModelSummary]) -> str:
    """What many models come to, in a sentence; those with nothing against them by name."""
    kinds: dict[str, list[str]] = {words: [] for words in _COUNTED.values()}
    for model in models:
        says = model.judgement.speaks
        kinds[_COUNTED[bool(says(FOR)), bool(says(AGAINST))]].append(model.name)
    parts = []
    for words, names in kinds.items():
        if names:
            part = f"<b>{len(names)}</b> {text(words)}"
            if words == _COUNTED[True, False] and len(names) <= CARDS:
                part += f" ({'; '.join(named(name) for name in names)})"
            parts.append(part)
    unlearned = sum(bool(model.judgement.unlearned) for model in models)
    rest = f" <b>{unlearned}</b> may have learnt nothing." if unlearned else ""
    return f"Of {len(models)} models {', '.join(parts)}.{rest}"


def _caveats(models: Sequence[ModelSummary]) -> list[str]:
    """What numbers do not say, as markup: once, and by name where it is not of all."""
    whose: dict[str, list[str]] = {}
    for model in models:
        for line in model.judgement.caveats:
            whose.setdefault(line, []).append(model.name)
    lines = []
    for line, names in whose.items():
        who = ""
        if len(names) < len(models):
            several = f"{len(names)} of {len(models)} models"
            who = ", ".join(map(named, names)) if len(names) <= CARDS else several
            who += ": "
        lines.append(who + text(line))
    limits = list(dict.fromkeys(model.judgement.limits.version for model in models))
    provenance = models[0].judgement.limits.provenance
    lines.append(text(f"Limits {', '.join(limits)}: {provenance}"))
    return lines


def _card(row: Judged) -> str:
    within = interval(row.number)
    inner = element("span", text(exam_title(row.exam)), {"class": "exam"})
    inner += _sign(row) if row.counts else ""
    inner += element("span", text(numeral(row.number)), {"class": "value"})
    inner += element("span", text(within), {"class": "interval"}) if within else ""
    inner += element("span", text(row.label), {"class": "label"})
    for line in (row.of, row.compared):
        inner += element("span", text(line), {"class": "compared"}) if line else ""
    if row.limits:
        inner += element("span", text(f"Speaks {row.limits}."), {"class": "limits"})
    style = {"class": f"card {_CLASSES[row.verdict]}", "data-exam": row.exam}
    return element("li", inner, style)


def _sign(row: Judged) -> str:
    sign, words = _SIGNS[row.verdict]
    return element("span", f"{sign} {words}", {"class": f"mark {_CLASSES[row.verdict]}"})


def _judged(rows: Sequence[tuple[ModelSummary, Judged]]) -> str:
    """The limits by which an exam speaks, and for which models where not all have them."""
    limits: dict[str, list[str]] = {}
    for model, row in rows:
        if row.limits:
            limits.setdefault(row.limits, []).append(model.name)
    lines = ""
    for how, names in limits.items():
        whose = ", ".join(named(name) for name in names) + ": " if len(limits) > 1 else ""
        lines += element("p", f"{whose}It speaks {text(how)}.", {"class": "note"})
    return lines


def _point(row: Judged) -> str:
    link = element("a", text(exam_title(row.exam)), {"href": f"#exam-{row.exam}"})
    return element("li", f"{_sign(row)} {link}: {text(row.sentence)}")


def _marked(row: Judged) -> str:
    """A number with its sign, its interval, and what to hold it against."""
    below = ""
    if row.compared and row.exam != DECISIONS:  # the same in every row
        below = element("span", text(row.compared), {"class": "compared"})
    if not row.counts:
        return shown(row.number) + below
    sign, words = _SIGNS[row.verdict]
    about = {"title": words, "role": "img", "aria-label": words}
    mark = element("span", sign, {"class": f"mark {_CLASSES[row.verdict]}", **about})
    return f"{mark} {shown(row.number)}{below}"


def _left_out(exam: str, models: Sequence[ModelSummary]) -> str:
    lines = ""
    for model in models:
        who = f"{named(model.name)}: " if len(models) > 1 else ""
        for measure, number in excluded(exam, model).items():
            reason = exclusion_words(measure, model.classes)
            lines += element("li", f"{who}{text(reason)}: {text(numeral(number))}")
    if not lines:  # an exam that counts nothing does not know that there was nothing
        nothing = any(counts_exclusions(exam, model) for model in models)
        return element("p", "Nothing was left out.", {"class": "note"}) if nothing else ""
    return closed("What was left out or stands apart, and why", element("ul", lines))
