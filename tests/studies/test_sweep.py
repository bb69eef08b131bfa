"""The λ sweep: statistics over verdicts that were made up, and small sweeps that are run."""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up import verdict_of
from scipy import stats

import verax
from support.errors import assert_names, raises
from support.internals import CELL_TRAIN, SWEEP_COLUMNS, Runner
from verax.studies import LAMS, HereEngine, Store, Sweep, read_study, sweep_of

ENTROPY, TAU = "dispersion.entropy.gradient.mean", "agreement.inputs:attention:gradient.tau"
TINY: dict[str, Any] = {
    "encoder": "none",
    "embedding_size": 8,
    "epochs": 1,
    "device": "cpu",
}


def row(table: pd.DataFrame, measure: str, lam: float | None = None) -> pd.Series:
    own = table[table["measure"] == measure]
    own = own if lam is None else own[own["lam"] == lam]
    assert len(own) == 1
    return own.iloc[0]


# -- statistics, by hand and by SciPy


def falling() -> dict[tuple[float, int], verax.Verdict]:
    """Mean entropies .9, .7, .5 and agreements .1, .4, .2 as λ and sparsity rise; one seed."""
    nan = math.nan
    return {
        (0.5, 7): verdict_of([0.4, 0.6, nan], [0.3, 0.1, nan], support=[1, 2, 3]),
        (-1.0, 7): verdict_of([0.8, 1.0, nan], [0.2, 0.0, nan], support=[9, 9, 9]),
        (0.0, 7): verdict_of([0.6, 0.7, 0.8], [0.4, 0.5, 0.3], support=[5, 6, 7]),
    }


def test_points_of_one_seed_are_over_documents() -> None:
    points = sweep_of(falling()).points()
    assert set(points["over"]) == {"documents"}
    assert points["measure"].nunique() * 3 == len(points)
    for lam, values, excluded in (
        (-1, [0.8, 1.0], 1),
        (0, [0.6, 0.7, 0.8], 0),
        (0.5, [0.4, 0.6], 1),
    ):
        found = row(points, ENTROPY, lam)
        assert found["mean"] == pytest.approx(np.mean(values))
        assert found["sd"] == pytest.approx(np.std(values, ddof=1))
        ends = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert found[["low", "high"]].tolist() == pytest.approx(ends)
        assert found[["n", "excluded", "seeds"]].tolist() == [len(values), excluded, 1]
        assert found["excluded: all zero"] == excluded
        assert row(points, TAU, lam)["excluded: second constant"] == excluded
        assert row(points, TAU, lam)["excluded: all zero"] == 0
    assert row(points, "dispersion.documents.support_share", 0)["mean"] == pytest.approx(0.6)


def test_points_of_several_seeds_are_over_seeds() -> None:
    """Each seed weighs alike, however many documents it has a value for."""
    nan = math.nan
    verdicts = {
        (0.0, 1): verdict_of([0.2, 0.4], [0.1, 0.1]),
        (0.0, 2): verdict_of([0.9, nan], [0.3, 0.3]),
        (0.0, 3): verdict_of([nan, nan], [0.5, 0.5]),
    }
    points = sweep_of(verdicts).points()
    assert set(points["over"]) == {"seeds"}
    found = row(points, ENTROPY)
    assert found["mean"] == pytest.approx((0.3 + 0.9) / 2)
    assert found["sd"] == pytest.approx(np.std([0.3, 0.9], ddof=1))
    ends = stats.t.interval(0.95, 1, 0.6, stats.sem([0.3, 0.9]))
    assert found[["low", "high"]].tolist() == pytest.approx(ends)
    assert found[["seeds", "seeds_excluded", "n", "excluded"]].tolist() == [2, 1, 3, 3]
    agreement = row(points, TAU)
    assert agreement["mean"] == pytest.approx(0.3)
    assert agreement["sd"] == pytest.approx(0.2)


