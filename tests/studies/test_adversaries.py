"""Small studies of adversaries that are run: what is trained, kept, left out and refused."""

from __future__ import annotations

import inspect
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

import verax
from support.errors import raises
from support.internals import ADVERSARY_MODELS
from verax.studies import Adversaries, run_adversaries
from verax.training import divergences, train_adversary, train_guided

TINY: dict[str, Any] = {"embedding_size": 8, "hidden_size": 8, "lr": 0.05}
LAMBDAS, SEEDS = [1.0, 0.0], [1, 2]
ASKED: dict[str, Any] = {
    "lams": LAMBDAS,
    "seeds": SEEDS,
    "retrain": [5],
    "epochs": 3,
    "device": "cpu",
}
SAVED = ["adversary"] * 4 + ["retrained"] + ["uniform"] * 2 + ["mlp-uniform"] * 2 + ["mlp-own"] * 2
"""Models that are kept with their weights, in the order of the grid."""
Model = verax.AttentionClassifier


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=90, length=12, label_noise=0.1)


@pytest.fixture(scope="module")
def make(corpus: verax.Corpus) -> Callable[..., Model]:
    def trained(seed: int = 0, **options: Any) -> Model:
        told = {"encoder": "conv", "epochs": 2, **TINY, **options}
        return verax.train(corpus, seed=seed, device="cpu", **told)

    return trained


@pytest.fixture(scope="module")
def base(make: Callable[..., Model]) -> Model:
    return make()


@pytest.fixture(scope="module")
def others(make: Callable[..., Model]) -> list[Model]:
    return [make(3)]


@pytest.fixture(scope="module")
def study(base: Model, corpus: verax.Corpus, others: list[Model]) -> Adversaries:
    return verax.adversaries(base, corpus, others=others, **ASKED)


@pytest.fixture(scope="module")
def by_hand(base: Model, corpus: verax.Corpus) -> dict[tuple[float, int], Model]:
    """The adversaries of `study`, each trained by itself."""
    return {
        (lam, seed): train_adversary(base, corpus, lam, seed=seed, epochs=3, device="cpu")
        for lam in LAMBDAS
        for seed in SEEDS
    }


