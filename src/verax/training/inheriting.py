"""Training a model after another, with the other's options unless some are given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.vectors import TRAINED
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.options import ModelOptions
from verax.options import build, divide, names
from verax.training.options import TrainingOptions

VOCABULARY = ("min_df", "max_vocabulary")


def inherit(
    model: AttentionClassifier,
    changes: Mapping[str, Any],
    defaults: Mapping[str, Any],
    fixed: Collection[str],
) -> tuple[ModelOptions, TrainingOptions]:
    """Options and settings of a model to be trained after another.

    Args:
        model: the other; its training settings are those of its record. Its word vectors are read,
            or trained, again, so that a file of them must still exist.
        changes: options that the user gave.
        defaults: options that differ from the other's unless the user gave them.
        fixed: names of options that may have no other value.
    """
    trained = model.record.get("training", {})
    trained_with = {n: v for n, v in trained.items() if n in names(TrainingOptions)}
    standing = {**asdict(TrainingOptions()), **asdict(model.options), **trained_with, **defaults}
    divide(changes, ModelOptions, TrainingOptions)  # refuse what none knows
    for name in fixed:
        if name in changes and changes[name] != standing[name]:
            raise VeraxError(
                f"option {name!r} is {changes[name]!r}: it must stay {standing[name]!r}, "
                "leave it out"
            )
    model_values, training_values = divide({**standing, **given}, ModelOptions, TrainingOptions)
    options, settings = build(ModelOptions, model_values), build(TrainingOptions, training_values)
    _refuse_lost_vectors(settings.vectors, changes)
    return options, settings


def refuse_other_corpus(model: AttentionClassifier, corpus: Corpus) -> None:
    """A corpus must have the model's classes and be read by its tokeniser."""
    if corpus.classes != model.classes:
        raise VeraxError(
            f"the corpus has classes {corpus.classes}, the model {model.classes}: "
            "give the corpus it was trained on"
        )
    if corpus.tokeniser != model.tokeniser:
        raise VeraxError(
            f"the corpus is read by {corpus.tokeniser}, the model by {model.tokeniser}: "
            "load the corpus with the model's tokeniser"
        )


def _refuse_lost_vectors(vectors: str | None, changes: Mapping[str, Any]) -> None:
    if vectors in (None, TRAINED) or "vectors" in changes:
        return
    if not Path(str(vectors)).expanduser().is_file():
        raise VeraxError(
            f"the word vectors this model began with are not at {vectors} any more: "
            "give option 'vectors' a file, or none for random ones"
        )
