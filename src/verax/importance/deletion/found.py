"""What leaving words out of some documents gave."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Found(NamedTuple):
    """Documents of a batch, words left out of each, one at a time, and what was decided then.

    rows    (documents,) long: where the documents stand in the batch
    places  (places,) long: the tokens deleted
    logits  (documents, places, classes)
    whole   the same with nothing left out, worked out the same way: what cannot have changed is the
            same to the last digit, and no rounding is taken for importance
    """

    rows: Tensor
    places: Tensor
    logits: Tensor
    whole: Tensor