def test_correlations_by_hand() -> None:
    """Entropy falls at every step, agreement rises at one and falls at one; support falls with λ.

    Of the seven entropies 1, .8 | .8, .7, .6 | .6, .4, sixteen pairs have different λ; in two of
    them the entropies are the same, in the others they fall.
    """
    found = sweep_of(falling()).correlations()
    entropy, agreement = row(found, ENTROPY), row(found, TAU)
    assert entropy[["tau", "spearman"]].tolist() == [-1, -1]
    assert entropy["tau_p"] == entropy["spearman_p"] == pytest.approx(1 / 3)
    assert entropy["support_tau"] == entropy["support_spearman"] == 1
    assert entropy[["points", "pooled"]].tolist() == [3, 7]
    assert entropy["pooled_tau"] == pytest.approx(-14 / math.sqrt(16 * 19))
    assert agreement["tau"] == pytest.approx(1 / 3)
    assert agreement["spearman"] == pytest.approx(0.5)
    assert agreement["support_tau"] == pytest.approx(-1 / 3)
    share = row(found, "dispersion.documents.support_share")
    assert share[["tau", "support_tau"]].tolist() == [-1, 1]
    assert (
        row(found, "decisions.accuracy")[["tau", "pearson", "pooled_tau"]].isna().all()
    )  # constant


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "seeds"), [(0, 1), (1, 1), (2, 3), (3, 3)])
def test_correlations_are_scipys(seed: int, seeds: int) -> None:
    """Over means of seeds' means for λ and support, over documents of all seeds where pooled."""
    random = np.random.default_rng(seed)
    verdicts, means, values = {}, [], []
    for lam in LAMS[3:9]:
        each = []
        for s in range(seeds):
            entropies, taus = random.random(6), random.random(6)
            entropies[random.integers(6)] = math.nan
            support = random.uniform(1, 10, 6)
            verdicts[lam, s] = verdict_of(list(entropies), list(taus), support=list(support))
            each.append((np.nanmean(entropies), support.mean() / 10))
            values += [(lam, e) for e in entropies if not math.isnan(e)]
        means.append((lam, *np.mean(each, axis=0)))
    lams, entropy, share = np.array(means).T
    found = row(sweep_of(verdicts).correlations(), ENTROPY)
    for name, other in (("tau", stats.kendalltau), ("spearman", stats.spearmanr)):
        assert found[name] == pytest.approx(other(lams, entropy).statistic)
        assert found[f"support_{name}"] == pytest.approx(other(share, entropy).statistic)
    assert found["tau_p"] == pytest.approx(stats.kendalltau(lams, entropy).pvalue)
    pearson = stats.pearsonr(lams, entropy)
    assert found[["pearson", "pearson_p"]].tolist() == pytest.approx([*pearson])
    assert found["pooled_tau"] == pytest.approx(stats.kendalltau(*np.array(values).T).statistic)
    assert found[["points", "pooled"]].tolist() == [6, 6 * seeds * 5]


def test_a_point_without_a_value_is_no_point() -> None:
    nan = math.nan
    verdicts = falling()
    verdicts[0.9, 7] = verdict_of([nan] * 3, [0.1] * 3)
    found = sweep_of(verdicts)
    assert row(found.correlations(), ENTROPY)["points"] == 3
    assert row(found.correlations(), TAU)["points"] == 4
    assert math.isnan(row(found.points(), ENTROPY, 0.9)["mean"])
    assert row(found.points(), ENTROPY, 0.9)[["n", "excluded"]].tolist() == [0, 3]


def test_one_point_has_no_correlation() -> None:
    found = sweep_of({(0.5, 0): verdict_of([0.4, 0.6], [0.3, 0.1])}).correlations()
    assert found[["tau", "spearman", "pearson", "pooled_tau", "support_tau"]].isna().all(axis=None)
    assert (found["points"] == 1).all()


def test_the_order_in_which_verdicts_come_does_not_matter() -> None:
    one = sweep_of(falling())
    other = sweep_of(dict(sorted(falling().items(), reverse=True)))
    pd.testing.assert_frame_equal(one.instances, other.instances)
    assert one.instances.columns.tolist() == ["lam", "seed", "id", "measure", "value", "reason"]
    assert one.manifest["lams"] == [-1.0, 0.0, 0.5]
    assert one.manifest["seeds"] == [7]
    assert one.manifest["points"] == 3


def test_no_verdict_and_verdicts_without_measures_are_told() -> None:
    with raises("option.empty"):
        sweep_of({})
    with raises("exam.not-applicable"):
        sweep_of({(0.0, 0): verax.Verdict({}, {"exams": ["erasure"]})})