@pytest.fixture(scope="module")
def interrupted(
    base: Model,
    corpus: verax.Corpus,
    others: list[Model],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """What a study keeps that was stopped where its guided controls begin."""

    def stopped(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    folder = tmp_path_factory.mktemp("interrupted")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(f"{ADVERSARY_MODELS}.train_guided", stopped)
        with pytest.raises(KeyboardInterrupt):
            verax.adversaries(base, corpus, others=others, keep=folder, **ASKED)
    return folder


def never(*given: object, **options: object) -> None:
    raise AssertionError("a model was trained")


def rows(found: Adversaries, split: str, **wanted: Any) -> pd.DataFrame:
    own = found.instances[found.instances["split"] == split]
    for name, value in wanted.items():
        own = own[own[name] == value]
    found = own.pivot(index="id", columns="measure", values="value")
    return found.set_axis(found.columns.astype(str), axis=1)


# -- what is trained and measured


@pytest.mark.slow
def test_every_model_is_the_one_that_is_trained_by_hand(
    study: Adversaries,
    base: Model,
    corpus: verax.Corpus,
    others: list[Model],
    by_hand: dict[tuple[float, int], Model],
) -> None:
    told: dict[str, Any] = {"encoder": "conv", "epochs": 2, "device": "cpu", **TINY}
    unencoded = {**told, "encoder": "mlp", "hidden_size": 128}
    expected: dict[tuple[str, str, float, int], Model] = {
        ("seed", "given", math.nan, 3): others[0],
        ("seed", "retrained", math.nan, 5): verax.train(corpus, seed=5, **told),
    }
    for seed in SEEDS:
        for lam in LAMBDAS:
            expected["adversary", "adversary", lam, seed] = by_hand[lam, seed]
        chosen = expected["adversary", "adversary", study.chosen().lam, seed]
        guided = {"lr": 0.05, "epochs": 2, "metric": "accuracy", "patience": None, "device": "cpu"}
        for name, model in {
            "uniform": verax.train(corpus, seed=seed, projection="uniform", **told),
            "mlp-uniform": verax.train(corpus, seed=seed, projection="uniform", **unencoded),
            "mlp-own": verax.train(corpus, seed=seed, **unencoded),
            "mlp-guided-by-base": train_guided(base, corpus, seed=seed, device="cpu"),
            "mlp-guided-by-adversary": train_guided(chosen, corpus, seed=seed, **guided),
        }.items():
            expected["control", name, math.nan, seed] = model
    labels = ["kind", "name", "lam", "seed"]
    there = study.instances[labels].drop_duplicates()
    assert len(there) == len(expected) + 1
    for (kind, name, lam, seed), model in expected.items():
        wanted = {"kind": kind, "name": name, "seed": seed}
        if kind == "adversary":
            wanted["lam"] = lam
        for split in ("validation", "test"):
            alone = divergences(model, base, corpus.splits[split]).set_index("id")
            own = rows(study, split, **wanted)
            assert set(own) == {"jsd", "tvd", "same", "decision", "correct"}
            expected_values = alone[list(own)].astype(float)
            pd.testing.assert_frame_equal(own, expected_values, check_names=False)
    for split in ("validation", "test"):
        own = rows(study, split, kind="control", name="base")
        alone = divergences(base, base, corpus.splits[split]).set_index("id")
        assert set(own) == {"decision", "correct", "label", "max_weight", "items"}
        pd.testing.assert_frame_equal(own, alone[list(own)].astype(float), check_names=False)


def test_points_are_means_of_divergences_and_f1_is_scikit_learns(
    study: Adversaries,
    base: Model,
    corpus: verax.Corpus,
    by_hand: dict[tuple[float, int], Model],
) -> None:
    points = study.points().set_index("lam")
    assert points.index.tolist() == [0.0, 1.0]
    assert points.loc[1.0, "jsd"] > points.loc[0.0, "jsd"]
    for lam, point in points.iterrows():
        for split, start in (("test", ""), ("validation", "validation_")):
            found = [
                divergences(by_hand[float(str(lam)), s], base, corpus.splits[split]) for s in SEEDS
            ]
            for name in ("jsd", "tvd"):
                assert point[start + name] == pytest.approx(np.mean([f[name] for f in found]))
            scores = [f1_score(f["label"], f["decision"]) for f in found]
            assert point[f"{start}f1"] == pytest.approx(np.mean(scores))
    assert points["chosen"].sum() == 1
    assert base.record["test"]["f1"] == pytest.approx(study.controls()["f1"][0])


def test_the_yardstick_is_of_those_given_and_those_retrained(
    study: Adversaries, base: Model, corpus: verax.Corpus, others: list[Model]
) -> None:
    row = study.yardstick().set_index("measure").loc["jsd"]
    found = [divergences(m, base, corpus.test)["jsd"].mean() for m in others]
    found.append(rows(study, "test", kind="seed", seed=5)["jsd"].mean())
    assert row["mean"] == pytest.approx(np.mean(found))
    assert row["models"] == 2
    assert study.against_yardstick()["n"].tolist() == [len(corpus.test)] * 2


def test_what_it_says_of_itself(study: Adversaries, base: Model, corpus: verax.Corpus) -> None:
    manifest = study.manifest
    json.dumps(manifest, allow_nan=False)
    assert (manifest["lams"], manifest["seeds"], manifest["retrain"]) == ([0.0, 1.0], [1, 2], [5])
    assert manifest["others"] == [{"name": "model 1", "seed": 3}]
    assert (manifest["base"]["name"], manifest["controls"]) == ("the base", True)
    assert manifest["left_out"] == {}
    assert manifest["options"] == {"epochs": 3}
    assert manifest["corpus"]["fingerprint"] == corpus.fingerprint
    assert manifest["base"]["training"]["seed"] == 0
    assert inspect.signature(run_adversaries).parameters["lams"].default[0] == 0


def test_folders_are_called_by_their_names(
    base: Model, others: list[Model], corpus: verax.Corpus, tmp_path: Path
) -> None:
    base.save(tmp_path / "base")
    others[0].save(tmp_path / "other")
    given: dict[str, Any] = {"others": [tmp_path / "other"], "controls": False}
    found = run_adversaries(str(tmp_path / "base"), corpus, [0.5], epochs=1, device="cpu", **given)
    assert found.manifest["base"]["name"] == "base"
    assert found.manifest["others"] == [{"name": "other", "seed": 3}]


@pytest.mark.slow
def test_progress_has_a_line_for_every_model(
    base: Model, corpus: verax.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, Any] = {"epochs": 1, "device": "cpu", "keep": tmp_path, "retrain": [5]}
    settings |= {"progress": True, "seeds": [1, 2]}
    run_adversaries(base, corpus, [0.5], controls=False, **settings)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first.startswith("4 cells; this process")
    assert [line.rpartition("  ")[0] for line in lines] == [
        "1/4  base, seed 0",
        "2/4  λ 0.5, seed 1",
        "3/4  λ 0.5, seed 2",
        "4/4  retrained, seed 5",
    ]
    run_adversaries(base, corpus, [0.5], **settings)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first.startswith("14 cells, 4 done; this process")
    assert lines[0].startswith("5/14  uniform, seed 1  ")
    assert lines[-1].startswith("14/14  mlp, guided by adversary, seed 2  ")


@pytest.mark.slow
def test_worker_processes_and_ray_give_the_same(
    base: Model,
    corpus: verax.Corpus,
    others: list[Model],
    study: Adversaries,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The base, the other model and the guides travel as files, the corpus from memory."""
    pytest.importorskip("two_nodes")
    with tempfile.TemporaryDirectory(prefix="vx", dir="/tmp", ignore_cleanup_errors=True) as short:
        monkeypatch.setenv("RAY_TMPDIR", short)
        for engine in ("local", "ray"):
            settings: dict[str, Any] = {"others": others, "engine": engine, "workers": 2, **ASKED}
            found = verax.adversaries(base, corpus, keep=tmp_path / engine, **settings)
            pd.testing.assert_frame_equal(found.instances, study.instances, check_exact=True)
            assert found.manifest == study.manifest


@pytest.mark.slow
def test_a_bare_study_of_another_split(base: Model, tmp_path: Path) -> None:
    """From a folder, with the corpus it was trained on; nothing to hold it against."""
    base.save(tmp_path / "base")
    found = run_adversaries(
        tmp_path / "base",
        lams=np.array([0.5, 0.5]),
        seeds=np.array([1]),
        controls=False,
        split="train",
        epochs=np.int64(1),
        max_tokens=50,
        device="cpu",
        keep=tmp_path / "kept",
    )
    assert found.points()["n"].tolist() == [60]
    assert set(found.instances["split"]) == {"train", "validation"}
    assert found.controls()["name"].tolist() == ["base"]
    assert found.yardstick()["models"].tolist() == [0] * 5
    cells = verax.open_grid(tmp_path / "kept").cells
    assert cells["name"].tolist() == ["base", "adversary"]
    assert cells["seed"].tolist() == [0, 1]
    own = rows(found, "validation", kind="adversary")
    assert cells["validation_jsd"][1] == pytest.approx(own["jsd"].mean())
    assert cells["validation_accuracy"][1] == pytest.approx(own["correct"].mean())
    found.save(tmp_path / "study")


def test_on_validation_alone(base: Model, corpus: verax.Corpus) -> None:
    found = run_adversaries(
        base, corpus, [0.5], controls=False, split="validation", epochs=1, device="cpu"
    )
    point = found.points().iloc[0]
    assert point["jsd"] == point["validation_jsd"]
    assert point["n"] == len(corpus.validation)


def test_more_than_two_classes_have_macro_f1() -> None:
    corpus = verax.load_corpus("planted", documents=90, length=12, classes=3)
    model = verax.train(corpus, encoder="none", epochs=1, device="cpu", **TINY)
    told: dict[str, Any] = {"controls": False, "epochs": 1, "device": "cpu"}
    found = run_adversaries(model, corpus, [0.1], **told)
    own = rows(found, "test", kind="adversary")
    labels = rows(found, "test", name="base")["label"]
    expected = f1_score(
        labels, own["decision"], average="macro", labels=[0, 1, 2], zero_division=0.0
    )
    assert found.points()["f1"][0] == pytest.approx(expected)


@pytest.mark.slow
def test_a_hierarchical_base_has_no_guided_controls_and_says_so() -> None:
    corpus = verax.load_corpus("planted", documents=60, sentences=2, length=16)
    told: dict[str, Any] = {"hierarchical": True, "epochs": 1, "device": "cpu", **TINY}
    model = verax.train(corpus, encoder="conv", **told)
    found = run_adversaries(model, corpus, [0.5], epochs=1, device="cpu")
    table = found.controls().set_index("name")
    assert table.index.tolist() == [
        "base",
        "uniform",
        "mlp-uniform",
        "mlp-own",
        "mlp-guided-by-base",
        "mlp-guided-by-adversary",
    ]
    guided = table.loc[["mlp-guided-by-base", "mlp-guided-by-adversary"]]
    assert set(guided["note"]) == {"the base attends sentences, and a guide attends words"}
    assert guided["f1"].isna().all()
    assert table["f1"].notna().sum() == 4


def test_documents_that_share_an_id_are_told_apart(base: Model, corpus: verax.Corpus) -> None:
    alike = replace(corpus.test, ids=np.zeros(len(corpus.test), dtype=np.int64))
    found = run_adversaries(
        base, replace(corpus, test=alike), [0.5], controls=False, epochs=1, device="cpu"
    )
    assert found.points()["n"].tolist() == [len(corpus.test)]


@pytest.mark.slow
def test_options_reach_whom_they_are_for(
    base: Model, corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of adversaries stop there; how much is held at once is everyone's."""
    seen: dict[str, list[dict[str, Any]]] = {"train": [], "train_adversary": [], "train_guided": []}
    for name, function in (
        ("train", verax.train),
        ("train_adversary", train_adversary),
        ("train_guided", train_guided),
    ):

        def told(*given: Any, _name: str = name, _call: Any = function, **options: Any) -> Any:
            seen[_name].append(options)
            return _call(*given, **options)

        monkeypatch.setattr(f"{ADVERSARY_MODELS}.{name}", told)
    run_adversaries(
        base, corpus, [0.5], retrain=[4], epochs=1, lr=0.01, max_tokens=77, device="cpu"
    )
    assert [(o["epochs"], o["lr"]) for o in seen["train_adversary"]] == [(1, 0.01)]
    ordinary = seen["train"] + seen["train_guided"]
    assert {(o["epochs"], o["lr"], o["metric"]) for o in ordinary} == {(2, 0.05, "accuracy")}
    assert {o["max_tokens"] for calls in seen.values() for o in calls} == {77}
    assert [o["seed"] for o in seen["train"]] == [4, 1, 1, 1]


# -- what is kept


@pytest.mark.slow
def test_what_was_finished_before_an_interruption_is_kept_and_not_done_again(
    base: Model,
    corpus: verax.Corpus,
    others: list[Model],
    study: Adversaries,
    interrupted: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep = tmp_path / "models"
    shutil.copytree(interrupted, keep)
    monkeypatch.setattr(f"{ADVERSARY_MODELS}.train_adversary", never)
    monkeypatch.setattr(f"{ADVERSARY_MODELS}.train", never)
    settings: dict[str, Any] = {"others": others, "keep": keep, **ASKED}
    found = verax.adversaries(base, corpus, **settings)
    pd.testing.assert_frame_equal(found.instances, study.instances)
    grid = verax.open_grid(keep)
    assert grid.cells["status"].tolist() == ["done"] * 17
    saved = [key for key in grid.done if grid.files(key)]
    assert [grid.config(key)["name"] for key in saved] == SAVED
    last = verax.load(keep / "cells" / saved[3] / "model")
    assert (last.record["adversary"]["lam"], last.record["training"]["seed"]) == (1.0, 2)
    monkeypatch.setattr(f"{ADVERSARY_MODELS}.train_guided", never)
    again = verax.adversaries(base, corpus, **{**settings, "max_tokens": 77})
    pd.testing.assert_frame_equal(again.instances, found.instances)
    for other in (
        {"lams": [0.25]},
        {"seeds": [4]},
        {"retrain": [6]},
        {"epochs": 2},
        {"split": "train"},
        {"base": others[0], "others": ()},
        {"corpus": verax.load_corpus("planted", documents=90, length=12, seed=1)},
    ):
        with raises(*(["corpus.changed"] if "corpus" in other else ["study.cell-failed"])):
            verax.adversaries(**{"base": base, "corpus": corpus, **settings, **other})


@pytest.mark.slow
def test_a_damaged_model_is_trained_again(
    base: Model, corpus: verax.Corpus, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"keep": tmp_path, "controls": False, "epochs": 1, "device": "cpu"}
    found = verax.adversaries(base, corpus, [0.5], **settings)
    [path] = tmp_path.glob("cells/*/model/model.safetensors")
    whole = path.read_bytes()
    path.write_bytes(whole[:40])
    again = verax.adversaries(base, corpus, [0.5], **settings)
    pd.testing.assert_frame_equal(again.instances, found.instances)
    assert path.read_bytes() == whole
