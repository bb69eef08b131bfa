"""Adversaries as rows of a summary, over numbers that were made up: by hand, and scikit-learn."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from made_up_adversaries import N, made_up, of
from sklearn.metrics import f1_score

from support.internals import COLUMNS, find_place
from support.internals import adversaries_summarise as summarise

ALL = ["jsd", "tvd", "same", "accuracy", "f1"]


def by_place(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.set_index(["table", "row", "column"])


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_are_the_numbers_of_each_model(classes: int) -> None:
    found, frames = made_up(3, classes=classes, others=(5, 6), controls=True)
    rows = summarise(found)
    assert list(rows) == COLUMNS
    assert set(rows["exam"]) == {"adversaries"}
    assert not rows.duplicated(["table", "row", "column"]).any()
    for place in rows.itertuples():
        declared = find_place(place.measure)
        assert declared is not None
        assert (declared.row, declared.column) == (place.row, place.column)
        assert declared.measure.unit == place.unit
    at = by_place(rows)
    score = "f1" if classes == 2 else "macro_f1"
    how = "binary" if classes == 2 else "macro"

    def numbers(frame: pd.DataFrame) -> dict[str, tuple[float, str]]:
        f1 = 100 * float(f1_score(frame["label"], frame["decision"], average=how))
        return {
            "jsd": (frame["jsd"].mean(), "number"),
            "tvd": (frame["tvd"].mean(), "number"),
            "same": (100 * frame["same"].mean(), "percent"),
            "accuracy": (100 * frame["correct"].mean(), "percent"),
            score: (f1, "percent"),
        }

    places = [("adversaries", f"lambda={lam:g}", {"lam": lam}, "adversary") for lam in found.lams]
    places += [("adversaries.seeds", f"seed={n}", {"seed": n}, "seed") for n in (5, 6)]
    for table, row, wanted, kind in places:
        (frame,) = of(frames, kind, **wanted)
        for column, (value, unit) in numbers(frame).items():
            cell = at.loc[(table, row, column)]
            assert cell["value"] == pytest.approx(value)
            assert (cell["unit"], cell["n"]) == (unit, N)
        if kind == "adversary":
            (frame,) = of(frames, kind, "validation", **wanted)
            for column, (value, unit) in numbers(frame).items():
                cell = at.loc[(table, row, f"validation_{column}")]
                assert cell["value"] == pytest.approx(value)
                assert (cell["unit"], cell["n"], math.isnan(cell["low"])) == (unit, N, True)
    each = [numbers(frame) for frame in of(frames, "seed")]
    for column in each[0]:
        mean = sum(own[column][0] for own in each) / 2
        assert at.loc[("adversaries.seeds", "mean", column), "value"] == pytest.approx(mean)
    for name in ("base", "uniform"):
        (frame,) = of(frames, "control", name=name)
        for column in ("accuracy", score):
            cell = at.loc[("adversaries.controls", name, column)]
            assert cell["value"] == pytest.approx(numbers(frame)[column][0])
            assert cell["low"] <= cell["value"] <= cell["high"]
    chosen = found.chosen()
    assert at.loc[("adversaries.chosen", "chosen", "lambda"), "value"] == chosen.lam
    assert at.loc[("adversaries.chosen", "chosen", "within"), "value"] == chosen.within


def test_only_what_was_asked_for_is_there() -> None:
    found, _ = made_up(0, others=(), names=(), controls=False)
    rows = summarise(found)
    assert rows["table"].unique().tolist() == ["adversaries", "adversaries.chosen"]
    assert rows[rows["table"] == "adversaries"]["row"].unique().tolist() == [
        "lambda=0",
        "lambda=0.1",
        "lambda=1",
    ]
    columns = rows[rows["table"] == "adversaries"]["column"].unique().tolist()
    assert columns == [*ALL, *(f"validation_{name}" for name in ALL)]


def test_jsd_counts_documents_of_several_items_only() -> None:
    found, _ = made_up(1, controls=True, left_out={"mlp-guided-by-base": "it cannot be"})
    rows = found.instances
    single = (rows["measure"] == "items") & (rows["id"] == 3)
    rows["value"] = rows["value"].where(~single, 1.0)
    at = by_place(summarise(found))
    for table, row in (("adversaries", "lambda=1"), ("adversaries.seeds", "mean")):
        assert at.loc[(table, row, "jsd"), "n"] == N - 1
        assert at.loc[(table, row, "tvd"), "n"] == N
    assert at.loc[("adversaries", "lambda=1", "validation_jsd"), "n"] == N - 1
    absent = at.loc[("adversaries.controls", "mlp-guided-by-base", "accuracy")]
    assert math.isnan(absent["value"])
    assert absent["n"] == 0


@pytest.mark.slow
def test_over_seeds_the_interval_is_theirs() -> None:
    found, _ = made_up(2, seeds=(1, 2, 3))
    at, points = by_place(summarise(found)), found.points().set_index("lam")
    for lam, point in points.iterrows():
        cell = at.loc[("adversaries", f"lambda={lam:g}", "jsd")]
        ends = point[["jsd", "jsd_low", "jsd_high"]].tolist()
        assert cell[["value", "low", "high"]].tolist() == ends