# -- sweeps that are run


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=60, length=12)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where `swept` keeps its points; a test that writes takes a copy."""
    return tmp_path_factory.mktemp("sweeps") / "points"


@pytest.fixture(scope="module")
def swept(corpus: verax.Corpus, kept: Path) -> Sweep:
    return verax.sweep(corpus, [-1, 0.5], [0, 3], keep=kept, **TINY)


def part_of(swept: Sweep, where: str) -> pd.DataFrame:
    return swept.instances.query(where).reset_index(drop=True)


@pytest.mark.slow
def test_every_point_is_a_model_trained_and_examined(swept: Sweep, corpus: verax.Corpus) -> None:
    parts = []
    for lam in (-1.0, 0.5):
        for seed in (0, 3):
            model = verax.train(corpus, projection="sparsegen", lam=lam, seed=seed, **TINY)
            verdict = verax.examine(model, corpus, ["agreement", "dispersion"], seed=seed)
            parts.append(verdict.document_values().assign(lam=lam, seed=seed))
    expected = pd.concat(parts, ignore_index=True)[swept.instances.columns]
    pd.testing.assert_frame_equal(swept.instances, expected)
    share = (
        swept.points()
        .query("measure == 'dispersion.documents.support_share'")
        .set_index("lam")["mean"]
    )
    assert share[-1.0] > share[0.5]
    manifest = swept.manifest
    assert (manifest["lams"], manifest["seeds"], manifest["points"]) == ([-1.0, 0.5], [0, 3], 4)
    assert manifest["options"] == {k: v for k, v in TINY.items() if k != "device"}
    assert manifest["corpus"]["corpus"] == "planted"
    assert manifest["exams"] == ["agreement", "dispersion"]


@pytest.mark.slow
def test_options_reach_whom_they_are_for(corpus: verax.Corpus, tmp_path: Path) -> None:
    found = verax.sweep(
        corpus,
        [0.5],
        exams="dispersion",
        split="validation",
        sample=4,
        max_tokens=50,
        entropy_of="gradient-detached",
        influence="frobenius",
        keep=tmp_path,
        **TINY,
    )
    (verdict,) = verax.open_study(tmp_path).verdicts(lam=0.5, seed=0).values()
    assert verdict.manifest["split"] == "validation"
    assert verdict.manifest["documents"] == 4
    assert verdict.manifest["model"]["options"]["lam"] == 0.5
    assert verdict.manifest["model"]["options"]["projection"] == "sparsegen"
    assert found.manifest["sample"] == 4
    assert set(found.instances["measure"]) == {
        "decisions.accuracy",
        "dispersion.documents.support",
        "dispersion.documents.support_share",
        "dispersion.entropy.attention.mean",
        "dispersion.entropy.gradient-detached.mean",
        "dispersion.entropy.influence@frobenius.mean",
    }


@pytest.mark.slow
def test_worker_processes_give_the_same_sweep(corpus: verax.Corpus, swept: Sweep) -> None:
    found = verax.sweep(corpus, [-1, 0.5], [0, 3], engine="local", workers=2, **TINY)
    pd.testing.assert_frame_equal(found.instances, swept.instances)
    assert found.manifest == swept.manifest


@pytest.mark.slow
def test_a_lam_or_seed_named_twice_is_one(corpus: verax.Corpus) -> None:
    found = verax.sweep(corpus, [0, 0.0], [1, 1], exams="agreement", inputs="gradient", **TINY)
    assert found.manifest["points"] == 1
    assert row(found.points(), "decisions.accuracy")["n"] == len(corpus.test)


@pytest.mark.slow
def test_what_was_kept_is_not_done_again(
    corpus: verax.Corpus,
    swept: Sweep,
    kept: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    keep = tmp_path / "points"
    shutil.copytree(kept, keep)
    settings: dict[str, Any] = {"lams": [-1, 0.5], "seeds": [0, 3], "keep": keep, **TINY}
    study = verax.open(keep)
    assert isinstance(study, verax.StudyResults)
    assert study.counts == {"done": 4}
    (verdict,) = study.verdicts(lam=0.5, seed=3).values()
    assert verdict.manifest["model"]["options"]["lam"] == 0.5
    request.getfixturevalue("no_training")
    again = verax.sweep(corpus, **settings)
    pd.testing.assert_frame_equal(again.instances, swept.instances)
    assert again.manifest == swept.manifest
    settings |= {"lams": [0.5], "seeds": [3]}
    part = verax.sweep(corpus, **settings)
    assert part.manifest["points"] == 1
    for other in (
        {"lams": [0.25]},
        {"seeds": [1]},
        {"epochs": 2},
        {"split": "train"},
        {"sample": 5},
        {"exams": ["dispersion"]},
        {"entropy_of": "gradient"},
        {"corpus": verax.load_corpus("planted", documents=60, length=12, seed=1)},
    ):
        asked = {"corpus": corpus, **settings, **other}
        with raises("study.cell-failed"):
            verax.sweep(**asked)


@pytest.mark.slow
def test_what_was_finished_before_an_interruption_is_kept(
    corpus: verax.Corpus, swept: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[float] = []
    train = verax.train

    def stopped_at_the_last(corpus: verax.Corpus, **options: Any) -> verax.AttentionClassifier:
        if options["lam"] == 0.5 and len(trained) < 2:
            trained.append(math.nan)
            raise KeyboardInterrupt
        trained.append(options["lam"])
        return train(corpus, **options)

    monkeypatch.setattr(CELL_TRAIN, stopped_at_the_last)
    settings: dict[str, Any] = {"lams": [-1, 0.5], "seeds": [3], "keep": tmp_path, **TINY}
    with pytest.raises(KeyboardInterrupt):
        verax.sweep(corpus, **settings)
    assert verax.open_study(tmp_path).counts == {"done": 1, "missing": 1}
    found = verax.sweep(corpus, **settings)
    assert len(trained) == 3
    pd.testing.assert_frame_equal(found.instances, part_of(swept, "seed == 3"))


@pytest.mark.slow
def test_lams_that_print_alike_are_kept_apart(corpus: verax.Corpus, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"lams": [0.9, 0.90000001], "keep": tmp_path, **TINY}
    settings |= {"exams": "dispersion", "influence": "none"}
    verax.sweep(corpus, **settings)
    assert verax.open_study(tmp_path).cells["lam"].tolist() == [0.9, 0.90000001]


def test_a_kept_folder_that_is_someone_elses_is_left_alone(
    corpus: verax.Corpus, tmp_path: Path, no_training: None
) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with raises("output.occupied"):
        verax.sweep(corpus, [0.5], keep=tmp_path, **TINY)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("letter.txt", "dear")]


@pytest.mark.slow
def test_numbers_of_numpy_are_numbers(corpus: verax.Corpus, tmp_path: Path) -> None:
    numbers = {**TINY, "epochs": np.int64(1), "lr": np.float32(0.001), "sample": np.int64(4)}
    found = verax.sweep(
        corpus,
        np.array([0.5]),
        np.arange(1),
        exams="agreement",
        inputs="gradient",
        keep=tmp_path / "points",
        **numbers,
    )
    found.save(tmp_path / "sweep")
    assert json.loads((tmp_path / "sweep" / "manifest.json").read_text())["lams"] == [0.5]


# -- on the disk


@pytest.mark.slow
def test_a_sweep_is_written_as_a_whole(swept: Sweep, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "sweep"
    swept.save(out)
    swept.save(out, overwrite=True)  # over its own earlier result
    names = ["correlations.parquet", "instances.parquet", "manifest.json", "points.parquet"]
    assert sorted(p.name for p in out.iterdir()) == names
    assert [p.name for p in out.parent.iterdir()] == ["sweep"]
    tables = {"instances": swept.instances, "points": swept.points()}
    tables["correlations"] = swept.correlations()
    for name, table in tables.items():
        pd.testing.assert_frame_equal(pd.read_parquet(out / f"{name}.parquet"), table)
        assert set(table.columns) == set(SWEEP_COLUMNS[name].required), (
            "none of another kind is accepted"
        )
    written = json.loads((out / "manifest.json").read_text())
    assert sorted(written.pop("files")) == [name for name in names if name != "manifest.json"]
    assert written == {"kind": "sweep", **swept.manifest}


def test_a_failure_on_the_way_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = sweep_of(falling())
    out = tmp_path / "sweep"
    swept.save(out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}

    room = iter(range(2))

    def full(descriptor: int) -> None:
        if next(room, None) is None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with raises("output.not-writable"):
        swept.save(out, overwrite=True)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["sweep"]


@pytest.mark.parametrize("name", ["letter.txt", "manifest.json"])
def test_a_folder_that_is_not_a_sweep_is_left_alone(tmp_path: Path, name: str) -> None:
    swept = sweep_of(falling())
    swept.save(tmp_path / "sweep")
    (tmp_path / "sweep" / name).write_text("dear")
    with raises("output.occupied"):
        swept.save(tmp_path / "sweep")
    assert (tmp_path / "sweep" / name).read_text() == "dear"


# -- bad input, told before anything is trained


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"lams": [0, 1]}, ("option.out-of-range", "lam", "1.0")),
        ({"lams": [math.nan]}, ("option.out-of-range", "lam")),
        ({"lams": [-math.inf]}, ("option.out-of-range", "lam")),
        ({"lams": ["many"]}, ("option.wrong-type", "lam", "many")),
        ({"lams": []}, ("option.empty",)),
        ({"seeds": []}, ("option.empty",)),
        ({"seeds": [-1]}, ("option.out-of-range", "seed")),
        ({"seeds": [0.5]}, ("option.wrong-type", "seed", "0.5")),
        ({"exams": []}, ("option.missing",)),
        ({"exams": ["agreemnt"]}, ("option.unknown-value", "agreemnt", "agreement")),
        ({"projection": "softmax"}, ("option.conflict", "projection")),
        ({"lam": 0.5}, ("option.conflict", "lam")),
        ({"epoch": 3}, ("option.unknown", "epochs")),
        ({"draws": 3}, ("option.unknown", "draws")),
        ({"top_k": 0}, ("option.out-of-range", "top_k")),
        ({"influence": "nrom"}, ("option.unknown-value", "influence", "nrom", "norm")),
        ({"corpus": "plantd"}, ("corpus.unknown", "plantd")),
    ],
)
def test_bad_input_is_one_line(
    corpus: verax.Corpus, no_training: None, given: dict[str, Any], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        verax.sweep(**{"corpus": corpus, "lams": [0.5], **TINY, **given})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"exams": ["erasure"]}, ("option.missing",)),
        ({"split": "tset"}, ("option.unknown-value", "tset", "test")),
        ({"sample": 0}, ("option.out-of-range", "sample")),
        ({"inputs": "gradeint"}, ("option.unknown-value", "gradeint")),
        ({"entropy_of": "gradeint"}, ("option.unknown-value", "gradeint")),
    ],
)
def test_what_the_exams_refuse_is_told_before_training(
    corpus: verax.Corpus, no_training: None, given: dict[str, Any], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        verax.sweep(corpus, [0.5], **{**TINY, **given})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("given", [{"lams": 0.5}, {"seeds": 3}])
def test_one_number_is_not_a_list_and_is_told(
    corpus: verax.Corpus, no_training: None, given: dict[str, Any]
) -> None:
    with raises("option.wrong-type"):
        verax.sweep(**{"corpus": corpus, "lams": [0.5], **TINY, **given})


def test_the_default_lams_go_from_flat_to_sparse() -> None:
    assert list(LAMS) == sorted(set(LAMS))
    assert LAMS[0] < 0 in LAMS
    assert all(lam < 1 for lam in LAMS)


def test_each_lam_is_held_against_another_document_by_document() -> None:
    """Two seeds of three documents: a document's value is its mean over seeds."""
    rows = []
    for lam, shift in ((0.0, 0.0), (0.5, 0.1), (0.9, -0.2)):
        for seed in (1, 2):
            for document, value in enumerate((0.1, 0.5, 0.7, np.nan)):
                noise = (seed - 1.5) * 0.02
                rows.append(
                    (
                        lam,
                        seed,
                        document,
                        "dispersion.entropy.gradient.mean",
                        value + shift + noise,
                        None,
                    )
                )
    columns = ["lam", "seed", "id", "measure", "value", "reason"]
    found = Sweep(pd.DataFrame(rows, columns=columns)).against(0.0, test="permutation")
    assert found["lam"].tolist() == [0.5, 0.9]
    assert found["difference"].tolist() == pytest.approx([0.1, -0.2])
    assert found["n"].tolist() == [3, 3]
    assert found["excluded"].tolist() == [1, 1]
    # all three differences have one sign: 2 of the 2³ ways to flip them are as extreme
    assert found["p"].tolist() == pytest.approx([0.25, 0.25])
    assert found["holm"].tolist() == pytest.approx([0.5, 0.5])


