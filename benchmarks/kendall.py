"""Kendall's τ-b of whole batches against `scipy.stats.kendalltau` called for each pair.

    python benchmarks/kendall.py [--repeats 7]

2,000 pairs of single-precision importances of 20, 240 and 2,000 positions, nothing masked:

no ties  both drawn from a continuous distribution
ties     as sparse attention has them: half of the positions, much the same in both, are zero, and
         the rest of one has ten different values

SciPy is asked for the statistic and gives a p-value too, from its asymptotic distribution, the
cheapest of its methods. Times are minima over the repeats, in turns. Of 2,000 positions SciPy sees
200 pairs, and the time is multiplied by ten. Values must agree to 1e-12. Last, the memory that
2,000 pairs of 4,000 positions take beyond the inputs.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np
import scipy
import torch
from scipy import stats
from torch import Tensor

from verax.exams.agreement import kendall_tau_b

PAIRS = 2000
LENGTHS = {20: PAIRS, 240: PAIRS, 2000: PAIRS // 10}  # and how many pairs SciPy sees
AIMS = {20: 100, 240: 10}


def make_pairs(length: int, ties: bool) -> tuple[Tensor, Tensor]:
    """(pairs, length) each: two importances that agree to some extent."""
    generator = torch.Generator().manual_seed(length)
    a, noise = (torch.randn(PAIRS, length, generator=generator) for _ in range(2))
    b = a + noise
    if ties:
        zero = torch.rand(PAIRS, length, generator=generator) < 0.5
        again = torch.rand(PAIRS, length, generator=generator) < 0.1
        a, b = a.masked_fill(zero, 0.0), (5 * b.sigmoid() * 2).ceil().masked_fill(zero ^ again, 0.0)
    return a, b


def one_by_one(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found = [
        stats.kendalltau(x, y, method="asymptotic").statistic for x, y in zip(a, b, strict=True)
    ]
    return np.array(found)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(length: int, ties: bool, repeats: int) -> tuple[float, float]:
    """The least seconds for all pairs: ours, SciPy's."""
    a, b = make_pairs(length, ties)
    mask = torch.ones_like(a, dtype=torch.bool)
    seen = LENGTHS[length]
    some = a[:seen].numpy(), b[:seen].numpy()
    difference = np.abs(kendall_tau_b(a, b, mask)[:seen].numpy() - one_by_one(*some)).max()
    assert difference < 1e-12, f"{length} positions: values differ by {difference:.1e}"
    ours, theirs = [], []
    for _ in range(repeats):
        # SciPy takes far longer, and so meets more of a machine's moods
        ours += [seconds(lambda: kendall_tau_b(a, b, mask)) for _ in range(3)]
        theirs.append(seconds(lambda: one_by_one(*some)))
    return min(ours), min(theirs) * PAIRS / seen


def peak_memory() -> tuple[float, float]:
    """MiB that the inputs take, and MiB that the work adds at its height."""
    a, b = torch.rand(2, PAIRS, 4000)
    mask = torch.ones_like(a, dtype=torch.bool)
    taken = sum(t.numel() * t.element_size() for t in (a, b, mask)) / 2**20
    kendall_tau_b(a[:1], b[:1], mask[:1])  # what is loaded on first use
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kendall_tau_b(a, b, mask)
    return taken, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    taken, added = peak_memory()  # first, while nothing else has raised the height
    print(f"{PAIRS} pairs, NumPy {np.__version__}, SciPy {scipy.__version__}")
    print(f"{'positions':>9} {'':8} {'ours ms':>8} {'SciPy ms':>9} {'ratio':>6}   aim")
    for length in LENGTHS:
        for ties in (False, True):
            ours, theirs = compare(length, ties, repeats)
            aim = f"{AIMS[length]:5}" if length in AIMS else "    –"
            scaled = "" if LENGTHS[length] == PAIRS else f"   SciPy on {LENGTHS[length]}, scaled"
            print(
                f"{length:9} {'ties' if ties else 'no ties':8} {1e3 * ours:8.1f} "
                f"{1e3 * theirs:9.0f} {theirs / ours:5.1f}× {aim}{scaled}",
                flush=True,
            )
    print(f"{PAIRS}×4000: inputs {taken:.0f} MiB, the work {added:.0f} MiB more")


if __name__ == "__main__":
    main()
