"""Tables: every number and interval once, models side by side, exclusions counted."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

from made_up_summaries import cell, model_of, optimal, survives, verdict
from support.internals import fold, html_table
from support.internals import page_text as text
from verax.exams.authoring import Number
from verax.exams.judgement.phrasing import interval, numeral
from verax.report import heat
from verax.report.notebook import verdict_html
from verax.report.sections import exam_part
from verax.report.tables import excluded, exclusion_words, summary_table


class Grid(HTMLParser):
    """The text of every cell, row by row; cells that span rows are in each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._spans: dict[int, tuple[int, str]] = {}
        self._inside = False
        self._span = 1
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
            left, above = self._spans.get(0, (0, ""))
            if left:
                self.rows[-1].append(above)
                self._spans[0] = (left - 1, above)
        if tag in ("td", "th"):
            self._inside = True
            self._span = int(dict(attributes).get("rowspan") or 1)
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._inside = False
            if self._span > 1:
                self._spans[0] = (self._span - 1, self.rows[-1][-1])

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data


@pytest.mark.parametrize(
    ("number", "value", "ends"),
    [
        (Number(30.612, 23.71, 38.5, 147, "percent"), "30.6%", "23.7% to 38.5%"),
        (Number(0.4837, 0.45, 0.512), "0.484", "0.450 to 0.512"),
        (Number(0.00381, 0.0026, 0.005), "0.0038", "0.0026 to 0.0050"),
        (Number(0.03, 0.026, 0.034), "0.030", "0.026 to 0.034"),
        (Number(0.00001, -0.02, 0.02), "0.000", "−0.020 to 0.020"),
        (Number(0.00001), "0.000010", ""),
        (Number(3.2e-7, 1e-7, 5e-7), "3.2e−07", "1.0e−07 to 5.0e−07"),
        (Number(1.5e-17, -1e-17, 2e-17), "0.000", "0.000 to 0.000"),
        (Number(14.53, 13.0, 17.2), "14.5", "13.0 to 17.2"),
        (Number(-3.99, unit="points"), "−4.0", ""),
        (Number(12345.0, unit="count"), "12,345", ""),
        (Number(float("nan")), "–", ""),
    ],
)
def test_numbers_are_shown_in_their_unit(number: Number, value: str, ends: str) -> None:
    assert (numeral(number), interval(number)) == (value, ends)


def test_models_stand_below_each_other_in_every_row() -> None:
    one = model_of(optimal(30.6, 23.7, 38.5), name="one")
    other = model_of(optimal(8.2, 4.7, 13.7), name="other")
    assert Grid(summary_table("erasure.excess", [one, other])).rows == [
        ["", "model", "optimal"],
        ["attention", "one", "30.6% 23.7% to 38.5%"],
        ["attention", "other", "8.2% 4.7% to 13.7%"],
    ]


def test_one_model_needs_no_column_for_its_name() -> None:
    table = summary_table("erasure.excess", [model_of(optimal(30.6, 23.7, 38.5))])
    assert Grid(table).rows[0] == ["", "optimal"]


def test_names_are_text() -> None:
    cells = ["<i>1</i>", Number(2.0), fold("<u>", text("<s>"))]
    table = html_table(["a<b", "", "", ""], [(["<img src=x>"], cells)], title="<svg>")
    for name in ("<img", "<i>", "<u>", "<s>", "<svg>"):
        assert name not in table
    assert "a&lt;b" in table
    assert "&lt;i&gt;1" in table
    assert "<summary>&lt;u&gt;</summary>" in table  # what a template made is markup already


def test_a_column_that_counts_nothing_left_out_is_not_shown() -> None:
    place = ("agreement", "agreement", "items:attention:gradient")
    none = cell(*place, "out_one_position", 0.0, unit="count")
    some = cell(*place, "out_first_constant", 2.0, unit="count")
    judged = model_of(cell(*place, "tau", 0.5), none, some)
    assert Grid(summary_table("agreement", [judged])).rows[0] == ["", "τ-b", "out: first constant"]
    counted = excluded("agreement", judged)
    assert {id: number.value for id, number in counted.items()} == {
        "agreement.items:attention:gradient.out_first_constant": 2.0
    }
    assert [exclusion_words(id) for id in counted] == [
        "items: attention : gradient: out: first constant"
    ]


