"""Is there another attention that says the same?"""

from verax.exams.adversary.most_divergent import Adversary, farthest_anywhere, most_divergent

__all__ = ["Adversary", "farthest_anywhere", "most_divergent"]
