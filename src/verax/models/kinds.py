"""Kinds of classifier: what a model lets one ask about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

POOLED = "pooled"
"""One attention over items, whose weighted mean a head reads; what Verax trains."""
TRANSFORMER = "transformer"
"""Attention in layers and heads, which can be captured, replaced and differentiated."""
PREDICT = "predict"
"""Probabilities of texts, and nothing else."""
KINDS = (POOLED, TRANSFORMER, PREDICT)

DELETE, MASK, ATTENTION = "delete", "mask", "attention"
"""Operators, ways to take words away: out of the text, which is read again; a token that stands for
no word in particular takes their place; nothing can attend to them.
"""

Watch = Callable[[Iterable[Any]], Iterable[Any]]