def test_two_tables_with_the_same_rows_are_counted_apart() -> None:
    cells = [
        cell("agreement", table, "items:attention:gradient", "out_first_constant", n, unit="count")
        for table, n in (("agreement", 2.0), ("agreement.on_support", 5.0))
    ]
    page = exam_part("agreement", [model_of(*cells)], []).inner
    assert "<li>items: attention : gradient: out: first constant: 2</li>" in page
    assert "<li>the same among the items that attention gives weight; items: " in page
    assert "first constant: 5</li>" in page


def test_documents_set_aside_are_counted_by_reason() -> None:
    counts = {"documents": 10, "examined": 7, "one_item": 3, "tied": 0}
    cells = [
        cell("erasure", "erasure.documents", row, "value", float(n), unit="count")
        for row, n in counts.items()
    ]
    counted = excluded("erasure", model_of(*cells))
    assert {id: number.value for id, number in counted.items()} == {"erasure.documents.one_item": 3}
    assert exclusion_words("erasure.documents.one_item") == "set aside: one item"


def test_nothing_left_out_is_said_only_by_exams_that_count() -> None:
    counted = cell("replacement", "replacement.documents", "documents", "value", 10.0, unit="count")
    assert "Nothing was left out." in exam_part("replacement", [model_of(counted)], []).inner
    uncounted = cell("single_token", "single_token", "all", "mean_probability", 0.7)
    assert "left out" not in exam_part("single_token", [model_of(uncounted)], []).inner
    words = {"words": 1000.0, "occurrences": 4353.0}
    cells = [
        cell("information", "information", "frequent", column, n, unit="count")
        for column, n in words.items()
    ]
    page = exam_part("information", [model_of(*cells)], []).inner
    assert "frequent words, words looked at; all others are left out: 1,000" in page
    assert "frequent words, occurrences looked at; all others are left out: 4,353" in page


def test_a_notebook_shows_the_headline_and_every_statement() -> None:
    shown = verdict_html(verdict(optimal(10.0, 5.0, 15.0), survives(99.0, 98.0, 100.0)))
    assert "Do not take this attention" in shown
    rows = Grid(shown).rows
    assert [row[0] for row in rows[1:]] == ["Erasure", "Replacement"]
    assert [row[-1] for row in rows[1:]] == ["against", "against"]
    assert "<script" not in shown


def test_heat_is_as_strong_as_the_score_and_shows_text() -> None:
    words = ["<b>", "good", "bad", "so"]
    explained = pd.DataFrame(
        {"text": 0, "label": "yes", "word": words, "attention": [0.5, 1.0, -1.0, 0.0]}
    )
    shown = heat(explained)._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b><bdi>yes" in shown
    look = "color:#000;border-radius:3px;padding:0 2px;unicode-bidi:isolate"
    assert f'rgb(31,131,198);{look}" title="1"' in shown
    assert f'rgb(224,106,16);{look}" title="-1"' in shown
    assert "rgb(143,193,226)" in shown  # half of it, of (31, 131, 198) on white
    assert ">for the decision<" in shown
    assert ">against it<" in shown
    unsigned = heat(explained.assign(attention=[0.5, 1.0, 0.2, 0.0]))._repr_html_()
    assert ">more (no sign)<" in unsigned
    assert "the decision" not in unsigned


def test_heat_of_a_chosen_class_names_it() -> None:
    explained = pd.DataFrame(
        {
            "text": 0,
            "label": "negative",
            "probability": 0.501,
            "target": "<i>",
            "target_probability": 0.499,
            "word": ["good", "bad"],
            "leave-one-out": [0.2, 0.1],
        }
    )
    shown = heat(explained)
    assert repr(shown) == "Heat(leave-one-out: 1 text)"
    page = shown._repr_html_()
    assert "<bdi>negative (50.1%); explained: &lt;i&gt; (49.9%)</bdi>" in page
    assert ">for &lt;i&gt;<" in page
    assert ">against &lt;i&gt;<" in page  # signed, though no score is below 0 here
    assert "the decision" not in page
    both = pd.concat([explained, explained.assign(text=1, target="no")])
    assert ">for the class explained<" in heat(both)._repr_html_()


@pytest.mark.slow
def test_in_a_browser_heat_of_a_long_word_wraps(open_page: Callable[..., Any]) -> None:
    words = ["x" * 50_000, "a\u202eb"]
    explained = pd.DataFrame({"text": 0, "word": words, "attention": [0.5, 1.0]})
    shown = heat(explained)._repr_html_()
    assert "\u202e" not in shown
    view = open_page(shown, viewport={"width": 700, "height": 400})
    assert view.evaluate("document.documentElement.scrollWidth") <= 700
