"""Training that moves attention onto marked words, or away from them.

Marks are a corpus's rationales: on `planted` the evidence. Pruthi et al., "Learning to Deceive with
Attention-Based Explanations", ACL 2020, take attention away from words that decide, and decisions
stay as accurate. The same term with the other sign supervises attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.corpus import Corpus, Documents
from verax.corpora.ragged import Ragged
from verax.device import resolve_device
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.options import ModelOptions
from verax.models.saving import make_classifier
from verax.models.trace import Trace
from verax.options import SEED, build, check, divide
from verax.progress import Display, shown
from verax.training.loop import Loop
from verax.training.objective import BatchCounts, Objective, Step
from verax.training.options import TrainingOptions
from verax.training.preparing import Make, prepare, repeatable, scores_on_test

TOWARDS, AWAY = "towards", "away"
"""Where attention is moved: onto marked words, or away from them."""
RAMP = (0.1, 3.0)
"""λ in the first epoch and in the last, unless others are given."""
LEAST = 1e-8
"""The least mass whose logarithm is taken."""


@dataclass(frozen=True, eq=False)
class Marks:
    """A mark for each token of an encoded split, to be laid beside its batches.

    flat    (all tokens,) bool, on the model's device
    starts  (documents + 1,) long: where each document begins
    """

    flat: Tensor
    starts: Tensor

    @classmethod
    def of(cls, model: AttentionClassifier, documents: Documents) -> Marks:
        """The rationales of documents, with none at SOS and EOS."""
        marks, device = marks_of(model, documents), model.device
        if model.boundaries:
            marks = marks.surround(0, 0)
        flat = torch.from_numpy(np.asarray(marks.values) > 0)
        return cls(flat.to(device), torch.from_numpy(marks.offsets.astype(np.int64)).to(device))

    def beside(self, batch: Batch) -> Tensor:
        """(batch, tokens) bool: which tokens of a batch are marked."""
        places = torch.arange(batch.tokens.shape[1], device=self.flat.device)
        index = self.starts[batch.row_index].unsqueeze(-1) + places
        return self.flat[index.clamp(max=len(self.flat) - 1)] & batch.words


def marks_of(model: AttentionClassifier, documents: Documents) -> Ragged:
    """The rationales of documents, a mark for each word of the model; an error without any."""
    if documents.marks is None:
        raise VeraxError(
            "these documents have no marks of words: give a corpus with a rationale for each, such "
            "as 'planted'",
            code="corpus.no-rationales",
        )
    return documents.marks.majority(model.encode(documents).spans)


@dataclass(frozen=True, eq=False)
class MarkedObjective(Objective):
    """Cross-entropy − λ log(mass of the marked words), or − λ log(1 − mass) to move it away.

    marks    of the training documents
    towards  whether mass is moved onto them
    ramp     (epochs,) λ of each epoch
    steps    numbers of steps that an epoch takes up, as `Loop` counts them
    """

    marks: Marks
    towards: bool
    ramp: Tensor
    steps: int

    def __call__(self, batch: Batch, step: Step, counts: BatchCounts) -> Tensor:
        """The loss of a piece of a batch."""
        noise = self.noise_if_any(batch, step)
        trace = self.model(batch, noise)
        lam = self.ramp[int(step) // self.steps]
        loss = (self.losses(trace) + lam * self.moving(trace)).sum() / counts.documents
        return loss + self.grounding_loss(batch, trace, noise, counts)

    def moving(self, trace: Trace) -> Tensor:
        """(batch,) −log of the mass on marked words, or on all others."""
        marked = self.marks.beside(trace.batch)
        wanted = marked if self.towards else ~marked & trace.batch.words
        mass = (trace.weights * wanted).sum(-1)
        return -mass.clamp(min=LEAST).log()


def train_marked(
    corpus: Corpus,
    move: str | None,
    *,
    ramp: tuple[float, float] = RAMP,
    start: AttentionClassifier | None = None,
    make: Make = make_classifier,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Display | None = None,
    **options: Any,
) -> AttentionClassifier:
    """Train a classifier whose attention is moved onto the marked words, or away from them.

    Args:
        corpus: a corpus whose documents have rationales.
        move: "towards" the marked words, "away" from them, or None for neither.
        ramp: λ in the first epoch and in the last; in between it grows evenly.
        start: a trained classifier of the same options to begin from.
        make: makes the untrained classifier, if not the ordinary one.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display of your own.
        options: fields of `ModelOptions` and `TrainingOptions`.

    Returns:
        The classifier, with the weights of its last epoch where attention is moved, as λ is
        largest there; else with those of the epoch that scored best on validation.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = train_marked(corpus, "away", encoder="conv", epochs=2)
    >>> model.record["marked"]["move"]
    'away'
    """
    check("seed", seed, int, SEED)
    if move not in (TOWARDS, AWAY, None):
        raise VeraxError(
            f"move is {move!r}: expected {TOWARDS!r}, {AWAY!r} or None", code="option.unknown-value"
        )
    model_values, training_values = divide(options, ModelOptions, TrainingOptions)
    settings = build(TrainingOptions, training_values)
    if move is not None:
        last = {**training_values, "select_from": settings.epochs}
        settings = build(TrainingOptions, last)
    where = resolve_device(device)
    with shown(progress) as display, repeatable(where):
        prepared = prepare(
            corpus,
            build(ModelOptions, model_values),
            settings,
            seed=seed,
            device=where,
            display=display,
            vocabulary=None if start is None else start.vocabulary,
            make=make,
        )
        model = prepared.model
        if start is not None:
            model.load_state_dict(start.state_dict())
        objective = Objective(model, None, seed)
        if move is not None:
            lams = torch.linspace(*ramp, settings.epochs, device=where)
            marks = Marks.of(model, corpus.train)
            steps = len(prepared.train) + 1
            objective = MarkedObjective(model, None, seed, marks, move == TOWARDS, lams, steps)
        parts = (prepared.train, prepared.validation)
        model.history = Loop(model, *parts, objective, settings, seed, display.step).run()
    model.record = {
        **prepared.record,
        "marked": {"move": move, "ramp": list(ramp), "warm": start is not None},
        "test": scores_on_test(model, corpus, settings.max_tokens),
    }
    return model.eval()
