"""How adversaries were made, of a run of their own or of a study's cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from verax.portable import portable
from verax.studies.adversaries.adversaries import FORMAT, Adversaries
from verax.studies.adversaries.making import left_out_of
from verax.training.strength import TOLERANCE
from verax.version import __version__

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
    settings = cell["adversaries"]
    options = {name: value for name, value in settings.items() if name not in _ASKED}
    options["max_tokens"] = max_tokens
    if cell.get("vectors") is not None:
        options["vectors"] = cell["training"]["vectors"]
    manifest = manifest_of(
        settings,
        others=[],
        split=cell["split"],
        classes=about["classes"],
        options=options,
        corpus=dict(about["corpus"]),
        name="the base",
        model=about["model"],
    )
    return Adversaries(instances, {**manifest, "verax": about["verax"]})


def manifest_of(
    asked: Mapping[str, Any],
    *,
    others: Sequence[Mapping[str, Any]],
    split: str,
    classes: Sequence[str],
    options: Mapping[str, Any],
    corpus: Mapping[str, Any],
    name: str,
    model: Mapping[str, Any],
) -> dict[str, Any]:
    """How adversaries were made.

    `asked` has lams, seeds, retrain and controls; `name` and `model` are the base's.
    """
    left_out = left_out_of(bool(model["options"]["hierarchical"]))
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "verax": __version__,
        "lams": list(asked["lams"]),
        "seeds": list(asked["seeds"]),
        "others": others,
        "retrain": list(asked["retrain"]),
        "controls": asked["controls"],
        "left_out": left_out if asked["controls"] else {},
        "split": split,
        "classes": list(classes),
        "tolerance": TOLERANCE,
        "options": dict(sorted(options.items())),
        "corpus": corpus,
        "base": {
            "name": name,
            "options": dict(model["options"]),
            "training": dict(model.get("training", {})),
        },
    }
    named: dict[str, Any] = portable(manifest)
    return named
