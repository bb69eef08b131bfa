"""The information exam: how much of a word is left in its hidden state?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.encoded import EncodedDocuments
from verax.exams.exam import Exam
from verax.exams.information import judging, summary
from verax.exams.information.clustering import cluster
from verax.exams.information.measures import TABLES
from verax.exams.information.mutual_information import (
    SharedInformation,
    mutual_information,
    pointwise_information,
    shuffled_information,
)
from verax.exams.information.occurrences import WORDS_BY, GatheredStates, Occurrences
from verax.exams.registry import register
from verax.models.base import TextClassifier
from verax.models.classifier import AttentionClassifier
from verax.models.kinds import TRANSFORMER
from verax.models.trace import Trace
from verax.options import ROUNDS, option
from verax.statistics import ratio

_LEAST = 0.1
"""Of the ceiling: with less than this between it and the floor there is nothing to share out."""


class Spelling(Protocol):
    """What tells how words are written, as a vocabulary does."""

    def text(self, row: int) -> str:
        """The word of a row."""


@dataclass(frozen=True)
class InformationOptions:
    max_words: int = option(1000, "words whose information is measured, at most", minimum=2)
    words_by: str = option(
        "frequent",
        "the most frequent, or sampled by frequency to the power ¾, or both in turn",
        choices=(*WORDS_BY, "both"),
    )
    occurrences: int = option(
        1_000_000, "occurrences of them looked at, drawn by the seed: memory", minimum=2
    )
    clusters: int = option(1000, "clusters of hidden states", minimum=2)
    shuffles: int = option(
        5, "random relabellings that measure the estimate's bias", minimum=1, maximum=ROUNDS
    )


@register
class InformationExam(Exam):
    """Mutual information between a word and the cluster of its state (Tutek & Šnajder, table 2).

    States of chosen words are put into clusters by k-means; I(word; cluster) is at most the words'
    entropy, and at least, of states that have forgotten their word, what shuffled labels give.
    Word vectors need no clusters: with as many clusters as words k-means gives each vector its
    own, so words are told apart exactly where their vectors differ. Gives two tables, by `words`
    (frequent or sampled):

    information        information, ceiling, shuffled (mean), shuffled_sd, difference (information
                       less shuffled), kept (difference over ceiling less shuffled; NaN where
                       that is below a tenth of the ceiling), occurrences, found (in the split),
                       types, vectors (that differ), clusters (that are
                       used), inertia, norm_e, norm_h (root mean squares of ‖e‖ and ‖h‖), distance
                       (mean ‖h − e‖² over mean ‖e‖²; NaN where states are of another size)
    information_words  for each word (`id`, its vocabulary row): count, information (KL of its
                       clusters from all), distance (of its own occurrences)
    """

    name = "information"
    title = "Information"
    question = "How much of a word is left in its hidden state?"
    comparison = "what is left of a word in its state"
    explanation = (
        "Hidden states of chosen words are put into clusters; the mutual information of "
        "word and cluster says how much a state tells of its word, between what shuffled "
        "labels give and the words' entropy (Tutek & Šnajder 2020)."
    )
    needs_all = True
    options_class = InformationOptions
    summary_tables = TABLES
    tidy_tables = ("information", "information_words", "information_layers")
    charts = "verax.exams.information.charts"
    variants: ClassVar[Mapping[str, str]] = {
        TRANSFORMER: "verax.exams.information.transformer:TransformerInformation"
    }
    summarise = staticmethod(summary.summarise)
    split_values = staticmethod(summary.split_values)
    judge = staticmethod(judging.judge)

    @classmethod
    def why_not(cls, model: TextClassifier) -> str:
        """A pooled model that shows no word vectors has nothing to tell words apart by."""
        if getattr(model, "has_vectors", True):
            return ""
        return "it tells words by their vectors; this model shows none: give embed to from_module"

    def setup(self) -> None:
        self.gathered: dict[str, Occurrences] = {}
        self.measured: list[pd.DataFrame] = []
        self.of_words: list[pd.DataFrame] = []

    def begin(self, model: AttentionClassifier, documents: EncodedDocuments) -> None:
        o = self.options
        kinds = WORDS_BY if o.words_by == "both" else (o.words_by,)
        self.gathered = {
            kind: Occurrences(documents, o.max_words, kind, o.occurrences, self.seed)
            for kind in kinds
        }
        self.embedding = model.word_vectors
        self.vocabulary: Spelling = model.vocabulary

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Take one batch's states."""
        for occurrences in self.gathered.values():
            occurrences.see(trace)

    @torch.no_grad()
    def conclude(self, watch: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]) -> None:
        for kind, occurrences in self.gathered.items():
            measures, of_words = self._measure(occurrences, watch(f"clustering, {kind} words"))
            table = pd.DataFrame({"measure": list(measures), "value": list(measures.values())})
            table.insert(0, "words", kind)
            of_words.insert(0, "words", kind)
            self.measured.append(table)
            self.of_words.append(of_words)
        self.gathered = {}

    def tables(self) -> dict[str, pd.DataFrame]:
        if not self.measured:  # nobody said that all was seen
            self.conclude(lambda what: iter)
        return {
            "information": categories(pd.concat(self.measured, ignore_index=True)),
            "information_words": categories(pd.concat(self.of_words, ignore_index=True)),
        }

    def _measure(
        self, occurrences: GatheredStates, watch: Callable[[Iterable[Any]], Iterable[Any]]
    ) -> tuple[dict[str, float], pd.DataFrame]:
        words = occurrences.words
        embedding = self.embedding.to(occurrences.states.device).float()
        vectors = _same_vectors(embedding, words)
        squares, between = occurrences.distances(embedding)
        lengths = embedding.double().square().sum(-1).cpu().numpy()[words]
        measures = {
            "occurrences": float(len(words)),
            "found": float(occurrences.in_split),
            "types": float(len(np.unique(words))),
            "vectors": float(len(np.unique(vectors))),
            "norm_e": _root_mean(lengths),
            "norm_h": _root_mean(squares),
            "distance": _over(between.sum(), lengths.sum()),
        }
        if not len(words):
            nothing = ("information", "ceiling", "shuffled", "shuffled_sd", "difference", "kept")
            measures |= {name: float("nan") for name in nothing}
            return measures, _word_table(self.vocabulary, words, None, between, lengths)
        o = self.options
        clustered = cluster(occurrences.states, o.clusters, self.seed, watch=watch)
        labels = clustered.labels.cpu().numpy()
        shared = mutual_information(vectors, labels)
        shuffled = shuffled_information(vectors, labels, self.seed, o.shuffles)
        bias = float(shuffled.mean())
        difference = shared.value - bias
        measures |= {
            "information": shared.value,
            "ceiling": shared.entropy,
            "shuffled": bias,
            "shuffled_sd": float(shuffled.std(ddof=1)) if len(shuffled) > 1 else float("nan"),
            "difference": difference,
            "kept": _over(difference, shared.entropy - bias, _LEAST * shared.entropy),
            "clusters": float(len(np.unique(labels))),
            "inertia": clustered.inertia,
        }
        if occurrences.documents is not None:
            low, high = _over_documents(vectors, labels, occurrences.documents)
            measures |= {"low": low, "high": high}
        by_word = mutual_information(words, labels)
        return measures, _word_table(self.vocabulary, words, by_word, between, lengths)


