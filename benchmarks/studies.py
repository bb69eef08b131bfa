"""What running a study costs: cells side by side, and what a runner adds to a cell.

    python benchmarks/studies.py [--workers 1,2] [--cells 16] [--epochs 4]
    VERAX_DATA=… python benchmarks/studies.py --device cuda --mps --corpus sst --workers 1,4,12
        --cells 6,16,48 [--vectors glove.txt.gz] [--out studies_gpu.parquet]

Equal cells that differ by seed alone, all exams, a fresh folder for each number of workers.
`busy` is the share of the workers' time in which a cell was trained or examined; `overhead` is the
rest of it for each cell: starting workers, handing over corpora, committing results. `first` is
when the first cell has begun, reading the corpus and starting a worker included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from verax.studies.engines.engine import Progressed
from verax.studies.grid import read_study
from verax.studies.running.run import run, with_hardware
from verax.studies.running.watching import Watcher


class Stopwatch(Watcher):
    """When the first cell began, and how long each took."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.seconds: list[float] = []

    def progresses(self, progress: Progressed) -> None:
        if self.first is None:
            self.first = time.monotonic()

    def finishes(self, key: str, facts: Mapping[str, Any]) -> None:
        self.seconds.append(facts["seconds"]["total"])


def measure(given: argparse.Namespace, workers: int, cells: int) -> dict[str, Any]:
    training = {"epochs": given.epochs, "vectors": given.vectors, "class_weight": "balanced"}
    study = read_study(
        {
            "name": "equal",
            "corpora": {given.corpus: {}},
            "training": {name: value for name, value in training.items() if value is not None},
            "seeds": list(range(cells)),
            "hardware": {"device": given.device, "mps": given.mps},
        }
    )
    sharing = {"cells_per_gpu": workers} if given.device == "cuda" else {}
    study = with_hardware(study, {"workers": workers, **sharing})
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        ran = run(study, Path(folder) / "study", watcher=watch)
        wall = time.monotonic() - started
    assert ran.done == cells, ran
    busy = sum(watch.seconds)
    return {
        "device": given.device,
        "corpus": given.corpus,
        "workers": workers,
        "cells": cells,
        "wall": wall,
        "first": (watch.first or started) - started,
        "cell": busy / cells,
        "busy": busy / (wall * workers),
        "overhead": (wall * workers - busy) / cells,
        "cells per hour": cells / wall * 3600,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--cells", default="16", help="one number, or one for each of --workers")
    parser.add_argument("--corpus", default="rotten_tomatoes")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--vectors")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--mps", action="store_true")
    parser.add_argument("--out", help="Parquet")
    given = parser.parse_args()
    workers = [int(part) for part in given.workers.split(",")]
    cells = [int(part) for part in given.cells.split(",")]
    cells = cells * len(workers) if len(cells) == 1 else cells
    rows: list[dict[str, Any]] = []
    for many, count in zip(workers, cells, strict=True):
        rows.append(measure(given, many, count))
        row = rows[-1]
        row["ratio"] = row["cells per hour"] / rows[0]["cells per hour"]
        numbers = {name: value for name, value in row.items() if isinstance(value, float)}
        told = "  ".join(f"{name} {value:.2f}" for name, value in numbers.items())
        print(f"{many} workers, {count} cells: {told}", flush=True)
        if given.out:
            pd.DataFrame(rows).to_parquet(given.out, index=False)


if __name__ == "__main__":
    main()
