"""Points of the scatter plots: few enough, always the same, and none made up."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from research.papers.packing import BIN, MOST, delta_js_points


def single(documents: int, wide: float, seed: int = 0) -> pd.DataFrame:
    """A table `erasure_single`: the rows that are drawn, and rows of other tops and rules."""
    draw = np.random.default_rng(seed)
    rows = []
    for document in range(documents):
        alpha, js = draw.uniform(-wide, wide), draw.uniform(0, 0.7)
        for top, rule in [("attention", "paper"), ("gradient", "paper"), ("attention", "all")]:
            drawn = (top, rule) == ("attention", "paper")
            for measure, value in [("delta_alpha", alpha), ("delta_js", js), ("flips", 1.0)]:
                own = value if drawn else -9.0
                rows.append((document, top, rule, measure, own))
    return pd.DataFrame(rows, columns=["id", "top", "rule", "measure", "value"])


def all_points(table: pd.DataFrame) -> dict[int, tuple[float, float]]:
    chosen = table[(table["top"] == "attention") & (table["rule"] == "paper")]
    found: dict[int, dict[str, float]] = {}
    for row in chosen.to_dict("records"):
        found.setdefault(row["id"], {})[row["measure"]] = row["value"]
    return {number: (own["delta_alpha"], own["delta_js"]) for number, own in found.items()}


@pytest.mark.parametrize(("documents", "wide"), [(400, 0.02), (300, 1.0), (5, 0.001)])
def test_at_most_ten_of_each_bin_are_kept(documents: int, wide: float) -> None:
    table = single(documents, wide)
    there = all_points(table)
    points = delta_js_points(table)
    assert list(points) == ["id", "delta_alpha", "delta_js"]
    for row in points.to_dict("records"):
        assert there[row["id"]] == (row["delta_alpha"], row["delta_js"])
    assert points["id"].is_unique
    assert points["id"].is_monotonic_increasing
    before = Counter(math.floor(alpha / BIN) for alpha, _ in there.values())
    after = Counter(math.floor(alpha / BIN) for alpha in points["delta_alpha"])
    assert after == {place: min(number, MOST) for place, number in before.items()}
    assert (BIN, MOST) == (0.005, 10)


def test_they_are_drawn_at_random_and_always_the_same() -> None:
    table = single(400, 0.02)
    points = delta_js_points(table)
    pd.testing.assert_frame_equal(points, delta_js_points(table))
    shuffled = table.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(points, delta_js_points(shuffled))
    # not the first of them: drawn evenly, the mean number is 199.5 with a deviation of 12
    assert len(points) == 80
    assert points["id"].mean() == pytest.approx(199.5, abs=40)


def test_a_document_without_both_numbers_has_no_point() -> None:
    table = single(6, 1.0)
    drawn = (table["top"] == "attention") & (table["rule"] == "paper")
    table.loc[drawn & (table["id"] == 2) & (table["measure"] == "delta_js"), "value"] = math.nan
    assert delta_js_points(table)["id"].tolist() == [0, 1, 3, 4, 5]
