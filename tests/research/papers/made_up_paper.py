"""A paper that nobody wrote: two claims, one of them missing its cells; three exhibits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd
from made_up_results import crossed, made_up_results, number

from research.papers import Checked, Claim, Finding, Paper, PaperResults
from research.papers.exhibits import Exhibit, entry, frame
from research.papers.paper import data_folder
from research.papers.verdicts import Part, above

LONG = 200


def _judge(results: PaperResults) -> Finding:
    numbers = {c: results.find("t", "r|s", "c", corpus=c) for c in ("sst", "imdb")}
    comparisons = [above(f"{c} | x", own, 0.4) for c, own in numbers.items() if own]
    if not comparisons:
        return Finding(why="t: r|s, c")
    return Finding([Part("a | b", comparisons)], theirs="0.4 | more", ours="0.5")


def _missing(results: PaperResults) -> Finding:
    assert results.find("t", "never", "c") is None
    return Finding(why="t: never, c")


def _table(results: PaperResults) -> pd.DataFrame:
    """imdb is as published, sst is not, yelp is not there; a label is missing."""
    rows = []
    for corpus, published in [("sst", 0.9), ("imdb", 0.5), ("yelp", 0.7)]:
        found = results.find("t", "r|s", "c", corpus=corpus)
        labels: dict[str, Any] = {"corpus|name": corpus, "lam": 0.25 if corpus == "sst" else None}
        rows.append(entry(labels, "JS", found, published, 3))
    return pd.DataFrame(rows)


def _long(results: PaperResults) -> pd.DataFrame:
    found = results.find("t", "r|s", "c", corpus="sst")
    return pd.DataFrame([entry({"place": i}, "JS", found, math.nan) for i in range(LONG)])


PAPER = Paper(
    name="made-up-2020",
    title="Nothing",
    authors="Nobody",
    url="https://example.org/1",
    folder=data_folder("meister-2021"),
    exhibits=(
        Exhibit("table1", "a table", _table, "One note."),
        Exhibit("figure2", "nothing yet", lambda results: frame([])),
        Exhibit("figure3", "chart data", _long),
    ),
    probed={"JS": "t/r|s/c"},
    kept=("sst",),
    claims=(
        Claim(2, "never seen", "figure 2", _missing, "unseen", cause={"corpus": "not at hand"}),
        Claim(1, "a | b is larger", "table 1", _judge, "a | b", 1, cause={"test": "a bound"}),
    ),
    conclusion={"a is b": [1], "b is a": [1], "it was seen": [2]},
    setup=["Fewer documents."],
    scatter={"JS": ["JS"]},
)


def checked(seeds: tuple[int, ...] = (1, 2, 3), value: float = 0.5) -> Checked:
    results = made_up_results(
        crossed(part=["main"], corpus=["sst", "imdb"]),
        lambda own: {("t", "r|s", "c"): value},
        seeds=seeds,
    )
    return Checked(PAPER, results)


def _everywhere(results: PaperResults) -> Finding:
    numbers = {c: number(results, "t", "r|s", "c", corpus=c) for c in results.corpora()}
    comparisons = [above(c, own, 0.4) for c, own in numbers.items()]
    return Finding([Part("", comparisons)], ours=", ".join(numbers))


def with_another_corpus() -> Checked:
    """A claim that replicates on the paper's corpus and not on another; the paper's third lacks."""
    results = made_up_results(
        crossed(part=["main"], corpus=["sst", "imdb"]),
        lambda own: {("t", "r|s", "c"): 0.5 if own["corpus"] == "imdb" else 0.3},
    )
    claims = (
        Claim(1, "it is high", "table 1", _everywhere, "it is high"),
        Claim(2, "of yelp", "table 1", _everywhere, "of yelp", corpora=["yelp"]),
    )
    own = replace(PAPER, corpora={"imdb": "IMDb", "yelp": "Yelp"}, claims=claims)
    own = replace(own, conclusion={}, setup=[], scatter={})
    return Checked(own, results)


def trial() -> Checked:
    """Results of none of the paper's corpora."""
    return replace(checked(), paper=replace(PAPER, corpora={"yelp": "Yelp"}))


def with_probes() -> Checked:
    """The same, with two probes, the first of which is one of the package's."""
    results = made_up_results(
        crossed(part=["another", "one-layer"], corpus=["sst"], encoder=["none"], attention=["dot"]),
        lambda own: {("t", "r|s", "c"): 0.5},
    )
    results.questions["one-layer"] = "Is it *a | b*?"
    results.unfinished["one-layer"] = 2
    return replace(checked(), probes=results)
