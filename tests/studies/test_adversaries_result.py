"""What is said of adversaries, over numbers that were made up: by hand, SciPy and scikit-learn."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_adversaries import Frames, N, made_up, of
from scipy import stats
from sklearn.metrics import f1_score

from support.errors import raises
from verax.statistics import f1
from verax.studies import Adversaries, load_adversaries
from verax.studies.adversaries import COLUMNS
from verax.studies.adversary_scores import choose

SHARES = {"same": "same", "accuracy": "correct"}


def f1_of(frame: pd.DataFrame, classes: int) -> float:
    how = {"average": "binary"} if classes == 2 else {"average": "macro"}
    labels = None if classes == 2 else list(range(classes))
    told = {"labels": labels, "zero_division": 0.0, **how}
    return float(f1_score(frame["label"], frame["decision"], **told))


def number(frame: pd.DataFrame, measure: str, classes: int) -> float:
    if measure == "f1":
        return f1_of(frame, classes)
    return float(frame[SHARES.get(measure, measure)].mean())


def student(values: pd.Series | np.ndarray) -> list[float]:
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    return [max(0.0, float(low)), min(1.0, float(high))]


# -- the curve


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_points_of_one_seed_are_over_documents(seed: int, classes: int) -> None:
    found, frames = made_up(seed, classes=classes)
    points = found.points().set_index("lam")
    assert points.index.tolist() == [0.0, 0.1, 1.0]
    assert set(points["over"]) == {"documents"}
    assert set(zip(points["seeds"], points["n"], strict=True)) == {(1, N)}
    for lam, point in points.iterrows():
        (own,) = of(frames, "adversary", lam=lam)
        (beside,) = of(frames, "adversary", "validation", lam=lam)
        for measure in ("jsd", "tvd", "same", "accuracy", "f1"):
            assert point[measure] == pytest.approx(number(own, measure, classes))
        for measure in ("jsd", "tvd"):
            ends = point[[f"{measure}_low", f"{measure}_high"]].tolist()
            assert ends == pytest.approx(student(own[measure]))
        for measure, column in SHARES.items():
            wilson = stats.binomtest(int(own[column].sum()), N).proportion_ci(method="wilson")
            ends = point[[f"{measure}_low", f"{measure}_high"]].tolist()
            assert ends == pytest.approx([*wilson])
        expected = f1(own["label"], own["decision"], classes).interval
        low, high = max(0.0, expected[1]), min(1.0, expected[2])
        assert point[["f1_low", "f1_high"]].tolist() == pytest.approx([low, high])
        for measure in ("jsd", "tvd", "same", "accuracy", "f1"):
            value = point[f"validation_{measure}"]
            assert value == pytest.approx(number(beside, measure, classes))


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_points_of_several_seeds_are_over_seeds(classes: int) -> None:
    found, frames = made_up(4, seeds=(1, 2, 9), classes=classes)
    points = found.points().set_index("lam")
    assert set(points["over"]) == {"seeds"}
    assert set(points["seeds"]) == {3}
    for lam, point in points.iterrows():
        for measure in ("jsd", "tvd", "same", "accuracy", "f1"):
            own = of(frames, "adversary", lam=lam)
            values = np.array([number(frame, measure, classes) for frame in own])
            assert point[measure] == pytest.approx(values.mean())
            ends = point[[f"{measure}_low", f"{measure}_high"]].tolist()
            assert ends == pytest.approx(student(values))
        beside = of(frames, "adversary", "validation", lam=lam)
        mean = np.mean([f1_of(frame, classes) for frame in beside])
        assert point["validation_f1"] == pytest.approx(mean)


def test_seeds_that_all_say_the_same_give_no_interval() -> None:
    """Two models with one accuracy do not tell that every other has it."""
    found, _ = made_up(0, seeds=(1, 2))
    alike = found.instances.copy()
    alike.loc[alike["measure"].isin(["same", "correct"]), "value"] = 1.0
    points = Adversaries(alike, found.manifest).points()
    assert (points["same"] == 1).all()
    assert points[["same_low", "same_high", "accuracy_low"]].isna().all(axis=None)
    assert points[["jsd_low", "jsd_high"]].notna().all(axis=None)


# -- choosing


@pytest.mark.parametrize("seed", range(30))
def test_the_lam_chosen_is_the_one_that_brute_force_finds(seed: int) -> None:
    """On a grid so coarse that there are ties, and scores exactly a point below the base's.

    Scores are in half points, so that brute force counts in whole numbers.
    """
    random = np.random.default_rng(seed)
    for _ in range(40):
        lams = random.permutation(6)[: random.integers(1, 6)]
        grid = {int(lam): [int(n) for n in random.integers((5, 8, 8))] for lam in lams}
        own = [int(n) for n in random.integers(12, size=2)]
        rows = [
            {
                "lam": lam / 10,
                "jsd": jsd / 10,
                "f1": 0.5 + f1 / 200,
                "accuracy": 0.6 + right / 200,
                "same": 0.5,
            }
            for lam, (jsd, f1, right) in grid.items()
        ]
        tried = [lam for lam in grid if lam > 0] or [0]
        lost = {lam: max(own[0] - grid[lam][1], own[1] - grid[lam][2]) for lam in tried}
        near = [lam for lam in tried if lost[lam] <= 2]
        if near:
            expected = min(near, key=lambda lam: (-grid[lam][0], lam))
        else:
            expected = min(tried, key=lambda lam: (lost[lam], lam))
        found = choose(rows, 0.5 + own[0] / 200, 0.6 + own[1] / 200)
        assert (found.lam, found.within) == (expected / 10, bool(near))
        assert (found.base_f1, found.base_accuracy) == (0.5 + own[0] / 200, 0.6 + own[1] / 200)


def test_a_model_that_always_says_the_same_is_not_chosen() -> None:
    """`positive` throughout, of as many of either class: half are right, and F1 is 2/3."""
    told = {"jsd": 0.1, "same": 0.9}
    near = {"lam": 0.1, "f1": 0.66, "accuracy": 0.66, **told}
    collapsed = {"lam": 1.0, "f1": 2 / 3, "accuracy": 0.5, "jsd": 0.69, "same": 0.5}
    found = choose([near, collapsed], 0.66, 0.66)
    assert (found.lam, found.within, found.same) == (0.1, True, 0.9)
    alone = choose([{**collapsed, "lam": 0.5}, collapsed], 0.66, 0.66)
    assert (alone.lam, alone.within) == (0.5, False)


def test_an_imitation_is_no_adversary_unless_it_is_alone() -> None:
    imitation = {"lam": 0.0, "jsd": 0.6, "f1": 0.9, "accuracy": 0.9, "same": 1.0}
    worse = {**imitation, "lam": 1.0, "f1": 0.5}
    assert choose([imitation, worse], 0.9, 0.9).lam == 1.0
    assert not choose([imitation, worse], 0.9, 0.9).within
    assert choose([imitation], 0.9, 0.9).lam == 0.0


def test_what_has_no_value_is_chosen_last() -> None:
    """F1 of a class that is neither there nor decided for; JSD of documents of one item."""
    row = {"lam": 0.1, "jsd": math.nan, "f1": 0.9, "accuracy": 0.9, "same": 1.0}
    assert choose([row, {**row, "lam": 0.2, "jsd": 0.1}], 0.9, 0.9).lam == 0.2
    assert choose([row], 0.9, 0.9).within
    lost = {**row, "f1": math.nan}
    assert not choose([lost], 0.9, 0.9).within
    assert choose([lost, {**row, "lam": 0.2, "f1": 0.1}], 0.9, 0.9).lam == 0.2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_validation_chooses_and_test_has_no_say(seed: int) -> None:
    found, frames = made_up(seed, seeds=(1, 2))
    rows = []
    for lam in found.lams:
        beside = of(frames, "adversary", "validation", lam=lam)
        told = {
            name: float(np.mean([number(frame, name, 2) for frame in beside]))
            for name in ("jsd", "f1", "accuracy", "same")
        }
        rows.append({"lam": lam, **told})
    (base,) = of(frames, "control", "validation", name="base")
    expected = choose(rows, f1_of(base, 2), float(base["correct"].mean()))
    chosen = found.chosen()
    assert asdict(chosen) == pytest.approx(asdict(expected))
    assert found.points().query("chosen")["lam"].tolist() == [chosen.lam]
    other = found.instances.copy()
    on_test = (other["split"] == "test") & (other["measure"] != "label")
    other.loc[on_test, "value"] = 0.0
    assert Adversaries(other, found.manifest).chosen() == chosen


def test_nothing_to_choose_from() -> None:
    with raises("option.empty"):
        choose([], 0.5, 0.5)


# -- the yardstick


def test_a_yardstick_of_several_models_is_over_models() -> None:
    found, frames = made_up(1, others=(5, 6, 7))
    table = found.yardstick().set_index("measure")
    assert set(table["over"]) == {"models"}
    assert set(table["models"]) == {3}
    for measure, row in table.iterrows():
        values = np.array([number(frame, str(measure), 2) for frame in of(frames, "seed")])
        assert row["mean"] == pytest.approx(values.mean())
        assert row[["low", "high"]].tolist() == pytest.approx(student(values))


def test_a_yardstick_of_one_model_is_over_documents() -> None:
    found, frames = made_up(1)
    row = found.yardstick().set_index("measure").loc["jsd"]
    (own,) = of(frames, "seed")
    assert (row["over"], row["models"], row["n"]) == ("documents", 1, N)
    assert [row["mean"], row["low"], row["high"]] == pytest.approx(
        [own["jsd"].mean(), *student(own["jsd"])]
    )


def test_without_one_everything_is_nan_and_counted() -> None:
    found, _ = made_up(1, others=())
    table = found.yardstick()
    assert (table["models"] == 0).all()
    assert table[["mean", "low", "high"]].isna().all(axis=None)
    against = found.against_yardstick()
    assert against["lam"].tolist() == [0.0, 0.1, 1.0]
    assert against[["difference", "low", "p", "holm", "beyond"]].isna().all(axis=None)
    assert against[["n", "excluded"]].to_numpy().tolist() == [[0, N]] * 3
    assert set(found.by_weight()["kind"]) == {"adversary"}


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_against_the_yardstick_document_by_document(seeds: tuple[int, ...]) -> None:
    found, frames = made_up(2, seeds=seeds, others=(5, 6))
    ranks, means = found.against_yardstick(), found.against_yardstick("t").set_index("lam")
    yard = np.mean([frame["jsd"] for frame in of(frames, "seed")], axis=0)
    ps = []
    for row in ranks.to_dict(orient="records"):
        own = np.mean([f["jsd"] for f in of(frames, "adversary", lam=row["lam"])], axis=0)
        assert row["difference"] == pytest.approx(own.mean() - yard.mean())
        ends = stats.ttest_rel(own, yard).confidence_interval(0.95)
        assert [row["low"], row["high"]] == pytest.approx([*ends])
        assert row["p"] == pytest.approx(stats.wilcoxon(own, yard).pvalue)
        assert means.loc[row["lam"], "p"] == pytest.approx(stats.ttest_rel(own, yard).pvalue)
        beyond = int((own > yard).sum())
        wilson = stats.binomtest(beyond, N).proportion_ci(method="wilson")
        shares = [row["beyond"], row["beyond_low"], row["beyond_high"]]
        assert shares == pytest.approx([beyond / N, *wilson])
        ps.append(row["p"])
    smallest = int(np.argmin(ps))
    assert ranks["holm"][smallest] == pytest.approx(min(1.0, 3 * ps[smallest]))


def test_by_weight_holds_each_document_once() -> None:
    found, frames = made_up(3, seeds=(1, 2), others=(5, 6), classes=3)
    table = found.by_weight()
    (base,) = of(frames, "control", name="base")
    sides = {lam: of(frames, "adversary", lam=lam) for lam in found.lams}
    for row in table.to_dict(orient="records"):
        models = of(frames, "seed") if row["kind"] == "seed" else sides[row["lam"]]
        jsd = np.mean([frame["jsd"] for frame in models], axis=0)
        inside = [
            jsd[i]
            for i in range(N)
            if f"class {base['decision'][i]}" == row["decision"]
            and row["from"] <= base["max_weight"][i] < row["below"]
        ]
        assert row["n"] == len(inside)
        if inside:
            assert row["jsd"] == pytest.approx(np.mean(inside))
    counts = table.groupby(["kind", "lam"], dropna=False)["n"].sum()
    assert counts.tolist() == [N] * 4


def test_a_weight_of_one_is_in_the_last_bin() -> None:
    found, _ = made_up(0)
    sharp = found.instances.copy()
    sharp.loc[sharp["measure"] == "max_weight", "value"] = 1.0
    table = Adversaries(sharp, found.manifest).by_weight()
    assert set(table.loc[table["n"] > 0, "from"]) == {0.75}
    quarter = sharp.assign(value=sharp["value"].where(sharp["measure"] != "max_weight", 0.25))
    table = Adversaries(quarter, found.manifest).by_weight()
    assert set(table.loc[table["n"] > 0, "from"]) == {0.25}


# -- documents of one item


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_documents_of_one_item_are_left_out_of_jsd_and_of_nothing_else(
    seeds: tuple[int, ...],
) -> None:
    """As if they had not been there, as far as JSD goes."""
    found, frames = made_up(2, seeds=seeds, others=(5, 6))
    single = sorted(set(of(frames, "control", name="base")[0]["id"]))[::4]
    rows = found.instances
    hit = rows["id"].isin(single) & rows["measure"].isin(["items", "jsd"])
    with_them = rows.assign(value=rows["value"].where(~hit, 0.0))
    with_them.loc[hit & (rows["measure"] == "items"), "value"] = 1.0
    study = Adversaries(with_them, found.manifest)
    without = Adversaries(rows[~rows["id"].isin(single)], found.manifest)
    assert (found.one_item, study.one_item, without.one_item) == (0, len(single), 0)
    points, fewer, all_of_them = study.points(), without.points(), found.points()
    jsd = ["jsd", "jsd_low", "jsd_high", "validation_jsd", "jsd_n"]
    pd.testing.assert_frame_equal(points[jsd], fewer[jsd])
    rest = [n for n in points if n not in (*jsd, "chosen")]
    pd.testing.assert_frame_equal(points[rest], all_of_them[rest])
    assert set(zip(points["n"], points["jsd_n"], strict=True)) == {(N, N - len(single))}
    against = study.against_yardstick()
    shared = [n for n in against if n != "excluded"]
    pd.testing.assert_frame_equal(against[shared], without.against_yardstick()[shared])
    assert set(against["excluded"]) == {len(single)}
    pd.testing.assert_frame_equal(study.by_weight(), without.by_weight())
    yard, of_fewer = (s.yardstick().set_index("measure") for s in (study, without))
    pd.testing.assert_series_equal(yard.loc["jsd"], of_fewer.loc["jsd"])
    of_all = found.yardstick().set_index("measure").drop("jsd")
    pd.testing.assert_frame_equal(yard.drop("jsd"), of_all)
    assert study.chosen().jsd == pytest.approx(
        without.points()
        .query("lam > 0")["validation_jsd"]
        .iloc[study.points().query("lam > 0")["chosen"].argmax()]
    )


def test_documents_that_all_have_one_item_have_no_jsd(tmp_path: Path) -> None:
    found, _ = made_up(0)
    rows = found.instances
    single = rows.assign(value=rows["value"].where(rows["measure"] != "items", 1.0))
    study = Adversaries(single, found.manifest)
    assert study.points()["jsd"].isna().all()
    assert study.points()["jsd_n"].tolist() == [0, 0, 0]
    assert study.against_yardstick()["beyond"].isna().all()
    assert study.by_weight()["n"].sum() == 0


# -- controls


def test_controls_with_the_base_first_and_what_is_not_there_last() -> None:
    why = {"mlp, guided by base": "sentences"}
    found, frames = made_up(5, seeds=(1, 2), names=("uniform", "mlp, own"), left_out=why)
    table = found.controls().set_index("name")
    assert table.index.tolist() == ["base", "uniform", "mlp, own", "mlp, guided by base"]
    for name in ("base", "uniform", "mlp, own"):
        own = of(frames, "control", name=name)
        for measure in ("f1", "accuracy"):
            values = np.array([number(frame, measure, 2) for frame in own])
            assert table.loc[name, measure] == pytest.approx(values.mean())
            if len(values) > 1:
                ends = table.loc[name, [f"{measure}_low", f"{measure}_high"]].tolist()
                assert ends == pytest.approx(student(values))
    assert table.loc["base", ["over", "seeds", "note"]].tolist() == ["documents", 1, ""]
    assert table.loc["base", ["jsd", "tvd", "same"]].isna().all()
    assert table.loc["uniform", ["over", "seeds", "note"]].tolist() == ["seeds", 2, ""]
    assert table.loc["mlp, guided by base", ["seeds", "n", "note"]].tolist() == [0, 0, "sentences"]
    assert math.isnan(table.loc["mlp, guided by base", "f1"])


# -- on the disk


@pytest.fixture(scope="module")
def study() -> tuple[Adversaries, Frames]:
    return made_up(6, seeds=(1, 2), others=(5, 6))


@pytest.mark.slow
def test_saved_and_loaded_it_says_the_same(
    study: tuple[Adversaries, Frames], tmp_path: Path
) -> None:
    found = study[0]
    out = tmp_path / "deep" / "study"
    found.save(out)
    found.save(out, overwrite=True)  # over its own earlier result
    assert [p.name for p in out.parent.iterdir()] == ["study"]
    again = load_adversaries(out)
    pd.testing.assert_frame_equal(again.instances, found.instances)
    assert again.manifest == found.manifest
    assert again.chosen() == found.chosen()
    for name in ("points", "yardstick", "against_yardstick", "by_weight", "controls"):
        expected = getattr(found, name)()
        pd.testing.assert_frame_equal(getattr(again, name)(), expected)
        pd.testing.assert_frame_equal(pd.read_parquet(out / f"{name}.parquet"), expected)
        assert set(expected.columns) == set(COLUMNS[name].required), "none of another kind"
    told = json.loads((out / "manifest.json").read_text())
    assert (told["kind"], told["format"]) == ("adversaries", 2)
    assert told["chosen"]["lam"] == found.chosen().lam
    assert f"{found.chosen().lam:g} chosen" in repr(found)


def test_a_study_without_a_yardstick_is_saved_too(tmp_path: Path) -> None:
    found, _ = made_up(1, others=())
    found.save(tmp_path / "study")
    table = pd.read_parquet(tmp_path / "study" / "yardstick.parquet")
    pd.testing.assert_frame_equal(table, found.yardstick())


def test_a_failure_on_the_way_leaves_the_old_one(
    study: tuple[Adversaries, Frames], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"
    study[0].save(out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}

    room = iter(range(2))

    def full(descriptor: int) -> None:
        if next(room, None) is None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with raises("output.not-writable"):
        study[0].save(out, overwrite=True)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["study"]


def test_other_folders_are_left_alone_and_not_read(
    study: tuple[Adversaries, Frames], tmp_path: Path
) -> None:
    out = tmp_path / "study"
    study[0].save(out)
    (out / "letter.txt").write_text("dear")
    with raises("output.occupied"):
        study[0].save(out)
    with raises("result.missing"):
        load_adversaries(tmp_path)
    (out / "manifest.json").write_text('{"kind": "adversaries", "format": 99}')
    with raises("result.other-format", "99"):
        load_adversaries(out)
    (out / "manifest.json").write_text("{")
    with raises("result.damaged"):
        load_adversaries(out)
