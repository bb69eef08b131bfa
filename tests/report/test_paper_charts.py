"""Charts of a paper's exhibits have the numbers of the exhibit, in the form it asks for."""

from __future__ import annotations

import math
import re
from typing import Any

import pandas as pd
import pytest
from axes import axis_labels, check_labels
from vega import check_spec

from support.internals import entry, frame
from verax.report import Chart
from verax.report.charts.paper_frames import Shown, around
from verax.report.charts.papers import exhibit_charts
from verax.statistics import SeedMean


def number(value: float, spread: float = 0.01) -> SeedMean:
    return SeedMean.of([value - spread, value, value + spread], ["a", "b", "c"])


def drawn(rows: list[dict[str, Any]], name: str = "figure1") -> list[Chart]:
    charts = exhibit_charts(name, "What it shows", frame(rows))
    for chart in charts:
        check_spec(chart)
    return charts


def data(chart: Chart) -> pd.DataFrame:
    return pd.DataFrame([row for rows in chart.spec["datasets"].values() for row in rows])


def texts(chart: Chart) -> list[str]:
    return re.findall(r">([^<>]+)</text>", chart.svg())


def marks(chart: Chart, kind: str) -> int:
    groups = re.findall(rf'<g class="mark-{kind} role-mark[^>]*>(.*?)</g>', chart.svg(), re.S)
    return sum(len(re.findall(r"<(?:path|line|text) ", group)) for group in groups)


def test_published_stands_beside_measured_with_its_interval() -> None:
    rows = [
        entry({"corpus": "sst", "model": m, "attention": a}, "F1", number(v, 1), published)
        for m, a, v, published in (
            ("base", "dot", 80.0, 82.0),
            ("base", "additive", 81.0, math.nan),
            ("tying", "dot", 70.0, 75.0),
            ("tying", "additive", 71.0, 76.0),
        )
    ]
    rows.append(entry({"corpus": "imdb", "model": "base", "attention": "dot"}, "F1", None, 90.0))
    (chart,) = drawn(rows, "table1")
    found = data(chart)
    assert found["value"].tolist() == [80.0, 81.0, 70.0, 71.0]
    # Student's interval of three seeds one apart: 4.3027 / √3
    assert (found["high"] - found["value"]).tolist() == pytest.approx([4.3027 / 3**0.5] * 4, 1e-4)
    # four filled points and three hollow ones; imdb, where nothing is measured, has none
    assert marks(chart, "symbol") == 7
    assert {"base", "tying", "dot", "additive", "published"} <= {*texts(chart)}
    assert chart.reading.endswith("On sst.")
    assert (chart.name, chart.exam, chart.title) == ("table1", "table1", "What it shows")


@pytest.mark.slow
def test_each_corpus_has_its_panel_and_each_measure_its_chart_published_ones_first() -> None:
    rows = [
        entry({"corpus": c, "model": m}, measure, number(0.5), published)
        for measure, published in (("sd", 1.0), ("τ-b", math.nan), ("p", 0.4), ("q", 0.3), ("r", 1))
        for c in ("sst", "imdb")
        for m in ("a", "b")
    ]
    charts = drawn(rows, "table2")
    assert [chart.title for chart in charts] == ["Table 2: p", "Table 2: q", "Table 2: r"]
    assert [chart.name for chart in charts] == ["table2", "table2-2", "table2-3"]
    assert {"sst", "imdb"} <= {*texts(charts[0])}


def test_nothing_is_drawn_of_what_is_not_measured_or_no_finding() -> None:
    assert drawn([]) == []
    assert drawn([entry({"corpus": c}, "F1", None, 3.0) for c in ("a", "b")]) == []
    sizes = [entry({"corpus": c}, "documents read", number(9.0, 0)) for c in ("a", "b")]
    assert drawn(sizes) == []


