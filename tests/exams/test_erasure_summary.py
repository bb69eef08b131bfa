"""The summary of the erasure exam, over tables whose every number was chosen."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import verax
from verax.exams.erasure.summary import summarise
from verax.exams.tables import tidy


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


def test_documents_are_counted_one_by_one(made_up: verax.Verdict) -> None:
    counts = made_up.summary("documents")["value"]
    assert counts["no ranking flips it"] == 1
    assert counts["no erasure flips it"] == 1
    assert counts["flips only when all weight is erased"] == 1
    assert counts["a tie, before or after the minimal erasure"] == 2
    assert counts["decision differs in double precision"] == 3
    assert counts["accuracy"] == 75


def test_negative_divergences_are_counted_where_they_are(made_up: verax.Verdict) -> None:
    assert made_up.summary("delta_js").loc["attention", "negative"] == 25
    bins = made_up.summary("negative_delta_js")
    assert bins["documents"].tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert bins["negative"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert bins["share"].iloc[0] == 50
    assert math.isnan(bins["share"].iloc[2])
    cells = made_up.summary("contingency").loc["attention"]
    assert cells.tolist() == [25, 25, 25, 25]


def test_what_a_ranking_never_flips_is_not_forgotten(made_up: verax.Verdict) -> None:
    """Attention is optimal for one of the three that can be flipped, not for one of its two."""
    excess = made_up.summary("excess")
    assert excess.loc["attention", "optimal"] == pytest.approx(100 / 3)
    assert excess.loc["gradient", "optimal"] == pytest.approx(100 / 3)
    assert excess.loc["attention", "never, though possible"] == 1
    assert excess.loc["attention", "mean"] == 1
    fraction = made_up.summary("fraction")
    assert fraction["flips"].to_dict() == {
        "attention": 2,
        "gradient": 3,
        "random": 1,
        "random (2 draws)": 2,
        "optimum": 3,
    }
    assert fraction.loc["attention", "never flips"] == 2
    # only the first document is flipped by all, random ones by their first draw
    assert fraction["common mean"].to_dict() == {
        "attention": 0.25,
        "gradient": 0.5,
        "random": 1.0,
        "random (2 draws)": 1.0,
        "optimum": 0.25,
    }


def test_draws_are_averaged_number_by_number(made_up: verax.Verdict) -> None:
    """Fractions 1 in the first draw, ½ and 1 in the second: means 1 and ¾; above ½: 100%, 50%."""
    fraction = made_up.summary("fraction").loc["random (2 draws)"]
    assert fraction["mean"] == pytest.approx(0.875)
    assert fraction["above ½"] == pytest.approx(75)
    excess = made_up.summary("excess").loc["random (2 draws)"]
    assert excess["mean"] == pytest.approx((3 + 1.5) / 2)
    assert excess["optimal"] == 0


def test_one_that_flips_beats_one_that_does_not(made_up: verax.Verdict) -> None:
    """Attention 1, 4, –, – against gradient 2, 4, 3, –: fewer, same, more, and neither."""
    pair = made_up.summary("pairs").loc["attention : gradient"]
    assert pair[["fewer", "same", "more"]].tolist() == [1, 1, 1]
    assert pair["fewer, of flips"] == pytest.approx(100 / 3)
    assert pair["more, of all"] == 25
    assert "attention : random (2 draws)" not in made_up.summary("pairs").index
