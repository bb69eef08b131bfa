"""Is there another attention that says the same?"""

from verax.exams.adversary.most_divergent import (
    Adversary,
    farthest_anywhere,
    farthest_item,
    most_divergent,
)
from verax.exams.adversary.search import (
    Best,
    SearchedAttentions,
    SearchOptions,
    search,
    search_through,
)

__all__ = [
    "Adversary",
    "Best",
    "SearchOptions",
    "SearchedAttentions",
    "farthest_anywhere",
    "farthest_item",
    "most_divergent",
    "search",
    "search_through",
]
