"""Deletion: how many words go, most important first, before the decision changes?"""

from verax.exams.deletion.changes import first_changes, prefix_sizes, pruned

__all__ = ["first_changes", "prefix_sizes", "pruned"]
