"""What information gives a whole split: documents do not add up to it."""

from __future__ import annotations

from verax.exams.information.measures import INFORMATION, WORD_VECTORS
from verax.exams.values import Tables, number


def split_values(tables: Tables) -> dict[str, float]:
    """Information in nats, what of it is no chance, the share kept, and how far states moved."""
    numbers: dict[str, float] = {}
    for words, part in tables["information"].groupby("words", sort=False, observed=True):
        values = part.set_index("measure")["value"].astype(float).to_dict()
        row = str(words)
        numbers[number(INFORMATION, row, "information")] = values["information"]
        numbers[number(INFORMATION, row, "above_shuffled")] = values["difference"]
        numbers[number(INFORMATION, row, "retained")] = values["kept"]
        numbers[number(WORD_VECTORS, row, "distance")] = values["distance"]
    return numbers