@pytest.mark.slow
def test_boxes_are_drawn_from_quartiles_and_whiskers() -> None:
    numbers = {"whisker low": 0.1, "q1": 0.2, "median": 0.4, "q3": 0.5, "whisker high": 0.9}
    rows = [
        entry({"corpus": "yelp", "model": m, "ranking": r}, measure, number(value))
        for m in ("HAN", "FLAN")
        for r in ("random", "attention", "random (5 draws)", "optimum")
        for measure, value in {**numbers, "mean": 0.41, "flips": 99.0}.items()
    ]
    (chart,) = drawn(rows)
    found = data(chart)
    assert len(found) == 6
    assert found["q1"].tolist() == pytest.approx([0.2] * 6)
    assert found["whisker_high"].tolist() == pytest.approx([0.9] * 6)
    assert {"HAN", "FLAN"} <= {*texts(chart)}
    # a row a ranking, of random ones the mean of all draws
    assert axis_labels(chart.svg()).count(["attention", "random (5 draws)", "optimum"]) == 2


@pytest.mark.slow
def test_curves_along_lam_are_named_by_it_and_softmax_stands_apart() -> None:
    places = ((math.nan, math.nan), (-100.0, -2.0), (0.0, 0.0), (0.97, 0.97))
    rows = [
        entry({"corpus": "imdb", "lam": lam, "symlog": x, "of": of}, "τ-b", number(0.2))
        for of in ("inputs", "items")
        for lam, x in places
    ]
    (chart,) = drawn(rows)
    assert {"softmax", "−100", "0", "0.97"} <= {*texts(chart)}
    found = data(chart)
    assert found.loc[found["joined"] == "no", "x"].max() < -2
    assert found["value"].tolist() == pytest.approx([0.2] * 8)
    assert marks(chart, "symbol") == 8


@pytest.mark.slow
def test_strengths_are_told_as_they_are() -> None:
    strengths = (0.0, 0.03, 0.1, 0.3, 1.0, 30.0)
    rows = [entry({"corpus": "sst", "strength": s}, "F1", number(80 + s)) for s in strengths]
    (chart,) = drawn(rows, "selection")
    check_labels(chart.name, chart.svg())
    assert ["0", "0.03", "0.1", "0.3", "1", "30"] in axis_labels(chart.svg())


@pytest.mark.slow
def test_tokens_of_a_text_have_a_line_a_model_and_a_chart_a_measure() -> None:
    rows = [
        entry(
            {"attention": a, "model": m, "document": 0, "item": item},
            measure,
            SeedMean.of([v], ["a"]),
        )
        for a in ("dot", "additive")
        for m in ("base", "residual", "tying", "mlm")
        for item in range(5)
        for measure, v in (("p", 0.1 * item), ("weight", 0.2))
    ]
    first, second = drawn(rows)
    found = data(first)
    assert sorted(set(found["x"])) == [1, 2, 3, 4, 5]
    assert found["line"].nunique() == 4
    assert found["panel"].unique().tolist() == ["dot", "additive"]
    assert found["value"].max() == pytest.approx(0.4)
    assert data(second)["value"].tolist() == pytest.approx([0.2] * 40)


def test_by_the_largest_weight_all_classes_are_drawn_and_the_sum_is_no_point() -> None:
    rows = [
        entry({"corpus": "sst", "class": c, "max α": a}, "|Δŷ|", number(v))
        for c, v in (("all", 0.3), ("0", 0.9))
        for a in ("all", "0–0.25", "0.25–0.5")
    ]
    (chart,) = drawn(rows)
    found = data(chart)
    assert found["x"].tolist() == ["0–0.25", "0.25–0.5"]
    assert found["value"].tolist() == pytest.approx([0.3, 0.3])


def test_outputs_are_drawn_against_divergence_and_joined_in_order() -> None:
    points = {0.0: (0.01, 0.02), 0.1: (0.3, 0.05), 1.0: (0.6, 0.2)}
    rows = [
        entry({"corpus": "sst", "model": m, "lam": lam}, measure, number(value, 0.001))
        for m in ("base", "mlm")
        for lam, (jsd, tvd) in points.items()
        for measure, value in (("JSD", jsd), ("TVD", tvd))
    ]
    (chart,) = drawn(rows)
    found = data(chart)
    assert found["jsd"].tolist() == pytest.approx([0.01, 0.3, 0.6] * 2)
    assert found["value"].tolist() == pytest.approx([0.02, 0.05, 0.2] * 2)
    assert found["place"].is_monotonic_increasing
    assert chart.title == "Figure 1: TVD against JSD"


