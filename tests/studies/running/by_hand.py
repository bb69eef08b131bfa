"""A study made by hand, for engines made by hand."""

from __future__ import annotations

from typing import Any

from made_up_cells import cell

import verax
from verax.studies import Hardware, Study


def study_of(seeds: int = 4, **settings: Any) -> Study:
    corpus = verax.load_corpus("planted", documents=60)
    cells = tuple(cell(corpus, seed=seed) for seed in range(seeds))
    given: dict[str, Any] = {
        "name": "made-up",
        "question": None,
        "text": "corpora: planted\n",
        "cells": cells,
        "hardware": Hardware(),
        "weights": False,
        "corpora": {corpus.fingerprint: corpus},
        "notes": (),
        "labels": {c.key: f"seed {c.seed}" for c in cells},
    }
    return Study(**{**given, **settings})
