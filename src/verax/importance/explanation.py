"""`model.explain`: what a model decides about texts, and what each word had to do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from verax.corpora.batching import MAX_TOKENS, reading_batches
from verax.errors import VeraxError
from verax.importance.registry import names_of, score
from verax.importance.tracing import traced
from verax.models.classifier import AttentionClassifier
from verax.models.head import decisions, probabilities

BY = ("attention", "gradient", "leave-one-out")


def explain(
    model: AttentionClassifier,
    texts: Sequence[str | Sequence[str]],
    by: str | Sequence[str] = BY,
    *,
    seed: int = 0,
    max_tokens: int = MAX_TOKENS,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> pd.DataFrame:
    """A row per word: its text's number, label and probability, and a score by each importance.

    text         which of the texts
    label        the class decided for, and `probability`, its probability
    sentence     which sentence of the text, in a hierarchical model
    position     which word of the text
    word         as the model's tokeniser has it
    <importance> for each of `by`; those that tell for from against keep their sign, positive where
                 the word speaks for the label
    """
    names = names_of(by if isinstance(by, str) else list(by), "inputs")
    if not names:
        raise VeraxError(f"no importance given to explain by: name some, such as {', '.join(BY)}")
    encoded = model.read(texts)
    words = [model.tokeniser(text) for text in texts]
    found: list[pd.DataFrame] = []
    for rows in watch(reading_batches(encoded.lengths, max_tokens)):
        trace = traced(model, encoded.batch(rows, model.device))
        shown = trace.batch.words
        said, decided = probabilities(trace.logits), decisions(trace.logits)
        document = shown.nonzero()[:, 0].cpu().numpy()
        certain = said.gather(-1, decided.unsqueeze(-1)).squeeze(-1).double()
        frame = pd.DataFrame({"text": rows[document]})
        labels = np.array(model.classes, dtype=object)[decided.cpu().numpy()]
        frame["label"] = labels[document]
        frame["probability"] = certain.cpu().numpy()[document]
        if model.options.hierarchical:
            frame["sentence"] = trace.item_of_token[shown].cpu().numpy()
        for name in names:
            with torch.no_grad():
                scores = score(name, model, trace, signed=True, seed=seed, max_tokens=max_tokens)
            frame[name] = scores[shown].cpu().numpy()
        found.append(frame)
    if not found:
        raise VeraxError("no text to explain: give at least one")
    table = pd.concat(found).sort_values("text", kind="stable", ignore_index=True)
    place = 4 if model.options.hierarchical else 3
    table.insert(place, "position", table.groupby("text").cumcount())
    every = np.array([word for text in words for word in text], dtype=object)
    # an object column takes what is not UTF-8, too
    table.insert(place + 1, "word", pd.Series(every, dtype=object))
    return table
