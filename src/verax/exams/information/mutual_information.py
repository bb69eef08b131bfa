"""Mutual information of two labellings, from counts, in nats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verax.errors import VeraxError

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SharedInformation:
    """The mutual information of two labelings of the same occurrences.

    value      I(A; B) = Σ_ab p(ab) log (p(ab) / p(a)p(b)), the plug-in estimate
    entropy    H(A), which I cannot exceed
    labels     (values of A,) in ascending order
    counts     (values of A,) how often each occurs
    by_label   (values of A,) KL(p(B | a) ‖ p(B)), whose mean over occurrences is I
    """

    value: float
    entropy: float
    labels: Labels
    counts: Labels
    by_label: NDArray[np.float64]


def mutual_information(first: ArrayLike, second: ArrayLike) -> SharedInformation:
    """Return the mutual information of A = `first` and B = `second`, (n,) integers each.

    >>> round(mutual_information([0, 0, 1, 1], [5, 5, 7, 7]).value, 4)
    0.6931
    >>> mutual_information([0, 0, 1, 1], [5, 7, 5, 7]).value
    0.0
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise VeraxError(
            f"mutual information needs two lists of labels as long as each other and not empty, "
            f"not {a.shape} and {b.shape}",
            code="tensor.wrong-shape",
        )
    labels, codes, counts = np.unique(a, return_inverse=True, return_counts=True)
    _, other, others = np.unique(b, return_inverse=True, return_counts=True)
    pairs, together = np.unique(codes * len(others) + other, return_counts=True)
    left, right = pairs // len(others), pairs % len(others)
    n = len(a)
    # log n·n_ab / n_a·n_b, as a difference of logs: the products overflow no integer
    logs = np.log(n * (together / counts[left])) - np.log(others[right])
    parts = together / counts[left] * logs
    by_label = np.bincount(left, weights=parts, minlength=len(labels)).astype(np.float64)
    shares = counts / n
    value = max(0.0, float(shares @ by_label))
    return SharedInformation(value, _entropy(shares), labels.astype(np.int64), counts, by_label)


def pointwise_information(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return log p(ab) / p(a)p(b) of each occurrence, (n,), whose mean is I(A; B).

    To first order they are also the influence of each occurrence on the estimate, so its confidence
    interval is that of their mean.
    """
    _, a, counts = np.unique(np.asarray(first), return_inverse=True, return_counts=True)
    _, b, others = np.unique(np.asarray(second), return_inverse=True, return_counts=True)
    _, pair, together = np.unique(a * len(others) + b, return_inverse=True, return_counts=True)
    n_ab, n_a, n_b = together[pair], counts[a], others[b]
    return np.log(len(a) * (n_ab / n_a)) - np.log(n_b)


def shuffled_information(
    first: ArrayLike, second: ArrayLike, seed: int, shuffles: int
) -> NDArray[np.float64]:
    """Return I(A; B) with the labels of B in random order: the bias of the estimate, (shuffles,).

    With thousands of cells and few occurrences to each, counts of independent labels are far from
    independent: around a nat at 90,000 occurrences of 1,000 words in 1,000 clusters.
    """
    random = np.random.Generator(np.random.PCG64([seed, shuffles]))
    second = np.asarray(second)
    draws = (random.permutation(second) for _ in range(shuffles))
    return np.array([mutual_information(first, drawn).value for drawn in draws])


def _entropy(shares: NDArray[np.float64]) -> float:
    return max(0.0, float(-(shares * np.log(shares)).sum()))
