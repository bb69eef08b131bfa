"""Numbers found by what a cell is; results put together from several folders."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_up_results import crossed, made_up_results
from made_up_results import number as mean_of
from scipy import stats

from research.papers import PaperResults
from research.papers.results import SUMMARY, is_study, part_of
from support.errors import raises
from verax.studies import Cell, Store, pack

NAN = math.nan


def cell(seed: int, encoder: str = "none", **more: Any) -> dict[str, Any]:
    key = f"{encoder}-{seed}"
    return {"cell": key, "part": "main", "corpus": "sst", "encoder": encoder, "seed": seed} | more


def number(
    key: str, value: float, low: float = NAN, high: float = NAN, **more: Any
) -> dict[str, Any]:
    row = {"cell": key, "exam": "e", "table": "t", "row": "r", "column": "c", "value": value}
    return row | {"low": low, "high": high, "n": 10, "unit": "number"} | more


def results(cells: list[dict[str, Any]], rows: list[dict[str, Any]]) -> PaperResults:
    return PaperResults(pd.DataFrame(cells), pd.DataFrame(rows, columns=SUMMARY))


def test_cells_are_selected_by_what_they_are() -> None:
    found = results([cell(2), cell(1), cell(1, "conv"), cell(1, "bigru", layers=2)], [])
    assert found.select(encoder="none")["cell"].tolist() == ["none-1", "none-2"]
    assert set(found.select(encoder=["none", "conv"])["cell"]) == {"none-1", "none-2", "conv-1"}
    assert set(found.select(encoder={"none", "conv"}, seed=1)["cell"]) == {"none-1", "conv-1"}
    assert found.select(encoder=[]).empty
    assert found.select(layers=2)["cell"].tolist() == ["bigru-1"]
    assert len(found.select(layers=None)) == 3
    assert len(found.select(layers=(2, None))) == 4
    assert found.select(heads=4).empty
    assert len(found.select(heads=None)) == len(found.select(heads=[4, None])) == 4
    assert len(found.select()) == 4
    assert found.select(seed=1) is found.select(seed=1)


@pytest.mark.parametrize("kind", ["Int64", "Float64", "object"])
def test_whole_numbers_that_some_cells_lack_are_selected(kind: str) -> None:
    """A study's columns are nullable where some of its cells have no such option."""
    frame = pd.DataFrame([cell(1), cell(2), cell(3)])
    frame["layers"] = pd.array([1, None, 2], dtype=kind)
    found = PaperResults(frame, pd.DataFrame(columns=SUMMARY))
    assert found.select(layers=2)["seed"].tolist() == [3]
    assert found.select(layers=None)["seed"].tolist() == [2]
    assert found.select(layers=[1, 2])["seed"].tolist() == [1, 3]
    flags = pd.array([True, None, False], dtype="boolean")
    found = PaperResults(frame.assign(hierarchical=flags), pd.DataFrame(columns=SUMMARY))
    assert found.select(hierarchical=False)["seed"].tolist() == [3]


def test_a_number_is_the_mean_of_its_seeds() -> None:
    cells = [cell(seed) for seed in (3, 1, 2)] + [cell(1, "conv")]
    rows = [number(f"none-{seed}", value) for seed, value in [(1, 0.5), (2, 0.7), (3, 0.9)]]
    found = results(cells, [*rows, number("conv-1", 0.1, 0.05, 0.2)])
    three = mean_of(found, "t", "r", "c", encoder="none")
    assert three.values == (0.5, 0.7, 0.9)
    assert three.cells == ("none-1", "none-2", "none-3")
    assert (three.over, three.n) == ("seeds", 10)
    reach = stats.t.ppf(0.975, 2) * stats.sem([0.5, 0.7, 0.9])
    assert (three.low, three.high) == pytest.approx((0.7 - reach, 0.7 + reach))
    one = mean_of(found, "t", "r", "c", encoder="conv")
    assert (one.value, one.low, one.high, one.over) == (0.1, 0.05, 0.2, "documents")
    assert found.find("t", "r", "c", encoder="bigru") is None
    assert found.find("t", "r", "other", encoder="none") is None


