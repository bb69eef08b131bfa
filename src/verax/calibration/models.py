"""Models of a kind: trained beside a plain twin, held against gates, and examined."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from verax.calibration.corpora import lexicon, swapped
from verax.calibration.kinds import DECEPTIVE, EVIDENCE, HONEST, Kind
from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus, Documents
from verax.corpora.ragged import Ragged
from verax.corpora.vocabulary import SPECIALS, Vocabulary
from verax.errors import VeraxError
from verax.exams.examine import examine
from verax.importance import score
from verax.models.classifier import AttentionClassifier, weigh_again
from verax.models.layers import decisions
from verax.models.options import ModelOptions
from verax.models.trace import Trace
from verax.models.transformers.classifier import TransformerClassifier
from verax.statistics import proportion
from verax.training.adversary import train_adversary
from verax.training.train import TOWARDS, Marks, train_with_rationales

LAM = 1.0
"""The weight of another attention in the loss of a trained adversary."""
TIED: Mapping[str, Any] = {
    "grounding": "tying",
    "ramp": (0.1, 0.3),
    "lr": 2e-3,
    "dropout_embedding": 0.2,
}
"""How tied models are supervised: gently, or attention learns by heart which words are evidence."""
BATCH: Mapping[str, int] = {"bigru": 64}
"""Batch sizes by encoder, other than the default: these are slow to train on a CPU."""
Classifier = AttentionClassifier | TransformerClassifier
CHEAP = ("erasure", "replacement", "single_token")
COSTLY = ("agreement", "adversary", "deletion", "sufficiency")
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "agreement": {"inputs": "gradient,leave-one-out", "items": "leave-one-out"},
    "adversary": {"epsilons": "0.05", "permutation_test": 1},
    "deletion": {"budget": 200, "sufficient": False},
    "sufficiency": {"greedy_sets": 100},
}
"""Options of exams: the usual examination, with fewer measures."""
_KEPT = {
    "erasure": ("excess", "documents", "delta_js", "contingency", "fraction", "mass"),
    "replacement": ("", "documents"),
    "single_token": ("",),
    "agreement": ("",),
    "adversary": ("", "documents"),
    "deletion": ("", "documents", "smallest"),
    "sufficiency": ("", "documents"),
}
"""The tables of each exam that are kept, without its name: what judgements read or could read."""
_ORDERS = ("attention", "gradient", "random", "random@all", "optimum")


@dataclass(frozen=True)
class TrainingBudget:
    """How models are trained and examined.

    Attributes:
        documents: of a corpus, 2/3 of them for training.
        epochs: of cross-entropy, at most.
        ramp: epochs over which λ grows.
        size: of word vectors and of states.
        sample: documents of cheap exams.
        costly: documents of costly exams.
        berts: documents of the costly exams of a BERT.
    """

    documents: int = 3000
    epochs: int = 10
    ramp: int = 10
    size: int = 32
    sample: int = 150
    costly: int = 40
    berts: int = 30


class ModelFactory:
    """Trains models of any kind on one corpus with one seed; plain twins are trained once.

    Args:
        corpus: with rationales.
        seed: of training.
        budget: how models are trained and examined.
    """

    def __init__(self, corpus: Corpus, seed: int, budget: TrainingBudget) -> None:
        self.corpus = corpus
        self.seed = seed
        self.budget = budget
        self._twins: dict[Any, Classifier] = {}

    def corpus_of(self, kind: Kind) -> Corpus:
        """Return the corpus as models of a kind read it."""
        return self.corpus

    def twin(self, kind: Kind) -> Classifier:
        """Return the model of the same architecture that is trained by cross-entropy alone."""
        key = self.architecture(kind)
        if key not in self._twins:
            self._twins[key] = self.plain(kind)
        return self._twins[key]

    def architecture(self, kind: Kind) -> tuple[Any, ...]:
        """Return what a kind shares with its twin."""
        return kind.encoder, kind.projection

    def plain(self, kind: Kind) -> Classifier:
        """Train a model of a kind's architecture by cross-entropy alone."""
        return self._train(kind, None, self.budget.epochs)

    def make(self, kind: Kind) -> Classifier:
        """Train a model of a kind."""
        epochs, ramp = self.budget.epochs, self.budget.ramp
        if kind.adversary:
            base = self._train(kind, TOWARDS, ramp, start=self.twin(kind))
            assert isinstance(base, AttentionClassifier)
            how: dict[str, Any] = {"device": "cpu", "progress": False, "epochs": 2 * ramp}
            return train_adversary(base, self.corpus, LAM, seed=self.seed + 1, **how)
        if kind.reads is not None:
            make = partial(
                RestrictedClassifier,
                words=frozenset(lexicon(len(self.corpus.classes))),
                reads_them=kind.reads == EVIDENCE,
                frozen=kind.frozen,
            )
            return self._train(kind, None, 2 * epochs, make=make)
        if kind.move is not None:
            more = TIED if kind.tied else {}
            return self._train(kind, kind.move, ramp, start=self.twin(kind), **more)
        return self.twin(kind)

    def _train(self, kind: Kind, move: str | None, epochs: int, **changed: Any) -> Classifier:
        options = {
            "tokenizer": "whitespace",
            "encoder": kind.encoder,
            "projection": kind.projection,
            "hidden_size": self.budget.size,
            "embedding_size": self.budget.size,
            "lr": 5e-3,
            "patience": 3,
            "metric": "loss",
            "min_df": 2,
            "epochs": epochs,
        }
        if kind.encoder in BATCH:
            options["batch_size"] = BATCH[kind.encoder]
        how: dict[str, Any] = {"seed": self.seed, "device": "cpu", "progress": False}
        return train_with_rationales(self.corpus, move, **{**how, **options, **changed})

    def examine(self, model: Classifier, kind: Kind) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Run the exams on a model that passed its gates.

        Returns:
            The numbers that judgements read, and columns of its row beside `words` and `labels`.
        """
        parts = ((CHEAP, self.budget.sample), (COSTLY, self.budget.costly))
        return examined(model, self.corpus_of(kind), parts, OPTIONS)

    def measured(self, kind: Kind) -> tuple[dict[str, Any], pd.DataFrame | None]:
        """Train a model of a kind, apply the gates and, if it passes, run the exams.

        Returns:
            A row about the model, whose `failed` names the gates it does not pass, and its numbers,
            if it passes all of them.
        """
        started = time.monotonic()
        row = {name: getattr(kind, name) for name in ("side", "family", "encoder", "projection")}
        row = {"kind": kind.name, **row, "torch": torch.__version__}
        try:
            model, twin = self.make(kind), self.twin(kind)
        except VeraxError as error:
            if error.code != "training.diverged":
                raise
            return {**row, "failed": "training", "why": str(error), "seconds": 0.0}, None
        gates = gates_of(model, twin, self.corpus_of(kind))
        failed = gates.failed(kind.side)
        row |= {f"gate_{name}": value for name, value in asdict(gates).items()}
        row |= {"failed": ",".join(failed), "training_seconds": _since(started)}
        if failed:
            return {**row, "seconds": _since(started)}, None
        numbers, more = self.examine(model, kind)
        return {**row, **more, "seconds": _since(started)}, numbers


def _since(started: float) -> float:
    return round(time.monotonic() - started, 2)


def examined(
    model: Classifier,
    corpus: Corpus,
    parts: Sequence[tuple[Sequence[str], int]],
    options: Mapping[str, Mapping[str, Any]],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Run exams, and keep the numbers that judgements read or could read.

    Args:
        model: a calibrated model.
        corpus: its test split is examined.
        parts: names of exams, with the number of documents they examine.
        options: options of exams.

    Returns:
        Rows of `Verdict.summary`, and the words per document and labels of the first part.
    """
    verdicts = [
        examine(
            *(model, corpus, list(names)),
            sample=sample,
            exam_options={name: dict(options[name]) for name in names if name in options},
            device="cpu",
            progress=False,
        )
        for names, sample in parts
    ]
    frame = pd.concat([verdict.summary() for verdict in verdicts], ignore_index=True)
    cells = zip(frame["exam"], frame["table"], frame["row"], strict=True)
    kept = [_is_kept(*cell) for cell in cells]
    manifest = verdicts[0].manifest
    about = {"words": manifest["words"], "labels": json.dumps(manifest.get("labels") or {})}
    frame = frame[kept].reset_index(drop=True)
    ends = ["value", "low", "high"]
    frame[ends] = frame[ends].astype("float64").round(10)  # equal shares are ties in an AUROC
    return frame, about


