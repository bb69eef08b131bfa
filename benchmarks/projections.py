"""Time the projections, forward and backward, against torch and the entmax library.

    python benchmarks/projections.py [--repeats N] [--device cpu|cuda]

Every function is timed once per round, in random order, so that neither a noisy moment of the
machine nor what ran before falls on one of them alone; the table gives medians over the rounds.
`ratio` is the time over that of the first implementation of the same map: torch's own, or the
entmax library's `k=` variant where it has one (below 1 is faster than it).
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import entmax as library
import torch
from torch import Tensor

from verax.models import projections as ours

SHAPES = ((256, 64), (64, 512), (32, 4096))
SPREADS = {"flat": 1.0, "peaked": 3.0}
PARTIAL_SORT = 32
GENERAL_ALPHA = 1.3
WARM_UP = 10

Projection = Callable[[Tensor], Tensor]


def candidates(masks: dict[str, Tensor | None]) -> dict[str, dict[str, Projection]]:
    """By family, the functions to time by name; the first of a family is what ratios refer to."""

    def masked(function: Callable[..., Tensor], **options: float) -> dict[str, Projection]:
        def under(mask: Tensor | None) -> Projection:
            return lambda z: function(z, mask, **options)

        return {f"verax, {label}": under(mask) for label, mask in masks.items()}

    return {
        "softmax": {
            "torch": lambda z: torch.softmax(z, -1),
            **masked(ours.softmax),
        },
        "sparsemax": {
            f"entmax k={PARTIAL_SORT}": lambda z: library.sparsemax(z, k=PARTIAL_SORT),
            "entmax": lambda z: library.sparsemax(z),
            **masked(ours.sparsemax),
        },
        "sparsegen λ=0.5": {
            f"entmax k={PARTIAL_SORT}": lambda z: library.sparsemax(z * 2, k=PARTIAL_SORT),
            **masked(ours.sparsegen, lam=0.5),
        },
        "entmax alpha=1.5": {
            f"entmax k={PARTIAL_SORT}": lambda z: library.entmax15(z, k=PARTIAL_SORT),
            "entmax": lambda z: library.entmax15(z),
            **masked(ours.entmax, alpha=1.5),
        },
        f"entmax alpha={GENERAL_ALPHA}": {
            "entmax bisect": lambda z: library.entmax_bisect(z, GENERAL_ALPHA),
            **masked(ours.entmax, alpha=GENERAL_ALPHA),
        },
    }


def masks_for(scores: Tensor) -> dict[str, Tensor | None]:
    """No mask, one that keeps everything, and bags of random length padded at the end."""
    rows, width = scores.shape
    lengths = torch.randint(1, width + 1, (rows, 1), device=scores.device)
    return {
        "no mask": None,
        "full mask": torch.ones_like(scores, dtype=torch.bool),
        "ragged": torch.arange(width, device=scores.device) < lengths,
    }


def seconds(function: Projection, scores: Tensor, upstream: Tensor) -> float:
    """Wall-clock time of one forward and backward pass."""
    leaf = scores.clone().requires_grad_()
    _wait(scores)
    start = time.perf_counter()
    torch.autograd.grad(function(leaf), leaf, upstream)
    _wait(scores)
    return time.perf_counter() - start


def _wait(scores: Tensor) -> None:
    if scores.is_cuda:
        torch.cuda.synchronize()


def medians(
    families: dict[str, dict[str, Projection]], scores: Tensor, repeats: int
) -> dict[str, dict[str, float]]:
    """Median microseconds of every candidate."""
    upstream = torch.randn_like(scores)
    times: dict[str, dict[str, list[float]]] = {
        family: {name: [] for name in members} for family, members in families.items()
    }
    everything = [
        (times[family][name], function)
        for family, members in families.items()
        for name, function in members.items()
    ]
    order = random.Random(0)
    for round_ in range(WARM_UP + repeats):
        order.shuffle(everything)
        for collected, function in everything:
            elapsed = seconds(function, scores, upstream)
            if round_ >= WARM_UP:
                collected.append(elapsed * 1e6)
    return {
        family: {name: statistics.median(values) for name, values in members.items()}
        for family, members in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200, help="timed rounds per shape")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=2, help="threads torch may use")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    print(
        f"torch {torch.__version__}, {arguments.device}, {arguments.threads} threads, "
        f"median of {arguments.repeats}"
    )
    print(
        "| map | implementation | scores | " + " | ".join(f"{s} µs | ratio" for s in SHAPES) + " |"
    )
    print("|---|---|---|" + "---:|---:|" * len(SHAPES))
    for spread, factor in SPREADS.items():
        columns = []
        for shape in SHAPES:
            scores = torch.randn(shape, device=arguments.device) * factor
            columns.append(medians(candidates(masks_for(scores)), scores, arguments.repeats))
        for family, members in columns[0].items():
            reference = next(iter(members))
            for name in members:
                times = [(column[family][name], column[family][reference]) for column in columns]
                cells = [f"{own:.0f} | {own / other:.2f}" for own, other in times]
                print(f"| {family} | {name} | {spread} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
