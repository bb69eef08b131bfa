"""Numbers by layer and head: in summaries, saved and opened again, and on maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import verax
from support.internals import Models, find_place
from verax import TransformerClassifier
from verax.exams.places import head_places, layer_and_head, layer_places, place_id
from verax.exams.replacement.charts import charts as charts_of_replacement
from verax.exams.tables import tidy
from verax.models.kinds import TRANSFORMER
from verax.report import Chart, charts_of

EXAMS = ["dispersion", "replacement", "information", "single_token"]


@pytest.fixture(scope="module")
def verdict(bert: TransformerClassifier, reviews: verax.Corpus) -> verax.Verdict:
    options: dict[str, Any] = {"clusters": 10, "permutations": 2, "entropy_of": "gradient"}
    return verax.examine(bert, reviews, EXAMS, "all", **options)


def test_places_are_written_and_read() -> None:
    places = [*layer_places(2), *head_places(2, 2)]
    assert places == ["1", "2", "1.1", "1.2", "2.1", "2.2"]
    assert [place_id(*layer_and_head(place)) for place in places] == places


@pytest.mark.slow
def test_every_number_stands_where_it_is_declared(verdict: verax.Verdict) -> None:
    summary = verdict.summary()
    tables = {"replacement.places", "dispersion.heads", "information.layers"}
    assert tables <= set(summary["table"])
    for row in summary.itertuples():
        place = find_place(str(row.measure))
        assert place is not None
        assert (place.table.id, place.row, place.column) == (row.table, row.row, row.column)
        assert place.table.kinds == ((TRANSFORMER,) if row.table in tables else place.table.kinds)
        low, high = place.measure.range
        # chance may put what is left of a word below what shuffled words give
        assert pd.isna(row.value) or low - 1e-9 <= row.value <= high or row.column == "retained"
    assert [one["exam"] for one in verdict.manifest["plan"] if one["runs"] == "no"] == EXAMS[3:]


def test_a_verdict_is_the_same_when_it_is_opened_again(
    verdict: verax.Verdict, tmp_path: Path
) -> None:
    verdict.save(tmp_path / "verdict")
    again = verax.load_verdict(tmp_path / "verdict")
    pd.testing.assert_frame_equal(again.summary(), verdict.summary())
    assert list(again.tables) == list(verdict.tables)
    assert str(again) == str(verdict)
    assert again.model_summary().kind == TRANSFORMER
    pd.testing.assert_frame_equal(again.document_values(), verdict.document_values())


def rows(chart: Chart) -> list[dict[str, Any]]:
    """The data of a chart."""
    (values,) = chart.spec["datasets"].values()
    return list(values)


@pytest.fixture(scope="module")
def charts(verdict: verax.Verdict) -> dict[str, Chart]:
    return {chart.name: chart for chart in charts_of({"one": verdict})}


@pytest.mark.slow
def test_maps_have_a_cell_for_every_place(verdict: verax.Verdict, charts: dict[str, Chart]) -> None:
    columns = {
        "replacement-places": "replacement.places.{}.uniform_survival",
        "dispersion-heads": "dispersion.heads.{}.entropy",
        "dispersion-special": "dispersion.heads.{}.special",
    }
    for name, measure in columns.items():
        cells = rows(charts[name])
        found = {
            place_id(cell["layer"], None if cell["head"] == "all" else int(cell["head"])): cell
            for cell in cells
        }
        assert set(found) == {*layer_places(3), *head_places(3, 2)}
        for place, cell in found.items():
            assert cell["value"] == verdict.value(measure.format(place))
    drawn = rows(charts["information-layers"])
    assert [point["layer"] for point in drawn] == [0, 1, 2, 3]
    assert drawn[2]["value"] == verdict.value("information.layers.2.information")
    *_, several = charts_of_replacement(Models({"one": verdict, "other": verdict}))
    assert [cell["panel"] for cell in rows(several)] == ["one"] * 9 + ["other"] * 9


def test_the_weakest_colour_is_drawn_as_weak(charts: dict[str, Chart]) -> None:
    """An opacity with an exponent would be taken for one that changes nothing."""
    svg = charts["replacement-places"].svg()
    assert svg.count('opacity="0.') >= 9
    assert "var(--chart-1)" in svg


def test_a_table_has_room_for_many_heads() -> None:
    places = list(head_places(20, 20))
    values = np.arange(400.0).reshape(400, 1, 1)
    table = tidy(np.array([7]), values, ["tvd"], [{"place": place} for place in places])
    assert table["place"].tolist() == places
    assert table["value"].tolist() == values.ravel().tolist()