def _is_kept(exam: str, table: str, row: str) -> bool:
    """Return whether a number is kept; of large tables, only rows of attention and baselines."""
    name = table.removeprefix(exam).removeprefix(".")
    if name not in _KEPT[exam]:
        return False
    if exam == "agreement":
        return row.startswith("inputs:") and row.endswith((":leave-one-out", ":gradient"))
    if exam == "erasure" and name != "documents":
        return row in _ORDERS
    return True


HIDDEN = -1e4
"""Added to the score of a word that cannot be read."""


class RestrictedClassifier(AttentionClassifier):
    """An attention classifier that gives no weight to words it may not read, if others are left."""

    known_readout = None

    def __init__(
        self,
        options: ModelOptions,
        vocabulary: Vocabulary,
        classes: Sequence[str],
        *,
        words: Collection[str],
        reads_them: bool,
        frozen: bool = False,
    ) -> None:
        super().__init__(options, vocabulary, classes)
        # rows of special tokens come first, and are no evidence
        among = torch.tensor([False] * len(SPECIALS) + [w in words for w in vocabulary.words])
        self.readable: Tensor
        self.register_buffer("readable", among if reads_them else ~among)
        self.attention.requires_grad_(not frozen)

    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """Lower the scores of what cannot be read, so that it gets no weight."""
        scores, _ = self.attention(items, batch.mask)
        scores = scores + HIDDEN * ~self.readable[batch.tokens]
        return scores, self.attention.weigh(scores, batch.mask)

    def weights_left(
        self, trace: Trace, rows: Tensor, left: Tensor, max_tokens: int = MAX_TOKENS
    ) -> Tensor:
        """Project the same scores over the items that are left."""
        return weigh_again(self.attention, trace, rows, left)


