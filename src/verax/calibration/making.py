"""One model of a kind, trained beside its plain twin, and what gates ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from verax.calibration.kinds import BERT, DECEPTIVE, EVIDENCE, HONEST, Kind
from verax.calibration.restricted import restricted
from verax.calibration.texts import lexicon, swapped, written_out
from verax.corpora.corpus import Corpus, Documents
from verax.external.transformer import TransformerClassifier
from verax.importance import score
from verax.models.classifier import AttentionClassifier
from verax.models.head import decisions
from verax.statistics import proportion
from verax.training.adversary import train_adversary
from verax.training.marked import TOWARDS, Marks, train_marked

LAM = 1.0
"""What another attention is worth to a trained adversary."""
TIED: Mapping[str, Any] = {
    "grounding": "tying",
    "ramp": (0.1, 0.3),
    "lr": 2e-3,
    "dropout_embedding": 0.2,
}
"""How tied models are supervised: gently, or attention learns by heart which words are evidence."""
STEPS: Mapping[str, int] = {"bigru": 64}
"""Encoder → documents a step, where not as many as usual: they are slow to train on a CPU."""
Classifier = AttentionClassifier | TransformerClassifier
POINT, FLIPS, MOST, LEAST = 0.01, 0.95, 0.01, 0.5
"""Gates: accuracy below the twin's at most, decisions that swapping the evidence changes at least,
the evidence's mass at most in a deceiver and at least in an honest model."""


@dataclass(frozen=True)
class Effort:
    """How models are trained and examined.

    documents  of a corpus, 2/3 of them to train on
    epochs     of cross-entropy, at most
    ramp       epochs over which λ grows
    size       width of word vectors and of states
    sample     documents that cheap exams read
    costly     documents that costly ones read
    berts      documents that costly ones read of a BERT
    """

    documents: int = 3000
    epochs: int = 10
    ramp: int = 10
    size: int = 32
    sample: int = 150
    costly: int = 40
    berts: int = 30


class Maker:
    """Makes models of any kind on one corpus with one seed; twins are trained once."""

    def __init__(self, corpus: Corpus, seed: int, effort: Effort, **options: Any) -> None:
        self.corpus = corpus
        self.seed = seed
        self.effort = effort
        self.options = {
            "hidden_size": effort.size,
            "embedding_size": effort.size,
            "lr": 5e-3,
            "patience": 3,
            "metric": "loss",
            "min_df": 2,
            **options,
        }
        self._twins: dict[tuple[str, str, int], Classifier] = {}

    @cached_property
    def written(self) -> Corpus:
        """The corpus as models of Hugging Face read it."""
        return written_out(self.corpus)

    def corpus_of(self, kind: Kind) -> Corpus:
        """The corpus as models of a kind read it."""
        return self.written if kind.encoder == BERT else self.corpus

    def twin(self, kind: Kind) -> Classifier:
        """The model of the same encoder and projection that is trained by cross-entropy alone."""
        key = kind.encoder, kind.projection, kind.layers
        if key not in self._twins:
            train = self._bert if kind.encoder == BERT else self._train
            self._twins[key] = train(kind, None, self.effort.epochs)
        return self._twins[key]

    def make(self, kind: Kind) -> Classifier:
        """A model of a kind."""
        if kind.encoder == BERT:
            return self._made_bert(kind)
        if kind.adversary:
            base = self._train(kind, TOWARDS, self.effort.ramp, start=self.twin(kind))
            return train_adversary(
                *(base, self.corpus, LAM),
                seed=self.seed + 1,
                device="cpu",
                progress=False,
                epochs=2 * self.effort.ramp,
            )
        if kind.reads is not None:
            words = lexicon(len(self.corpus.classes))
            make = restricted(words, kind.reads == EVIDENCE, kind.frozen)
            return self._train(kind, None, 2 * self.effort.epochs, make=make)
        if kind.tied:
            return self._train(kind, kind.move, self.effort.ramp, start=self.twin(kind), **TIED)
        if kind.move is not None:
            return self._train(kind, kind.move, self.effort.ramp, start=self.twin(kind))
        return self.twin(kind)

    def _made_bert(self, kind: Kind) -> Classifier:
        if kind.reads is None and kind.move is None:
            return self.twin(kind)
        start = self.twin(kind)
        if kind.reads is not None:
            start = self._bert(kind, None, self.effort.epochs, reads=kind.reads)
        if kind.move is None:
            return start
        return self._bert(kind, kind.move, self.effort.ramp, start)

    def _bert(
        self,
        kind: Kind,
        move: str | None,
        epochs: int,
        start: Classifier | None = None,
        reads: str | None = None,
    ) -> Classifier:
        from verax.calibration.bert_training import BertOptions, train_bert

        assert start is None or isinstance(start, TransformerClassifier)
        options = BertOptions(
            *(kind.layers, self.effort.size, epochs, move, kind.every_layer, reads),
            lexicon(len(self.corpus.classes)),
        )
        return train_bert(self.written, self.seed, options, start)

    def _train(
        self, kind: Kind, move: str | None, epochs: int, **changed: Any
    ) -> AttentionClassifier:
        options = {**self.options, "encoder": kind.encoder, "projection": kind.projection}
        options |= {"batch_size": STEPS[kind.encoder]} if kind.encoder in STEPS else {}
        how = {"seed": self.seed, "device": "cpu", "progress": False}
        return train_marked(self.corpus, move, **{**how, **options, "epochs": epochs, **changed})


