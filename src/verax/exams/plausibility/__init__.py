"""Plausibility: do the words that a score ranks first match those that people marked?"""

from verax.exams.plausibility.overlap import average_precision, iou_f1, token_f1, top_words

__all__ = ["average_precision", "iou_f1", "token_f1", "top_words"]
