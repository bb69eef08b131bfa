"""The paper's models and corpora, and how their cells are selected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.papers.claims import Comparisons
from verax.papers.comparing import Label
from verax.papers.numbers import SeedMean
from verax.papers.results import Missing, PaperResults

PACKAGE = "verax.papers.tutek_snajder_2020"
RUNS = 5
"""The runs behind every published mean."""

CORPORA: Mapping[str, str] = {
    "sst": "SST",
    "ag_news": "AG",
    "20news_sports": "NG",
    "imdb": "IM",
    "mimic_anemia": "ANM",
}
"""Names here → names in the paper's tables 1, 2, 3 and 6."""
MAIN = tuple(CORPORA)
"""Parts whose models are examined for replacement and single_token, named after their corpus."""
DIABETES = "mimic_diabetes"
"""The part of the corpus that table 1 leaves out."""
INFORMATION, LAYERS, ADVERSARIES = "information-", "layers-", "adversaries-"
"""Beginnings of the names of parts that exist once per corpus."""
INITIALISATION, SELECTION = "initialisation", ("selection", "selection-imdb")

ATTENTIONS = ("additive", "dot")
_TRAINED: Mapping[str, Any] = {"freeze_embeddings": False}
_FROZEN: Mapping[str, Any] = {"freeze_embeddings": True}
MODELS: Mapping[str, Mapping[str, Any]] = {
    "base": {"grounding": "none", **_TRAINED},
    "base, frozen": {"grounding": "none", **_FROZEN},
    "concat": {"grounding": "concat", **_TRAINED},
    "residual": {"grounding": "residual", **_TRAINED},
    "tying": {"grounding": "tying", **_FROZEN},
    "mlm": {"grounding": "mlm", **_FROZEN},
}
"""Options of each model. Some train their word vectors and others do not, so all say which."""
PUBLISHED = {"base": "Base", "concat": "Concat", "residual": "Resid", "tying": "Tying"}
PUBLISHED |= {"mlm": "MLM"}
"""Names here → names in the paper's tables."""

TRAINED, UNIFORM, PERMUTED = "trained", "uniform", "permuted"
"""Rows of the summary table `replacement`."""
CORRECT = "correct"
"""The row of `single_token` that the paper gives."""
ENTROPY_OF_ATTENTION = ("dispersion.entropy", "attention", "mean")
"""Normalised: 1 for uniform attention."""
WORDS = {"most frequent": "frequent", "sampled": "sampled"}
"""The paper's two samples of words → rows of `information`."""


def plain_name(corpus: str) -> str:
    """A corpus's name without the folder that may follow it.

    >>> plain_name("mimic_anemia:/my/mimic")
    'mimic_anemia'
    """
    return corpus.partition(":")[0]


def published_corpus(corpus: str) -> str:
    """The name of a corpus in the paper's tables; empty if they do not have it."""
    return CORPORA.get(plain_name(corpus), "")


def corpora_in(results: PaperResults, part: str | tuple[str, ...]) -> list[str]:
    """The corpora of some parts, the paper's first, in its order."""
    places = {name: place for place, name in enumerate(CORPORA)}
    return sorted(
        results.corpora(part=part), key=lambda name: places.get(plain_name(name), len(places))
    )


def parts(results: PaperResults, start: str) -> tuple[str, ...]:
    """Names of the parts with this beginning."""
    return tuple(str(p) for p in dict.fromkeys(results.cells["part"]) if str(p).startswith(start))


def main(
    results: PaperResults,
    corpus: str,
    attention: str,
    model: str,
    what: tuple[str, str, str],
) -> SeedMean | None:
    """A number (table, row, column) of a model of table 1."""
    where = {"part": MAIN, "corpus": corpus, "attention": attention, **MODELS[model]}
    return results.find(*what, **where)


def deep(
    results: PaperResults, corpus: str, layers: int, model: str, row: str, column: str = "delta_f1"
) -> SeedMean | None:
    """A number of `replacement` of a model of table 6; with one layer, of table 1."""
    if layers == 1:
        return main(results, corpus, "additive", model, ("replacement", row, column))
    where = {"part": parts(results, LAYERS), "corpus": corpus, "layers": layers}
    return results.find("replacement", row, column, attention="additive", **where, **MODELS[model])


def information(
    results: PaperResults, corpus: str, model: str, row: str, column: str = "information"
) -> SeedMean | None:
    """A number of `information` of a model of table 2."""
    where = {"part": parts(results, INFORMATION), "corpus": corpus, "attention": "additive"}
    return results.find("information", row, column, **where, **MODELS[model])


def size(number: SeedMean | None, centre: float = 0.0) -> SeedMean | None:
    """The distance of each seed's value from a centre; an interval over documents stays as wide."""
    if number is None:
        return None
    values = [abs(value - centre) for value in number.values]
    half = (number.high - number.low) / 2
    middle = abs(number.value - centre)
    return SeedMean.of(values, number.cells, number.n, (middle - half, middle + half))


def label(corpus: str, *rest: str) -> Label:
    """The label of a comparison.

    >>> label("sst", "dot", "tying")
    'sst: dot, tying'
    """
    return Label(f"{corpus}: {', '.join(rest)}", corpus)


def need(comparisons: Comparisons, what: str) -> None:
    """Raise `Missing`, and say what is needed, if there is nothing to compare."""
    if not comparisons:
        raise Missing(f"needs {what}, which are not in these results")
