"""From an entry and a seed to a classifier."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.audits.audit import Entry, Scale
from verax.audits.injections import INJECTED, SAFE
from verax.audits.registry import AS_IS, FROZEN, SCRATCH, VERAX
from verax.audits.weights import load_weights, random_encoder
from verax.corpora.corpus import Corpus
from verax.device import resolve_device
from verax.external.fine_tuning import MLM, NONE, TYING, FineTuning, fine_tune
from verax.external.loading import from_transformers
from verax.models.fingerprint import fingerprint
from verax.training import train

STRENGTHS: Mapping[str, tuple[float, ...]] = {TYING: (0.01, 0.1, 1.0), MLM: (0.1, 0.3, 1.0)}
"""Grounding → strengths that are tried, ascending."""
MARGIN = 0.01
"""A strength may cost so much of the accuracy on validation."""
BILSTM: Mapping[str, Mapping[str, Any]] = {
    NONE: {},
    TYING: {"strength": 0.3, "freeze_embeddings": True},
    MLM: {"strength": 1.0, "freeze_embeddings": True},
}
"""Grounding → options of the papers' BiLSTMs on SST (research/papers, tutek-snajder-2020)."""


@dataclass(frozen=True, eq=False)
class Built:
    """A classifier, and what is to be known of how it was made.

    facts  weights (package, file, hash), training, strength and what it was chosen from
    """

    model: Any
    facts: dict[str, Any]


def build_model(
    entry: Entry,
    seed: int,
    corpus: Corpus,
    scale: Scale,
    device: str = "auto",
    weights: str | Path | None = None,
    vectors: str | Path | None = None,
) -> Built:
    """Make one model of an audit: load its weights, and train what is to be trained.

    Args:
        entry: which kind.
        seed: of training.
        corpus: what it is trained on.
        scale: how much.
        device: auto, cpu, cuda.
        weights: a folder of weights that are not installed as packages.
        vectors: word vectors of BiLSTMs; random, unless given.
    """
    if entry.training == VERAX:
        return _bilstm(entry, seed, corpus, scale, device, vectors)
    loaded, where = load_weights(entry.weights, weights), resolve_device(device)
    facts: dict[str, Any] = {"weights": dict(loaded.facts)}
    how: dict[str, Any] = {"device": str(where), "max_length": scale.pieces[entry.texts]}
    if entry.training == AS_IS:
        classes = [SAFE, INJECTED]
        model = from_transformers(
            loaded.encoder, loaded.tokenizer, "mean", head=loaded.head, classes=classes, **how
        )
        return Built(model, facts)
    encoder = loaded.encoder
    options = FineTuning(
        readout="last" if entry.weights == "smollm2" else "mean",
        epochs=scale.epochs,
        max_length=scale.pieces[entry.texts],
        grounding=entry.grounding,
    )
    if entry.training == FROZEN:
        options = replace(options, frozen=True, epochs=scale.head_epochs, lr=1e-2)
    if entry.training == SCRATCH:
        encoder = random_encoder(encoder, seed)
        options = replace(options, epochs=scale.scratch, lr=1e-4)
        facts = {"weights": {"rounded": "none: drawn at random", "shape_of": facts["weights"]}}
    before = encoder.to(where)
    if entry.grounding == NONE:
        encoder, tuned = _tuned(before, loaded.tokenizer, corpus, options, seed)
    else:
        encoder, tuned, chosen = _strongest(before, loaded.tokenizer, corpus, options, seed)
        facts |= chosen
    facts |= {
        "encoder_before": fingerprint(before),
        "validation_accuracy": tuned.accuracy,
        "epochs": options.epochs,
        "lr": options.lr,
    }
    model = from_transformers(
        *(encoder, loaded.tokenizer, options.readout),
        head=tuned.head,
        classes=corpus.classes,
        **how,
    )
    return Built(model, facts)


def _tuned(
    before: Any, tokenizer: Any, corpus: Corpus, options: FineTuning, seed: int
) -> tuple[Any, Any]:
    encoder = before if options.frozen else copy.deepcopy(before)
    return encoder, fine_tune(encoder, tokenizer, corpus, options, seed)


def _strongest(
    before: Any, tokenizer: Any, corpus: Corpus, options: FineTuning, seed: int
) -> tuple[Any, Any, dict[str, Any]]:
    """The model of the largest strength that keeps the accuracy on validation.

    Where none does, that of the smallest.
    """
    plain = replace(options, grounding=NONE)
    base = _tuned(before, tokenizer, corpus, plain, seed)[1].accuracy
    tried: dict[str, float] = {}
    chosen: tuple[Any, Any, float] | None = None
    for strength in STRENGTHS[options.grounding]:
        with_strength = replace(options, strength=strength)
        encoder, tuned = _tuned(before, tokenizer, corpus, with_strength, seed)
        tried[f"{strength:g}"] = tuned.accuracy
        if chosen is None or tuned.accuracy >= base - MARGIN:
            chosen = encoder, tuned, strength
    assert chosen is not None
    facts = {"strength": chosen[2], "strengths_tried": tried, "ungrounded_accuracy": base}
    return chosen[0], chosen[1], facts


def _bilstm(
    entry: Entry,
    seed: int,
    corpus: Corpus,
    scale: Scale,
    device: str,
    vectors: str | Path | None,
) -> Built:
    options: dict[str, Any] = {**BILSTM[entry.grounding]}
    if vectors is not None:
        options["vectors"] = str(vectors)
    model = train(
        corpus,
        seed=seed,
        device=device,
        progress=False,
        encoder="bilstm",
        hidden_size=100,
        grounding=entry.grounding,
        epochs=8 if scale.epochs > 2 else scale.epochs,
        class_weight="balanced",
        metric="f1",
        **options,
    )
    named = "random" if vectors is None else Path(vectors).name
    return Built(model, {"weights": {"word_vectors": named}})
