"""The numbers of a corpus: of the base, its adversaries, other seeds and controls."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verax.papers.numbers import Number
from verax.papers.results import PaperResults

PACKAGE = "verax.papers.wiegreffe_pinter_2019"
CORPORA = {"sst": "SST", "imdb": "IMDb", "20news_sports": "20News", "ag_news": "AgNews"}
CURVE, CHOSEN = "adversaries", "adversaries_chosen"
SEEDS, CONTROLS = "adversaries_seeds", "adversaries_controls"
BASE, UNIFORM = "base", "uniform"
MLP_UNIFORM, MLP_OWN = "mlp, uniform", "mlp, own"
BY_BASE, BY_ADVERSARY = "mlp, guided by base", "mlp, guided by adversary"
WITHOUT_BASE = (UNIFORM, MLP_UNIFORM, MLP_OWN)
"""Controls that know nothing of the base: those of its other seeds are the same model again."""


def corpora(results: PaperResults) -> list[str]:
    """Those of finished cells, in the order in which they come."""
    return results.corpora() if "corpus" in results.cells else []


def find(results: PaperResults, table: str, row: str, column: str, corpus: str) -> Number | None:
    """A number over the seeds of the base; None where there is none, or it has no value.

    Of a control that does not hang on the base, models that came out alike count once.
    """
    seeds = results.select(corpus=corpus)["seed"].tolist()
    if table == CONTROLS and row in WITHOUT_BASE:
        seeds = _unlike(results, row, column, corpus, seeds)
    found = results.find(table, row, column, corpus=corpus, seed=seeds)
    return None if found is None or math.isnan(found.value) else found


def _unlike(
    results: PaperResults, row: str, column: str, corpus: str, seeds: Sequence[int]
) -> list[int]:
    """The first of those seeds of the base whose controls have the same value."""
    first: dict[float, int] = {}
    for seed in seeds:
        part = results.find(CONTROLS, row, column, corpus=corpus, seed=seed)
        if part is not None and not math.isnan(part.value):
            first.setdefault(part.value, seed)
    return list(first.values())


def of_chosen(results: PaperResults, column: str, corpus: str) -> Number | None:
    """A number of the adversaries of the λ chosen on validation, which may differ by seed."""
    parts = []
    for seed in results.select(corpus=corpus)["seed"].sort_values():
        own = {"corpus": corpus, "seed": seed}
        lam = results.find(CHOSEN, "chosen", "λ", **own)
        part = None if lam is None else results.find(CURVE, row_of(lam.value), column, **own)
        if part is not None and not math.isnan(part.value):
            parts.append(part)
    if not parts:
        return None
    values = [part.value for part in parts]
    cells = [key for part in parts for key in part.cells]
    interval = parts[0].low, parts[0].high
    return Number.of(values, cells, max(part.n for part in parts), interval)


def row_of(lam: float) -> str:
    """How a λ is called in the table of adversaries."""
    return f"λ = {lam:g}"


def lams(results: PaperResults, corpus: str) -> list[float]:
    """The λ of a corpus, from small to large."""
    return sorted(_values(results, CURVE, "λ = ", corpus))


def epsilons(results: PaperResults, corpus: str) -> list[float]:
    """The ε of attention found document by document, from small to large."""
    return sorted(_values(results, "adversary", "ε = ", corpus))


def _values(results: PaperResults, table: str, start: str, corpus: str) -> list[float]:
    rows = results.rows(table, "JSD", corpus=corpus)
    return [float(row.removeprefix(start)) for row in rows if row.startswith(start)]
