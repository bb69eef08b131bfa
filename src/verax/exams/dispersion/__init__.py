"""Meister et al.'s question: does attention on few items mean influence of few inputs?"""

from verax.exams.dispersion.entropy import normalised_entropy, support_size

__all__ = ["normalised_entropy", "support_size"]
