"""States of words as the information exam gathers them, of models with a choice of slots."""

from __future__ import annotations

from support.internals import Occurrences
from verax.models import AttentionClassifier

SLOTS: list[dict[str, object]] = [
    {},
    {"encoder": "conv", "boundaries": False},
    {"grounding": "concat"},
    {"hierarchical": True},
]


def gather(
    model: AttentionClassifier, documents: object, max_tokens: int = 10**5, **options: object
) -> Occurrences:
    settings = {"words": 15, "by": "frequent", "limit": 10**6, "seed": 0, **options}
    encoded = model.encode(documents)  # type: ignore[arg-type]
    found = Occurrences(encoded, **settings)  # type: ignore[arg-type]
    for trace in model.traces(encoded, max_tokens):
        found.see(trace)
    return found
