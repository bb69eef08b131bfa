"""How well a classifier decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from verax.models.head import decisions, probabilities

METRICS = ("accuracy", "f1", "macro_f1", "roc_auc", "loss")


def evaluate(logits: Tensor, labels: NDArray[np.int64]) -> dict[str, float]:
    """Accuracy, F1, macro F1, ROC-AUC and mean cross-entropy in nats, by name.

    Args:
        logits: (documents, classes); one column means one sigmoid logit.
        labels: (documents,), the positions of the true classes.

    Returns:
        `f1` is that of class 1, the second of the model's `classes`, and NaN with more than two.
        `roc_auc` is one-against-the-rest, averaged over classes, with more than two; it is NaN
        where a class is missing from `labels`.
    """
    # imported here because it takes as long as all the rest, and `verax --help` needs none of it
    from sklearn.metrics import f1_score, roc_auc_score

    logits = logits.double()
    shares = probabilities(logits).numpy()
    decided = decisions(logits).numpy()
    two = shares.shape[1] == 2
    targets = torch.from_numpy(labels)
    if logits.shape[1] == 1:
        loss = functional.binary_cross_entropy_with_logits(logits.squeeze(1), targets.double())
    else:
        loss = functional.cross_entropy(logits, targets)
    all_there = len(np.unique(labels)) == shares.shape[1]
    finite = bool(np.isfinite(shares).all())
    auc = float("nan")
    if all_there and finite:
        auc = float(roc_auc_score(labels, shares[:, 1] if two else shares, multi_class="ovr"))
    every = list(range(shares.shape[1]))
    f1 = f1_score(labels, decided, zero_division=0.0) if two else float("nan")
    return {
        "accuracy": float(np.mean(decided == labels)),
        "f1": float(f1),
        "macro_f1": float(
            f1_score(labels, decided, average="macro", labels=every, zero_division=0.0)
        ),
        "roc_auc": auc,
        "loss": float(loss),
    }


def score_title(name: str, classes: Sequence[str]) -> str:
    """A score for people; F1 of two classes says which of them it is of.

    >>> score_title("f1", ["no", "yes"]), score_title("macro_f1", ["no", "yes"])
    ("f1 of 'yes'", 'macro f1')
    """
    return f"f1 of {classes[1]!r}" if name == "f1" else name.replace("_", " ")


def better(metric: str, new: float, old: float) -> bool:
    """Whether `new` beats `old`; a NaN never does, and anything beats a NaN."""
    if np.isnan(new):
        return False
    if np.isnan(old):
        return True
    return new < old if metric == "loss" else new > old
