"""Training a model after another: what is not asked for is as the other had it."""

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
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
    fixed: Collection[str],
) -> tuple[ModelOptions, TrainingOptions]:
    """Options and settings: those given, else these defaults, else the model's own.

    The model's training settings are those of its record. What is `fixed` may not be given another
    value. Its word vectors are read, or trained, again: a file of them must still be there.
    """
    trained = model.record.get("training", {})
    own = {n: v for n, v in trained.items() if n in names(TrainingOptions)}
    standing = {**asdict(TrainingOptions()), **asdict(model.options), **own, **defaults}
    divide(given, ModelOptions, TrainingOptions)  # refuse what none knows
    for name in fixed:
        if name in given and given[name] != standing[name]:
            raise VeraxError(
                f"option {name!r} is {given[name]!r}: it must stay {standing[name]!r}, leave it out"
            )
    model_values, training_values = divide({**standing, **given}, ModelOptions, TrainingOptions)
    options, settings = build(ModelOptions, model_values), build(TrainingOptions, training_values)
    _refuse_lost_vectors(settings.vectors, given)
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


def _refuse_lost_vectors(vectors: str | None, given: Mapping[str, Any]) -> None:
    if vectors in (None, TRAINED) or "vectors" in given:
        return
    if not Path(str(vectors)).expanduser().is_file():
        raise VeraxError(
            f"the word vectors this model began with are not at {vectors} any more: "
            "give option 'vectors' a file, or none for random ones"
        )
