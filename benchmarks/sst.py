"""Does the foundation reach Jain & Wallace's accuracy on SST?

    VERAX_DATA=… python benchmarks/sst.py --vectors glove-100d.txt.gz [--seeds 3]

BiLSTM of 50 + 50 units with additive attention over 100-d word vectors, on their own text of SST
(`text_jw`) with their length filter and training protocol. Published: 80.81% test accuracy,
ROC-AUC 0.9024, F1 of the positive class 0.7835.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

import verax

READING: dict[str, Any] = {"text_column": "text_jw", "count_words_by": "whitespace", "min_words": 6}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "jain-wallace": {
        "clip": None,
        "class_weight": "balanced",
        "metric": "roc_auc",
        "select_from": 2,
    },
    "defaults": {},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out")
    given = parser.parse_args()
    corpus = verax.load_corpus(given.corpus, **READING)
    rows = []
    for protocol, options in PROTOCOLS.items():
        for seed in range(1, given.seeds + 1):
            model = verax.train(
                corpus,
                tokenizer="whitespace",
                encoder="bilstm",
                hidden_size=100,
                vectors=given.vectors,
                seed=seed,
                device=given.device,
                **options,
            )
            epoch = int(model.history["selected"].to_numpy().argmax())
            rows.append(
                {"protocol": protocol, "seed": seed, "epoch": epoch, **model.record["test"]}
            )
            print(rows[-1], flush=True)
    frame = pd.DataFrame(rows)
    print(f"{len(corpus.test):,} test documents; word vectors: {model.record['vectors']}")
    print(frame.groupby("protocol")[["accuracy", "f1", "roc_auc"]].agg(["mean", "std"]).to_string())
    if given.out:
        frame.to_parquet(given.out)


if __name__ == "__main__":
    main()
