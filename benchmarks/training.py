"""What a training epoch costs, against the least it could cost.

    python benchmarks/training.py [--repeats 5] [--documents 4000]

The floor is the same `torch.nn` encoder's forward and backward, the embedding gradient and the
fused optimiser step, on the same batches, already padded and in memory. Everything else a training
epoch does — building batches, attention, head, loss, clipping, bookkeeping — is overhead. Epochs of
both alternate within one run; the ratio is of their fastest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import nn

import verax
from verax.corpora.batching import training_batches
from verax.corpora.encoded import encode
from verax.corpora.vocabulary import PAD, Vocabulary
from verax.models import ModelOptions, make_classifier
from verax.training.loop import Loop
from verax.training.objective import Objective
from verax.training.options import TrainingOptions

CASES: dict[str, dict[str, object]] = {
    "bilstm additive softmax": {},
    "bilstm additive sparsemax": {"projection": "sparsemax"},
    "bilstm dot softmax": {"attention": "dot"},
    "bigru additive softmax": {"encoder": "bigru"},
}


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(corpus: verax.Corpus, choices: dict[str, object], repeats: int) -> tuple[float, float]:
    """Seconds of our fastest epoch and of the floor's."""
    options = ModelOptions(**choices).resolved(len(corpus.classes))  # type: ignore[arg-type]
    settings = TrainingOptions()
    vocabulary = Vocabulary.of(corpus.train)
    documents = encode(corpus.train, vocabulary, boundaries=True, hierarchical=False)
    model = make_classifier(options, vocabulary, corpus.classes)
    loop = Loop(model, documents, documents, Objective(model, None, 0), settings, 0)

    rows = training_batches(documents.lengths, settings.batch_size, 0, 1)
    batches = [documents.batch(r, torch.device("cpu")).tokens for r in rows]
    embedding = nn.Embedding(len(vocabulary), options.embedding_size, padding_idx=PAD)
    kind = {"bilstm": nn.LSTM, "bigru": nn.GRU}[options.encoder]
    rnn = kind(
        options.embedding_size, options.hidden_size // 2, batch_first=True, bidirectional=True
    )
    adam = torch.optim.Adam(
        [*embedding.parameters(), *rnn.parameters()],
        lr=settings.lr,
        amsgrad=True,
        weight_decay=settings.weight_decay,
        fused=True,
    )

    def floor() -> None:
        for tokens in batches:
            adam.zero_grad(set_to_none=True)
            rnn(embedding(tokens))[0].sum().backward()
            adam.step()

    ours, least = [], []
    for _ in range(repeats):
        least.append(seconds(floor))
        ours.append(seconds(lambda: loop.epoch(1)))
    return min(ours), min(least)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--documents", type=int, default=4000, help="of imdb_reviews")
    given = parser.parse_args()
    corpora = {
        "rotten_tomatoes": verax.load_corpus("rotten_tomatoes"),
        "imdb_reviews": verax.load_corpus("imdb_reviews", limit=given.documents),
    }
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{'corpus':16} {'model':28} {'epoch s':>8} {'floor s':>8} {'ratio':>6}")
    for name, corpus in corpora.items():
        for case, choices in CASES.items():
            ours, least = measure(corpus, choices, given.repeats)
            print(f"{name:16} {case:28} {ours:8.2f} {least:8.2f} {ours / least:6.2f}", flush=True)


if __name__ == "__main__":
    main()