def test_results_of_some_corpora_hold_nothing_of_others() -> None:
    cells = [cell(1), {**cell(1, "conv"), "corpus": "imdb"}]
    points = pd.DataFrame({"cell": ["none-1", "conv-1"], "id": [1, 2]})
    every = PaperResults(
        pd.DataFrame(cells),
        results(cells, [number("none-1", 0.2), number("conv-1", 0.4)]).summary,
        {"points": points},
        {"main": 3},
        {"main": "Is it?"},
    )
    found = every.of_corpora(["imdb", "yelp"])
    assert found.corpora() == ["imdb"]
    assert mean_of(found, "t", "r", "c").value == 0.4
    assert found.tables["points"]["id"].tolist() == [2]
    assert set(found.summary["cell"]) == {"conv-1"}
    assert (found.unfinished, found.questions) == (every.unfinished, every.questions)
    assert every.corpora() == ["sst", "imdb"]


def test_a_seed_whose_number_is_nan_is_not_there() -> None:
    cells = [cell(1), cell(2)]
    found = results(cells, [number("none-1", NAN), number("none-2", 0.4, 0.3, 0.5)])
    one = mean_of(found, "t", "r", "c")
    assert (one.value, one.low, one.high, one.over) == (0.4, 0.3, 0.5, "documents")
    nothing = results(cells, [number("none-1", NAN), number("none-2", NAN)])
    assert nothing.find("t", "r", "c") is None


def test_seeds_that_lack_a_number_are_left_out() -> None:
    found = results([cell(1), cell(2), cell(3)], [number("none-1", 0.2), number("none-3", 0.4)])
    assert mean_of(found, "t", "r", "c").cells == ("none-1", "none-3")


def test_models_are_not_mixed() -> None:
    cells = [cell(1), cell(1, "conv", lr=0.1)]
    found = results(cells, [number("none-1", 0.2), number("conv-1", 0.4)])
    with raises("result.wrong-kind"):
        found.find("t", "r", "c")
    with raises("result.wrong-kind"):
        found.fact("lr", corpus="sst")
    assert mean_of(found, "t", "r", "c", encoder="conv").value == 0.4
    # one of them has no such number, so that nothing is mixed
    assert mean_of(results(cells, [number("conv-1", 0.4)]), "t", "r", "c").value == 0.4


def test_a_cell_of_two_parts_counts_once() -> None:
    cells = [cell(1), cell(2), cell(1, part="more"), cell(2, part="more")]
    twice = [number(f"none-{seed}", value) for seed, value in [(1, 0.2), (2, 0.4)]] * 2
    found = results(cells, twice)
    assert mean_of(found, "t", "r", "c").values == (0.2, 0.4)
    assert mean_of(found, "t", "r", "c", part="more").values == (0.2, 0.4)
    assert len(found.summary) == 2
    assert "2 cells" in repr(found)


def test_a_fact_is_a_column_over_seeds() -> None:
    cells = [cell(1, test_accuracy=0.8), cell(2, test_accuracy=0.9), cell(1, "conv")]
    found = results(cells, [])
    accuracy = found.fact("test_accuracy", encoder="none")
    assert accuracy is not None
    assert (accuracy.values, accuracy.cells) == ((0.8, 0.9), ("none-1", "none-2"))
    one = found.fact("test_accuracy", encoder="none", seed=1)
    assert one is not None
    assert one.over == "none"
    assert found.fact("test_f1", encoder="none") is None
    assert found.fact("test_accuracy", encoder="bigru") is None


def test_rows_and_corpora_are_in_the_order_of_cells() -> None:
    found = made_up_results(
        crossed(part=["main"], corpus=["sst", "imdb"]),
        lambda own: {
            ("t", row, "c"): 0.1 for row in (["b", "a"] if own["corpus"] == "sst" else "z")
        },
    )
    assert found.rows("t", "c", corpus="sst") == ["b", "a"]
    assert found.rows("t", "c") == ["b", "a", "z"]
    assert found.rows("t", "other") == found.rows("other", "c") == []
    assert found.corpora() == ["sst", "imdb"]
    assert found.corpora(corpus="imdb") == ["imdb"]


# results on disk: stores and packs of made-up cells


def a_cell(seed: int, encoder: str = "none") -> Cell:
    return Cell(
        {"corpus": "sst"}, "f", {"encoder": encoder}, {"lr": 0.1}, seed, {"single_token": {}}
    )