@dataclass(frozen=True)
class Gates:
    """What a model must be before it is examined.

    Attributes:
        accuracy: on test documents.
        twin: the accuracy of its plain twin.
        majority: the share of the largest class.
        mass: the share of attention that is on the evidence, the mean over test documents.
        flips: the share of decisions that change when the evidence is that of another class.
        documents: the number of test documents.
    """

    POINT: ClassVar[float] = 0.01
    """The most accuracy that a model may lose against its twin."""
    FLIPS: ClassVar[float] = 0.95
    """The least share of decisions that change with the evidence."""
    MOST: ClassVar[float] = 0.01
    """The most mass of a deceptive model."""
    LEAST: ClassVar[float] = 0.5
    """The least mass of an honest model."""

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
        """Return the gates that a model of a side does not pass."""
        passed = {
            "learnt": self.learnt,
            "accuracy": self.accuracy >= self.twin - self.POINT - 1e-9,
            "flips": self.flips >= self.FLIPS,
            "mass": (side != DECEPTIVE or self.mass <= self.MOST)
            and (side != HONEST or self.mass >= self.LEAST),
        }
        return [name for name, is_passed in passed.items() if not is_passed]


def gates_of(model: Classifier, twin: Classifier, corpus: Corpus) -> Gates:
    """Compute the gates of a model and its plain twin on the test split of a corpus."""
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
    """Return the share of attention among words that is on the evidence, averaged over documents.

    For a Transformer, it is the attention of the position that the head reads in the last layer,
    averaged over heads.
    """
    if isinstance(model, TransformerClassifier):
        return _mass_of_words(model, documents)
    marks = Marks.of(model, documents)
    masses = [
        (trace.weights * marks.beside(trace.batch)).sum(-1).numpy()
        for trace in model.traces(documents)
    ]
    return float(np.concatenate(masses).mean())


def _mass_of_words(model: TransformerClassifier, documents: Documents) -> float:
    assert documents.marks is not None
    rationales = documents.marks.majority(Ragged.of(model.encode(documents).spans, width=2))
    masses = []
    for trace in model.traces(documents):
        weights = (score("attention", model, trace) * trace.mask).numpy()
        for row, one in zip(trace.batch.row_index.tolist(), weights, strict=True):
            marks = np.asarray(rationales[row]) > 0
            masses.append(one[: len(marks)][marks].sum() / max(one.sum(), 1e-30))
    return float(np.mean(masses))
