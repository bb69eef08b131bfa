"""The paper's tables: published beside measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from verax.papers.exhibits import (
    ExhibitList,
    PublishedKey,
    Rows,
    entry,
    published_number,
    published_table,
)
from verax.papers.numbers import SeedMean
from verax.papers.probing import Measure, fact, summarised
from verax.papers.results import PaperResults
from verax.papers.tutek_snajder_2020.claims_fragility import LENGTHS, length
from verax.papers.tutek_snajder_2020.models import (
    ATTENTIONS,
    CORPORA,
    CORRECT,
    DIABETES,
    ENTROPY_OF_ATTENTION,
    INFORMATION,
    INITIALISATION,
    MAIN,
    MODELS,
    PACKAGE,
    PERMUTED,
    PUBLISHED,
    RUNS,
    SELECTION,
    TRAINED,
    UNIFORM,
    WORDS,
    corpora_in,
    deep,
    information,
    main,
    parts,
    plain_name,
    published_corpus,
)

F1 = {
    "F1": (TRAINED, "f1", "F1_trained_pct"),
    "Δ F1, uniform": (UNIFORM, "delta_f1", "dF1_uniform_pct"),
    "Δ F1, permuted": (PERMUTED, "delta_f1", "dF1_permuted_pct"),
}
"""Measure → row and column of `replacement`, and the paper's name for it."""
ALONE = "a token alone"
TOKENS = {
    ALONE: "mean_probability",
    "pooled over tokens": "pooled_probability",
    "tokens that agree": "agreeing",
    "confidence": "confidence",
}
"""Measure → column of `single_token`."""
NATS = {
    "information": "information",
    "word_entropy": "entropy of words",
    "shuffled": "information of shuffled labels",
    "above_shuffled": "information above that",
    "retained": "kept",
}
"""Column of `information` → measure."""
_SAMPLES = {"most frequent": "MI_MF", "sampled": "MI_RS"}
_OPTIONS = {
    "width of word vectors": ("embedding_dim", "embedding_size", 1.0),
    "width of the encoder, a direction": ("rnn_hidden_dim", "hidden_size", 0.5),
    "learning rate": ("learning_rate", "lr", 1.0),
    "gradient clipping": ("grad_clipping", "clip", 1.0),
    "batch size": ("batch_size", "batch_size", 1.0),
    "weight decay": ("weight_decay", "weight_decay", 1.0),
}
"""Measure → the paper's name, our option, and the factor of ours."""
_GRIDS = {
    "mlm": ("masking_weight_eta_grid",),
    "tying": ("tying_weight_delta_grid_table4", "tying_weight_delta_grid_text"),
}
PROBED: Mapping[str, Measure] = {
    "F1": fact("test_f1", 100.0),  # of all of test, where an exam may see a sample
    **{
        name: summarised("replacement", row, column)
        for name, (row, column, _) in F1.items()
        if row != TRAINED
    },
    ALONE: summarised("single_token", CORRECT, TOKENS[ALONE]),
    "entropy of attention": summarised(*ENTROPY_OF_ATTENTION),
}
EXHIBITS = ExhibitList()


@EXHIBITS.add(
    "table1",
    "F1 with trained attention, and what becomes of it under uniform and permuted attention",
    "F1 in percent, differences in points. The paper leaves out the residual model; the base "
    "with frozen word vectors is ours, to compare tying and the masked LM with.",
)
def table1(results: PaperResults) -> Rows:
    """F1 and its losses, also of the residual model and the frozen base."""
    for corpus in corpora(results, MAIN):
        for attention in ATTENTIONS:
            for model in MODELS:
                labels = {"corpus": corpus, "attention": attention, "model": model}
                for measure, (row, column, metric) in F1.items():
                    number = main(results, corpus, attention, model, ("replacement", row, column))
                    key = (published_corpus(corpus), PUBLISHED.get(model, ""), attention, metric)
                    yield _entry("table1", labels, measure, number, key)


@EXHIBITS.add(
    "table2",
    "Mutual information of words and clusters of their states, of two samples of 1,000 words",
    "In nats; the paper does not say its unit. Ceiling (entropy of words) and floor "
    "(information of shuffled labels) are ours, and `kept` is the share between them, in "
    "percent.",
)
def table2(results: PaperResults) -> Rows:
    """Information on words in states, beside its bounds."""
    for corpus in corpora(results, parts(results, INFORMATION)):
        for words, row in WORDS.items():
            for model in ("base", "residual", "tying", "mlm"):
                labels = {"corpus": corpus, "words": words, "model": model}
                for column, measure in NATS.items():
                    number = information(results, corpus, model, row, column)
                    metric = _SAMPLES[words] if column == "information" else ""
                    key = (published_corpus(corpus), PUBLISHED[model], "additive", metric)
                    yield _entry("table2", labels, measure, number, key)


