"""What a training epoch costs, against the least it could cost.

    python benchmarks/training.py [--repeats 5] [--documents 4000]

The floor is the same `torch.nn` encoder's forward and backward, the embedding gradient and the
fused optimiser step, on the same batches, already padded and in memory. Everything else a training
epoch does — building batches, attention, head, loss, clipping, bookkeeping — is overhead. The two
take turns every few batches, over several epochs, so that a machine's moods fall on both; each
stretch counts with its median, and the ratio is of their sums.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import verax
from verax.corpora.batching import training_batches
from verax.corpora.encoded import encode
from verax.corpora.vocabulary import PAD, Vocabulary
from verax.models import ModelOptions, make_classifier
from verax.training.loop import Loop
from verax.training.objective import Objective
from verax.training.options import TrainingOptions

CASES: dict[str, dict[str, object]] = {
    "bilstm 128+128 of 300": {"hidden_size": 256, "embedding_size": 300},
    "bilstm 50+50 of 100": {},
    "bilstm 50+50, sparsemax": {"projection": "sparsemax"},
    "bilstm 50+50, dot": {"attention": "dot"},
    "bigru 50+50 of 200": {"encoder": "bigru", "embedding_size": 200},
}


STRETCH = 10


def seconds(work: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - started


def measure(corpus: verax.Corpus, choices: dict[str, object], repeats: int) -> tuple[float, float]:
    """Seconds of our epoch and of the floor's."""
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

    def floor(tokens: list[Tensor]) -> None:
        for piece in tokens:
            adam.zero_grad(set_to_none=True)
            rnn(embedding(piece))[0].sum().backward()
            adam.step()

    ours, least = [], []
    for first in range(0, len(rows), STRETCH):
        stretch = slice(first, first + STRETCH)
        times = [
            (
                seconds(loop.run_through, rows[stretch], 1),
                seconds(floor, batches[stretch]),
            )
            for _ in range(repeats)
        ]
        ours.append(statistics.median(t[0] for t in times))
        least.append(statistics.median(t[1] for t in times))
    return sum(ours), sum(least)


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
