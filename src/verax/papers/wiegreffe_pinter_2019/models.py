"""The numbers of a corpus: of the base, its adversaries, other seeds and controls."""

from __future__ import annotations

from collections.abc import Sequence

from verax.exams.adversary.measures import ANY_OUTPUT, epsilon_of
from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults
from verax.studies.adversaries.measures import lambda_of, lambda_row

PACKAGE = "verax.papers.wiegreffe_pinter_2019"
CORPORA = {"sst": "SST", "imdb": "IMDb", "20news_sports": "20News", "ag_news": "AgNews"}
CURVE, CHOSEN = "adversaries", "adversaries.chosen"
SEEDS, CONTROLS = "adversaries.seeds", "adversaries.controls"
BASE, UNIFORM = "base", "uniform"
MLP_UNIFORM, MLP_OWN = "mlp-uniform", "mlp-own"
BY_BASE, BY_ADVERSARY = "mlp-guided-by-base", "mlp-guided-by-adversary"
WITHOUT_BASE = (UNIFORM, MLP_UNIFORM, MLP_OWN)
"""Controls that do not depend on the base: for its other seeds they are the same model again."""


def find(results: PaperResults, table: str, row: str, column: str, corpus: str) -> SeedMean | None:
    """A number over the seeds of the base; None if there is none.

    If a control does not depend on the base, models with the same value count once.
    """
    seeds = results.select(corpus=corpus)["seed"].tolist()
    if table == CONTROLS and row in WITHOUT_BASE:
        seeds = _unlike(results, row, column, corpus, seeds)
    return results.find(table, row, column, corpus=corpus, seed=seeds)


def _unlike(
    results: PaperResults, row: str, column: str, corpus: str, seeds: Sequence[int]
) -> list[int]:
    """The first seeds of the base for each value of a control."""
    first: dict[float, int] = {}
    for seed in seeds:
        part = results.find(CONTROLS, row, column, corpus=corpus, seed=seed)
        if part is not None:
            first.setdefault(part.value, seed)
    return list(first.values())


def of_chosen(results: PaperResults, column: str, corpus: str) -> SeedMean | None:
    """A number of the adversaries of the λ chosen on validation, which may differ by seed."""
    parts = []
    for seed in results.select(corpus=corpus)["seed"].sort_values():
        where = {"corpus": corpus, "seed": seed}
        lam = results.find(CHOSEN, "chosen", "lambda", **where)
        part = None if lam is None else results.find(CURVE, lambda_row(lam.value), column, **where)
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    values = [part.value for part in parts]
    cells = [key for part in parts for key in part.cells]
    interval = parts[0].low, parts[0].high
    return SeedMean.of(values, cells, max(part.n for part in parts), interval)


def lams(results: PaperResults, corpus: str) -> list[float]:
    """The λ of a corpus, from small to large."""
    return sorted(lambda_of(row) for row in results.rows(CURVE, "jsd", corpus=corpus))


def epsilons(results: PaperResults, corpus: str) -> list[float]:
    """The ε of attention picked document by document, from small to large."""
    rows = results.rows("adversary", "jsd", corpus=corpus)
    return sorted(epsilon_of(row) for row in rows if row != ANY_OUTPUT)