@EXHIBITS.add(
    "table3",
    "Probability of the decision, where it is correct, had attention been on one token alone",
    "The mean over tokens, then documents, is the paper's; the other measures are ours.",
)
def table3(results: PaperResults) -> Rows:
    """The probability of a correct decision from a token alone."""
    for corpus in corpora(results, MAIN):
        for attention in ATTENTIONS:
            for model in MODELS:
                labels = {"corpus": corpus, "attention": attention, "model": model}
                for measure, column in TOKENS.items():
                    what = ("single_token", CORRECT, column)
                    number = main(results, corpus, attention, model, what)
                    alone = measure == ALONE
                    metric = "avg_per_token_prediction_probability" if alone else ""
                    key = (published_corpus(corpus), PUBLISHED.get(model, ""), attention, metric)
                    yield _entry("table3", labels, measure, number, key)


@EXHIBITS.add(
    "table4",
    "Hyper-parameters",
    "Strengths: a row for each that either tried.",
)
def table4(results: PaperResults) -> Rows:
    """Hyper-parameters: the paper's, and those of the cells of table 1 and of the selection."""
    cells = results.select(part=MAIN)
    for measure, (metric, option, factor) in _OPTIONS.items():
        theirs = published_number(PACKAGE, "table4", ("all", "all", "both", metric))
        yield from _beside("all", measure, [factor * v for v in _values(cells, option)], theirs)
    masked = _values(results.select(part=MAIN, grounding="mlm"), "mask_probability")
    theirs = published_number(PACKAGE, "table4", ("all", "MLM", "both", "masking_prob"))
    yield from _beside("mlm", "share of words masked", masked, theirs)
    for model, metrics in _GRIDS.items():
        grid = _grid(metrics)
        tried = _values(results.select(part=(*MAIN, *SELECTION), grounding=model), "strength")
        for value in sorted({*grid, *tried}):
            theirs = value if value in grid else math.nan
            ours = [value] if value in tried else []
            yield from _beside(model, f"strength {value:g}", ours, theirs)


@EXHIBITS.add(
    "table5",
    "Average length of documents, and size of the vocabulary",
    "Ours is of test documents, those examined in `initialisation`, without SOS and EOS. "
    "Results do not hold the size of a vocabulary.",
)
def table5(results: PaperResults) -> Rows:
    """Words of a document, and the vocabulary."""
    others = results.corpora(part=INITIALISATION)
    for corpus in [*LENGTHS, *(name for name in others if plain_name(name) not in LENGTHS)]:
        name = LENGTHS.get(corpus, "")
        for measure, metric in (("words", "avg_length"), ("vocabulary", "vocabulary")):
            theirs = published_number(PACKAGE, "table5", (name, "", "", metric))
            number = length(results, corpus) if measure == "words" else None
            yield entry({"corpus": corpus}, measure, number, theirs, setting=True)


@EXHIBITS.add(
    "table6",
    "As table 1, additive attention, with encoders of one to three layers",
    "One layer: the models of table 1.",
)
def table6(results: PaperResults) -> Rows:
    """As table 1, for additive attention, by depth of the encoder."""
    for corpus in corpora(results, MAIN):
        for model in ("base", "concat", "tying", "mlm"):
            for layers in (1, 2, 3):
                labels = {"corpus": corpus, "model": model, "layers": layers}
                for measure, (row, column, metric) in F1.items():
                    number = deep(results, corpus, layers, model, row, column)
                    theirs = f"{PUBLISHED[model]}-{layers}layer"
                    key = (published_corpus(corpus), theirs, "additive", metric)
                    yield _entry("table6", labels, measure, number, key)


def corpora(results: PaperResults, part: Iterable[str]) -> list[str]:
    """The paper's corpora, by their names in results, then others of these parts."""
    names = {plain_name(name): name for name in corpora_in(results, tuple(part))}
    others = [name for plain, name in names.items() if plain not in CORPORA and plain != DIABETES]
    return [*(names.get(plain, plain) for plain in CORPORA), *others]


def _entry(
    table: str, labels: dict[str, Any], measure: str, number: SeedMean | None, key: PublishedKey
) -> dict[str, Any]:
    return entry(labels, measure, number, published_number(PACKAGE, table, key), RUNS)


def _values(cells: pd.DataFrame, option: str) -> list[float]:
    """The distinct values of an option, rising; empty if cells have no such column."""
    if option not in cells:
        return []
    values = pd.to_numeric(cells[option], errors="coerce").dropna()
    return sorted({float(value) for value in values})


def _beside(
    model: str, measure: str, values: Sequence[float], theirs: float
) -> list[dict[str, Any]]:
    """A row per value of ours; without any, a row of the published number alone."""
    ours: list[SeedMean | None] = [SeedMean.of([value], []) for value in values]
    labels = {"model": model}
    return [entry(labels, measure, number, theirs, setting=True) for number in ours or [None]]


def _grid(metrics: Iterable[str]) -> set[float]:
    table = published_table(PACKAGE, "table4")
    grids = table.loc[table["metric"].isin(list(metrics)), "value"]
    return {float(value) for values in grids for value in values.split()}
