"""How well a classifier decides."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from verax.models.head import decisions, probabilities

METRICS = ("accuracy", "f1", "macro_f1", "roc_auc", "loss")


def evaluate(logits: Tensor, labels: NDArray[np.int64]) -> dict[str, float]:
    """Accuracy, F1 of class 1, macro F1, ROC-AUC and mean cross-entropy in nats.

    `f1` is the positive class's and is NaN with more than two classes; `roc_auc` is one-against-
    the-rest, averaged over classes, with more than two. An area that is not defined, because a
    class is missing from `labels`, is NaN.
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


def better(metric: str, new: float, old: float) -> bool:
    """Whether `new` beats `old`; a NaN never does, and anything beats a NaN."""
    if np.isnan(new):
        return False
    if np.isnan(old):
        return True
    return new < old if metric == "loss" else new > old
