"""Correlations over λ, seed by seed, against SciPy's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from research.papers import PaperResults, paper
from research.papers.axes import Point
from research.papers.meister_2021 import MAIN, SUPPORT, along
from research.papers.results import SUMMARY
from verax.statistics import SeedMean

PAPER = paper("meister-2021")

WHAT = ("dispersion.entropy", "gradient", "mean")
LAMS = (-100.0, -1.0, 0.0, 0.5, 0.9)


def results(values: np.ndarray, supports: np.ndarray | None) -> PaperResults:
    """A cell for each seed (row) and λ (column)."""
    cells, rows = [], []
    for seed, own in enumerate(values):
        for place, (lam, value) in enumerate(zip(LAMS, own, strict=False)):
            key = f"{seed}-{place}"
            projection = "sparsemax" if lam == 0 else "sparsegen"
            cell = {"cell": key, "part": "sst", "corpus": "sst", "encoder": "bilstm"}
            cells.append({**cell, "projection": projection, "lam": lam, "seed": seed})
            told = [(WHAT, value)]
            if supports is not None:
                told.append((tuple(SUPPORT.split("/")), supports[seed, place]))
            for (table, row, column), number in told:
                named = {"cell": key, "exam": "exam", "table": table, "row": row, "column": column}
                ends = {"low": np.nan, "high": np.nan, "n": 9, "unit": "number"}
                rows.append({**named, "value": number, **ends})
    return PaperResults(pd.DataFrame(cells), pd.DataFrame(rows, columns=SUMMARY))


def correlation(results: PaperResults, kind: str = "tau") -> SeedMean | None:
    """With λ, or with the support, of the BiLSTM on SST."""
    where = {"part": MAIN, "corpus": "sst", "encoder": "bilstm"}
    return Point(results, fixed=where).number(along(kind, "/".join(WHAT)))


@pytest.mark.slow
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), tied=st.booleans())
def test_each_seed_is_scipys(seed: int, tied: bool) -> None:
    draw = np.random.default_rng(seed)
    values, supports = draw.random((2, 3, len(LAMS)))
    if tied:
        values[:, 1] = values[:, 3]
    world = results(values, supports)
    for name, oracle in (
        ("tau", stats.kendalltau),
        ("spearman", stats.spearmanr),
        ("pearson", stats.pearsonr),
    ):
        by_lam = [oracle(LAMS, own)[0] for own in values]
        by_support = [oracle(s, own)[0] for s, own in zip(supports, values, strict=True)]
        found, with_support = correlation(world, name), correlation(world, f"support_{name}")
        assert found is not None
        assert with_support is not None
        assert found.values == pytest.approx(by_lam, abs=1e-12)
        assert with_support.values == pytest.approx(by_support, abs=1e-12)
        assert found.value == pytest.approx(np.mean(by_lam), abs=1e-12)
        assert (found.seeds, len(found.cells)) == (3, 3 * len(LAMS))


def test_without_the_support_there_is_only_lam() -> None:
    world = results(np.array([[5.0, 4, 3, 2, 1]]), None)
    found = correlation(world)
    assert found is not None
    assert found.value == pytest.approx(-1)
    assert correlation(world, "support_tau") is None


def test_two_values_of_lam_are_too_few() -> None:
    assert correlation(results(np.array([[1.0, 2]]), None)) is None


def test_a_constant_has_no_correlation() -> None:
    assert correlation(results(np.ones((2, 5)), None)) is None
