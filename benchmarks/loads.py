"""How time and memory grow with classes, words, the length of a document and documents.

    python benchmarks/loads.py [--cases classes,words] [--most 1500] [--limit-gib 6]
        [--out loads.parquet]
    python benchmarks/loads.py --show loads.parquet

Each size runs in a process of its own: made-up texts are loaded, a model is trained on them and
examined. Peak memory is that of the whole process, torch included (`getrusage`). Time is CPU time
of one thread, so that a busy machine does not spoil it; `examine_wall` is by the clock, by which
limits of time go. A process that takes more than the limit is ended, and its row says so. `growth`
is the exponent between a size and the one before: 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

GIB = 2**30
TRAINING: dict[str, Any] = {"epochs": 1, "batch_size": 256, "progress": False}
EXAMINING: dict[str, Any] = {"progress": False, "split": "all"}
SECONDS, FEW_SECONDS = 600, 60
"""Limits of time (`max_seconds`) under which a long document is examined."""


class Stages:
    """CPU seconds of what is done, stage by stage, and seconds by the clock of the last stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.wall = 0.0
        self._last, self._last_wall = time.process_time(), time.monotonic()

    def done(self, stage: str) -> None:
        now, wall = time.process_time(), time.monotonic()
        self.seconds[stage], self.wall = round(now - self._last, 2), wall - self._last_wall
        self._last, self._last_wall = now, wall


def words_of(many: int) -> Any:
    return np.array([f"w{number}" for number in range(many)])


def drawn_texts(many: int, length: int, vocabulary: int, seed: int = 0) -> list[str]:
    """Texts of words that are drawn, small numbers more often."""
    random, words = np.random.default_rng(seed), words_of(vocabulary)
    rows = (vocabulary * random.random((many, length)) ** 3).astype(np.int64)
    return [" ".join(words[row]) for row in rows]


def classes(size: int, stages: Stages) -> Any:
    """So many classes, ten texts of 60 words each; 50 documents are examined."""
    import verax

    labels = [f"c{number % size}" for number in range(10 * size)]
    pairs = zip(labels, drawn_texts(len(labels), 60, 2000), strict=True)
    corpus = verax.load_corpus(([f"k{label} {text}" for label, text in pairs], labels))
    stages.done("load")
    model = verax.train(corpus, encoder="bilstm", **TRAINING)
    stages.done("train")
    return verax.examine(model, corpus, sample=50, **EXAMINING)


def vocabulary(size: int, stages: Stages) -> Any:
    """So many different words, each in two texts of 20 words; 50 documents are examined."""
    import verax

    words = words_of(size)
    order = np.random.default_rng(0).permutation(size)
    rows = [*words.reshape(-1, 20), *words[order].reshape(-1, 20)]
    labels = ["a" if number % 2 else "b" for number in range(len(rows))]
    corpus = verax.load_corpus(([" ".join(row) for row in rows], labels))
    stages.done("load")
    model = verax.train(corpus, encoder="bilstm", **TRAINING)
    stages.done("train")
    return verax.examine(model, corpus, sample=50, **EXAMINING)


def one_document(
    size: int, stages: Stages, encoder: str, exams: Any = None, seconds: float | None = SECONDS
) -> Any:
    """One document of so many words, by a model that was trained on short ones."""
    import verax

    labels = ["a", "b"] * 100
    pairs = zip(labels, drawn_texts(200, 20, 500), strict=True)
    corpus = verax.load_corpus(([f"k{label} {text}" for label, text in pairs], labels))
    stages.done("load")
    model = verax.train(corpus, encoder=encoder, **TRAINING)
    stages.done("train")
    text = drawn_texts(1, size, 500, seed=1)
    return verax.examine(model, (text, ["a"]), exams, max_seconds=seconds, **EXAMINING)


def documents(size: int, stages: Stages) -> Any:
    """A CSV of so many texts of eight words, no encoder; 1,000 documents are examined."""
    import verax

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.csv"
        with path.open("w", encoding="utf-8") as lines:
            lines.write("text,label\n")
            for part in range(0, size, 10_000):
                texts = drawn_texts(min(10_000, size - part), 8, 50_000, seed=part)
                lines.writelines(f"{text},{'ab'[n % 2]}\n" for n, text in enumerate(texts))
        stages.done("write")
        corpus = verax.load_corpus(path)
        stages.done("load")
        model = verax.train(corpus, encoder="none", **{**TRAINING, "batch_size": 1024})
        stages.done("train")
        return verax.examine(model, corpus, sample=1000, **EXAMINING)


