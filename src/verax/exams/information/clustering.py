"""k-means of very many vectors, on a CPU or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from verax.errors import VeraxError

Watch = Callable[[Iterable[Any]], Iterable[Any]]

SCRATCH = 2**25  # bytes of distances held at a time
SAMPLE = 25  # vectors a cluster in the first sample; each next one is four times as large
LEAST = 10_000  # and no fewer than these
EXCESS = 3  # centres drawn for each that stays
TOLERANCE = 1e-4  # a step that lowers the inertia by less is a sample's last
LARGEST = 1e18  # norms whose squares single precision still holds


@dataclass(frozen=True)
class Clustering:
    """The result of k-means.

    labels      (n,) long, the nearest centre of each vector
    centres     (clusters, d), fewer where there are fewer distinct vectors
    inertia     Σ_i ‖x_i − c_label(i)‖²
    iterations  Lloyd's steps, on samples and on all
    """

    labels: Tensor
    centres: Tensor
    inertia: float
    iterations: int


@torch.no_grad()
def cluster(
    vectors: Tensor, clusters: int, seed: int, scratch: int = SCRATCH, watch: Watch = iter
) -> Clustering:
    """Cluster vectors by k-means: centres c_j that make Σ_i min_j ‖x_i − c_j‖² small.

    vectors  (n, d) floating point, finite
    scratch  bytes of distances held at a time, besides a copy of the first sample (25 vectors
             per cluster); affects nothing but rounding
    watch    wraps the iterator over Lloyd's steps, for a progress bar

    1. Draw 3·clusters centres from a sample, in rounds, with probability ∝ squared distance to
       the nearest drawn before (Bahmani et al. 2012), then take back, a quarter at a time, those
       whose vectors lose least by going to their second nearest.
    2. Lloyd's steps on that sample, then on samples four times larger each time, then on all. An
       empty cluster restarts at a vector drawn as in 1.
    3. Label every vector with its nearest centre.

    With at most `clusters` distinct vectors each is its own centre, and inertia is 0. The same
    seed on the same device gives the same bytes; no global random state is used.
    """
    vectors = vectors.detach().float()
    if clusters < 1 or vectors.ndim != 2 or not vectors.numel():
        shape = f"{clusters} clusters of vectors of shape {tuple(vectors.shape)}"
        raise VeraxError(
            f"{shape}: expected at least one of each; give (n, d) vectors",
            code="tensor.wrong-shape",
        )
    _check(vectors, scratch)
    exact = _distinct(vectors, clusters, scratch)
    if exact is not None:
        return exact
    n, device = len(vectors), vectors.device
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(n, generator=generator).to(device)
    sizes = _sizes(n, clusters)
    sample = vectors[order[: sizes[0]].sort().values]
    shift = sample.mean(0)  # squared distances near the origin cancel less
    data = [_Rows(sample.sub_(shift), torch.zeros_like(shift))]
    for m in sizes[1:]:
        data.append(_Rows(vectors, shift, None if m == n else order[:m].sort().values))
    centres = _seeds(data[0], clusters, generator, scratch)
    iterations, last = 0, [torch.inf] * len(sizes)
    settled: set[int] = set()
    for level in watch(_schedule(len(sizes))):
        if level in settled:
            continue
        inertia, centres = _lloyd(data[level], centres, clusters, generator, scratch)
        iterations += 1
        if last[level] - inertia <= TOLERANCE * inertia:
            settled.add(level)
        last[level] = inertia
    centres = centres + shift  # as returned: what rounding adds, labels shall know
    labels, inertia = _label(_Rows(vectors, shift), centres - shift, scratch)
    return Clustering(labels, centres, inertia, iterations)


@dataclass(frozen=True)
class _Rows:
    """Some rows of the vectors, or all, moved by −shift, made when needed."""

    vectors: Tensor
    shift: Tensor
    rows: Tensor | None = None

    def __len__(self) -> int:
        return len(self.vectors) if self.rows is None else len(self.rows)

    def take(self, which: slice | Tensor) -> Tensor:
        return self.vectors[which if self.rows is None else self.rows[which]] - self.shift


def _sizes(n: int, clusters: int) -> list[int]:
    """How many vectors each sample has; the last has all."""
    sizes = [max(LEAST, SAMPLE * clusters)]
    while sizes[-1] < n:
        sizes.append(4 * sizes[-1])
    sizes[-1] = n
    return sizes


def _schedule(levels: int) -> list[int]:
    """The level of each iteration: many on the smallest sample, where they are cheap."""
    if levels == 1:
        return [0] * 50
    return [0] * 5 + [level for level in range(1, levels - 1) for _ in range(2)] + [levels - 1]


def _check(vectors: Tensor, scratch: int) -> None:
    start = 0
    for part in vectors.split(_fit(vectors.shape[1], scratch)):
        good = torch.linalg.vector_norm(part, dim=1) < LARGEST  # False for NaN
        if not good.all():
            row = start + int((~good).nonzero()[0])
            raise VeraxError(
                f"vector {row} has NaN, an infinity or a norm above {LARGEST:g}: "
                "only finite vectors can be clustered; look for what made it so",
                code="tensor.bad-values",
            )
        start += len(part)


def _fit(width: int, scratch: int) -> int:
    """How many rows of `width` single-precision numbers fit into `scratch` bytes."""
    return max(1, scratch // (4 * width))


def _distinct(vectors: Tensor, clusters: int, scratch: int) -> Clustering | None:
    """Each distinct vector its own cluster, or None if they are too many.

    Told apart by a hash of their bits, and compared in full afterwards.
    """
    d, device = vectors.shape[1], vectors.device
    generator = torch.Generator().manual_seed(d)
    odd = torch.randint(-(2**62), 2**62, (d,), generator=generator).to(device) * 2 + 1
    hashes, known = [], odd[:0]
    parts = vectors.split(max(clusters + 1, _fit(8 * d, scratch)))
    for part in parts:
        bits = (part + 0.0).view(torch.int32).long()  # −0 is 0
        hashes.append(((bits ^ (bits >> 15)) * odd).sum(1))
        known = torch.cat([known, hashes[-1]]).unique()
        if len(known) > clusters:
            return None
    values, order = torch.cat(hashes).sort(stable=True)
    new = torch.ones_like(values, dtype=torch.bool)
    new[1:] = values.diff() != 0
    labels = torch.empty_like(order)
    labels[order] = new.cumsum(0) - 1
    centres = vectors[order[new]]
    for part, label in zip(parts, labels.split(len(parts[0])), strict=True):
        if not torch.equal(part, centres[label]):
            return None
    return Clustering(labels, centres, 0.0, 0)


def _nearest(
    data: _Rows, centres: Tensor, scratch: int, count: int = 1
) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
    """For each block: which, (b, d) vectors, (b, count) squared distances to the nearest, labels.

    ‖x − c‖² = ‖x‖² − 2 x·c + ‖c‖²
    """
    norms, turned = centres.square().sum(1), centres.T
    size = min(len(data), _fit(2 * sum(centres.shape), scratch))
    space = centres.new_empty(size, len(centres))
    for start in range(0, len(data), size):
        which = slice(start, start + size)
        block = data.take(which)
        distances = torch.addmm(norms, block, turned, alpha=-2, out=space[: len(block)])
        if count == 1:
            near, labels = distances.min(1, keepdim=True)
        else:
            near, labels = distances.topk(count, dim=1, largest=False)
        near += block.square().sum(1, keepdim=True)
        yield which, block, near.clamp_(min=0.0), labels


def _add(totals: Tensor, labels: Tensor, values: Tensor) -> None:
    """totals[label] += value, without a GPU's atomics, whose order of addition is by chance."""
    if totals.is_cuda:
        each = torch.arange(len(totals), device=labels.device)
        totals.addmm_((each[:, None] == labels).to(values.dtype), values)
    else:
        totals.index_add_(0, labels, values)


