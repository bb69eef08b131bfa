"""Serrano & Smith's six architectures on IMDB by rating, and what erasure says of each.

    python benchmarks/serrano_imdb.py --corpus imdb --vectors FILE [--epochs 15] [--workers 6]

HAN and FLAN × rnn, conv and none with the hyper-parameters of their appendix for IMDB, one seed;
trained, then examined over the whole test split. Writes `serrano_imdb.parquet`: the summary of each
verdict, with the architecture. `--vectors word2vec` trains word vectors on the corpus as they did.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from typing import Any

import pandas as pd

import verax

SHARED: dict[str, Any] = {
    "embedding_size": 200,
    "unit_norm": True,
    "boundaries": False,
    "head": "softmax",
    "initialisation": "xavier",
    "dropout_embedding": 0.4445,
    "min_df": 5,
    "batch_size": 64,
    "lr": 4e-4,
    "weight_decay": 0.0,
    "amsgrad": False,
    "clip": 10.0,
    "plateau_factor": 0.5,
}
LEVELS: dict[str, dict[str, Any]] = {
    "HAN": {"hierarchical": True, "dropout_sentence": 0.2202, "dropout_head": 0.2457},
    "FLAN": {"dropout_head": 0.3457},
}
ENCODERS: dict[str, dict[str, Any]] = {
    "rnn": {"encoder": "bigru", "attention_size": 100, "patience": 5},
    "conv": {"encoder": "conv", "attention_size": 100, "patience": 5},
    "none": {"encoder": "none", "attention_size": 200, "patience": 10},
}


def run(job: tuple[str, str, argparse.Namespace]) -> pd.DataFrame:
    level, encoder, given = job
    corpus = verax.load_corpus(given.corpus, label_column="rating")
    started = time.monotonic()
    model = verax.train(
        corpus,
        **SHARED,
        **LEVELS[level],
        **ENCODERS[encoder],
        vectors=given.vectors,
        epochs=given.epochs,
        max_tokens=given.max_tokens,
        device=given.device,
        seed=given.seed,
    )
    trained = time.monotonic()
    verdict = verax.examine(model, corpus, exams=["erasure"], max_tokens=given.max_tokens)
    summary = verdict.summary()
    summary.insert(0, "architecture", level + encoder)
    summary["epochs"] = len(model.history) - 1
    summary["seconds_training"] = round(trained - started, 1)
    summary["seconds_examining"] = round(time.monotonic() - trained, 1)
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="imdb")
    parser.add_argument("--vectors", default="word2vec")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--max-tokens", type=int, default=2**16)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="serrano_imdb.parquet")
    given = parser.parse_args()
    jobs = [(level, encoder, given) for level in LEVELS for encoder in ENCODERS]
    done: list[pd.DataFrame] = []
    with multiprocessing.get_context("spawn").Pool(given.workers, maxtasksperchild=1) as pool:
        for summary in pool.imap_unordered(run, jobs):
            done.append(summary)
            first = summary.iloc[0]
            print(
                f"{first['architecture']}: accuracy {first['value']:.1f}%, {first['epochs']} "
                f"epochs in {first['seconds_training']:.0f} s, examined in "
                f"{first['seconds_examining']:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            pd.concat(done, ignore_index=True).to_parquet(given.out, index=False)
    frame = pd.concat(done, ignore_index=True).sort_values("architecture", kind="stable")
    for name in ("contingency", "fraction", "mass", "excess", "pairs"):
        part = frame[frame["table"] == f"erasure.{name}"]
        shown = part.pivot(index=["architecture", "row"], columns="column", values="value")
        print(f"\n{name}\n{shown[list(dict.fromkeys(part['column']))].round(3).to_string()}")


if __name__ == "__main__":
    main()
