"""What the single_token exam's numbers are."""

from __future__ import annotations

from verax.exams.cells import DOCUMENTS, SD
from verax.exams.measures import LOWER, PERCENT, UNIT_INTERVAL, Measure, Table, titles

NAME = "single_token"
CORRECT, WRONG, ALL = "correct", "wrong", "all"
"""Rows: documents decided right, decided wrong, and all of them."""

SINGLE_TOKEN = Table(
    NAME,
    "probability of the decision, had attention been on one token alone",
    (
        Measure("mean_probability", "a token alone", better=LOWER, bounds=UNIT_INTERVAL),
        SD,
        Measure("pooled_probability", "pooled over tokens", better=LOWER, bounds=UNIT_INTERVAL),
        Measure("confidence", "confidence", bounds=UNIT_INTERVAL),
        Measure("agreeing", "tokens that agree", PERCENT, LOWER),
        Measure("least", "least", bounds=UNIT_INTERVAL),
        Measure("most", "most", bounds=UNIT_INTERVAL),
        DOCUMENTS,
    ),
    titles({CORRECT: "correct decisions", WRONG: "wrong decisions", ALL: "all decisions"}),
)
TABLES = (SINGLE_TOKEN,)
