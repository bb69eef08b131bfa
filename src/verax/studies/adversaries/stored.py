"""The adversaries of a study's cell as one result, as `run_adversaries` gave them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from verax.studies.adversaries.adversaries import FORMAT, Adversaries
from verax.studies.adversaries.recipes import left_out_of
from verax.training.strength import TOLERANCE

_ASKED = ("lams", "seeds", "retrain", "controls")


def stored_adversaries(
    instances: pd.DataFrame,
    cell: Mapping[str, Any],
    about: Mapping[str, Any],
    max_tokens: int,
) -> Adversaries:
    """Adversaries of a cell, with the manifest that `run_adversaries` would give them.

    Args:
        instances: the cell's table of them.
        cell: its configuration (`Cell.to_json`).
        about: the manifest of its verdict.
        max_tokens: the budget it was run with.
    """
    settings, model = cell["adversaries"], about["model"]
    options = {name: value for name, value in settings.items() if name not in _ASKED}
    options["max_tokens"] = max_tokens
    if cell.get("vectors") is not None:
        options["vectors"] = cell["training"]["vectors"]
    hierarchical = bool(model["options"]["hierarchical"])
    manifest = {
        "format": FORMAT,
        "verax": about["verax"],
        "lams": list(settings["lams"]),
        "seeds": list(settings["seeds"]),
        "others": [],
        "retrain": list(settings["retrain"]),
        "controls": settings["controls"],
        "left_out": left_out_of(hierarchical) if settings["controls"] else {},
        "split": cell["split"],
        "classes": list(about["classes"]),
        "tolerance": TOLERANCE,
        "options": dict(sorted(options.items())),
        "corpus": dict(about["corpus"]),
        "base": {
            "name": "the base",
            "options": dict(model["options"]),
            "training": dict(model.get("training", {})),
        },
    }
    return Adversaries(instances, manifest)
