"""What a box plot is drawn from."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

WHISKER = 1.5
"""How many times the distance of the quartiles a box plot's whiskers reach beyond them."""


def whiskers(values: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the greatest value within `WHISKER` times q3 − q1 of the quartiles.

    As matplotlib draws them, with the quartiles of the tables: where these lie between two values
    and none within reach is beyond one, the whisker ends at the quartile. NaN without a value.
    """
    if not len(values):
        return np.nan, np.nan
    q1, q3 = np.quantile(values, (0.25, 0.75))
    reach = WHISKER * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return float(inside.min(initial=q1)), float(inside.max(initial=q3))


def box_numbers(values: pd.Series) -> dict[str, float]:
    """The quartiles and whiskers of the values that there are, by the names that forms know."""
    known = values.dropna().to_numpy(dtype=np.float64)
    q1, median, q3 = np.quantile(known, (0.25, 0.5, 0.75))
    low, high = whiskers(known)
    box = {"whisker_low": low, "q1": q1, "median": median, "q3": q3, "whisker_high": high}
    return {name: float(value) for name, value in box.items()}