def _draw(weights: Tensor, count: int, generator: Generator) -> Tensor:
    """Indices drawn with probability ∝ weights; at most `count`, each once.

    In whole numbers, whose cumulative sum is the same on every device and in every order.
    """
    largest = weights.max().double().clamp(min=1e-45)
    scaled = (weights.double() * (2.0**36 / largest)).ceil().long()
    total = scaled.cumsum(0)
    at = (torch.arange(count) + torch.rand(count, generator=generator, dtype=torch.float64)) / count
    ticket = (at.to(weights.device) * total[-1]).long().minimum(total[-1] - 1)
    drawn = torch.searchsorted(total, ticket, right=True).unique()
    return drawn[weights[drawn] > 0]


def _seeds(data: _Rows, clusters: int, generator: Generator, scratch: int) -> Tensor:
    """Draw centres in rounds that double their number, then prune them."""
    want = min(EXCESS * clusters, len(data))
    drawn = torch.randint(len(data), (1,), generator=generator).to(data.vectors.device)
    nearest = data.vectors.new_full((len(data),), torch.inf)
    chosen = drawn
    while True:
        for which, _, near, _ in _nearest(data, data.vectors[drawn], scratch):
            nearest[which] = nearest[which].minimum(near.squeeze(1))
        nearest[drawn] = 0.0
        if len(chosen) >= want:
            break
        drawn = _draw(nearest, min(len(chosen), want - len(chosen)), generator)
        if not len(drawn):
            break
        chosen = torch.cat([chosen, drawn])
    centres = data.vectors[chosen]
    while len(centres) > clusters:
        centres = _prune(data, centres, clusters, scratch)
    return centres


