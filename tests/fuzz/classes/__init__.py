"""Classes of inputs, each with a maker of cases, and its share of all."""

from __future__ import annotations

from collections.abc import Mapping

from fuzz.classes import (
    corpora,
    flips,
    numerics,
    option_values,
    saved,
    settings_files,
    vectors,
)
from fuzz.harness import Maker

CLASSES: Mapping[str, tuple[Maker, int]] = {
    "corpora": (corpora.make, 10),
    "settings": (settings_files.make, 9),
    "options": (option_values.make, 24),
    "vectors": (vectors.make, 4),
    "models": (saved.make_model, 13),
    "verdicts": (saved.make_verdict, 13),
    "stores": (saved.make_store, 9),
    "results": (saved.make_other, 9),
    "flips": (flips.make, 4),
    "numerics": (numerics.make, 5),
}
"""Class → maker of its cases, and its share of all in percent."""
