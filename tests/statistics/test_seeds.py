"""Means over seeds, against loops over groups and SciPy's Student's interval."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.errors import raises
from verax.statistics import describe, over_seeds, seed_means

NAN = math.nan


def by_hand(frame: pd.DataFrame, setting: object) -> dict[str, float]:
    """Seed by seed, without pandas' groups; NaN by NaN."""
    rows = [row for row in frame.itertuples() if row.setting == setting]
    seeds = {row.seed: [r.value for r in rows if r.seed == row.seed] for row in rows}
    there = {s: [v for v in values if not math.isnan(v)] for s, values in seeds.items()}
    means = [sum(values) / len(values) for values in there.values() if values]
    found = {
        "mean": sum(means) / len(means) if means else NAN,
        "sd": NAN,
        "low": NAN,
        "high": NAN,
        "seeds": len(means),
        "seeds_excluded": len(seeds) - len(means),
        "n": sum(map(len, there.values())),
        "excluded": len(rows) - sum(map(len, there.values())),
    }
    if len(means) > 1:
        found["sd"] = math.sqrt(sum((m - found["mean"]) ** 2 for m in means) / (len(means) - 1))
        half = stats.t.ppf(0.975, len(means) - 1) * found["sd"] / math.sqrt(len(means))
        found["low"], found["high"] = found["mean"] - half, found["mean"] + half
    return found


rows_of_results = st.lists(
    st.tuples(
        st.sampled_from(["none", "tying", "mlm"]),
        st.integers(0, 4),
        st.one_of(st.just(NAN), st.floats(-100, 100)),
    ),
    min_size=1,
    max_size=60,
)


@pytest.mark.slow
@given(rows_of_results)
def test_against_a_loop_and_nothing_is_lost(rows: list[tuple[str, int, float]]) -> None:
    frame = pd.DataFrame(rows, columns=["setting", "seed", "value"])
    found = over_seeds(frame, by="setting")
    assert found["setting"].tolist() == list(dict.fromkeys(frame["setting"]))
    for row in found.to_dict("records"):
        expected = by_hand(frame, row.pop("setting"))
        assert row == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert found["n"].sum() + found["excluded"].sum() == len(frame)
    pairs = set(zip(frame["setting"], frame["seed"], strict=True))
    assert found["seeds"].sum() + found["seeds_excluded"].sum() == len(pairs)
    means = seed_means(frame, by="setting")
    assert means["n"].sum() + means["excluded"].sum() == len(frame)


def test_every_seed_weighs_alike() -> None:
    """Seed 1 has mean 0 of three instances, seed 2 mean 1 of one: 1/2, not 1/4."""
    frame = pd.DataFrame({"seed": [1, 1, 1, 2], "value": [0.0, 0.0, 0.0, 1.0]})
    (row,) = over_seeds(frame, by=[]).to_dict("records")
    assert (row["mean"], row["sd"], row["seeds"], row["n"]) == (0.5, math.sqrt(0.5), 2, 4)


def test_one_value_per_seed_is_students_interval() -> None:
    values = np.random.default_rng(0).normal(size=5)
    frame = pd.DataFrame({"λ": 0.1, "seed": range(5), "accuracy": values})
    (row,) = over_seeds(frame, by="λ", value="accuracy").to_dict("records")
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (row["λ"], row["seeds"], row["n"], row["excluded"]) == (0.1, 5, 5, 0)
    again = over_seeds(seed_means(frame, "λ", "accuracy"), ["λ"], value="mean")
    assert again["mean"].tolist() == [row["mean"]]


def test_one_seed_has_no_interval() -> None:
    frame = pd.DataFrame({"seed": [7, 7], "value": [1.0, 2.0]})
    (row,) = over_seeds(frame, by=()).to_dict("records")
    assert row["mean"] == 1.5
    assert all(math.isnan(row[name]) for name in ("sd", "low", "high"))


def test_exclusions_by_reason() -> None:
    frame = pd.DataFrame(
        {
            "model": ["a", "a", "a", "b", "b", "b"],
            "seed": [1, 1, 2, 1, 1, 2],
            "value": [NAN, 1.0, NAN, NAN, NAN, 4.0],
            "why": ["one item", "ignored", "never flips", "never flips", None, None],
        }
    )
    found = over_seeds(frame, by="model", reason="why").set_index("model")
    assert found["excluded"].to_dict() == {"a": 2, "b": 2}
    assert found["excluded: never flips"].to_dict() == {"a": 1, "b": 1}
    assert found["excluded: one item"].to_dict() == {"a": 1, "b": 0}
    assert found["excluded: no reason given"].to_dict() == {"a": 0, "b": 1}
    assert not [name for name in found if "ignored" in str(name)]
    assert found["seeds"].to_dict() == {"a": 1, "b": 1}
    assert found["seeds_excluded"].to_dict() == {"a": 1, "b": 1}
    each = [name for name in found if str(name).startswith("excluded: ")]
    assert (found[each].sum(axis=1) == found["excluded"]).all()


def test_groups_keep_their_types_and_order() -> None:
    frame = pd.DataFrame(
        {
            "ranking": pd.Categorical(["z", "a", "z"], categories=["a", "unused", "z"]),
            "λ": [0.5, NAN, 0.5],
            "seed": [1, 1, 2],
            "value": [1, 2, 3],
        },
        index=[9, 9, 9],
    )
    found = over_seeds(frame, by=["ranking", "λ"])
    assert found["ranking"].tolist() == ["z", "a"]
    assert found["ranking"].dtype == frame["ranking"].dtype
    assert found["λ"].isna().tolist() == [False, True]
    assert found["mean"].tolist() == [2.0, 2.0]


def test_an_empty_frame_has_all_columns() -> None:
    frame = pd.DataFrame({"model": [], "seed": [], "value": []})
    found = over_seeds(frame, by="model")
    assert len(found) == 0
    assert found["n"].sum() == 0
    assert next(iter(found)) == "model"
    assert {"mean", "sd", "low", "high", "seeds", "seeds_excluded", "n", "excluded"} < {*found}


def test_describe_against_scipy() -> None:
    values = np.random.default_rng(1).normal(size=30)
    values[[3, 8]] = NAN
    there = values[~np.isnan(values)]
    found = describe(values)
    expected = stats.ttest_1samp(there, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.mean, found.sd) == (there.mean(), pytest.approx(stats.tstd(there)))
    assert (found.n, found.excluded) == (28, 2)
    nothing = describe([NAN])
    assert math.isnan(nothing.mean)
    assert (nothing.n, nothing.excluded) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"by": "modell"}, ("result.unknown-name", "modell")),
        ({"by": "model", "value": "valu"}, ("result.unknown-name", "value")),
        ({"by": "seed"}, ("option.conflict", "seed")),
        ({"by": "n"}, ("option.conflict", "n")),
        ({"by": "model", "value": "model"}, ("option.conflict", "model")),
        ({"by": "n2", "value": "model"}, ("statistics.bad-values", "model")),
        ({"by": "model", "value": "n2"}, ("statistics.bad-values", "n2")),
        ({"by": "model", "seed": "hole"}, ("statistics.bad-values", "hole")),
    ],
)
def test_what_cannot_be_grouped(arguments: dict[str, str], expected: tuple[str, ...]) -> None:
    columns = {"model": ["a"], "seed": [1], "value": [1.0], "n": [1], "n2": [math.inf]}
    frame = pd.DataFrame({**columns, "hole": [None]})
    with raises(*expected):
        over_seeds(frame, **arguments)  # type: ignore[arg-type]
