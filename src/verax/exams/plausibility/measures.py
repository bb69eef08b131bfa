"""What the plausibility exam's numbers are."""

from __future__ import annotations

from verax.exams.cells import ACCURACY, DOCUMENTS, exclusions
from verax.exams.measures import (
    AT_LEAST_ZERO,
    COUNT,
    PERCENT,
    UNIT_INTERVAL,
    Measure,
    Table,
    counts,
    titles,
)
from verax.exams.plausibility.baselines import EARLIER, FREQUENCY, LATER, RANDOM

NAME = "plausibility"
NOT_FAITHFUL = "plausible is not faithful"
REASONS = ("", "not annotated", "no word marked", "every word marked")
"""Why a document is left out, by its code; the first stands for none."""
OF_DOCUMENTS = ("auprc", "token_f1", "iou_f1", "share_token_f1", "share_iou_f1")
"""Columns that are means over documents; the last two where a share of words is known."""
_MORE = (-1.0, 1.0)

PLAUSIBILITY = Table(
    NAME,
    f"words ranked by …, against those that people marked ({NOT_FAITHFUL})",
    (
        Measure("auprc", "AUPRC", bounds=UNIT_INTERVAL),
        Measure("above_baseline", "above the best baseline", bounds=_MORE),
        Measure("p", "p, by Holm", bounds=UNIT_INTERVAL),
        Measure("token_f1", "token-F1, as many words as marked", bounds=UNIT_INTERVAL),
        Measure("iou_f1", "IOU-F1, as many words as marked", bounds=UNIT_INTERVAL),
        Measure("share_token_f1", "token-F1, usual share of words", bounds=UNIT_INTERVAL),
        Measure("share_iou_f1", "IOU-F1, usual share of words", bounds=UNIT_INTERVAL),
        DOCUMENTS,
    ),
    titles(
        {
            FREQUENCY: "baseline: rarer words first",
            EARLIER: "baseline: earlier words first",
            LATER: "baseline: later words first",
            RANDOM: "baseline: random (mean of all draws)",
        }
    ),
)
DOCUMENT_COUNTS = counts(
    NAME,
    DOCUMENTS,
    ACCURACY,
    Measure("examined", "examined", COUNT, whole=True),
    *exclusions(REASONS),
    Measure("cause", "whose marks are the known cause: ground truth", COUNT, whole=True),
    Measure("marked_share", "words that are marked", PERCENT),
    Measure("usual_share", "usual share of marked words, from other splits", PERCENT),
    Measure("words", "words of a document", bounds=AT_LEAST_ZERO),
    Measure("annotators", "annotators of a document", bounds=AT_LEAST_ZERO),
    Measure("annotator_f1", "token-F1 of two annotators", bounds=UNIT_INTERVAL),
)
TABLES = (PLAUSIBILITY, DOCUMENT_COUNTS)
