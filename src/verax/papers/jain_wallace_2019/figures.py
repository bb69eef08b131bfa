"""The paper's figures as data: permuted attention, and attention that says the same."""

from __future__ import annotations

import pandas as pd

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.jain_wallace_2019.models import Model, measured
from verax.papers.jain_wallace_2019.tables import ENCODERS
from verax.papers.results import PaperResults

EPSILON = "ε = 0.05"
ALL = "all"
GROUPS = "adversary_groups"


def permutation(results: PaperResults) -> pd.DataFrame:
    """Mean over documents of the median |Δŷ| over shuffles, by decided class and largest weight."""
    rows = []
    for model in measured(results, *ENCODERS):
        for group, labels in _groups(results, model, "permuted |Δŷ|"):
            for column, measure in (("permuted |Δŷ|", "|Δŷ|"), ("documents", "documents")):
                found = model.find(results, GROUPS, group, column)
                rows.append(entry({**model._asdict(), **labels}, measure, found))
    return frame(rows)


def adversary(results: PaperResults) -> pd.DataFrame:
    """The farthest attention within ε: exact, by class and largest weight; searched, over all."""
    columns = {f"JSD, {EPSILON}": "JSD", f"> 0.5, {EPSILON}": "JSD > 0.5, %"}
    rows = []
    for model in measured(results, *ENCODERS):
        own = model._asdict()
        for group, labels in _groups(results, model, f"JSD, {EPSILON}"):
            for column, measure in columns.items():
                found = model.find(results, GROUPS, group, column)
                rows.append(entry({**own, "by": "exact", **labels}, measure, found))
        labels = {"class": ALL, "max α": ALL}
        for column, measure in (("JSD", "JSD"), ("JSD > 0.5", "JSD > 0.5, %")):
            found = model.find(results, "adversary_search", EPSILON, column)
            rows.append(entry({**own, "by": "searched", **labels}, measure, found))
    return frame(rows)


def _groups(results: PaperResults, model: Model, column: str) -> list[tuple[str, dict[str, str]]]:
    """Names of the groups of a model's documents, and what they are: class, and largest weight."""
    found = []
    for name in results.rows(GROUPS, column, **model._asdict()):
        labels = {"class": ALL, "max α": ALL}
        for part in name.split(", "):
            kind, _, value = part.rpartition(" ")
            if kind in labels:
                labels[kind] = value
        found.append((name, labels))
    return found


EXHIBITS = (
    Exhibit(
        "permutation",
        "How far shuffled attention moves the output, by the largest weight",
        permutation,
        "violins in the paper: means of their bins here; class is the one decided for",
    ),
    Exhibit(
        "adversary",
        f"How far attention can move with the output within {EPSILON}, by the largest weight",
        adversary,
        "the paper has what its search finds: here the exact answer, and the search's over all "
        "documents",
    ),
)
