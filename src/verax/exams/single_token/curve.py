"""What each token of one document says alone, to several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import torch

from verax.errors import VeraxError, nearest
from verax.exams.single_token.exam import alone
from verax.models.classifier import AttentionClassifier
from verax.models.head import decisions, probabilities

COLUMNS = ["model", "item", "text", "p", "weight", "class", "decision", "confidence"]


@torch.no_grad()
def token_curves(
    models: Mapping[str, AttentionClassifier], text: str | Sequence[str], of: str | None = None
) -> pd.DataFrame:
    """A row per model and attended item, on one axis for all (Tutek & Šnajder 2020, figures 2–7).

    item, text   its place, from 0, and its words: one, or a sentence in a hierarchical model
    p            probability of `class` had attention been on this item alone
    weight       the attention it gets
    class        `of`, or else what the first model decides for, so that curves can be compared
    decision     the model's own, on the whole text
    confidence   its probability of `class`, on the whole text
    """
    if not isinstance(models, Mapping) or not models:
        raise VeraxError("no model to draw a curve of: give a mapping from names to models")
    parts: list[pd.DataFrame] = []
    for name, model in models.items():
        trace = model.trace([text])
        decided = int(decisions(trace.logits)[0])
        if of is None:
            of = model.classes[decided]
        if of not in model.classes:
            raise VeraxError(f"model {name!r} has no class {of!r}: {nearest(of, model.classes)}")
        place = model.classes.index(of)
        there = trace.mask[0]
        p = alone(trace.item_logits, torch.full_like(trace.batch.row_index, place))[0][there]
        texts = _texts(model, text, trace.item_of_token[0].tolist(), int(there.sum()))
        parts.append(
            pd.DataFrame(
                {
                    "model": name,
                    "item": range(len(p)),
                    "text": texts,
                    "p": p.cpu().numpy(),
                    "weight": trace.weights[0][there].double().cpu().numpy(),
                    "class": of,
                    "decision": model.classes[decided],
                    "confidence": float(probabilities(trace.logits.double())[0, place]),
                },
                columns=COLUMNS,
            )
        )
        if parts[-1]["text"].tolist() != parts[0]["text"].tolist():
            raise VeraxError(
                f"models {next(iter(models))!r} and {name!r} attend different items of this text: "
                "curves on one axis need the same tokeniser, and words or sentences in both"
            )
    return pd.concat(parts, ignore_index=True)


def _texts(
    model: AttentionClassifier, text: str | Sequence[str], item_of_token: list[int], items: int
) -> list[str]:
    """The words of each item; item_of_token is −1 for SOS, EOS and PAD."""
    places = [item for item in item_of_token if item >= 0]
    first = min(places, default=0)  # in a flat model, items stand behind SOS
    grouped: list[list[str]] = [[] for _ in range(items)]
    for word, item in zip(model.tokeniser(text), places, strict=True):
        grouped[item - first].append(word)
    return [" ".join(words) for words in grouped]
