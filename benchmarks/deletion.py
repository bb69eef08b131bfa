"""The smallest sets of the exam deletion: what asking costs, and how many are exact.

    python benchmarks/deletion.py [speed] [exact] [--documents 60] [--repeats 3] [--threads 2]

A BiLSTM, and for `exact` also a convolution, trained for two epochs on the sentences of SST where
VERAX_DATA names a folder with them, else on the built-in reviews.

speed  the exam, with random orders alone, against the bare model on the texts that the exam had it
       read, encoded and laid out in batches of similar length beforehand: time ÷ that of the model
exact  the share of documents whose smallest set is exact, the mean bounds, and texts read for a
       document, by budget
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

import verax
from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.vocabulary import PAD
from verax.exams.deletion import exam as deletion_exam
from verax.importance.deletion.several import logits_without_sets

BUDGETS = (0, 100, 300, 1000, 3000)
SEARCH: dict[str, Any] = {"rankings": "random", "random_orders": 1, "progress": False}


def load() -> verax.Corpus:
    if os.environ.get("VERAX_DATA"):
        return verax.load_corpus("sst", text_column="text_jw", min_words=6, limit=4000)
    return verax.load_corpus("rotten_tomatoes", limit=4000)


def speed(model: Any, corpus: verax.Corpus, documents: int, repeats: int) -> None:
    texts: list[list[int]] = []

    def recorded(model: Any, trace: Any, rows: Any, removed: Any, *how: Any) -> Any:
        for row, gone in zip(rows.tolist(), removed, strict=True):
            kept = trace.token_mask[row] & ~gone
            texts.append(trace.tokens[row][kept].tolist())
        return logits_without_sets(model, trace, rows, removed, *how)

    with patch.object(deletion_exam, "logits_without_sets", recorded):
        verax.examine(model, corpus, "deletion", sample=documents, **SEARCH)
    read = sorted((text for text in texts if text), key=len)
    batches = []
    while read:
        many = max(1, MAX_TOKENS // len(read[-1]))
        batches.append(laid_out(model, read[-many:]))
        read = read[:-many]
    ours, floor = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        verax.examine(model, corpus, "deletion", sample=documents, **SEARCH)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        with torch.no_grad():
            for batch in batches:
                model(batch)
        floor.append(time.perf_counter() - start)
    print(
        f"speed: {len(texts):,} texts of {documents} documents; exam {len(texts) / min(ours):,.0f} "
        f"a second, bare model {len(texts) / min(floor):,.0f}; exam ÷ model "
        f"{min(ours) / min(floor):.2f}"
    )


def laid_out(model: Any, texts: list[list[int]]) -> Any:
    """A batch of these rows of the vocabulary."""
    lengths = torch.tensor([len(text) for text in texts])
    tokens = torch.full((len(texts), int(lengths.max())), PAD)
    for row, text in enumerate(texts):
        tokens[row, : len(text)] = torch.tensor(text)
    read = torch.arange(tokens.shape[1]) < lengths.unsqueeze(-1)
    like = model.encode(["a"]).batch(np.zeros(1, np.int64), model.device)
    return Batch(
        tokens, read, read, lengths, None, np.arange(len(texts)), like.row_index.expand(len(texts))
    )


def exact(model: Any, corpus: verax.Corpus, documents: int) -> None:
    encoder = model.options.encoder
    for operator in ("delete", "mask"):
        for budget in BUDGETS:
            verdict = verax.examine(
                *(model, corpus, "deletion"),
                sample=documents,
                operator=operator,
                budget=budget,
                random_orders=1,
                progress=False,
            )
            names = ("smallest.smallest.lower", "smallest.smallest.upper", "exact.all.exact")
            lower, upper, share = (verdict.value(f"deletion.{name}") for name in names)
            kept = verdict.value("deletion.exact.all.sufficient_exact")
            passes = verdict.value("deletion.documents.passes")
            print(
                f"exact: {encoder} {operator} budget {budget:>5,}: {share:5.1f}% exact, words "
                f"{lower:.2f} to {upper:.2f}; sets that keep: {kept:5.1f}%; {passes:,.0f} texts a "
                "document"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["speed", "exact"])
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    corpus = load()
    how: dict[str, Any] = {"epochs": 2, "progress": False}
    model = verax.train(corpus, encoder="bilstm", boundaries=False, **how)
    lengths = model.encode(corpus.test).word_counts
    print(f"{corpus.name}: {np.median(lengths):.0f} words a document, threads {args.threads}")
    if "speed" in args.parts:
        speed(model, corpus, args.documents, args.repeats)
    if "exact" in args.parts:
        exact(model, corpus, args.documents)
        exact(verax.train(corpus, encoder="conv", **how), corpus, args.documents)


if __name__ == "__main__":
    main()
