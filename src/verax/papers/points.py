"""Points of a scatter plot: so many that it can be drawn, by Serrano & Smith's own rule."""

from __future__ import annotations

import numpy as np
import pandas as pd

BIN = 0.005
MOST = 10
POINTS = "delta_js_points"
_SEED = 5  # theirs


def delta_js_points(single: pd.DataFrame) -> pd.DataFrame:
    """ΔJS against Δα of one cell, thinned: at most ten random points to each 0.005 of Δα.

    `single` is the cell's table `erasure_single`. Their code also drops the largest ΔJS; here it
    stays if it is drawn. Columns: id, delta_alpha, delta_js.
    """
    chosen = single[(single["top"] == "attention") & (single["rule"] == "paper")]
    points = chosen.pivot(index="id", columns="measure", values="value")
    points = points[["delta_alpha", "delta_js"]].dropna().reset_index()
    points.columns.name = None
    order = np.random.Generator(np.random.PCG64([_SEED, len(points)])).permutation(len(points))
    shuffled = points.iloc[order]
    bins = np.floor(shuffled["delta_alpha"] / BIN)
    kept = shuffled[shuffled.groupby(bins).cumcount() < MOST]
    return kept.sort_values("id").reset_index(drop=True)
