"""The keywords of `train`, for editors and type checkers.

A type checker reads no dataclass as keywords, so the fields of `TrainingOptions` stand here once
more; a test holds the two to each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypedDict

from verax.models.keywords import ModelKeywords


class TrainingKeywords(TypedDict, total=False):
    """What `TrainingOptions` declares; its help texts and checks are there.

    `strengths` may be numbers as well as text, `vectors` any path.
    """

    epochs: int
    batch_size: int
    lr: float
    amsgrad: bool
    weight_decay: float
    decay_attention: bool
    clip: float | None
    class_weight: str
    metric: str
    patience: int | None
    select_from: int
    plateau_factor: float | None
    plateau_patience: int
    strengths: str | float | Iterable[float] | None
    min_df: int
    max_vocabulary: int | None
    vectors: str | os.PathLike[str] | None
    vectors_epochs: int
    unit_norm: bool
    freeze_embeddings: bool
    max_tokens: int


class TrainKeywords(ModelKeywords, TrainingKeywords, total=False):
    """Every option of `verax.train`."""
