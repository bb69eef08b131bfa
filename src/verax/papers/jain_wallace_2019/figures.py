"""The paper's figures as data: permuted attention, and attention that says the same."""

from __future__ import annotations

import pandas as pd

from verax.exams.adversary.measures import ALL, at_epsilon, epsilon_row, group_of
from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.jain_wallace_2019.models import EPSILON, Model, measured
from verax.papers.jain_wallace_2019.tables import ENCODERS
from verax.papers.results import PaperResults
from verax.papers.rows import epsilon_words, weight_words

GROUPS, SEARCH = "adversary.groups", "adversary.search"
MOVED = "permuted_change"
_WITHIN = epsilon_words(epsilon_row(EPSILON))


def permutation(results: PaperResults) -> pd.DataFrame:
    """Mean over documents of the median |Δŷ| over shuffles, by decided class and largest weight."""
    rows = []
    for model in measured(results, *ENCODERS):
        for group, labels in _groups(results, model, MOVED):
            for column, measure in ((MOVED, "|Δŷ|"), ("documents", "documents")):
                found = model.find(results, GROUPS, group, column)
                rows.append(entry({**model._asdict(), **labels}, measure, found))
    return frame(rows)


def adversary(results: PaperResults) -> pd.DataFrame:
    """The farthest attention within ε: exact, by class and largest weight; searched, over all."""
    columns = {"jsd": "JSD", "far": "JSD > 0.5, %"}
    rows = []
    for model in measured(results, *ENCODERS):
        own = model._asdict()
        for group, labels in _groups(results, model, at_epsilon("jsd", EPSILON)):
            for column, measure in columns.items():
                found = model.find(results, GROUPS, group, at_epsilon(column, EPSILON))
                rows.append(entry({**own, "by": "exact", **labels}, measure, found))
        labels = {"class": ALL, "max α": ALL}
        for column, measure in columns.items():
            found = model.find(results, SEARCH, epsilon_row(EPSILON), column)
            rows.append(entry({**own, "by": "searched", **labels}, measure, found))
    return frame(rows)


def _groups(results: PaperResults, model: Model, column: str) -> list[tuple[str, dict[str, str]]]:
    """Rows of the groups of a model's documents, and what they are: class, and largest weight."""
    found = []
    for row in results.rows(GROUPS, column, **model._asdict()):
        decided, weights = group_of(row)
        labels = {
            "class": ALL if decided is None else str(decided),
            "max α": ALL if weights is None else weight_words(weights),
        }
        found.append((row, labels))
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
        f"How far attention can move with the output within {_WITHIN}, by the largest weight",
        adversary,
        "the paper has what its search finds: here the exact answer, and the search's over all "
        "documents",
    ),
)
