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
    logits = logits.double()
    shares = probabilities(logits).numpy()
    decided = decisions(logits).numpy()
    two = shares.shape[1] == 2
    targets = torch.from_numpy(labels)
    if logits.shape[1] == 1:
        loss = functional.binary_cross_entropy_with_logits(logits.squeeze(1), targets.double())
    else:
        loss = functional.cross_entropy(logits, targets)
    every = range(shares.shape[1])
    all_there = len(np.unique(labels)) == shares.shape[1]
    finite = bool(np.isfinite(shares).all())
    auc = float("nan")
    if all_there and finite:
        of_class = [_roc_auc(labels == k, shares[:, k]) for k in ([1] if two else every)]
        auc = float(np.mean(of_class))
    f1s = [_f1(labels == k, decided == k) for k in every]
    return {
        "accuracy": float(np.mean(decided == labels)),
        "f1": f1s[1] if two else float("nan"),
        "macro_f1": float(np.mean(f1s)),
        "roc_auc": auc,
        "loss": float(loss),
    }


def _f1(true: NDArray[np.bool_], decided: NDArray[np.bool_]) -> float:
    """F1 of one class, 0 where it neither occurs nor is decided for."""
    both = int(true.sum() + decided.sum())
    return 2.0 * int((true & decided).sum()) / both if both else 0.0


def _roc_auc(true: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    """The area under the ROC curve of one class, as scikit-learn computes it, to the last bit.

    Written out because importing scikit-learn's takes two seconds of every process that trains.
    """
    order = np.argsort(scores, kind="stable")[::-1]
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(true[order], dtype=np.float64)[ends]
    misses = 1.0 + ends - hits
    if len(ends) > 2:  # points on a straight line between their neighbours are left out
        bends = (np.diff(misses, 2) != 0) | (np.diff(hits, 2) != 0)
        kept = np.concatenate([[True], bends, [True]])
        hits, misses = hits[kept], misses[kept]
    tpr = np.concatenate([[0.0], hits]) / hits[-1]
    fpr = np.concatenate([[0.0], misses]) / misses[-1]
    return float((np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2.0).sum())


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