Run = Callable[[int, Stages], Any]
CASES: dict[str, tuple[Run, tuple[int, ...]]] = {
    "classes": (classes, (50, 150, 500, 1500)),
    "vocabulary": (vocabulary, (30_000, 100_000, 300_000)),
    "words-bilstm": (lambda n, s: one_document(n, s, "bilstm"), (2000, 5000, 10_000, 20_000)),
    "words-transformer": (lambda n, s: one_document(n, s, "transformer"), (250, 500)),
    "words-transformer-one-pass": (
        lambda n, s: one_document(n, s, "transformer", ["erasure", "replacement"], None),
        (2500, 5000, 10_000, 20_000),
    ),
    "words-transformer-60-s": (
        lambda n, s: one_document(n, s, "transformer", seconds=FEW_SECONDS),
        (1000, 5000, 20_000),
    ),
    "documents": (documents, (10_000, 100_000, 1_000_000)),
}


def run_one(case: str, size: int) -> dict[str, Any]:
    """One size of one case, in this process."""
    import torch

    torch.set_num_threads(1)
    stages = Stages()
    verdict = CASES[case][0](size, stages)
    stages.done("examine")
    return {
        **stages.seconds,
        "examine_wall": round(stages.wall, 1),
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB,
        "left_out": ", ".join(verdict.manifest.get("out_of_time", {})),
    }


def watched(case: str, size: int, limit_gib: float) -> dict[str, Any]:
    """The same in a process of its own, which is ended if it takes more memory than allowed."""
    command = [sys.executable, __file__, "--one", case, str(size)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        status = Path(f"/proc/{child.pid}/status")
        ended = ""
        while child.poll() is None:
            time.sleep(0.2)
            try:
                held = next(x for x in status.read_text().splitlines() if x.startswith("VmRSS"))
            except (OSError, StopIteration):
                continue
            if int(held.split()[1]) * 1024 > limit_gib * GIB:
                ended = f"ended: over {limit_gib:g} GiB"
                child.kill()
        assert child.stdout is not None
        text = child.stdout.read()
    row: dict[str, Any] = {"case": case, "size": size, "ended": ended}
    if not ended and child.returncode:
        row["ended"] = f"ended with {child.returncode}"
    return row | (json.loads(text.splitlines()[-1]) if not row["ended"] else {})


def with_growth(table: pd.DataFrame) -> pd.DataFrame:
    """The table with exponents of the time for examining, and for all, over the size before."""
    table = table.copy()
    stages = [stage for stage in ("load", "train", "examine") if stage in table]
    table["all"] = table[stages].sum(axis=1)
    for column in ("examine", "all"):
        before = table.groupby("case", sort=False)[[column, "size"]].shift()
        ratio = table[column] / before[column]
        table[f"growth of {column}"] = np.log(ratio) / (table["size"] / before["size"]).map(
            math.log
        )
    return table


def show(table: pd.DataFrame) -> None:
    """Print the table as Markdown."""
    columns = ["case", "size", "load", "train", "examine", "growth of examine", "growth of all"]
    if "examine_wall" not in table:
        table = table.assign(examine_wall=math.nan)
    shown = with_growth(table)[[*columns, "examine_wall", "peak_gib", "left_out", "ended"]]
    print("| " + " | ".join(shown.columns) + " |")
    print("|" + "---|" * len(shown.columns))
    for row in shown.itertuples(index=False):
        print("| " + " | ".join(map(_cell, row)) + " |")


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:.2g}" if isinstance(value, float) and value < 10 else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--most", type=int, default=10**9, help="no size above")
    parser.add_argument("--least", type=int, default=0, help="no size below")
    parser.add_argument("--limit-gib", type=float, default=6.0)
    parser.add_argument("--out")
    parser.add_argument("--show")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(run_one(args.one[0], int(args.one[1]))))
        return
    if args.show:
        show(pd.read_parquet(args.show))
        return
    rows = []
    for case in args.cases.split(","):
        for size in CASES[case][1]:
            if args.least <= size <= args.most:
                rows.append(watched(case, size, args.limit_gib))
                print(rows[-1], flush=True)
                if args.out:
                    pd.DataFrame(rows).to_parquet(args.out)
    show(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
