"""Charts have the numbers of the tables, and draw a mark for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axes import check_labels, check_steps
from jsonschema import ValidationError
from vega import check_spec

import verax
from support.errors import raises
from verax.exams import Verdict
from verax.exams.authoring import wide
from verax.report import Chart, charts_of

NAMES = ("dense", "sparse")
HOSTILE = '<script>alert("x")</script>&\x00\x08\ud800\u202e שלום' + "w" * 50_000


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    corpus = verax.load_corpus("planted", documents=200, length=12)
    found = {}
    for name, projection in zip(NAMES, ("softmax", "sparsemax"), strict=True):
        model = verax.train(corpus, encoder="none", epochs=2, projection=projection, seed=1)
        found[name] = verax.examine(model, corpus, curves=2, importances={"mine": ours})
    return found


def ours(model: Any, trace: Any) -> Any:
    return trace.weights.flip(-1)


@pytest.fixture(scope="module")
def listed(verdicts: dict[str, Verdict]) -> list[Chart]:
    return charts_of(verdicts)


@pytest.fixture(scope="module")
def charts(listed: list[Chart]) -> dict[str, Chart]:
    return {chart.name: chart for chart in listed}


@pytest.fixture(scope="module")
def alone(verdicts: dict[str, Verdict]) -> dict[str, Chart]:
    """Those of one model."""
    return {chart.name: chart for chart in charts_of({"dense": verdicts["dense"]})}


def frame(chart: Chart) -> pd.DataFrame:
    """Every row of data in a chart."""
    return pd.DataFrame([row for rows in chart.spec["datasets"].values() for row in rows])


def marks(chart: Chart, kind: str) -> int:
    """Marks of one kind in the picture."""
    groups = re.findall(rf'<g class="mark-{kind} role-mark[^>]*>(.*?)</g>', chart.svg(), re.S)
    return sum(len(re.findall(r"<(?:path|line|text) ", group)) for group in groups)


@pytest.mark.slow
def test_every_exam_has_charts_and_no_two_have_one_name(listed: list[Chart]) -> None:
    assert list(dict.fromkeys(chart.exam for chart in listed)) == [
        *(
            "erasure",
            "agreement",
            "dispersion",
            "replacement",
            "information",
            "single_token",
            "adversary",
        )
    ]
    assert len({chart.name for chart in listed}) == len(listed)
    assert all(chart.title and chart.reading.endswith(".") for chart in listed)


@pytest.mark.slow
def test_every_chart_is_small_enough_to_stand_in_a_page(charts: dict[str, Chart]) -> None:
    for chart in charts.values():
        svg = chart.svg()
        assert len(svg.encode()) < 150_000, chart.name
        width = re.search(r'<svg [^>]*width="([\d.]+)"', svg)
        assert width is not None
        # in one of two columns its letters are then as large as they must be; a fourth ranking
        # among tables of flips makes these a little wider
        assert float(width[1]) <= (600 if chart.name == "erasure-contingency" else 570), chart.name


@pytest.mark.slow
def test_no_axis_says_the_same_twice_and_numbers_are_evenly_apart(
    charts: dict[str, Chart], alone: dict[str, Chart]
) -> None:
    for chart in (*charts.values(), *alone.values()):
        check_labels(chart.name, chart.svg())
        if chart.name != "adversary-epsilon":  # one place an ε, however far apart
            check_steps(chart.name, chart.svg())


@pytest.mark.slow
def test_every_chart_is_vega_lite(charts: dict[str, Chart]) -> None:
    for chart in charts.values():
        check_spec(chart)
    first = next(iter(charts.values()))
    with pytest.raises(ValidationError):  # so that the above says something
        check_spec(replace(first, spec={**first.spec, "columns": "two"}))


def test_points_are_the_documents(verdicts: dict[str, Verdict], charts: dict[str, Chart]) -> None:
    drawn = frame(charts["erasure-delta-js"])
    assert marks(charts["erasure-delta-js"], "symbol") == len(drawn)
    for name, verdict in verdicts.items():
        table = verdict.tables["erasure_single"]
        own = wide(table[(table["top"] == "attention") & (table["rule"] == "paper")])
        shown = drawn[drawn["model"] == name]
        assert sorted(shown["delta_js"]) == sorted(own["delta_js"])
        assert sorted(shown["delta_alpha"]) == sorted(own["delta_alpha"])
        assert (shown["sign"] == "negative").sum() == (own["delta_js"] < 0).sum()


@pytest.mark.slow
def test_points_are_thinned_where_there_are_many() -> None:
    n = 5000
    values = np.random.default_rng(0).random((2, n))
    parts = [
        pd.DataFrame(
            {"id": range(n), "top": "attention", "rule": "paper", "measure": m, "value": own}
        )
        for m, own in zip(("delta_alpha", "delta_js"), values, strict=True)
    ]
    found = charts_of({"many": Verdict({"erasure_single": pd.concat(parts)})})
    drawn = frame(found[0])
    assert len(drawn) == 800
    both = set(zip(*values, strict=True))
    assert set(zip(drawn["delta_alpha"], drawn["delta_js"], strict=True)) <= both


def test_negative_bars_are_counts_of_documents(
    verdicts: dict[str, Verdict], charts: dict[str, Chart]
) -> None:
    drawn = frame(charts["erasure-negative"])
    for name, verdict in verdicts.items():
        table = verdict.tables["erasure_single"]
        own = wide(table[(table["top"] == "attention") & (table["rule"] == "paper")])
        inside = (own["delta_alpha"] >= 0.2) & (own["delta_alpha"] < 0.3)
        for kind, which in (("all", inside), ("with ΔJS < 0", inside & (own["delta_js"] < 0))):
            bar = drawn[(drawn["model"] == name) & (drawn["low"] == 0.2) & (drawn["kind"] == kind)]
            assert bar["value"].tolist() == [which.sum()]


def test_tables_are_percents_of_documents(
    verdicts: dict[str, Verdict], charts: dict[str, Chart]
) -> None:
    drawn = frame(charts["erasure-contingency"])
    assert marks(charts["erasure-contingency"], "rect") == len(drawn) == 4 * 4 * 2
    sums = drawn.groupby(["model", "ranking"])["value"].sum()
    assert sums.to_numpy() == pytest.approx(100)
    table = verdicts["sparse"].tables["erasure_single"]
    own = wide(table[(table["top"] == "gradient") & (table["rule"] == "paper")])
    cell = drawn[(drawn["model"] == "sparse") & (drawn["ranking"] == "top by gradient")]
    only_top = cell[(cell["top"] == "flips") & (cell["random"] == "stays")]["value"].item()
    expected = (own["flips_top"] == 1) & (own["flips_random"] == 0)
    assert only_top == pytest.approx(100 * expected.mean())


def test_boxes_are_quartiles_of_the_documents_flipped(
    verdicts: dict[str, Verdict], charts: dict[str, Chart]
) -> None:
    drawn = frame(charts["erasure-fraction"]).set_index(["model", "row"])
    for name, verdict in verdicts.items():
        many, minimal = verdict.tables["erasure_many"], verdict.tables["erasure_minimal"]
        for row, own in (
            ("attention", wide(many[(many["ranking"] == "attention") & (many["draw"] == 0)])),
            ("optimum", wide(minimal)),
        ):
            quartiles = np.nanquantile(own["fraction"], (0.25, 0.5, 0.75))
            shown = drawn.loc[(name, row), ["q1", "median", "q3"]].to_numpy(dtype=float)
            assert shown == pytest.approx(quartiles)
    assert "mine" in drawn.index.get_level_values("row")
    assert "random" not in drawn.index.get_level_values("row")  # all draws averaged stand for it
    spec_order = next(_orders(charts["erasure-fraction"].spec))
    assert spec_order[0] == "attention"
    assert spec_order[-1] == "optimum"


def _orders(spec: Any) -> Iterator[list[str]]:
    if isinstance(spec, dict):
        if spec.get("field") == "row" and "sort" in spec:
            yield spec["sort"]
        for inner in spec.values():
            yield from _orders(inner)
    elif isinstance(spec, list):
        for inner in spec:
            yield from _orders(inner)


def test_optimal_is_the_summary(verdicts: dict[str, Verdict], charts: dict[str, Chart]) -> None:
    part = "erasure.excess.gradient.optimal_in_part"  # as the verdict judges
    drawn = frame(charts["erasure-optimal"]).set_index(["model", "row"])["value"]
    for name, verdict in verdicts.items():
        assert drawn[name, "gradient"] == verdict.summary().set_index("measure")["value"][part]


def excess(sizes: dict[tuple[str, int], list[float]], everything: list[float]) -> Chart | None:
    parts = [
        {"id": k, "ranking": name, "draw": draw, "measure": "excess", "value": value}
        for (name, draw), own in sizes.items()
        for k, value in enumerate(own)
    ]
    least = [{"id": k, "measure": "everything", "value": v} for k, v in enumerate(everything)]
    tables = {"erasure_many": pd.DataFrame(parts), "erasure_minimal": pd.DataFrame(least)}
    found = [c for c in charts_of({"a": Verdict(tables)}) if c.name == "erasure-excess"]
    return found[0] if found else None


def test_excess_is_of_the_same_documents_in_every_row_and_one_of_them_does_not_make_it() -> None:
    """Of seven documents one flips only when everything goes, and one not by attention."""
    sizes = {
        ("attention", 0): [1, 2, 3, 2, 1900, 0, np.nan],
        ("random", 0): [2, 4, 5, 6, 1900, 0, 7],
        ("random", 1): [4, 6, 7, 8, 1900, 0, 7],
        ("mine", 0): [np.nan] * 7,
    }
    chart = excess(sizes, [0, 0, 0, 0, 0, 1, 0])
    assert chart is not None
    drawn = frame(chart).set_index("row")
    assert drawn["median"].to_dict() == {"attention": 2, "random (all draws)": 6}
    assert drawn["q1"].tolist() == [2, 5]
    assert drawn["whisker_high"].max() < 10
    assert (drawn[["whisker_low", "q1"]] >= 0).all(axis=None)
    assert "flips, and something less than erasing everything, too (5)." in chart.reading
    assert chart.reading.endswith("Random is the mean over 2 orders.")
    assert excess(sizes, [1] * 7) is None


def test_no_chart_without_a_table() -> None:
    assert charts_of({"nothing": Verdict({})}) == []
    assert charts_of({}) == []


@pytest.mark.slow
def test_empty_tables_give_no_chart(verdicts: dict[str, Verdict], alone: dict[str, Chart]) -> None:
    whole = verdicts["dense"]
    empty = Verdict({name: table[:0] for name, table in whole.tables.items()})
    assert charts_of({"empty": empty}) == []
    # beside one that has them, the charts are the other's
    beside = charts_of({"dense": whole, "empty": empty})
    assert {chart.name for chart in beside} == set(alone)
    assert set(frame(beside[0])["model"]) == {"dense"}


@pytest.mark.slow
def test_one_document_draws() -> None:
    corpus = verax.load_corpus("planted", documents=60, length=12)
    model = verax.train(corpus, encoder="none", epochs=1)
    verdict = verax.examine(model, corpus, sample=1)
    for chart in charts_of({"one": verdict}):
        assert chart.svg().startswith("<svg")


def test_more_models_than_colours_are_refused(verdicts: dict[str, Verdict]) -> None:
    many = {f"model {k}": verdicts["dense"] for k in range(9)}
    with raises("chart.too-many"):
        charts_of(many)


@pytest.mark.slow
def test_hostile_names_are_text(verdicts: dict[str, Verdict]) -> None:
    """A control character would end the process in the renderer."""
    named = {HOSTILE: verdicts["dense"], HOSTILE + "!": verdicts["sparse"]}
    found = charts_of(named)
    for chart in found:
        svg = chart.svg()
        assert "<script" not in svg
        assert re.search("[\x00-\x08\u202e]", svg) is None
        assert len(svg) < 150_000
    assert any("&lt;script&gt;alert" in chart.svg() for chart in found)
    names = frame(found[0])["model"].unique()
    assert len(names) == 2  # alike where they are cut, and still two
