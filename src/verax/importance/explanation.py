"""`model.explain`: what a model decides about texts, and each word's part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.redacting import COVER, Patterns, covered_in, patterns_of
from verax.errors import VeraxError, no_exit
from verax.importance.arrays import ArrayImportance
from verax.importance.decision import class_number
from verax.importance.gradients import on_vectors
from verax.importance.registry import Importance, names_of, score, split_place, takes_on_inputs
from verax.importance.transformers import DERIVED, special_share
from verax.models.base import evaluation_mode, unchanged_state
from verax.models.kinds import POOLED, PREDICT, TRANSFORMER
from verax.models.layers import decisions, probabilities
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.progress import Display, shown

BY = ("attention", "gradient", "leave-one-out")
BY_KIND = {POOLED: BY, TRANSFORMER: BY, PREDICT: ("leave-one-out",)}
"""Kind of model → the importances that it is explained by, unless others are named."""


def explain(
    model: Any,
    texts: Sequence[str | Sequence[str]],
    by: str | Sequence[str] | None = None,
    *,
    target: str | int | None = None,
    importances: Mapping[str, Any] | None = None,
    redact: str | Sequence[str] = (),
    seed: int = 0,
    max_tokens: int = MAX_TOKENS,
    watch: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
    progress: bool | Display | None = None,
) -> pd.DataFrame:
    """A row per word: its text's number, label and probability, and a score by each importance.

    Args:
        model: a classifier.
        texts: a list of texts, or of lists of tokens.
        by: names of importances, as a list or "a,b"; attention, gradient and leave-one-out, unless
            given, and none of them where `importances` has some.
        target: the class to explain, by name or number; the class decided for, unless given.
            Attention and chance do not depend on it (`depends_on_target`).
        importances: scores of your own by name: a list with an array for each text, one padded
            array or tensor for all, such as an attribution of captum's, or a function of
            (model, trace) that returns a (batch, tokens) tensor.
        redact: regular expressions; words in which they are found are covered in the table. The
            model reads them all the same.
        seed: of the importance `random`.
        max_tokens: bound of the padded tokens in memory at once; it changes no score beyond
            rounding.
        watch: passes the batches on; for programs that show progress themselves.
        progress: show how far it got; None shows it on a terminal and in a notebook.

    Returns:
        A table, a row per word in the order of the texts:

        text         which of the texts
        label        the class decided for, and `probability`, its probability
        target       the class explained, and `target_probability`, where `target` is given
        special_share  where scores are derived from a Transformer's attention: the share of the
                     last layer's attention that goes to special tokens or a sink, and to no word
        sentence     which sentence of the text, in a hierarchical model
        position     which word of the text
        word         as the model's tokenizer has it
        <importance> for each; those with a sign are positive where the word supports the class
                     explained, and negative where it opposes it
    """
    if by is None:
        by = () if importances else BY_KIND[model.kind]
        by = on_vectors(by, model) if model.kind == POOLED else by
    names = names_of(by if isinstance(by, str) else list(by), "inputs", model.kind)
    if not names and not importances:
        usual = ", ".join(BY_KIND[model.kind])
        raise VeraxError(
            f"no importance given to explain by: name some, such as {usual}",
            code="importance.missing",
        )
    chosen = None if target is None else class_number(model.classes, target)
    encoded = model.encode(texts)
    words = encoded.words
    patterns = patterns_of(redact)
    counts = np.array([len(text) for text in words], dtype=np.int64)
    functions = {
        name: values if callable(values) else ArrayImportance(name, values).bind(model, counts)
        for name, values in _new_names(importances or {}, names).items()
    }
    derived = any(split_place(name)[0] in DERIVED for name in names)
    has_share = derived and model.kind == TRANSFORMER
    frames: list[pd.DataFrame] = []
    with (
        shown(progress if watch is None else False) as display,
        evaluation_mode(model),
        unchanged_state(model),
        no_exit(),
    ):
        watching = display.watching("explaining") if watch is None else watch
        for rows in watching(model.batches(encoded, max_tokens)):
            trace = model.trace_rows(encoded, rows)
            y = None if chosen is None else torch.full_like(decisions(trace.logits), chosen)
            frame = _decided(model, trace, rows, y)
            if has_share:
                share = special_share(model, trace, max_tokens)[:, -1].mean(-1)
                document = trace.batch.words.nonzero()[:, 0]
                frame["special_share"] = share[document].cpu().numpy()
            for name in names:
                with torch.no_grad():
                    scores = score(
                        *(name, model, trace),
                        signed=True,
                        seed=seed,
                        max_tokens=max_tokens,
                        target=y,
                    )
                frame[name] = scores[trace.batch.words].cpu().numpy()
            for name, function in functions.items():
                frame[name] = _checked(name, function, model, trace)
            frames.append(frame)
    if not frames:
        raise VeraxError("no text to explain: give at least one", code="text.missing")
    table = pd.concat(frames).sort_values("text", kind="stable", ignore_index=True)
    place = 3 + 2 * (chosen is not None) + (model.attended == "sentences") + has_share
    table.insert(place, "position", table.groupby("text").cumcount())
    if patterns:
        words = _covered(encoded, patterns)
    every = np.array([word for text in words for word in text], dtype=object)
    # an object column takes what is not UTF-8, too
    table.insert(place + 1, "word", pd.Series(every, dtype=object))
    return table


def _covered(encoded: Any, patterns: Patterns) -> list[list[str]]:
    """The words of each text, those covered that a pattern is found in."""
    return [
        [COVER if hidden else word for word, hidden in zip(row, covered, strict=True)]
        for row, covered in (
            (row, covered_in(text, spans, patterns))
            for row, text, spans in zip(encoded.words, encoded.texts, encoded.spans, strict=True)
        )
    ]


def depends_on_target(name: str) -> bool:
    """Whether an importance has other scores for another class."""
    return "target" in takes_on_inputs(name)


def has_sign(name: str, scores: Iterable[float] = ()) -> bool:
    """Whether an importance tells support from opposition, by its kind or by a score below 0."""
    return "signed" in takes_on_inputs(name) or any(score < 0 for score in scores)


def _decided(
    model: PooledClassifier, trace: Trace, rows: np.ndarray, target: Tensor | None
) -> pd.DataFrame:
    """What was decided about each word's text."""
    words = trace.batch.words
    document = words.nonzero()[:, 0].cpu().numpy()
    names, shares = np.array(model.classes, dtype=object), probabilities(trace.logits)
    frame = pd.DataFrame({"text": rows[document]})
    columns = {"label": decisions(trace.logits), "target": target}
    for name, y in columns.items():
        if y is not None:
            probability = "probability" if name == "label" else "target_probability"
            share = shares.gather(-1, y.unsqueeze(-1)).squeeze(-1).double()
            frame[name] = names[y.cpu().numpy()][document]
            frame[probability] = share.cpu().numpy()[document]
    if model.attended == "sentences":
        frame["sentence"] = trace.item_of_token[words].cpu().numpy()
    return frame


_COLUMNS = {
    *("text", "label", "probability", "target", "target_probability"),
    *("sentence", "special_share", "position", "word"),
}


def _new_names(importances: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    for name in importances:
        if name in names or name in _COLUMNS:
            raise VeraxError(
                f"importance {name!r} is a column already: give yours another name",
                code="importance.name-taken",
            )
    return importances


def _checked(name: str, function: Importance, model: PooledClassifier, trace: Trace) -> np.ndarray:
    """The scores of a function of the user's, at each word."""
    with torch.enable_grad():
        scores: object = function(model, trace)
    if not isinstance(scores, Tensor) or scores.shape != trace.tokens.shape:
        shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise VeraxError(
            f"importance {name!r} gave {shape}, expected a tensor of shape "
            f"{tuple(trace.tokens.shape)}, a score for each token",
            code="importance.wrong-scores",
        )
    return scores.detach().double().cpu().numpy()[trace.batch.words.cpu().numpy()]
