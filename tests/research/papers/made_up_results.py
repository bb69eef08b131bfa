"""Results of a paper that nobody ran: cells and their summaries from what a test says."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from research.papers import PaperResults
from verax.statistics import SeedMean

Numbers = Mapping[tuple[str, str, str], float]
"""(table, row, column) → value."""


def made_up_results(
    configurations: Iterable[Mapping[str, Any]],
    numbers: Callable[[Mapping[str, Any]], Numbers],
    seeds: Iterable[int] = (1, 2, 3),
    spread: float = 0.01,
    n: int = 1000,
) -> PaperResults:
    """A cell for every configuration and seed; each number is moved by `spread` from seed to seed.

    `configurations` have at least `part` and `corpus`. `numbers` is asked for each of them.
    """
    cells, rows = [], []
    seeds = list(seeds)
    offsets = [spread * (place - (len(seeds) - 1) / 2) for place in range(len(seeds))]
    for configuration in configurations:
        for seed, offset in zip(seeds, offsets, strict=True):
            told = repr(sorted(configuration.items(), key=str)) + str(seed)
            key = hashlib.sha256(told.encode()).hexdigest()[:16]
            cells.append({"cell": key, "seed": seed, **configuration})
            for (table, row, column), value in numbers(configuration).items():
                rows.append(
                    {
                        "cell": key,
                        "exam": "exam",
                        "table": table,
                        "row": row,
                        "column": column,
                        "value": value + offset,
                        "low": math.nan,
                        "high": math.nan,
                        "n": n,
                        "unit": "number",
                    }
                )
    return PaperResults(pd.DataFrame(cells), pd.DataFrame(rows))


def number(results: PaperResults, table: str, row: str, column: str, **where: Any) -> SeedMean:
    """A number of the results, which has to be there."""
    found = results.find(table, row, column, **where)
    assert found is not None
    return found


def crossed(**values: Iterable[Any]) -> list[dict[str, Any]]:
    """Every combination of the values of each name."""
    return [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]