@dataclass(frozen=True)
class Gates:
    """What a model must be before any exam looks at it.

    accuracy  on test
    twin      the plain twin's
    majority  share of the largest class
    mass      of attention on the evidence, the mean over test documents
    flips     share of decisions that change when the evidence is that of another class
    documents in test
    """

    accuracy: float
    twin: float
    majority: float
    mass: float
    flips: float
    documents: int

    @cached_property
    def learnt(self) -> bool:
        """Whether the model is surely better than always naming the largest class."""
        right = round(self.accuracy * self.documents)
        return proportion(right, self.documents)[1] > self.majority

    def failed(self, side: str) -> list[str]:
        """The gates that a model of a side does not pass."""
        passed = {
            "learnt": self.learnt,
            "accuracy": self.accuracy >= self.twin - POINT - 1e-9,
            "flips": self.flips >= FLIPS,
            "mass": (side != DECEPTIVE or self.mass <= MOST)
            and (side != HONEST or self.mass >= LEAST),
        }
        return [name for name, is_passed in passed.items() if not is_passed]


def gates_of(model: Classifier, twin: Classifier, corpus: Corpus) -> Gates:
    """What gates ask, of a model and its plain twin, on the corpus's test split."""
    test, classes = corpus.test, len(corpus.classes)
    right = decisions(model.logits(test)).numpy()
    other, _ = swapped(test, classes, seed=0)
    changed = decisions(model.logits(other)).numpy()
    twin_right = decisions(twin.logits(test)).numpy()
    return Gates(
        accuracy=float((right == test.labels).mean()),
        twin=float((twin_right == test.labels).mean()),
        majority=float(np.bincount(test.labels).max() / len(test)),
        mass=evidence_mass(model, test),
        flips=float((changed != right).mean()),
        documents=len(test),
    )


@torch.no_grad()
def evidence_mass(model: Classifier, documents: Documents) -> float:
    """The share of attention among words that is on the evidence, the mean over documents.

    Of a BERT it is that of the position that is read, in the last layer, heads averaged.
    """
    if isinstance(model, TransformerClassifier):
        return _mass_of_bert(model, documents)
    marks = Marks.of(documents, model.boundaries, model.device)
    masses = [
        (trace.weights * marks.beside(trace.batch)).sum(-1).numpy()
        for trace in model.traces(documents)
    ]
    return float(np.concatenate(masses).mean())


def _mass_of_bert(model: TransformerClassifier, documents: Documents) -> float:
    assert documents.rationales is not None
    masses = []
    for trace in model.traces(documents):
        weights = (score("attention", model, trace) * trace.mask).numpy()
        for row, one in zip(trace.batch.row_index.tolist(), weights, strict=True):
            marks = np.asarray(documents.rationales[row]) > 0
            masses.append(one[: len(marks)][marks].sum() / max(one.sum(), 1e-30))
    return float(np.mean(masses))
