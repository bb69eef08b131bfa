"""The gallery: the documents in which attention surprises most, kept so that they can be shown."""

from verax.exams.gallery.gallery import Gallery
from verax.exams.gallery.looking import EPSILON
from verax.exams.gallery.surprise import best_ranks

__all__ = ["EPSILON", "Gallery", "best_ranks"]
