"""A paper that nobody wrote: two claims, one of them missing its cells; three exhibits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pandas as pd
from made_up_results import crossed, made_up_results

from verax.papers.checking import Checked
from verax.papers.claims import Claim, Finding, by_comparisons
from verax.papers.comparing import above
from verax.papers.exhibits import Exhibit, entry
from verax.papers.paper import Paper
from verax.papers.points import Grid, Point
from verax.papers.probing import Measure
from verax.papers.results import PaperResults

LONG = 200


def measure(source: str) -> Measure:
    """What is measured of probes, as a paper's file names it."""
    return lambda results, **where: Point(Grid("made up"), results, {}, where).number(source)


def _judge(results: PaperResults) -> Finding:
    numbers = {c: results.number("t", "r|s", "c", corpus=c) for c in ("sst", "imdb")}
    comparisons = [above(c, number, 0.4) for c, number in numbers.items()]
    return by_comparisons(comparisons, "It is a | b,\nin both.", numbers=numbers)


def _missing(results: PaperResults) -> Finding:
    results.number("t", "never", "c")
    raise AssertionError


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
    package="verax.papers.meister_2021",
    exhibits=(
        Exhibit("table1", "a table", _table, "One note."),
        Exhibit("figure2", "nothing yet", lambda results: pd.DataFrame()),
        Exhibit("figure3", "chart data", _long),
    ),
    probed={"JS": measure("t/r|s/c")},
    claims=(
        Claim(1, "a | b is larger", "table 1", _judge),
        Claim(2, "never seen", "figure 2", _missing),
    ),
)


def checked(seeds: tuple[int, ...] = (1, 2, 3), value: float = 0.5) -> Checked:
    results = made_up_results(
        crossed(part=["main"], corpus=["sst", "imdb"]),
        lambda own: {("t", "r|s", "c"): value},
        seeds=seeds,
    )
    return Checked(PAPER, results)


def _everywhere(results: PaperResults) -> Finding:
    numbers = {c: results.number("t", "r|s", "c", corpus=c) for c in results.corpora()}
    comparisons = [above(c, number, 0.4) for c, number in numbers.items()]
    return by_comparisons(comparisons, f"Above 0.4 on {', '.join(numbers)}.", numbers=numbers)


def with_another_corpus() -> Checked:
    """A claim that holds on the paper's corpus and fails on another, and one that holds on both."""
    results = made_up_results(
        crossed(part=["main"], corpus=["sst", "imdb"]),
        lambda own: {("t", "r|s", "c"): 0.5 if own["corpus"] == "imdb" else 0.3, ("u", "", ""): 1},
    )
    claims = (
        Claim(1, "it is high", "table 1", _everywhere),
        Claim(
            2,
            "it is one",
            "table 1",
            lambda own: by_comparisons(
                [above("one", own.number("u", "", "", corpus="imdb"), 0)], ""
            ),
        ),
    )
    return Checked(replace(PAPER, corpora={"imdb": "IMDb", "yelp": "Yelp"}, claims=claims), results)


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
