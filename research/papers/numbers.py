"""Means over seeds, as the claims of papers take them, and numbers as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from verax.statistics import SeedMean

__all__ = [
    "BOTH",
    "DOCUMENTS",
    "SEEDS",
    "SeedMean",
    "as_json",
    "combined",
    "difference",
    "percent",
]

SEEDS, DOCUMENTS, BOTH = "seeds", "documents", "both"
"""What the interval of a `SeedMean` is over."""
combined, difference, percent = SeedMean.combined, SeedMean.difference, SeedMean.percent


def as_json(values: Any, digits: int = 17) -> str:
    """JSON with numbers of so many digits, and null for NaN and infinities."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.{digits}g}") if math.isfinite(value) else None
        if isinstance(value, Mapping):
            return {name: plain(one) for name, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    return json.dumps(plain(values), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
