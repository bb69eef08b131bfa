"""What do replacement and single_token cost beside the encoder pass they share?

    python benchmarks/replacement.py [--repeats 5] [--out replacement.parquet]

Reads a split once, as `examine` does, with Tutek & Šnajder's BiLSTM (150 + 150 over 300-d vectors,
untrained: the time is the same), and times what the encoder takes and what each exam takes of every
batch, its tables and its summary. Beside them ten permutations as re-running attention and head
would have them, document by document in a loop, and batched through the head.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import torch

import verax
from verax.corpora.batching import MAX_TOKENS
from verax.exams.replacement.exam import ReplacementExam, ReplacementOptions
from verax.exams.replacement.summary import summarise as summarise_replacement
from verax.exams.single_token.exam import SingleTokenExam, SingleTokenOptions
from verax.exams.single_token.summary import summarise as summarise_single_token
from verax.models import Trace
from verax.models.counterfactual import permuted
from verax.models.layers import decisions, pool

CORPORA = {"rotten_tomatoes": "test", "all of rotten_tomatoes": "train", "imdb_reviews": "test"}
LIMITS = {"imdb_reviews": 500}
SUMMARIES = {"replacement": summarise_replacement, "single_token": summarise_single_token}


def timed(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    found = work(*given)
    return time.perf_counter() - started, found


@torch.no_grad()
def one_by_one(trace: Trace, draws: int) -> None:
    for items, weights, mask in zip(trace.items, trace.weights, trace.mask, strict=True):
        own = weights[mask]
        for _ in range(draws):
            order = torch.randperm(len(own))
            decisions(trace.head(own[order] @ items[mask]))


@torch.no_grad()
def through_head(trace: Trace, draws: int) -> None:
    drawn = permuted(trace.weights, trace.mask, trace.batch.row_index, 0, draws)
    for weights in drawn:
        decisions(trace.head(pool(weights, trace.items)))


def measure(model: verax.AttentionClassifier, documents: verax.Documents) -> dict[str, float]:
    exams = {
        "replacement": ReplacementExam(ReplacementOptions(), 0, {}),
        "single_token": SingleTokenExam(SingleTokenOptions(), 0, {}),
    }
    encoded = model.encode(documents)
    took = dict.fromkeys(["encoder", *exams, "one by one", "through the head", "summaries"], 0.0)
    traces = iter(model.traces(encoded, MAX_TOKENS))
    while True:
        seconds, trace = timed(next, traces, None)
        took["encoder"] += seconds
        if trace is None:
            break
        for name, exam in exams.items():
            took[name] += timed(exam.see, model, trace)[0]
        took["one by one"] += timed(one_by_one, trace, 10)[0]
        took["through the head"] += timed(through_head, trace, 10)[0]
    for name, exam in exams.items():
        seconds, tables = timed(exam.tables)
        took[name] += seconds
        took["summaries"] += timed(SUMMARIES[name], tables)[0]
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rows = []
    for shown, split in CORPORA.items():
        name = shown.rpartition(" ")[2]
        corpus = verax.load_corpus(name, limit=LIMITS.get(name))
        documents = corpus.splits[split]
        few = verax.load_corpus(name, limit=64)
        model = verax.train(few, epochs=1, embedding_size=300, hidden_size=300, device="cpu")
        found = pd.DataFrame([measure(model, documents) for _ in range(given.repeats)])
        shares = found.div(found["encoder"], axis=0).median()
        row = {"corpus": shown, "documents": len(documents), **shares.to_dict()}
        row["replacement + single_token"] = float(
            ((found["replacement"] + found["single_token"]) / found["encoder"]).median()
        )
        rows.append({**row, "encoder, seconds": float(found["encoder"].median())})
    frame = pd.DataFrame(rows)
    print(frame.set_index("corpus").T.round(4).to_string())
    if given.out:
        frame.to_parquet(given.out, index=False)


if __name__ == "__main__":
    main()