def test_a_lam_that_is_not_there_is_told() -> None:
    columns = ["lam", "seed", "id", "measure", "value", "reason"]
    sweep = Sweep(pd.DataFrame([(0.5, 0, 1, "decisions.accuracy", 1.0, None)], columns=columns))
    with raises("result.unknown-name", "0.5"):
        sweep.against(0.0)


# -- a study over λ


@pytest.mark.slow
def test_a_sweep_is_a_study_that_can_be_run_from_its_file(
    corpus: verax.Corpus, tmp_path: Path
) -> None:
    """What is kept names, as a study file, the very cells of the sweep."""
    few: dict[str, Any] = {"exams": ["dispersion"], "influence": "none", "entropy_of": "gradient"}
    verax.sweep(corpus, [0.5, -1], [3, 0], keep=tmp_path, sample=4, max_tokens=80, **few, **TINY)
    study = read_study(tmp_path / "study.yaml")
    found = verax.open_study(tmp_path)
    assert [cell.key for cell in study.cells] == found.cells["cell"].tolist() == found.done
    assert (study.name, study.hardware.max_tokens) == ("sweep", 80)
    assert [(cell.model["lam"], cell.seed) for cell in study.cells] == [
        *((0.5, 3), (0.5, 0), (-1.0, 3), (-1.0, 0)),
    ]


