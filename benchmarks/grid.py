"""Does every allowed combination of slots learn?

    python benchmarks/grid.py [--corpus rotten_tomatoes] [--workers 2] [--out grid.parquet]

Trains encoder × alignment × projection × grounding, flat and hierarchical, for two epochs on 2,000
documents (batches of 16), and writes one row each: validation loss before and after, and test
accuracy. Exits with 1 if any combination ends no better than it began.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from typing import Any

import pandas as pd

import verax
from verax.models.options import ALIGNMENTS, ENCODERS, GROUNDINGS, PROJECTIONS

LAM = {"sparsegen": 0.5}
LR = {"transformer": 5e-4}
WORKER: dict[str, Any] = {}


def combinations() -> list[dict[str, Any]]:
    return [
        {"encoder": e, "attention": a, "projection": p, "grounding": g, "hierarchical": h}
        for e, a, p, g, h in itertools.product(
            ENCODERS, ALIGNMENTS, PROJECTIONS, GROUNDINGS, (False, True)
        )
        if not (e == "none" and g in ("tying", "mlm"))
    ]


def prepare(name: str, documents: int, device: str, threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    WORKER.update(corpus=verax.load_corpus(name, limit=documents), device=device)


def run(choice: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    options = {
        **choice,
        "lam": LAM.get(choice["projection"], 0.0),
        "lr": LR.get(choice["encoder"], 3e-3),
        "batch_size": 16,
        "epochs": 2,
        "metric": "loss",
    }
    model = verax.train(WORKER["corpus"], device=WORKER["device"], **options)
    kept = model.history[model.history["selected"]].iloc[0]
    return {
        **choice,
        "loss_before": model.history["loss"].iloc[0],
        "loss_after": kept["loss"],
        "accuracy": model.record["test"]["accuracy"],
        "seconds": time.perf_counter() - started,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="rotten_tomatoes")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", default="grid.parquet")
    given = parser.parse_args()
    choices = combinations()
    pool = multiprocessing.get_context("spawn").Pool(
        given.workers, prepare, (given.corpus, given.documents, given.device, 1)
    )
    rows = []
    with pool:
        for row in pool.imap_unordered(run, choices):
            rows.append(row)
            print(f"\r{len(rows)}/{len(choices)}", end="", file=sys.stderr, flush=True)
    frame = pd.DataFrame(rows).sort_values(list(choices[0])).reset_index(drop=True)
    frame.to_parquet(given.out)
    worse = frame[frame["loss_after"] >= frame["loss_before"]]
    print(f"\n{len(frame)} combinations, {len(frame) - len(worse)} end better than they began")
    print(frame.groupby(["hierarchical", "encoder"])["accuracy"].describe().to_string())
    if len(worse):
        print(worse.to_string())
    return int(len(worse) > 0)


if __name__ == "__main__":
    sys.exit(main())