def _over_documents(
    words: NDArray[np.int64], labels: NDArray[np.int64], documents: NDArray[np.int64]
) -> tuple[float, float]:
    """Both ends of the information's interval over documents, the clusters being what they are."""
    parts = pointwise_information(words, labels)
    _, places = np.unique(documents, return_inverse=True)
    totals = np.bincount(places, weights=parts).astype(np.float64)
    _, low, high = ratio(totals, np.bincount(places).astype(np.float64)).interval
    return float(np.maximum(low, 0.0)), high


def _same_vectors(embedding: Tensor, words: NDArray[np.int64]) -> NDArray[np.int64]:
    """(occurrences,) a number for each distinct vector: words without one, all zero, share it."""
    types, places = np.unique(words, return_inverse=True)
    rows = embedding[torch.from_numpy(types).to(embedding.device)].cpu().numpy()
    if not len(types):
        return places
    _, number = np.unique(rows, axis=0, return_inverse=True)
    return number.reshape(-1)[places].astype(np.int64)


def _word_table(
    vocabulary: Spelling,
    words: NDArray[np.int64],
    shared: SharedInformation | None,
    between: NDArray[np.float64],
    lengths: NDArray[np.float64],
) -> pd.DataFrame:
    """A row per word and measure, in order of vocabulary rows."""
    types, places, counts = np.unique(words, return_inverse=True, return_counts=True)
    below = np.bincount(places, weights=lengths, minlength=len(types))
    above = np.bincount(places, weights=between, minlength=len(types))
    values = {
        "count": counts.astype(np.float64),
        "information": np.zeros(0) if shared is None else shared.by_label,
        "distance": np.divide(above, below, out=np.full(len(types), np.nan), where=below > 0),
    }
    return pd.DataFrame(
        {
            "id": np.repeat(types, len(values)),
            "word": np.repeat([vocabulary.text(row) for row in types], len(values)),
            "measure": np.tile(list(values), len(types)),
            "value": np.stack(list(values.values()), axis=1).ravel(),
        }
    )


def categories(table: pd.DataFrame) -> pd.DataFrame:
    """The table, its kinds of words and its measures as categories."""
    for name in ("words", "measure"):
        table[name] = pd.Categorical(table[name], list(dict.fromkeys(table[name])))
    return table


def _root_mean(squares: NDArray[np.float64]) -> float:
    return float(np.sqrt(squares.mean())) if len(squares) else float("nan")


def _over(above: float, below: float, least: float = 0.0) -> float:
    return float(above / below) if below > least else float("nan")
