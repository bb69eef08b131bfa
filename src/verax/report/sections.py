"""The parts of a page: the first screen, a part for each exam, the stand, what was examined."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from verax.report.headline import caveats, headline, short
from verax.report.markup import element, named, text
from verax.report.numerals import interval, numeral
from verax.report.page import Part
from verax.report.tables import FIRST, TITLES, excluded, html_table, shown, summary_table
from verax.report.witness import Witness
from verax.report.words import ASIDE, Statement, statements

CARDS = 6
ABOUT = "What was examined"
_WIDTH, _HEIGHT = (re.compile(rf'<svg[^>]* {side}="([\d.]+)"') for side in ("width", "height"))
QUESTIONS = {
    "erasure": "If what attention points at is taken away, does the decision change?",
    "agreement": "Does attention rank words as other measures of importance do?",
    "dispersion": "Does attention on few items mean the influence of few inputs?",
    "fragility": "Does the model notice if its attention is made uniform, or permuted?",
    "information": "How much of the word is left in its hidden state?",
    "leakage": "What would each token say on its own?",
    "adversary": "Is there another attention that says the same?",
    "adversaries": "Can a model be trained that says the same and attends elsewhere?",
}
_SIGNS = {
    "for": ("✓", "speaks for it"),
    "against": ("✗", "speaks against it"),
    "open": ("?", "leaves it open"),
    ASIDE: ("·", "beside the question"),
}


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


def first_screen(witnesses: Sequence[Witness], stand: bool = False) -> Part:
    """Whether attention can be trusted, compared to what, and the caveat."""
    said = statements(witnesses[0])
    inner = _numbers(said) if len(witnesses) == 1 else _several(witnesses)
    notes = "".join(element("li", text(note)) for note in caveats(witnesses[0]))
    inner += element("ul", notes, {"class": "caveat"})
    if stand:
        link = '<a href="#stand">Look at documents, and erase words yourself</a>'
        inner += element("p", link, {"class": "onward"})
    if len(witnesses) == 1:
        points = "".join(_point(one) for one in said if one.leaning != ASIDE)
        inner += element("ul", points, {"class": "said"})
    return Part("verdict", "The verdict", inner)


def exam_part(
    exam: str, witnesses: Sequence[Witness], charts: Sequence[Chart], note: str = ""
) -> Part:
    """The question, what was found in a sentence, figures, tables, and what was left out."""
    inner = element("p", text(QUESTIONS.get(exam, "")), {"class": "question"})
    said = [(w, s) for w in witnesses for s in statements(w) if s.exam == exam]
    if len(witnesses) == 1:
        inner += "".join(element("p", text(s.sentence)) for _, s in said)
    inner += figures([chart for chart in charts if chart.exam == exam])
    if note:
        inner += element("p", text(note), {"class": "note"})
    names = list(dict.fromkeys(name for w in witnesses for name in w.tables(exam)))
    first = FIRST.get(exam, names[0] if names else "")
    if first in names:
        inner += summary_table(first, witnesses)
    for name in names:
        if name != first:
            title = TITLES.get(name, name)
            inner += closed(title[:1].upper() + title[1:], summary_table(name, witnesses))
    inner += _left_out(exam, witnesses)
    return Part(f"exam-{exam}", exam.capitalize(), inner, exam)


def stand_part(found: str) -> Part:
    """Where documents take the stand: filled in the browser, from data in the page.

    found  JSON that is safe inside a script element (see `verax.report.stand`)
    """
    inner = element(
        "p",
        "Documents, the most surprising first. Click words to erase their state at the attention "
        "layer and see what the model would decide.",
        {"class": "question"},
    )
    root = '<div id="stand-root"><noscript><p>The stand needs JavaScript.</p></noscript></div>'
    held = f'<script type="application/json" id="stand-data">{found}</script>'
    return Part("stand", "The stand", inner + root + held)


def about_part(witnesses: Sequence[Witness]) -> Part:
    """What was examined and how, from the manifests."""
    inner = ""
    for witness in witnesses:
        told = facts(witness.manifest, f"what was examined: {witness.name}")
        inner += told if len(witnesses) == 1 else closed(witness.name, told)
    return Part("about", ABOUT, inner)


def facts(manifest: Mapping[str, Any], title: str) -> str:
    """A manifest as a table, a line a fact."""
    rows = [([key], [text(value)]) for key, value in _facts(manifest)]
    return html_table(["", "value"], rows, title=title)


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


def closed(title: str, inner: str) -> str:
    """What waits to be opened."""
    return element("details", element("summary", text(title)) + inner)


def cards(said: Sequence[Statement]) -> str:
    """The numbers of the first screen, large."""
    return element("ul", "".join(_card(one) for one in said[:CARDS]), {"class": "cards"})


def _numbers(said: Sequence[Statement]) -> str:
    return element("p", text(headline(said)), {"class": "headline"}) + cards(said)


def _several(witnesses: Sequence[Witness]) -> str:
    said = {w.name: {s.exam: s for s in statements(w)} for w in witnesses}
    exams = list(dict.fromkeys(exam for own in said.values() for exam in own))[:CARDS]
    labels = {
        exam: next(s.label for own in said.values() if (s := own.get(exam))) for exam in exams
    }
    rows = []
    for name, own in said.items():
        cells = [text(short(list(own.values())))]
        for exam in exams:
            found = own.get(exam)
            cells.append("" if found is None else _marked(found))
        rows.append(([name], cells))
    lines = ""
    if len(witnesses) <= CARDS:
        for name, own in said.items():
            told = f"<b>{named(name)}</b> {text(headline(list(own.values())))}"
            lines += element("p", told, {"class": "headline small"})
    heads = ["model", "exams", *(labels[exam] for exam in exams)]
    return lines + html_table(heads, rows, title="what exams say of each attention")


def _card(said: Statement) -> str:
    within = interval(said.number)
    inner = element("span", text(numeral(said.number)), {"class": "value"})
    inner += element("span", text(within), {"class": "interval"}) if within else ""
    inner += element("span", text(said.label), {"class": "label"})
    if said.compared:
        inner += element("span", text(said.compared), {"class": "compared"})
    return element("li", inner, {"class": f"card {said.leaning}", "data-exam": said.exam})


def _point(said: Statement) -> str:
    sign, words = _SIGNS[said.leaning]
    mark = element("span", f"{sign} {words}", {"class": f"mark {said.leaning}"})
    link = element("a", text(said.exam.capitalize()), {"href": f"#exam-{said.exam}"})
    return element("li", f"{mark} {link}: {text(said.sentence)}")


def _marked(said: Statement) -> str:
    if said.leaning == ASIDE:
        return shown(said.number)
    sign, words = _SIGNS[said.leaning]
    mark = element("span", sign, {"class": f"mark {said.leaning}", "title": words})
    return f"{mark} {shown(said.number)}"


def _left_out(exam: str, witnesses: Sequence[Witness]) -> str:
    lines = ""
    for witness in witnesses:
        found = excluded(exam, witness)
        who = f"{named(witness.name)}: " if len(witnesses) > 1 else ""
        for reason, number in found.items():
            lines += element("li", f"{who}{text(reason)}: {text(numeral(number))}")
    if not lines:
        return element("p", "Nothing was left out.", {"class": "note"})
    return closed("What was left out or stands apart, and why", element("ul", lines))


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest flat: one line a fact, without what is empty."""
    found = []
    for key, value in manifest.items():
        if key in ("tables", "format"):
            continue
        if isinstance(value, Mapping):
            for inner, own in value.items():
                if own not in (None, {}, []):
                    told = own if isinstance(own, str | int | float) else _json(own)
                    found.append((f"{key}: {inner}", str(told)))
        elif isinstance(value, list):
            found.append((key, ", ".join(str(one) for one in value)))
        elif value is not None:
            found.append((key, str(value)))
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