@pytest.mark.slow
def test_a_study_of_several_lams_gives_a_sweep(swept: Sweep, kept: Path, tmp_path: Path) -> None:
    """The sweep itself, from what it kept; of a wider study, from the cells that are picked."""
    found = Sweep.of_study(verax.open_study(kept))
    pd.testing.assert_frame_equal(found.instances, swept.instances)
    for name in ("lams", "seeds", "points", "split", "sample", "exams", "corpus"):
        assert found.manifest[name] == swept.manifest[name]
    assert found.manifest["options"].items() >= swept.manifest["options"].items()
    wide = {
        "name": "wide",
        "corpora": {"planted": {"documents": 60, "length": 12}},
        "models": [
            {**one, "encoder": "none", "embedding_size": 8}
            for one in (
                {"projection": ["softmax", {"sparsegen": {"lam": [-1, 0.5]}}]},
                {"projection": {"sparsegen": {"lam": [0.5]}}, "attention": "dot"},
            )
        ],
        "training": {"epochs": 1},
        "exams": ["agreement", "dispersion"],
    }
    study = read_study(wide)
    store = Store.create(tmp_path / "wide", study.name, study.text, study.resolved())
    runner = Runner(study, store)
    runner.run(HereEngine("cpu"), runner.pending())
    results = verax.open_study(tmp_path / "wide")
    assert results.counts == {"done": 4}
    with raises("result.incomparable"):
        Sweep.of_study(results)
    found = Sweep.of_study(results, attention="additive")
    pd.testing.assert_frame_equal(found.instances, part_of(swept, "seed == 0"))
    with raises("result.unknown-name", "dott"):
        Sweep.of_study(results, attention="dott")


