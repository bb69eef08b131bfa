"""What a training epoch costs, against the least it could cost.

    python benchmarks/training.py [--repeats 5] [--documents 4000]
    VERAX_DATA=… python benchmarks/training.py --device cuda [--out training_gpu.parquet]

The floor is the same `torch.nn` encoder's forward and backward, the embedding gradient and the
fused optimiser step, on the same batches, already padded and in memory. Everything else a training
epoch does — building batches, attention, head, loss, clipping, bookkeeping — is overhead. The two
take turns every few batches, over several epochs, so that a machine's moods fall on both; each
stretch counts with its median, and the ratio is of their sums.

With `--device cuda` it is an epoch of IMDB (7 to 399 words, batches of 32), and the floor is less:
the bare encoder's forward and backward, both directions in one cuDNN call, on the same batches. Two
trainings must come to the same bits. Steps taken one by one, not replayed, are a third column.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import pandas as pd
import torch
from torch import Tensor, nn

import verax
from verax.corpora.batching import training_batches
from verax.corpora.encoded import encode
from verax.corpora.tokenizer import Tokenizer, tokenize
from verax.corpora.vocabulary import PAD, Vocabulary
from verax.models import ModelOptions, make_classifier
from verax.training.loop import Loop, Objective
from verax.training.options import TrainingOptions
from verax.training.train import repeatable

CASES: dict[str, dict[str, object]] = {
    "bilstm 128+128 of 300": {"hidden_size": 256, "embedding_size": 300},
    "bilstm 50+50 of 100": {},
    "bilstm 50+50, sparsemax": {"projection": "sparsemax"},
    "bilstm 50+50, dot": {"attention": "dot"},
    "bigru 50+50 of 200": {"encoder": "bigru", "embedding_size": 200},
}


ON_GPU: dict[str, dict[str, object]] = {
    **CASES,
    "bilstm 50+50, sparsegen": {"projection": "sparsegen", "lam": 0.5},
    "bilstm 50+50, entmax": {"projection": "entmax"},
    "bilstm 50+50, concat": {"grounding": "concat"},
    "bilstm 50+50, residual": {"grounding": "residual"},
    "bilstm 50+50, tying": {"grounding": "tying"},
    "bilstm 50+50, masked LM": {"grounding": "mlm"},
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
    vocabulary = Vocabulary.of(tokenize(corpus.train))
    documents = encode(corpus.train, vocabulary, Tokenizer(), boundaries=True)
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


def on_gpu(corpus: verax.Corpus, choices: dict[str, object], repeats: int) -> dict[str, float]:
    """Seconds of our epoch, of one without replay, and of the bare encoder; steps, and waits."""
    device = torch.device("cuda")
    options = ModelOptions(**choices).resolved(len(corpus.classes))  # type: ignore[arg-type]
    settings = TrainingOptions()
    vocabulary = Vocabulary.of(tokenize(corpus.train), 10)
    documents = encode(corpus.train, vocabulary, Tokenizer(), boundaries=True)
    rows = training_batches(documents.lengths, settings.batch_size, 0, 1)
    tokens = [documents.batch(r, device).tokens for r in rows]
    kind = {"bilstm": nn.LSTM, "bigru": nn.GRU}[options.encoder]
    rnn = kind(
        options.embedding_size, options.hidden_size // 2, batch_first=True, bidirectional=True
    ).to(device)

    def make() -> Loop:
        torch.manual_seed(0)
        model = make_classifier(options, vocabulary, corpus.classes).to(device)
        return Loop(model, documents, documents, Objective(model, None, 0), settings, 0)

    def floor() -> None:
        for piece in tokens:
            shape = (*piece.shape, options.embedding_size)
            embedded = torch.empty(shape, device=device).requires_grad_()
            rnn.zero_grad(set_to_none=True)
            rnn(embedded)[0].sum().backward()

    def timed(work: Callable[[], object]) -> float:
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        return time.perf_counter() - started

    with repeatable(device):
        ours, again, plain = make(), make(), make()
        plain.graphed = None
        first = timed(lambda: ours.run_through(rows, 1))
        again.run_through(rows, 1)
        pairs = zip(ours.model.parameters(), again.model.parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs), "not the same bits twice"
        timed(floor)
        epochs = range(2, 2 + repeats)
        found = {
            "epoch": [timed(lambda n=n: ours.run_through(rows, n)) for n in epochs],  # type: ignore[misc]
            "floor": [timed(floor) for _ in epochs],
        }
        share = rows[: len(rows) // 4]
        one_by_one = timed(lambda: plain.run_through(share, 1)) * len(rows) / len(share)
        torch.cuda.set_sync_debug_mode("warn")
        with warnings.catch_warnings(record=True) as waits:
            warnings.simplefilter("always")
            ours.run_through(rows, 2 + repeats)
        torch.cuda.set_sync_debug_mode("default")
    medians = {name: statistics.median(times) for name, times in found.items()}
    return {
        **medians,
        "ratio": medians["epoch"] / medians["floor"],
        "first epoch": first,
        "one by one": one_by_one,
        "steps": len(rows),
        "waits": sum("synchroniz" in str(w.message).lower() for w in waits),
    }


def main_on_gpu(given: argparse.Namespace) -> None:
    corpus = verax.load_corpus("imdb", min_words=7, max_words=399)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {corpus}")
    rows = []
    for case, choices in ON_GPU.items():
        found = on_gpu(corpus, choices, given.repeats)
        rows.append({"model": case, "device": torch.cuda.get_device_name(), **found})
        print(f"{case:28}", "  ".join(f"{n} {v:.2f}" for n, v in found.items()), flush=True)
        if given.out:
            pd.DataFrame(rows).to_parquet(given.out, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--documents", type=int, default=4000, help="of imdb_reviews")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--out", help="Parquet, on a GPU")
    given = parser.parse_args()
    if given.device == "cuda":
        main_on_gpu(given)
        return
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
