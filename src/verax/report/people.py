"""What people marked in the documents of a page: underlined, below the model's colours.

marks of a document  [[first, after, share], …]: runs of words that the same share of annotators
                     marked; null where nobody looked at the document
marks of a model     {"most": words, "some": words or null}: what a line, and a dotted line,
                     under a word means; null where no document has marks
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

_CAUSE = "planted words, which decide the label"
_PERSON = "words that a person marked as the reason for the label"
_MOST = "words that most annotators marked as the reason for the label"
_SOME = "that half of them or fewer marked"


def runs_of_marks(words: pd.DataFrame) -> list[list[float]] | None:
    """The runs of a document's words that people marked.

    Args:
        words: a row per word of a gallery's table, with `marked` where the corpus has rationales.
    """
    if "marked" not in words or words["marked"].isna().any():
        return None
    shares = words["marked"].to_numpy(dtype=np.float64)
    starts = np.flatnonzero(np.diff(shares, prepend=np.nan) != 0)
    ends = np.append(starts[1:], len(shares))
    runs = zip(starts.tolist(), ends.tolist(), shares[starts].tolist(), strict=True)
    return [[first, after, round(share, 3)] for first, after, share in runs if share > 0]


def marks_legend(gallery: Mapping[str, Any]) -> dict[str, str | None] | None:
    """What lines under words mean, by a verdict's manifest of its gallery."""
    marks = gallery.get("marks")
    if not marks:
        return None
    if marks["are_cause"]:
        return {"most": _CAUSE, "some": None}
    several = marks["annotators"] > 1
    return {"most": _MOST if several else _PERSON, "some": _SOME if several else None}
