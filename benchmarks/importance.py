"""Leave-one-out and influence beside captum and plain autograd, on the same model and documents.

    python benchmarks/importance.py [deletion] [influence] [memory] [--threads 2] [--repeats 3]

Untrained models of Jain & Wallace's size (300-d words, 128 units a direction, or 256 filters) over
made-up documents of SST's length (1,800 of 20 words) and IMDB's (500 of 240); lengths vary by 40%
either way, as reading batches bring them together. What would take hours is timed on a part and
scaled, and said so. Times are minima over repeats; numbers are checked to agree first.

deletion   ours (a word is deleted) against captum's FeatureAblation (a word is replaced: it cannot
           delete) at the best of several `perturbations_per_eval` and batch sizes, and in
           multiples of one forward pass
influence  the norm variant against one backward pass a position, the Frobenius variant against one
           a position and dimension; with the parameters frozen, and as they are
memory     peak memory of both on one document of 4,000 words
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS, reading_batches
from verax.corpora.encoded import EncodedDocuments
from verax.corpora.ragged import Ragged
from verax.corpora.vocabulary import EOS, SOS, UNK, Vocabulary
from verax.importance.budget import repeated
from verax.importance.deletion import leave_one_out, logits_without_words
from verax.importance.jacobian import Targets, influence, influences
from verax.models import AttentionClassifier, ModelOptions, Trace, make_classifier, probabilities

SIZES = {"SST": (1_800, 20), "IMDB": (500, 240)}
WORDS = 5_000


def make(encoder: str, hidden: int = 256, embedding: int = 300) -> AttentionClassifier:
    options = ModelOptions(encoder=encoder, hidden_size=hidden, embedding_size=embedding)
    torch.manual_seed(0)
    vocabulary = Vocabulary([f"w{i}" for i in range(WORDS)])
    return make_classifier(options.resolved(2), vocabulary, ["0", "1"]).eval()


def documents(count: int, length: int, spread: float = 0.4) -> EncodedDocuments:
    random = np.random.default_rng(0)
    low, high = round(length * (1 - spread)), round(length * (1 + spread))
    lengths = random.integers(low, high + 1, count)
    rows = [np.concatenate([[SOS], random.integers(4, WORDS, n), [EOS]]) for n in lengths]
    tokens = Ragged.from_lengths(np.concatenate(rows), lengths + 2)
    return EncodedDocuments(tokens, None, np.arange(count), boundaries=True)


def batches(texts: EncodedDocuments, max_tokens: int) -> list[Batch]:
    rows = reading_batches(texts.lengths, max_tokens)
    return [texts.batch(each, torch.device("cpu")) for each in rows]


def part(texts: EncodedDocuments, count: int) -> EncodedDocuments:
    """Documents spread over the whole, so that their mean length is the same."""
    rows = np.linspace(0, len(texts) - 1, min(count, len(texts))).astype(int)
    rows = np.argsort(texts.lengths, kind="stable")[rows]
    return EncodedDocuments(texts.tokens.take(rows), None, np.arange(len(rows)), True)


def least(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def ablate(model: AttentionClassifier, batch: Batch, together: int) -> Tensor:
    from captum.attr import FeatureAblation

    def forward(tokens: Tensor) -> Tensor:
        many = repeated(batch, len(tokens) // len(batch))
        return probabilities(model.run(many, model.embedding(tokens)).logits)[:, 1]

    return FeatureAblation(forward).attribute(
        batch.tokens, baselines=UNK, perturbations_per_eval=together
    )


@torch.no_grad()
def deletion(repeats: int) -> None:
    print("\nleave-one-out: seconds, × one forward pass, and captum's time ÷ ours")
    for encoder, (name, (count, length)) in itertools.product(
        ("bilstm", "bigru", "conv"), SIZES.items()
    ):
        model = make(encoder)
        texts = documents(count, length)
        forward = least(lambda: [model(b) for b in batches(texts, MAX_TOKENS)], repeats)  # noqa: B023
        fewer = 1 if length < 100 or encoder == "conv" else 10
        mine = part(texts, count // fewer)
        traces = [model(b) for b in batches(mine, MAX_TOKENS)]
        ours = fewer * least(
            lambda: [logits_without_words(model, t) for t in traces],  # noqa: B023
            repeats if fewer == 1 else 1,
        )
        theirs, best = np.inf, ""
        share = 10 if length < 100 else 100
        few = part(texts, count // share)
        for budget, together in itertools.product((2_048, MAX_TOKENS), (1, 4, 8, 16, 32)):
            now = batches(few, budget)
            work = lambda: [ablate(model, b, together) for b in now]  # noqa: B023, E731
            took = share * least(work, 1)
            if took < theirs:
                theirs, best = took, f"{budget} tokens, {together} a time"
        print(
            f"{encoder:7} {name:5} forward {forward:6.2f}  ours {ours:7.2f} "
            f"({ours / forward:5.1f} U)  captum {theirs:8.1f} ({theirs / forward:5.1f} U, {best}; "
            f"a {share}th of it timed)  ratio {theirs / ours:5.1f}",
            flush=True,
        )


def one_backward_each(
    model: AttentionClassifier, trace: Trace, kind: str, most: int | None
) -> tuple[Tensor, float]:
    """Norms of the first `most` backward passes, (passes, batch, tokens), and the share of all."""
    with torch.enable_grad():
        embedded = trace.embedded.detach().requires_grad_()
        _, items = model.encode_states(trace.batch, embedded)
        outputs = torch.linalg.vector_norm(items, dim=-1, keepdim=True)
        outputs = outputs if kind == "norm" else items
        places = [
            (p, d)
            for p in trace.mask.any(0).nonzero().flatten().tolist()
            for d in range(outputs.shape[-1])
        ]
        # spread over positions: those at either end have less to walk
        chosen = places if most is None else places[:: max(1, len(places) // most)][:most]
        found = []
        for p, d in chosen:
            target = outputs[:, p, d].sum()
            (back,) = torch.autograd.grad(target, embedded, retain_graph=True)
            found.append(torch.linalg.vector_norm(back, dim=-1))
    return torch.stack(found), len(chosen) / len(places)


def influencing(repeats: int) -> None:
    print("\ninfluence: seconds for so many documents, and plain autograd's time ÷ ours")
    for encoder, kind, (name, (_, length)) in itertools.product(
        ("bilstm", "bigru"), ("norm", "frobenius"), SIZES.items()
    ):
        model = make(encoder)
        counts = {("norm", 20): 1_800, ("norm", 240): 20, ("frobenius", 20): 20}
        count = counts.get((kind, length), 1)
        texts = documents(count, length, spread=0.4 if count > 1 else 0)
        traces = [model.trace(b) for b in batches(texts, MAX_TOKENS)]
        every = [Targets.of(t, None, 0) for t in traces]
        work = lambda: [  # noqa: E731
            piece
            for t, targets in zip(traces, every, strict=True)  # noqa: B023
            for piece in influences(model, t, targets, kind)  # noqa: B023
        ]
        ours = least(work, repeats if (kind, length) != ("frobenius", 240) else 1)
        ratios = []
        for frozen in (True, False):
            for parameter in model.parameters():
                parameter.requires_grad_(not frozen)
            plain = 0.0
            for t in traces:
                most = 20 if kind == "frobenius" else (40 if length > 100 else None)
                started = time.perf_counter()
                _, share = one_backward_each(model, t, kind, most)
                plain += (time.perf_counter() - started) / share
            ratios.append(plain / ours)
        print(
            f"{encoder:7} {kind:9} {name:5} {count:4} documents: ours {ours:7.2f}  "
            f"ratio {ratios[0]:6.1f} (parameters frozen) {ratios[1]:6.1f} (as they are)",
            flush=True,
        )
    _agree()


def _agree() -> None:
    model = make("bilstm")
    trace = model.trace(batches(documents(6, 8), MAX_TOKENS)[0])
    plain, _ = one_backward_each(model, trace, "norm", None)
    found = influence(model, trace, boundaries=True).matrix
    there = trace.mask.any(0)
    expected = plain.transpose(0, 1) * trace.mask[:, there].unsqueeze(-1)
    torch.testing.assert_close(found[:, there], expected, rtol=1e-3, atol=1e-6)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory() -> None:
    print("\nmemory: MiB above what the trace took, one document of 4,000 words, budget 16,384")
    for encoder in ("conv", "bilstm", "transformer"):
        model = make(encoder, 100, 100)
        trace = model.trace(batches(documents(1, 4_000, 0), MAX_TOKENS)[0])
        before = _peak()
        if encoder != "transformer":  # 4,000 readings of 4,000 words: hours
            started = time.perf_counter()
            leave_one_out(model, trace)
            print(
                f"{encoder:12} leave-one-out {_peak() - before:6.0f} MiB, "
                f"{time.perf_counter() - started:.0f} s",
                flush=True,
            )
        started = time.perf_counter()
        pieces = influences(
            model, trace, Targets.of(trace, None if encoder != "transformer" else 8, 0)
        )
        total = sum(float(piece.matrix.sum()) for piece in pieces)
        assert np.isfinite(total)
        print(
            f"{encoder:12} influence     {_peak() - before:6.0f} MiB, "
            f"{time.perf_counter() - started:.0f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["deletion", "influence", "memory"])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if "deletion" in given.what:
        deletion(given.repeats)
    if "influence" in given.what:
        influencing(given.repeats)
    if "memory" in given.what:
        memory()


if __name__ == "__main__":
    main()
