"""The summary of the erasure exam, over tables whose every number was chosen."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.cbook import boxplot_stats
from scipy import stats
from summaries import numbers

import verax
from verax.exams.erasure.summary import summarise
from verax.exams.tables import tidy
from verax.statistics.intervals import whiskers


def made_up_tables() -> dict[str, pd.DataFrame]:
    """Four documents with numbers chosen so that every way to miscount them shows.

    sizes      attention 1, 4, never, never; gradient 2, 4, 3, never; least 1, 2, 3, none
    two draws  sizes 4, never, never, never and 2, 4, never, never
    ΔJS        −1, 2, 3, 4 at Δα of 0.05, 0.05, 0.15, 1
    """
    nan = math.nan
    ids, items = np.arange(4), 4.0
    names = ["attention", "gradient", "random", "random"]
    labels = [{"ranking": n, "draw": int(i == 3)} for i, n in enumerate(names)]
    sizes = np.array([[1, 4, nan, nan], [2, 4, 3, nan], [4, nan, nan, nan], [2, 4, nan, nan]])
    least = np.array([1.0, 2, 3, nan])
    many = np.stack([sizes, sizes / items, sizes / 10, sizes - least, sizes / least], -1)
    ones = np.ones(4)
    single = np.stack(
        [[0.05, 0.05, 0.15, 1.0], ones, ones, [-1.0, 2, 3, 4], [1, 1, 0, 0], [1, 0, 1, 0]], -1
    )
    minimal = np.stack([least, least / items, least / 10, [0, 0, 1, nan], ones, [1, 1, 1, nan]], -1)
    instances = np.stack([items * ones, ones, [1, 1, 0, 1], ones, [1, 1, 0, 0], [0, 1, 1, 1]], -1)
    measures = ["delta_alpha", "js_top", "js_random", "delta_js", "flips_top", "flips_random"]
    return {
        "erasure_single": tidy(
            ids, single[None], measures, [{"top": "attention", "rule": "paper"}]
        ),
        "erasure_many": tidy(ids, many, ["size", "fraction", "mass", "excess", "ratio"], labels),
        "erasure_minimal": tidy(
            ids,
            minimal[None],
            ["size", "fraction", "mass", "everything", "rival", "certified"],
        ),
        "erasure_instances": tidy(
            ids,
            instances[None],
            ["items", "examined", "correct", "decision", "tied", "decision_differs"],
        ),
    }


@pytest.fixture(scope="module")
def made_up() -> verax.Verdict:
    tables = made_up_tables()
    return verax.Verdict(tables, {}, summarise(tables))


def test_what_flips_only_when_all_is_erased_makes_no_ranking_optimal() -> None:
    """Of three that can be flipped the third flips only so; attention is optimal for the first."""
    tables = made_up_tables()
    many = tables["erasure_many"]
    mass = (many["ranking"] == "attention") & (many["measure"] == "mass")
    many.loc[mass, "value"] = [0.3, 1.0, math.nan, math.nan]  # of 1 and 4 items of 4
    cells = summarise(tables).query("table == 'erasure.excess'").set_index(["row", "column"])
    part = cells.xs("optimal_in_part", level="column")
    assert part["value"].tolist() == [50, 0, 0, 0]  # attention, gradient, random, both draws
    assert part["n"].tolist() == [2, 2, 2, 2]
    more = cells.xs("beyond_random", level="column")["value"]
    assert more.to_dict() == {"attention": 50, "gradient": 0}


def test_uniform_attention_is_never_optimal_whatever_its_ties() -> None:
    """One item of four has a quarter of the weight where all have the same."""
    tables = made_up_tables()
    many = tables["erasure_many"]
    mass = (many["ranking"] == "attention") & (many["measure"] == "mass")
    many.loc[mass, "value"] = [0.25, 1.0, math.nan, math.nan]
    excess = numbers(verax.Verdict(tables, {}, summarise(tables)), "erasure.excess")
    assert excess.loc["attention", "optimal_in_part"] == 0
    assert excess.loc["attention", "optimal"] == pytest.approx(100 / 3)


def test_documents_are_counted_one_by_one(made_up: verax.Verdict) -> None:
    counts = numbers(made_up, "erasure.documents")["value"]
    assert counts["no_ranking_flips"] == 1
    assert counts["no_erasure_flips"] == 1
    assert counts["all_weight_needed"] == 1
    assert counts["tied"] == 2
    assert counts["decision_differs"] == 3
    assert counts["accuracy"] == 75


def test_negative_divergences_are_counted_where_they_are(made_up: verax.Verdict) -> None:
    assert numbers(made_up, "erasure.delta_js").loc["attention", "negative_share"] == 25
    bins = numbers(made_up, "erasure.negative_delta_js")
    assert bins["documents"].tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert bins["negative"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert bins["negative_share"].iloc[0] == 50
    assert math.isnan(bins["negative_share"].iloc[2])
    cells = numbers(made_up, "erasure.contingency").loc["attention"]
    assert cells.tolist() == [25, 25, 25, 25]


def test_what_a_ranking_never_flips_is_not_forgotten(made_up: verax.Verdict) -> None:
    """Attention is optimal for one of the three that can be flipped, not for one of its two."""
    excess = numbers(made_up, "erasure.excess")
    assert excess.loc["attention", "optimal"] == pytest.approx(100 / 3)
    assert excess.loc["gradient", "optimal"] == pytest.approx(100 / 3)
    assert excess.loc["attention", "never_though_possible"] == 1
    assert excess.loc["attention", "mean"] == 1
    fraction = numbers(made_up, "erasure.fraction")
    assert fraction["flips"].to_dict() == {
        "attention": 2,
        "gradient": 3,
        "random": 1,
        "random@all": 2,
        "optimum": 3,
    }
    assert fraction.loc["attention", "never_flips"] == 2
    # only the first document is flipped by all, random ones by their first draw
    assert fraction["common_mean"].to_dict() == {
        "attention": 0.25,
        "gradient": 0.5,
        "random": 1.0,
        "random@all": 1.0,
        "optimum": 0.25,
    }


def test_draws_are_averaged_number_by_number(made_up: verax.Verdict) -> None:
    """Fractions 1 in the first draw, ½ and 1 in the second: means 1 and ¾; above ½: 100%, 50%."""
    fraction = numbers(made_up, "erasure.fraction").loc["random@all"]
    assert fraction["mean"] == pytest.approx(0.875)
    assert fraction["above_half"] == pytest.approx(75)
    excess = numbers(made_up, "erasure.excess").loc["random@all"]
    assert excess["mean"] == pytest.approx((3 + 1.5) / 2)
    assert excess["optimal"] == 0


def test_one_that_flips_beats_one_that_does_not(made_up: verax.Verdict) -> None:
    """Attention 1, 4, –, – against gradient 2, 4, 3, –: fewer, same, more, and neither."""
    pair = numbers(made_up, "erasure.pairs").loc["attention:gradient"]
    assert pair[["fewer", "same", "more"]].tolist() == [1, 1, 1]
    assert pair["fewer_of_flips"] == pytest.approx(100 / 3)
    assert pair["more_of_all"] == 25
    assert "attention:random@all" not in numbers(made_up, "erasure.pairs").index


# -- ΔJS where it is near 0, and by Δα


@pytest.fixture(scope="module")
def spread() -> verax.Verdict:
    """A hundred documents of any Δα and ΔJS, but for Δα between 0.6 and 0.7; many near 0."""
    random = np.random.default_rng(4)
    alpha = random.random(100)
    alpha[(alpha >= 0.6) & (alpha < 0.7)] = 0.15
    js = random.normal(size=100) * random.choice([0.01, 1.0], 100)
    js[:4], alpha[:4] = [0.01, -0.01, 0.0, -0.0], 0.35  # neither end is near, 0 is no negative
    ones = np.ones(100)
    measures = ["delta_alpha", "js_top", "js_random", "delta_js", "flips_top", "flips_random"]
    single = np.stack([alpha, ones, ones, js, ones, ones], -1)
    tables = made_up_tables()
    label = {"top": "attention", "rule": "paper"}
    tables["erasure_single"] = tidy(np.arange(100), single[None], measures, [label])
    return verax.Verdict(tables, {}, summarise(tables))


def test_delta_js_by_alpha_is_numpys(spread: verax.Verdict) -> None:
    found = numbers(spread, "erasure.delta_js_by_alpha")
    assert found.columns.tolist() == ["documents", "median", "q1", "q3", "near_zero_share"]
    assert found.index.equals(numbers(spread, "erasure.negative_delta_js").index)
    assert found["documents"].equals(numbers(spread, "erasure.negative_delta_js")["documents"])
    assert found["documents"].sum() == 100
    cells = (
        spread.summary().query("table == 'erasure.delta_js_by_alpha'").set_index(["row", "column"])
    )
    single = spread.tables["erasure_single"].pivot(index="id", columns="measure", values="value")
    for number, row in enumerate(found.index):
        own = single.query(f"{number} <= delta_alpha * 10 < {number + 1}")["delta_js"].to_numpy()
        assert found.loc[row, "documents"] == len(own)
        if number == 6:
            assert not len(own)
            assert found.loc[row].drop("documents").isna().all()
            continue
        assert found.loc[row, ["q1", "median", "q3"]].tolist() == pytest.approx(
            np.percentile(own, [25, 50, 75])
        )
        share = stats.binomtest(sum(abs(x) < 0.01 for x in own), len(own))
        cell = cells.loc[row, "near_zero_share"]
        assert cell["value"] == pytest.approx(100 * share.statistic)
        interval = share.proportion_ci(method="wilson")
        assert [cell["low"], cell["high"]] == pytest.approx([100 * end for end in interval])
        ends = stats.quantile_test(own, p=0.5).confidence_interval(0.95)
        low, high = cells.loc[(row, "median"), ["low", "high"]]
        assert low == pytest.approx(ends.low, nan_ok=True)
        assert high == pytest.approx(ends.high, nan_ok=True)


def test_negatives_near_0_are_of_the_negatives(
    made_up: verax.Verdict, spread: verax.Verdict
) -> None:
    values = spread.tables["erasure_single"].query("measure == 'delta_js'")["value"]
    negative = [x for x in values if x < 0]
    near = [x for x in negative if x > -0.01]
    assert len(near) > 3
    assert -0.01 in negative
    found = numbers(spread, "erasure.delta_js")
    assert found.columns[-1] == "negative_near_zero_share"
    assert found.loc["attention", "negative_share"] == len(negative)  # of a hundred
    share = found.loc["attention", "negative_near_zero_share"]
    assert share == pytest.approx(100 * len(near) / len(negative))
    cells = spread.summary().query("table == 'erasure.delta_js'").set_index("column")
    assert cells.loc["negative_near_zero_share", "n"] == len(negative)
    assert cells.loc["negative_near_zero_share", "unit"] == "percent"
    assert numbers(made_up, "erasure.delta_js").loc["attention", "negative_near_zero_share"] == 0


def test_without_a_negative_there_is_no_share_of_them() -> None:
    tables = made_up_tables()
    table = tables["erasure_single"]
    table.loc[table["measure"] == "delta_js", "value"] = 0.5
    verdict = verax.Verdict(tables, {}, summarise(tables))
    found = numbers(verdict, "erasure.delta_js").loc["attention"]
    assert found["negative_share"] == 0
    assert math.isnan(found["negative_near_zero_share"])


# -- whiskers


@pytest.mark.slow
@given(
    st.lists(
        st.one_of(st.integers(0, 8).map(lambda x: x / 8), st.floats(-1e6, 1e6)),
        min_size=1,
        max_size=40,
    )
)
def test_whiskers_are_matplotlibs(values: list[float]) -> None:
    expected = boxplot_stats(np.array(values))[0]
    assert whiskers(np.array(values)) == (expected["whislo"], expected["whishi"])


def test_whiskers_leave_outliers_out() -> None:
    """With quartiles 2 and 4, −1 to 7 is in reach. Of 0, 0, 0, 9 they are 0 and 2.25: 9 is out of
    reach, and what is within is below q3.
    """
    assert whiskers(np.array([-1.0, 2, 3, 4, 7.01])) == (-1, 4)
    assert whiskers(np.array([0.0, 0, 0, 9])) == (0, 2.25)
    assert np.isnan(whiskers(np.array([]))).all()


def test_whiskers_of_draws_are_averaged_and_stand_at_the_end(made_up: verax.Verdict) -> None:
    """Fractions 1 in the first draw, ½ and 1 in the second."""
    for measure in ("fraction", "mass"):
        found = numbers(made_up, f"erasure.{measure}")
        assert found.columns.tolist()[-3:] == ["common_mean", "whisker_low", "whisker_high"]
        many = made_up.tables["erasure_many"].query(f"measure == '{measure}' and draw == 0")
        for name in ("attention", "gradient", "random"):
            own = many.query(f"ranking == '{name}'")["value"].dropna()
            expected = boxplot_stats(own)[0]
            ends = found.loc[name, ["whisker_low", "whisker_high"]].tolist()
            assert ends == [expected["whislo"], expected["whishi"]]
    draws = numbers(made_up, "erasure.fraction").loc["random@all"]
    assert draws[["whisker_low", "whisker_high"]].tolist() == [0.75, 1]
    cells = made_up.summary().query("table == 'erasure.fraction' and column == 'whisker_low'")
    assert cells[["low", "high"]].isna().to_numpy().all()


def test_a_ranking_that_flips_nothing_has_no_whiskers() -> None:
    tables = made_up_tables()
    table = tables["erasure_many"]
    table.loc[table["ranking"] == "attention", "value"] = math.nan
    verdict = verax.Verdict(tables, {}, summarise(tables))
    found = numbers(verdict, "erasure.fraction").loc["attention"]
    assert found[["min", "whisker_low", "whisker_high"]].isna().all()