@pytest.mark.slow
def test_a_corpus_that_is_only_in_memory_is_swept(corpus: verax.Corpus, swept: Sweep) -> None:
    """One that no name leads to, whatever it says of its making."""
    mine = replace(corpus, name="mine", config={"drawn": "by hand"})
    found = verax.sweep(mine, [-1, 0.5], [3], **TINY)  # and kept nowhere
    pd.testing.assert_frame_equal(found.instances, part_of(swept, "seed == 3"))
    assert found.manifest["corpus"] == {"drawn": "by hand"}


@pytest.mark.slow
def test_a_point_that_fails_is_one_line_and_tried_again(
    corpus: verax.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"exams": "dispersion", "influence": "none", "keep": tmp_path}
    train = verax.train

    def broken(corpus: verax.Corpus, **options: Any) -> verax.AttentionClassifier:
        if options["lam"] == 0.5:
            raise RuntimeError("no such luck\nat all")
        return train(corpus, **options)

    monkeypatch.setattr(CELL_TRAIN, broken)
    with raises("study.cell-failed") as error:
        verax.sweep(corpus, [-1, 0.5], **settings, **TINY)
    assert_names(error.value, "lam=0.5", "RuntimeError", "no such luck")
    assert "in broken" in "".join(error.value.__notes__)
    assert verax.open_study(tmp_path).counts == {"done": 1, "failed": 1}
    monkeypatch.setattr(CELL_TRAIN, train)
    assert verax.sweep(corpus, [-1, 0.5], **settings, **TINY).manifest["points"] == 2


def test_options_that_do_not_go_together_are_told_before_training(
    corpus: verax.Corpus, no_training: None
) -> None:
    with raises("option.conflict", "hidden_size", "embedding_size") as e:
        verax.sweep(
            corpus, [-1, 0.5], encoder="conv", grounding="tying", strength=1.0, hidden_size=8
        )
    assert "\n" not in str(e.value)
