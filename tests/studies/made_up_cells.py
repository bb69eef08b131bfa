"""Cells made by hand, with every option spelt out as a study would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import verax
from support.internals import build, content, divide
from verax.exams import EXAMS
from verax.models import ModelOptions
from verax.studies import Cell
from verax.training import TrainingOptions


def cell(
    corpus: verax.Corpus,
    seed: int = 0,
    exams: Sequence[str] = ("replacement",),
    split: str = "test",
    sample: int | None = None,
    **options: Any,
) -> Cell:
    """A cell of any options of models, training and exams; by default the quickest there is."""
    options = {"encoder": "none", "epochs": 1, "embedding_size": 16, "hidden_size": 16, **options}
    classes = [EXAMS[name].options_class for name in exams]
    of_model, of_training, *of_exams = divide(options, ModelOptions, TrainingOptions, *classes)
    training = asdict(build(TrainingOptions, of_training))
    training.pop("max_tokens")
    return Cell(
        corpus={k: v for k, v in corpus.config.items() if v is not None},
        fingerprint=corpus.fingerprint,
        model=asdict(build(ModelOptions, of_model).resolved(len(corpus.classes))),
        training=training,
        seed=seed,
        exams={
            name: asdict(build(cls, given))
            for name, cls, given in zip(exams, classes, of_exams, strict=True)
        },
        split=split,
        sample=sample,
        vectors=None if training["vectors"] is None else content(training["vectors"]),
    )