@pytest.mark.slow
def test_other_attentions_are_told_apart_by_how_they_came_about() -> None:
    rows = [
        entry({"corpus": "sst", "other attention": name}, measure, number(value))
        for name in ("trained, λ = 0", "trained, λ = 1", "another seed")
        for measure, value in (("JSD", 0.3), ("TVD", 0.1), ("accuracy", 90.0))
    ]
    charts = drawn(rows, "appendixc")
    assert [c.title for c in charts] == [
        f"Appendix C: {m} against JSD" for m in ("TVD", "accuracy")
    ]
    assert data(charts[0])["line"].tolist() == ["trained", "trained", "another seed"]


@pytest.mark.slow
def test_points_of_documents_and_their_negatives() -> None:
    rows = [
        entry(
            {"model": m, "delta_alpha": 0.1 * k, "document": k},
            "ΔJS",
            SeedMean.of([0.1 * k - 0.2], ["a"]),
        )
        for m in ("HAN", "FLAN")
        for k in range(5)
    ]
    (chart,) = drawn(rows)
    found = data(chart)
    assert (found["sign"] == "negative").tolist() == [True, True, False, False, False] * 2
    assert marks(chart, "symbol") == 10
    tenths = [
        entry({"model": "HAN", "delta_alpha": place}, measure, number(value))
        for place in (0.05, 0.15)
        for measure, value in (("documents", 20.0), ("negative", 5.0), ("share", 25.0))
    ]
    (chart,) = drawn(tenths)
    found = data(chart)
    # all first, so that the others stand before them
    assert found["value"].tolist() == [20.0, 20.0, 5.0, 5.0]
    assert found["low"].tolist() == pytest.approx([0.0, 0.1, 0.0, 0.1])


@pytest.mark.slow
def test_contingency_tables_have_the_published_number_in_brackets() -> None:
    cells = {"both": 1.5, "only top": 8.9, "only random": 1.9, "neither": 87.7}
    rows = [
        entry({"model": m, "top": "attention", "rule": rule}, measure, number(v + 0.24), v)
        for rule in ("paper", "authors")
        for m in ("HAN", "FLAN")
        for measure, v in {**cells, "top, in all": 10.4}.items()
    ]
    first, second = drawn(rows, "table2")
    assert "rule of the paper" in first.title
    assert "rule of the authors' code" in second.title
    said = texts(first)
    assert said.count("87.9") == said.count("(87.7)") == 2
    assert "10.6" not in said
    found = data(first).set_index(["panel", "top", "random"])["value"]
    assert found["HAN", "flips", "stays"] == pytest.approx(9.14)


def test_numbers_of_few_measures_on_one_scale_share_a_chart() -> None:
    rows = [
        entry({"corpus": "imdb", "importance": i}, m, SeedMean.of([0.1], ["a"]), -0.8)
        for i in ("gradient", "leave-one-out")
        for m in ("τ-b with λ", "Pearson with λ")
    ]
    (chart,) = drawn(rows)
    assert {"τ-b with λ", "Pearson with λ", "gradient", "leave-one-out"} <= {*texts(chart)}


def test_rows_are_in_the_order_of_each_label_whatever_is_missing() -> None:
    labels = (("a", "x"), ("b", "x"), ("b", "y"), ("a", "y"))
    rows = [entry({"one": one, "two": two}, "F1", number(1.0)) for one, two in labels]
    shown = Shown.of("table1", "", frame(rows))
    assert shown.order(["one", "two"]) == ["a, x", "a, y", "b, x", "b, y"]


@pytest.mark.parametrize(
    ("values", "low", "high", "expected"),
    [
        ([0.1, 0.9], 0.05, 1.2, (0.0, 1.0)),  # shares have no more than 1
        ([0.1, 1 + 1e-9], 0.05, 1.2, (0.0, 1.0)),  # nor if rounding says so
        ([80.0, 90.0], 79.0, 95.0, (77.5, 97.5)),
        ([2.0, 4.0], -60.0, 70.0, (0.75, 5.25)),  # an interval of two seeds is cut
        ([-0.2, 0.3], -0.3, 0.4, (-0.325, 0.425)),
    ],
)
def test_an_axis_holds_every_value(
    values: list[float], low: float, high: float, expected: tuple[float, float]
) -> None:
    rows = pd.DataFrame({"value": values, "low": low, "high": high})
    start, end = around(rows)
    assert start <= min(values) < max(values) <= end + 1e-6
    assert (start, end) == pytest.approx(expected)
