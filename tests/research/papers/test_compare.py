"""What claims and tables are made of: points, their numbers, comparisons and rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from made_up_results import crossed, made_up_results

from research.papers import Finding, PaperResults
from research.papers.axes import (
    Corpora,
    Point,
    Value,
    at,
    distance,
    fact,
    first,
    mean,
    minus,
    options,
    rows_of,
    times,
)
from research.papers.claims import Claims, compare, each, finding, part
from research.papers.exhibits import Exhibits, Measure, Rows, rows
from research.papers.verdicts import CANNOT, REPLICATES

NUMBERS = {("sst", "dot"): 0.2, ("sst", "additive"): 0.6, ("imdb", "dot"): 0.4}
NUMBERS["imdb", "additive"] = 0.4
ATTENTIONS = DOT, ADDITIVE = options("attention", "dot", "additive")
corpora = Corpora({"imdb": "IMDb", "sst": "SST", "yelp": "Yelp"}, ordered=True)
TAU = "agreement/pair/tau"
LOW, HIGH = (at(TAU, attention=attention) for attention in ATTENTIONS)


@pytest.fixture(scope="module")
def results() -> PaperResults:
    def numbers(own: Any) -> dict[tuple[str, str, str], float]:
        value = NUMBERS[own["corpus"], own["attention"]]
        return {("agreement", "pair", "tau"): value, ("agreement", "other", "tau"): 2 * value}

    cells = crossed(part=["main-a"], corpus=["sst", "imdb"], attention=["dot", "additive"])
    return made_up_results(cells, numbers, seeds=(1, 2, 3), spread=0.0)


@pytest.fixture
def points(results: PaperResults) -> list[Point]:
    return Point(results).over(corpus=corpora, attention=ATTENTIONS)


def test_points_are_all_combinations_the_first_axis_outermost(points: list[Point]) -> None:
    assert [point.text("{corpus} {attention}") for point in points] == [
        *("imdb dot", "imdb additive", "sst dot", "sst additive")
    ]
    assert points[0].corpus.published == "IMDb"
    assert points[0].where == {"corpus": "imdb", "attention": "dot"}
    with pytest.raises(AttributeError, match="encoder"):
        _ = points[0].encoder
    with pytest.raises(AttributeError, match="lam"):
        _ = points[0].corpus.lam


def test_corpora_come_as_the_paper_has_them_or_as_they_were_run(results: PaperResults) -> None:
    start = Point(results)
    assert [value.name for value in corpora.printed(start)] == ["imdb", "sst", "yelp"]
    assert [value.name for value in corpora.as_run(start)] == ["sst", "imdb"]
    as_run = Corpora(corpora.published)
    assert [value.name for value in as_run.printed(start)] == ["sst", "imdb", "yelp"]


def test_a_part_may_be_a_pattern(results: PaperResults) -> None:
    assert Point(results, fixed={"part": "main-*"}).where["part"] == ("main-a",)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (TAU, 0.4),
        ("agreement/none/tau", None),
        (times(3, TAU), 1.2),
        (minus("agreement/other/tau", TAU), 0.4),
        (mean(TAU, "agreement/other/tau"), 0.6),
        (mean(TAU, "agreement/none/tau"), None),
        (distance(TAU, 1.0), 0.6),
        (at(TAU, corpus=Value("sst", {"corpus": "sst"})), 0.2),
        (first(TAU, attention=ATTENTIONS[1:]), 0.4),
        (fact("never"), None),
    ],
)
def test_numbers_of_a_point(source: Any, value: float | None, points: list[Point]) -> None:
    found = points[0].number(source)
    assert (found and found.value) == (value and pytest.approx(value))


def tally(**how: Any) -> tuple[int, int, int, int]:
    points, a = how.pop("points"), how.pop("a", TAU)
    one = part("", compare(points, a, label="{corpus}", **how))
    return one.favourable, one.clearly, one.contrary, one.of


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"below": 0.5}, (3, 3, 1, 4)),
        ({"above": 0.3}, (3, 3, 1, 4)),
        ({"a": HIGH, "b": LOW}, (2, 2, 0, 4)),
        ({"a": HIGH, "b": LOW, "by": 0.5}, (0, 0, 4, 4)),
        ({"a": HIGH, "b": LOW, "by": -0.1}, (4, 4, 0, 4)),
        ({"a": LOW, "b": HIGH, "alike": 0.1}, (2, 2, 2, 4)),
        # small numbers are neither for the claim nor clear
        ({"a": LOW, "b": HIGH, "alike": 0.1, "given": 0.5}, (0, 0, 2, 4)),
        ({"a": "agreement/none/tau", "below": 0.5}, (0, 0, 0, 0)),
    ],
)
def test_comparisons(
    how: dict[str, Any], expected: tuple[int, int, int, int], points: list[Point]
) -> None:
    assert tally(points=points, **how) == expected


def test_what_is_compared_is_told(points: list[Point]) -> None:
    def sense(**how: Any) -> str:
        return compare(points, TAU, label="", **how).sense

    assert sense(below=0.5) == "below 0.5"
    assert sense(above=2 / 3) == "above 0.666667"
    assert sense(b=TAU) == ""
    assert sense(b=TAU, by=0.1) == "more than 0.1 above"
    assert sense(b=TAU, by=-3) == "at most 3 below"
    assert sense(b=TAU, alike=5) == "within 5"


def test_claims_and_exhibits_take_their_texts_from_docstrings(results: PaperResults) -> None:
    claim, exhibit = Claims(), Exhibits()

    @claim(3, "table 1", short="weak", rank=1)
    def weak(results: PaperResults) -> Finding:
        """Attention is weak,
        on every corpus."""
        it = compare(
            Point(results).over(corpus=corpora, attention=ATTENTIONS),
            TAU,
            below=0.5,
            label="{corpus}, {attention}",
        )
        found = each(it, ATTENTIONS)
        return finding(found, "weak", f"{it.span:.1f}", [part("nothing", it.chosen("none"))])

    @exhibit("table1")
    def table1(results: PaperResults) -> Rows:
        """Agreement of attention.

        One run
        of each.
        """
        published = {"imdb": 0.3, "yelp": 0.9}
        for point in Point(results).over(corpus=corpora.printed, attention=[DOT]):
            yield from rows(
                point,
                {"corpus": "corpus", "name": "corpus.published", "of": "both", "no": None},
                {"τ": Measure("pair/tau", "tau", times=2), "2τ": "other/tau"},
                "agreement/{}",
                lambda point, metric, column: published.get(point.corpus.name, float("nan")),
            )

    (one,) = claim
    assert (one.id, one.text) == (3, "Attention is weak, on every corpus.")
    found = one.check(results)
    assert [p.name for p in found.parts] == ["dot", "additive"]
    assert [p.verdict for p in found.parts] == [REPLICATES, "replicates in part"]
    assert (found.theirs, found.ours, found.reported) == ("weak", "0.2–0.6", [])
    nothing = one.check(results.of_corpora([]))
    assert (nothing.verdict, nothing.why != "") == (CANNOT, True)
    (table,) = exhibit
    assert (table.title, table.note) == ("Agreement of attention", "One run of each.")
    made = table.make(results)
    own = made[made["measure"] == "τ"]
    assert own["corpus"].tolist() == ["imdb", "sst", "yelp"]
    assert own["name"].tolist() == ["IMDb", "SST", "Yelp"]
    assert set(own["of"]) == {"both"}
    assert own["published"].tolist() == pytest.approx([0.6, float("nan"), 1.8], nan_ok=True)
    assert own["value"].tolist() == pytest.approx([0.4, 0.2, float("nan")], nan_ok=True)
    assert isinstance(made, pd.DataFrame)


def test_an_axis_of_rows(results: PaperResults) -> None:
    values = rows_of("agreement", "tau", str.upper)(Point(results))
    assert [(value.name, value.id) for value in values] == [("PAIR", "pair"), ("OTHER", "other")]
