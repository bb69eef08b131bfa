"""The models that results hold, with their names in the paper's outputs."""

from __future__ import annotations

from typing import NamedTuple

from verax.papers.comparing import Label
from verax.papers.exhibits import published_number, published_numbers
from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults

PACKAGE = "verax.papers.jain_wallace_2019"
CORPORA = {"sst": "sst", "imdb": "imdb", "20news_sports": "20News_sports", "ag_news": "agnews"}
RELEASED = {"bilstm": ("outputs", "BiLSTM"), "mlp": ("average", "Average")}
"""Encoder → the table of released numbers, and its name there; none were kept of convolutions."""
ALIGNMENTS = {"additive": "tanh", "dot": "dot"}
ATTENTION_GRADIENT = "inputs:attention:gradient-input-detached"
"""Their gradient is times the input, and does not flow through attention."""
ATTENTION_LOO = "inputs:attention:leave-one-out"
GRADIENT_LOO = "inputs:gradient-input-detached:leave-one-out"
EPSILON = 0.05
"""The change within which the authors call two outputs equal."""
CORRELATIONS = {
    ATTENTION_GRADIENT: "kendall_attention_vs_gradient",
    ATTENTION_LOO: "kendall_attention_vs_LOO",
    GRADIENT_LOO: "kendall_gradient_vs_LOO",
}
"""Pair of importances → its name in the released numbers."""


class Model(NamedTuple):
    """An encoder and an attention on a corpus, of any seed."""

    corpus: str
    encoder: str
    attention: str

    def __str__(self) -> str:
        return f"{self.corpus}, {self.encoder}, {self.attention}"

    def label(self, rest: str = "") -> Label:
        """The label of a comparison of the model."""
        return Label(f"{self}: {rest}" if rest else str(self), self.corpus)

    def find(self, results: PaperResults, table: str, row: str, column: str) -> SeedMean | None:
        """A number of the model's cells; None if they have none."""
        return results.find(table, row, column, **self._asdict())

    def fact(self, results: PaperResults, column: str) -> SeedMean | None:
        return results.fact(column, **self._asdict())

    def released(self, metric: str, column: str = "value") -> float:
        """The number of that name in the authors' outputs for this model; NaN if there is none."""
        table, encoder = RELEASED.get(self.encoder, ("outputs", ""))
        dataset = CORPORA.get(self.corpus, self.corpus)
        key = (dataset, encoder, ALIGNMENTS[self.attention], metric)
        return published_number(PACKAGE, table, key, column)


def measured(results: PaperResults, *encoders: str) -> list[Model]:
    """Models of these encoders that have finished cells, in the order of the cells."""
    chosen = results.select(encoder=encoders)
    if not set(Model._fields) <= set(chosen):
        return []
    rows = chosen[list(Model._fields)].itertuples(index=False)
    return list(dict.fromkeys(Model(*map(str, row)) for row in rows))


def of_paper(results: PaperResults, *encoders: str) -> list[Model]:
    """As `measured`, and after them those that only the authors' outputs have."""
    models = measured(results, *encoders)
    ours = {theirs: name for name, theirs in CORPORA.items()}
    names = {theirs: name for name, theirs in ALIGNMENTS.items()}
    for encoder in encoders:
        table, theirs = RELEASED.get(encoder, ("", ""))
        for dataset, model, attention, _ in published_numbers(PACKAGE, table) if table else ():
            if model == theirs:
                models.append(Model(ours.get(dataset, dataset), encoder, names[attention]))
    return list(dict.fromkeys(models))
