"""What leaving words out of some documents gave."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Found(NamedTuple):
    """Documents of a batch, words left out of each, one at a time, and what was decided then.

    rows    (documents,) long: where the documents stand in the batch
    places  (places,) long: the tokens deleted
    logits  (documents, places, classes)
    """

    rows: Tensor
    places: Tensor
    logits: Tensor
