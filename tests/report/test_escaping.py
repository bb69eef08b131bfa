"""Whatever stands in a text, a class or a name is text: a case for each place it can enter by."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from made_up_studies import (
    MadeUpStudy,
    made_up_adversaries,
    made_up_comparison,
    made_up_sweep,
)
from test_report_page import HOSTILE, Drawn, Elements, judged

from support.internals import PagePart as Part
from support.internals import facts, figures, fill, fold, html_table, page
from support.internals import page_text as text
from verax.exams.authoring import Number
from verax.report import heat, report_page
from verax.studies import Adversaries, Comparison, Sweep

IN_TABLES = HOSTILE.replace("\ud800", "")
"""A table holds no half of a character."""


def compared(**columns: Any) -> Comparison:
    whole = made_up_comparison()
    assert whole.curves is not None
    return replace(whole, curves=whole.curves.assign(**columns))


def study() -> MadeUpStudy:
    made = MadeUpStudy([IN_TABLES, "softmax"])
    made.name = made.question = HOSTILE
    return made


def base_of(name: str) -> Adversaries:
    whole = made_up_adversaries()
    return replace(whole, manifest={**whole.manifest, "base": {"name": name, name: name}})


def explained(word: str = "w", label: str = "l", by: str = "attention") -> str:
    frame = pd.DataFrame({"text": 0, "label": label, "word": [word, "b"], by: [0.5, -1.0]})
    return heat(frame)._repr_html_()


PLACES: dict[str, Callable[[], str]] = {
    "title": lambda: report_page(judged(), HOSTILE),
    "model's name": lambda: report_page({HOSTILE: judged(), "b": judged()}),
    "names of many models": lambda: report_page({f"{k}{HOSTILE}": judged() for k in range(8)}),
    "corpus": lambda: report_page(judged(corpus={"corpus": HOSTILE})),
    "split": lambda: report_page(judged(documents=5, split=HOSTILE)),
    "option's name": lambda: report_page(judged(model={HOSTILE: "a"})),
    "option's value": lambda: report_page(judged(model={"a": {"b": [HOSTILE, {"c": HOSTILE}]}})),
    "class": lambda: report_page(judged(classes=[HOSTILE, "b"], labels={HOSTILE: 3})),
    "study": lambda: report_page(study()),
    "sweep": lambda: report_page(Sweep(made_up_sweep().instances, {"split": HOSTILE})),
    "base of adversaries": lambda: report_page(base_of(HOSTILE)),
    "words of a text": lambda: report_page(compared(text=IN_TABLES)),
    "class of a text": lambda: report_page(compared(**{"class": IN_TABLES})),
    "model of a text": lambda: report_page(compared(model=IN_TABLES)),
    "part": lambda: page("t", HOSTILE, [Part("p", HOSTILE, fold(HOSTILE, text(HOSTILE)), HOSTILE)]),
    "table": lambda: html_table([HOSTILE] * 3, [([HOSTILE, HOSTILE], [HOSTILE])], 2, HOSTILE),
    "unit of a number": lambda: html_table(["", ""], [(["a"], [Number(1.0, unit=HOSTILE)])]),
    "chart": lambda: figures([Drawn(HOSTILE, HOSTILE, HOSTILE, HOSTILE)]),
    "manifest": lambda: facts({HOSTILE: {HOSTILE: HOSTILE}}, HOSTILE),
    "notebook, study": lambda: study()._repr_html_(),
    "notebook, comparison": lambda: made_up_comparison()._repr_html_(),
    "notebook, word": lambda: explained(word=IN_TABLES),
    "notebook, decision": lambda: explained(label=IN_TABLES),
    "notebook, importance": lambda: explained(by=IN_TABLES),
}


@pytest.mark.parametrize("place", PLACES)
def test_text_is_text(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)  # pages without charts
    html = PLACES[place]()
    seen = Elements(html)
    assert "hacked=1</script>" not in html
    assert not seen.of("img")
    assert not any(name.startswith("on") for _, given in seen.found for name in given)
    assert len(seen.of("script")) == html.count("<script>") + html.count('<script type="app')
    assert "\x00" not in html
    assert "\ud800" not in html


def test_a_name_that_a_template_misses_is_an_error_and_no_empty_text() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        fill("elements", "fold", title="a")


@pytest.mark.slow
def test_the_same_results_make_the_same_bytes() -> None:
    assert report_page(made_up_comparison()) == report_page(made_up_comparison())
