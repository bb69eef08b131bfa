"""Maps of numbers by layer and head, as summaries have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from verax.drawing.maps import ALL_HEADS, layer_head_map
from verax.drawing.series import Models
from verax.exams.places import layer_and_head


def place_map(
    numbers: pd.DataFrame, models: Models, title: str, domain: Sequence[float], digits: int
) -> Any:
    """A picture with a cell for each place, of several models one below the other.

    Args:
        numbers: one column of a summary's table whose rows are places.
        models: the models they are of.
        title: what the values are.
        domain: the values of no colour and of the strongest.
        digits: behind the point of a number in a cell.
    """
    places = [layer_and_head(str(row)) for row in numbers["row"]]
    cells = {
        "panel": numbers["model"].to_numpy() if models.several else "",
        "layer": [layer for layer, _ in places],
        "head": [ALL_HEADS if head is None else str(head) for _, head in places],
        "value": numbers["value"].to_numpy(dtype=float),
    }
    return layer_head_map(pd.DataFrame(cells), title, domain, digits)