def _prune(data: _Rows, centres: Tensor, clusters: int, scratch: int) -> Tensor:
    """One Lloyd step, less a quarter of the centres: those missed least.

    A centre's worth is Σ (second smallest − smallest squared distance) over its vectors. Where one
    goes, its nearest stays, and none goes in its stead that is worth far more.
    """
    count, d = centres.shape
    totals = centres.new_zeros(count, d + 2)
    for _, block, near, labels in _nearest(data, centres, scratch, 2):
        worth = near[:, 1:] - near[:, :1]
        _add(totals, labels[:, 0], torch.cat([block, worth, torch.ones_like(worth)], 1))
    among = _nearest(_Rows(centres, torch.zeros_like(centres[0])), centres, scratch, 2)
    first, second = torch.cat([labels for *_, labels in among]).T
    itself = torch.arange(count, device=first.device)
    heirs = torch.where(first == itself, second, first).tolist()
    excess = min(count - clusters, max(1, count // 4))
    gone: set[int] = set()
    safe: set[int] = set()
    worths, order = totals[:, d].sort(stable=True)
    affordable = int((worths <= 2 * worths[excess - 1]).sum())
    for index in order[:affordable].tolist():
        if index not in safe and len(gone) < excess:
            gone.add(index)
            safe.add(heirs[index])
    stay = torch.tensor([i for i in range(count) if i not in gone], device=centres.device)
    return _means(totals[:, :d], totals[:, d + 1 :], centres)[stay]


def _means(sums: Tensor, sizes: Tensor, centres: Tensor) -> Tensor:
    return torch.where(sizes > 0, sums / sizes.clamp(min=1), centres)


def _lloyd(
    data: _Rows, centres: Tensor, clusters: int, generator: Generator, scratch: int
) -> tuple[float, Tensor]:
    """The inertia of the centres, and better ones: the means of their vectors."""
    d = centres.shape[1]
    totals = centres.new_zeros(len(centres), d + 1)
    distances = centres.new_empty(len(data))
    for which, block, near, labels in _nearest(data, centres, scratch):
        _add(totals, labels[:, 0], torch.cat([block, torch.ones_like(near)], 1))
        distances[which] = near.squeeze(1)
    sizes = totals[:, d:]
    centres = _means(totals[:, :d], sizes, centres)[sizes.squeeze(1) > 0]
    if len(centres) < clusters:
        drawn = _draw(distances, clusters - len(centres), generator)
        centres = torch.cat([centres, data.take(drawn)])
    return distances.double().sum().item(), centres


def _label(data: _Rows, centres: Tensor, scratch: int) -> tuple[Tensor, float]:
    """Labels and inertia, its distances as differences: they do not cancel."""
    nearest = torch.empty(len(data), dtype=torch.long, device=centres.device)
    inertia = centres.new_zeros((), dtype=torch.float64)
    for which, block, _, labels in _nearest(data, centres, scratch):
        nearest[which] = labels.squeeze(1)
        inertia += (block - centres[nearest[which]]).square_().sum(1).double().sum()
    return nearest, inertia.item()
