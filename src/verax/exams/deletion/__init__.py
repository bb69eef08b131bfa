"""Deletion: how many words go, most important first, before the decision changes?"""

from verax.exams.deletion.changes import first_changes, prefix_sizes, pruned
from verax.exams.deletion.smallest import smallest_sets, smallest_sufficient_sets

__all__ = [
    "first_changes",
    "prefix_sizes",
    "pruned",
    "smallest_sets",
    "smallest_sufficient_sets",
]
