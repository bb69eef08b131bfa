"""Sufficiency: do the words that a score ranks first carry the decision, and are they enough?"""

from verax.exams.sufficiency.sets import words_at

__all__ = ["words_at"]
