"""Numbers over seeds as JSON and tables of papers have them."""

from __future__ import annotations

import json
import math

import numpy as np

from research.papers.exhibits import entry
from research.papers.words import as_json
from verax.statistics import SeedMean

NAN = math.nan


def test_numbers_are_written_as_json() -> None:
    told = SeedMean.of([0.5], ["cell0"], 7, (0.4, 0.6)).to_dict()
    assert json.loads(as_json(told)) == {
        "value": 0.5,
        "sd": None,
        "low": 0.4,
        "high": 0.6,
        "over": "documents",
        "seeds": 1,
        "n": 7,
        "cells": ["cell0"],
    }
    written = as_json([1.0, NAN, math.inf, -math.inf, np.float64(0.5), 1 / 3])
    assert json.loads(written) == [1.0, None, None, None, 0.5, 1 / 3]
    assert json.loads(as_json({"a": (1 / 3,)}, digits=2)) == {"a": [0.33]}


def test_a_row_of_an_exhibit_has_the_number_and_its_cells() -> None:
    number = SeedMean.of([0.8, 0.9], ["cell0", "cell1"], 7)
    row = entry({"corpus": "sst"}, "F1", number, 0.5, 5)
    assert row["cells"] == "cell0 cell1"
    assert row["beyond"] is number.is_beyond(0.5, 5)
    assert (row["corpus"], row["measure"], row["published"]) == ("sst", "F1", 0.5)
    nothing = entry({"corpus": "sst"}, "F1", None, 0.5)
    assert list(nothing) == list(row)
    assert math.isnan(nothing["value"])
    assert (nothing["over"], nothing["seeds"], nothing["cells"]) == ("none", 0, "")