def stored(
    folder: Path,
    name: str,
    done: list[Cell],
    waiting: list[Cell] | None = None,
    question: str | None = None,
) -> Path:
    """A store whose cells have the number `0.1 seed`, and one word each in single_token_tokens."""
    listed = {c.key: c.to_json() for c in [*done, *(waiting or [])]}
    store = Store.create(folder, name, "", {"name": name, "question": question, "cells": listed})
    for one in done:
        summary = pd.DataFrame([number(one.key, 0.1 * one.seed)])
        tokens = pd.DataFrame({"cell": [one.key], "token": [7], "seed_of": [one.seed]})
        files = {"verdict.json": json.dumps({"tables": ["single_token_tokens"]}).encode()}
        for table, frame in (("summary", summary), ("single_token_tokens", tokens)):
            sink = io.BytesIO()
            frame.to_parquet(sink)
            files[f"{table}.parquet"] = sink.getvalue()
        store.commit(one.key, one.to_json(), files, {"device": "cpu", "test": {"accuracy": 0.5}})
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_slices_of_a_part_from_two_folders_are_one(tmp_path: Path, packed: bool) -> None:
    out = tmp_path / "results"
    for folder, seeds in [("sst", [1, 2]), ("sst-2", [2, 3])]:
        where = stored(tmp_path / "stores" / folder, "a-paper.sst", [a_cell(s) for s in seeds])
        if packed:
            pack(where, out / folder)
    (out / "tables").mkdir(parents=True)  # a folder that is no study
    found = PaperResults.open(out if packed else tmp_path / "stores")
    assert found.cells[["part", "seed"]].to_numpy().tolist() == [["sst", 1], ["sst", 2], ["sst", 3]]
    assert mean_of(found, "t", "r", "c", part="sst").values == pytest.approx((0.1, 0.2, 0.3))
    assert found.tables["single_token_tokens"]["seed_of"].tolist() == [1, 2, 3]
    assert found.unfinished == {}
    accuracy = found.fact("test_accuracy", part="sst")
    assert accuracy is not None
    assert accuracy.values == (0.5, 0.5, 0.5)


def test_stores_and_packs_stand_side_by_side(tmp_path: Path) -> None:
    store = stored(tmp_path / "elsewhere", "a-paper.layers", [a_cell(1, "conv")])
    pack(store, tmp_path / "results" / "layers")
    stored(tmp_path / "results" / "sst", "a-paper.sst", [a_cell(1)], [a_cell(2)])
    stored(tmp_path / "results" / "imdb", "a-paper.imdb", [], [a_cell(9)])
    found = PaperResults.open(tmp_path / "results")
    assert dict(zip(found.cells["part"], found.cells["encoder"], strict=True)) == {
        "layers": "conv",
        "sst": "none",
    }
    assert found.unfinished == {"imdb": 1, "sst": 1}
    assert "status" not in found.cells
    alone = PaperResults.open(tmp_path / "results" / "sst")
    assert alone.cells["part"].tolist() == ["sst"]


def test_probes_beside_a_papers_results_are_none_of_them(tmp_path: Path) -> None:
    stored(tmp_path / "sst", "a-paper.sst", [a_cell(1)])
    stored(tmp_path / "probes" / "longer", "a-paper.longer", [a_cell(2)], [a_cell(3)])
    found = PaperResults.open(tmp_path)
    assert (found.cells["part"].tolist(), found.unfinished) == (["sst"], {})
    probes = PaperResults.open(tmp_path / "probes")
    assert (probes.cells["part"].tolist(), probes.unfinished) == (["longer"], {"longer": 1})


def test_a_study_tells_what_it_asks(tmp_path: Path) -> None:
    stored(tmp_path / "store", "a.sst", [a_cell(1)], question="Is it so?")
    pack(tmp_path / "store", tmp_path / "results" / "sst")
    stored(tmp_path / "results" / "more", "a.more", [a_cell(2)])
    assert PaperResults.open(tmp_path / "results").questions == {"sst": "Is it so?", "more": ""}


def test_a_folder_without_a_finished_cell_is_missing(tmp_path: Path) -> None:
    with raises("result.unfinished"):
        PaperResults.open(tmp_path)
    stored(tmp_path / "sst", "a-paper.sst", [], [a_cell(1)])
    with raises("result.unfinished"):
        PaperResults.open(tmp_path)
    assert is_study(tmp_path / "sst")
    assert not is_study(tmp_path)


def test_a_part_is_what_a_name_ends_in() -> None:
    assert [part_of(name) for name in ("a.b", "a.b.c", "a")] == ["b", "c", "a"]
