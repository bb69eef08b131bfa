"""A cell with adversaries: what `verax.adversaries` gives, in a store and out of it again."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from made_up_cells import cell
from running import finished, lasting

import verax
from support.errors import raises
from support.internals import perform
from verax.corpora.batching import MAX_TOKENS
from verax.studies import (
    Adversaries,
    Cell,
    Finished,
    Job,
    Progressed,
    Store,
    open_study,
    pack,
)
from verax.training import train_adversary
from verax.training.adversary import DEFAULTS

ASKED: dict[str, Any] = {
    "lams": [0.0, 0.1],
    "seeds": [1],
    "retrain": [2, 3],
    "controls": True,
    **DEFAULTS,
    "epochs": 2,
}
ASKED_OF_EACH = {**DEFAULTS, "epochs": 2, "max_tokens": MAX_TOKENS}
"""What a cell spells out of every adversary."""


def read(content: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(content)).drop(columns="cell")


@pytest.fixture(scope="module")
def opposed(small: verax.Corpus) -> Cell:
    return replace(cell(small, encoder="conv", lr=0.05, sample=5), adversaries=ASKED)


@pytest.fixture(scope="module")
def told() -> list[Progressed]:
    return []


@pytest.fixture(scope="module")
def outcome(opposed: Cell, small: verax.Corpus, told: list[Progressed]) -> Finished:
    job = Job(opposed, weights=True)
    return finished(perform(job, small, device="cpu", report=told.append))


@pytest.fixture(scope="module")
def direct(opposed: Cell, small: verax.Corpus) -> Adversaries:
    base = verax.train(small, seed=0, device="cpu", **opposed.model, **opposed.training)
    return verax.adversaries(
        base, small, [0, 0.1], [1], retrain=[2, 3], epochs=2, split="test", device="cpu"
    )


@pytest.mark.slow
def test_the_table_is_that_of_adversaries(outcome: Finished, direct: Adversaries) -> None:
    found = read(outcome.files["adversaries.parquet"])
    pd.testing.assert_frame_equal(found, direct.instances, check_categorical=False)
    assert found["id"].nunique() > 5  # the whole split, whatever is sampled for exams
    again = Adversaries(found, {"split": "test", "classes": ["0", "1"]})
    pd.testing.assert_frame_equal(again.points(), direct.points())


def test_summary_rows_are_what_adversaries_says(outcome: Finished, direct: Adversaries) -> None:
    rows = read(outcome.files["summary.parquet"])
    assert rows["exam"].unique().tolist() == ["replacement", "adversaries"]
    at = rows[rows["exam"] == "adversaries"].set_index(["table", "row", "column"])["value"]
    measures = ("jsd", "tvd", "same", "accuracy", "f1")
    scale = {"jsd": 1, "tvd": 1}
    for point in direct.points().to_dict("records"):
        for measure in measures:
            row, factor = f"lambda={point['lam']:g}", scale.get(measure, 100)
            assert at["adversaries", row, measure] == factor * point[measure]
            beside = factor * point[f"validation_{measure}"]
            assert at["adversaries", row, f"validation_{measure}"] == beside
    yardstick = direct.yardstick().set_index("measure")["mean"]
    for measure in measures:
        expected = scale.get(measure, 100) * yardstick[measure]
        assert at["adversaries.seeds", "mean", measure] == expected
        each = [at["adversaries.seeds", f"seed={seed}", measure] for seed in (2, 3)]
        assert sum(each) / 2 == pytest.approx(expected)
    for control in direct.controls().to_dict("records"):
        for measure in ("accuracy", "f1"):
            value = at["adversaries.controls", control["name"], measure]
            assert value == 100 * control[measure]
    assert at["adversaries.chosen", "chosen", "lambda"] == direct.chosen().lam
    assert len(at) == 2 * 10 + 2 + 3 * 5 + 6 * 2


def test_progress_and_seconds_tell_of_it(outcome: Finished, told: list[Progressed]) -> None:
    phases = list(dict.fromkeys(p.what for p in told))
    assert "adversaries 2/10, epoch 2/2" in phases
    assert "adversaries 10/10, epoch 1/1" in phases
    assert phases[-1] == "writing"
    seconds = outcome.facts["seconds"]
    assert set(seconds) == {"train", "examine", "adversaries", "total"}


@pytest.mark.slow
def test_memory_that_runs_out_for_an_adversary_halves_the_cell(
    opposed: Cell, small: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets: list[int] = []

    def short_of_memory(*given: Any, **options: Any) -> verax.AttentionClassifier:
        budgets.append(options["max_tokens"])
        if len(budgets) == 1:
            raise torch.OutOfMemoryError("no memory")
        return train_adversary(*given, **options)

    monkeypatch.setattr("verax.studies.adversary_models.train_adversary", short_of_memory)
    asked = {**ASKED, "retrain": [], "controls": False}
    event = finished(perform(Job(replace(opposed, adversaries=asked)), small, device="cpu"))
    assert event.facts["halved"]
    assert budgets == [MAX_TOKENS, *[MAX_TOKENS // 2] * 2]


@pytest.mark.slow
def test_a_model_that_was_kept_gives_the_same(
    opposed: Cell, outcome: Finished, small: verax.Corpus
) -> None:
    kept = {name: data for name, data in outcome.files.items() if name.startswith("model/")}
    brief = replace(opposed, adversaries={**ASKED, "retrain": [], "controls": False})
    jobs = [Job(brief), Job(brief, model=kept, model_of=opposed.key)]
    ends = [lasting(perform(job, small, device="cpu")) for job in jobs]
    assert ends[0] == ends[1]
    tables = set(read(ends[0]["summary.parquet"])["table"])
    assert not {"adversaries.seeds", "adversaries.controls"} & tables


@pytest.mark.slow
def test_vectors_may_have_another_name_than_when_the_model_was_kept(
    small: verax.Corpus, tmp_path: Path
) -> None:
    (tmp_path / "old.txt").write_text("w1 1 2\nw2 3 4\n")
    plain = cell(small, vectors=str(tmp_path / "old.txt"), embedding_size=2)
    files = finished(perform(Job(plain, weights=True), small, device="cpu")).files
    kept = {name: data for name, data in files.items() if name.startswith("model/")}
    (tmp_path / "old.txt").rename(tmp_path / "new.txt")
    asked = {**ASKED, "lams": [1.0], "retrain": [2], "epochs": 1, "controls": False}
    moved = cell(small, vectors=str(tmp_path / "new.txt"), embedding_size=2)
    assert moved.trained == plain.trained
    job = Job(replace(moved, adversaries=asked), model=kept, model_of=plain.key)
    assert "adversaries.parquet" in finished(perform(job, small, device="cpu")).files


@pytest.mark.slow
def test_a_store_and_a_pack_have_it(opposed: Cell, outcome: Finished, tmp_path: Path) -> None:
    resolved = {"name": "mine", "cells": {opposed.key: opposed.to_json()}}
    store = Store.create(tmp_path / "mine", "mine", "name: mine\n", resolved)
    store.commit(opposed.key, opposed.to_json(), outcome.files, outcome.facts)
    expected = read(outcome.files["adversaries.parquet"])
    places = [
        open_study(tmp_path / "mine"),
        pack(tmp_path / "mine", tmp_path / "packed"),
    ]
    for results in places:
        assert results.cells["adversaries"].tolist() == ["0,0.1"]
        assert "seconds_adversaries" in results.cells
        table = results.table("adversaries")
        assert table["value"].equals(expected["value"])
        assert table["seed"].tolist() == expected["seed"].tolist()
        assert set(table["cell_seed"]) == {0}  # of the cell; `seed` is the row's model's
        verdict = results.verdict(opposed.key)
        assert set(verdict.tables) == {"replacement", "replacement_instances"}
        shown = verdict.summary("adversaries")
        assert shown.index.tolist() == ["λ = 0", "λ = 0.1"]
        assert verdict.summary("adversaries.controls").shape == (6, 2)
        assert "adversaries" in results.tables


@pytest.mark.slow
def test_a_cells_adversaries_are_a_result(
    opposed: Cell, outcome: Finished, direct: Adversaries, small: verax.Corpus, tmp_path: Path
) -> None:
    """What `verax.adversaries` gives of the same model, from a store and packed."""
    plain = replace(opposed, adversaries=None)
    resolved = {"name": "mine", "cells": {c.key: c.to_json() for c in (opposed, plain)}}
    store = Store.create(tmp_path / "mine", "mine", "name: mine\n", resolved)
    without = finished(perform(Job(plain), small, device="cpu"))
    for one, end in ((opposed, outcome), (plain, without)):
        store.commit(one.key, one.to_json(), end.files, end.facts)
    for results in (open_study(tmp_path / "mine"), pack(tmp_path / "mine", tmp_path / "packed")):
        found = results.adversaries(opposed.key)
        for name in ("points", "yardstick", "against_yardstick", "by_weight", "controls"):
            pd.testing.assert_frame_equal(getattr(found, name)(), getattr(direct, name)())
        assert found.chosen() == direct.chosen()
        expected = {**direct.manifest, "options": {**ASKED_OF_EACH, **direct.manifest["options"]}}
        assert json.dumps(found.manifest, sort_keys=True) == json.dumps(expected, sort_keys=True)
        found.save(tmp_path / "alone", overwrite=True)
        again = verax.open(tmp_path / "alone")
        assert isinstance(again, Adversaries)
        assert again.manifest == found.manifest
        with raises("study.not-kept"):
            results.adversaries(plain.key)
    bare = pack(tmp_path / "mine", tmp_path / "bare", tables=["summary"])
    with raises("study.not-kept"):
        bare.adversaries(opposed.key)
