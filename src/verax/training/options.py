"""How a classifier is trained."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError
from verax.models.options import ModelKeywords
from verax.options import ROUNDS, option, saved_options
from verax.schema import RECORDS, both, record, whole
from verax.training.metrics import METRICS


@dataclass(frozen=True)
class TrainingOptions:
    """How a classifier is trained: the training options of `train`."""

    epochs: int = option(
        8, "passes over the training documents, at most", minimum=1, maximum=ROUNDS
    )
    batch_size: int = option(32, "documents a step", minimum=1)
    lr: float = option(1e-3, "learning rate of Adam", above=0)
    amsgrad: bool = option(True, "Adam's AMSGrad variant")
    weight_decay: float = option(1e-5, "L2 penalty", minimum=0)
    decay_attention: bool = option(False, "apply it to attention parameters too")
    clip: float | None = option(5.0, "largest gradient norm, or none", above=0)
    class_weight: str = option(
        "none",
        "balanced: weigh classes by the inverse of their share",
        choices=("none", "balanced"),
    )
    metric: str = option("accuracy", "validation score that picks the epoch", choices=METRICS)
    patience: int | None = option(
        None, "stop after this many epochs without a better score (never)", minimum=1
    )
    select_from: int = option(1, "first epoch that may be picked", minimum=1)
    plateau_factor: float | None = option(
        None, "multiply the learning rate by this when the score stalls (off)", above=0, below=1
    )
    plateau_patience: int = option(0, "epochs it may stall before that", minimum=0)
    strengths: str | None = option(
        None, "what strength auto chooses from (0.01,0.03,0.1,0.3,1,10,30; mlm 0.1,0.3,1,3,5)"
    )
    min_df: int = option(1, "keep words of at least this many training documents", minimum=1)
    max_vocabulary: int | None = option(None, "keep the most frequent words only", minimum=1)
    vectors: str | None = option(
        None, "file of word vectors (GloVe, word2vec, fastText), or word2vec to train them here"
    )
    vectors_epochs: int = option(5, "epochs of word2vec", minimum=1, maximum=ROUNDS)
    unit_norm: bool = option(False, "scale word vectors to length one")
    freeze_embeddings: bool = option(False, "keep word vectors as they are")
    max_tokens: int = option(
        MAX_TOKENS, "padded tokens held at once: memory, never the result", minimum=1
    )

    def __post_init__(self) -> None:
        if self.select_from > self.epochs:
            raise VeraxError(
                f"select_from ({self.select_from}) is beyond the last epoch ({self.epochs}): "
                "lower it, or raise epochs",
                options=["select_from", "epochs"],
                code="option.conflict",
            )


RECORDS["training"] = both(
    saved_options(TrainingOptions), record({}, {"seed": whole(0, 2**32 - 1)})
)
"""What files keep of a training."""


class TrainingKeywords(TypedDict, total=False):
    """The fields of `TrainingOptions` for type checkers, which read no dataclass as keywords.

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
