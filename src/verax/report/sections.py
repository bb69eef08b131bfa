"""The parts of a page: the first screen, a part for each exam, the stand, what was examined."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from verax.report.facts import closed, facts
from verax.report.headline import caveats, headline, short
from verax.report.markup import element, named, text
from verax.report.numerals import interval, numeral
from verax.report.page import Part
from verax.report.tables import (
    FIRST,
    TITLES,
    counts_exclusions,
    excluded,
    html_table,
    shown,
    summary_table,
)
from verax.report.witness import Witness
from verax.report.words import ASIDE, Statement, statements

CARDS = 6
ABOUT = "What was examined"
_WIDTH, _HEIGHT = (re.compile(rf'<svg[^>]* {side}="([\d.]+)"') for side in ("width", "height"))
QUESTIONS = {
    "erasure": "If what attention points at is taken away, does the decision change?",
    "agreement": "Does attention rank words as other measures of importance do?",
    "dispersion": "Does attention on few items mean the influence of few inputs?",
    "replacement": "Does the model notice if its attention is made uniform, or permuted?",
    "information": "How much of the word is left in its hidden state?",
    "single_token": "What would each token say on its own?",
    "adversary": "How far can another attention be that keeps the decision's probability within ε?",
    "adversaries": "Can a model be trained that says the same and attends elsewhere?",
}
_SIGNS = {
    "for": ("✓", "speaks for it"),
    "against": ("✗", "speaks against it"),
    "open": ("?", "leaves it open"),
    ASIDE: ("·", "beside the question"),
}
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


def first_screen(witnesses: Sequence[Witness], stand: bool = False) -> Part:
    """Whether attention can be trusted, compared to what, and the caveat."""
    said = statements(witnesses[0])
    inner = _numbers(said) if len(witnesses) == 1 else _several(witnesses)
    notes = "".join(element("li", note) for note in _caveats(witnesses))
    inner += element("ul", notes, {"class": "caveat"})
    if stand:
        items = f"{witnesses[0].item}s"
        link = f'<a href="#stand">Look at documents, and erase {items} yourself</a>'
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
    inner += _judged(said)
    if note:
        inner += element("p", text(note), {"class": "note"})
    inner += figures([chart for chart in charts if chart.exam == exam])
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
        "Documents, the most surprising first. Click words, or sentences where attention is on "
        "these, to erase their state at the attention layer and see what the model would decide.",
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
    else:
        lines = element("p", _counted(said), {"class": "headline small"})
    heads = ["model", "exams", *(labels[exam] for exam in exams)]
    return lines + html_table(heads, rows, title="what exams say of each attention")


def _counted(said: Mapping[str, Mapping[str, Statement]]) -> str:
    """What many models come to, in a sentence; those with nothing against them by name."""
    kinds: dict[str, list[str]] = {words: [] for words in _COUNTED.values()}
    for name, own in said.items():
        leanings = {one.leaning for one in own.values()}
        kinds[_COUNTED["for" in leanings, "against" in leanings]].append(name)
    parts = []
    for words, names in kinds.items():
        if names:
            told = f"<b>{len(names)}</b> {text(words)}"
            if words == _COUNTED[True, False] and len(names) <= CARDS:
                told += f" ({'; '.join(named(name) for name in names)})"
            parts.append(told)
    return f"Of {len(said)} models {', '.join(parts)}."


def _caveats(witnesses: Sequence[Witness]) -> list[str]:
    """What numbers do not say, as markup: once, and by name where it is not of all."""
    said: dict[str, list[str]] = {}
    for witness in witnesses:
        for line in caveats(witness):
            said.setdefault(line, []).append(witness.name)
    found = []
    for line, names in said.items():
        who = ""
        if len(names) < len(witnesses):
            several = f"{len(names)} of {len(witnesses)} models"
            who = ", ".join(map(named, names)) if len(names) <= CARDS else several
            who += ": "
        found.append(who + text(line))
    return found


def _card(said: Statement) -> str:
    within = interval(said.number)
    inner = _leaning(said) if said.leaning != ASIDE else ""
    inner += element("span", text(numeral(said.number)), {"class": "value"})
    inner += element("span", text(within), {"class": "interval"}) if within else ""
    inner += element("span", text(said.label), {"class": "label"})
    for told in (said.of, said.compared):
        inner += element("span", text(told), {"class": "compared"}) if told else ""
    if said.limits:
        inner += element("span", text(f"Speaks {said.limits}."), {"class": "limits"})
    return element("li", inner, {"class": f"card {said.leaning}", "data-exam": said.exam})


def _leaning(said: Statement) -> str:
    sign, words = _SIGNS[said.leaning]
    return element("span", f"{sign} {words}", {"class": f"mark {said.leaning}"})


def _judged(said: Sequence[tuple[Witness, Statement]]) -> str:
    """The limits by which an exam speaks, and for which models where not all have them."""
    limits: dict[str, list[str]] = {}
    for witness, one in said:
        if one.limits:
            limits.setdefault(one.limits, []).append(witness.name)
    told = ""
    for how, names in limits.items():
        whose = ", ".join(named(name) for name in names) + ": " if len(limits) > 1 else ""
        told += element("p", f"{whose}It speaks {text(how)}.", {"class": "note"})
    return told


def _point(said: Statement) -> str:
    link = element("a", text(said.exam.capitalize()), {"href": f"#exam-{said.exam}"})
    return element("li", f"{_leaning(said)} {link}: {text(said.sentence)}")


def _marked(said: Statement) -> str:
    """A number with its sign, its interval, and what to hold it against."""
    below = ""
    if any(map(str.isdigit, said.compared)):  # else it is no number, and of all models alike
        below = element("span", text(said.compared), {"class": "compared"})
    if said.leaning == ASIDE:
        return shown(said.number) + below
    sign, words = _SIGNS[said.leaning]
    told = {"title": words, "role": "img", "aria-label": words}
    mark = element("span", sign, {"class": f"mark {said.leaning}", **told})
    return f"{mark} {shown(said.number)}{below}"


def _left_out(exam: str, witnesses: Sequence[Witness]) -> str:
    lines = ""
    for witness in witnesses:
        found = excluded(exam, witness)
        who = f"{named(witness.name)}: " if len(witnesses) > 1 else ""
        for reason, number in found.items():
            lines += element("li", f"{who}{text(reason)}: {text(numeral(number))}")
    if not lines:  # an exam that counts nothing does not know that there was nothing
        nothing = any(counts_exclusions(exam, witness) for witness in witnesses)
        return element("p", "Nothing was left out.", {"class": "note"}) if nothing else ""
    return closed("What was left out or stands apart, and why", element("ul", lines))
