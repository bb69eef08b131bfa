"""Does every allowed combination of slots learn?

    python benchmarks/grid.py [--corpus rotten_tomatoes] [--vectors FILE] [--workers 2]

Trains encoder × alignment × projection × grounding, flat and hierarchical, for two epochs on 2,000
documents (batches of 16), and writes one row each: the training objective of both epochs, the
validation loss before, of the epoch kept and of the last, and test accuracy. Prints those that end
no better than they began, and exits with 1 if there is one whose objective did not fall.
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
LR = {"transformer": 3e-4}
STRENGTH = {"mlm": 0.1}
WORKER: dict[str, Any] = {}


def combinations() -> list[dict[str, Any]]:
    return [
        {"encoder": e, "attention": a, "projection": p, "grounding": g, "hierarchical": h}
        for e, a, p, g, h in itertools.product(
            ENCODERS, ALIGNMENTS, PROJECTIONS, GROUNDINGS, (False, True)
        )
        if not (e == "none" and g in ("tying", "mlm"))
    ]


def prepare(name: str, documents: int, fixed: dict[str, Any], threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    WORKER.update(corpus=verax.load_corpus(name, limit=documents), fixed=fixed)


def run(choice: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    options = {
        **choice,
        "lam": LAM.get(choice["projection"], 0.0),
        "lr": LR.get(choice["encoder"], 1.5e-3),
        "strength": STRENGTH.get(choice["grounding"]),
        "batch_size": 16,
        "epochs": 2,
        "metric": "loss",
    }
    model = verax.train(WORKER["corpus"], **options, **WORKER["fixed"])
    kept = model.history[model.history["selected"]].iloc[0]
    return {
        **choice,
        "objective_first": model.history["train_loss"].iloc[1],
        "objective_last": model.history["train_loss"].iloc[-1],
        "loss_before": model.history["loss"].iloc[0],
        "loss_after": kept["loss"],
        "loss_last": model.history["loss"].iloc[-1],
        "accuracy": model.record["test"]["accuracy"],
        "seconds": time.perf_counter() - started,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="rotten_tomatoes")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--vectors", default=None, help="word vectors to start from, 100 numbers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="grid.parquet")
    given = parser.parse_args()
    choices = combinations()
    fixed = {"device": given.device, "vectors": given.vectors, "seed": given.seed}
    pool = multiprocessing.get_context("spawn").Pool(
        given.workers, prepare, (given.corpus, given.documents, fixed, 1)
    )
    rows = []
    with pool:
        for row in pool.imap_unordered(run, choices):
            rows.append(row)
            print(f"\r{len(rows)}/{len(choices)}", end="", file=sys.stderr, flush=True)
    frame = pd.DataFrame(rows).sort_values(list(choices[0])).reset_index(drop=True)
    frame.to_parquet(given.out)
    stuck = frame["objective_last"] >= frame["objective_first"]
    worse = frame[stuck | (frame["loss_after"] >= frame["loss_before"])]
    print(f"\n{len(frame)} combinations, {len(frame) - int(stuck.sum())} with a lower objective in")
    print(f"their second epoch, {len(frame) - len(worse)} with a lower validation loss as well")
    print(frame.groupby(["hierarchical", "encoder"])["accuracy"].describe().to_string())
    if len(worse):
        print(worse.to_string())
    return int(stuck.any())


if __name__ == "__main__":
    sys.exit(main())
