"""Published numbers that claims name, and tallies counted from the papers' own tables."""

from __future__ import annotations

import pytest

from research.papers import serrano_smith_2019 as serrano
from research.papers import tutek_snajder_2020 as tutek
from research.papers.claims import Comparisons
from research.papers.published import read_numbers
from research.papers.verdicts import PaperComparison
from support.errors import raises
from verax.statistics import SeedMean

CHANGES = ["dF1_uniform_pct", "dF1_permuted_pct"]
GROUNDED = ("Concat", "Tying", "MLM")


def judged(*corpora: str) -> list[Comparisons]:
    """Comparisons on some corpora."""
    one = SeedMean.of([1.0])
    values = [{"corpus": corpus} for corpus in corpora]
    return [Comparisons(PaperComparison("", 1.0, 1.0, 1.0, one, None, v) for v in values)]


def test_numbers_are_of_the_corpora_judged_if_the_table_has_them() -> None:
    metric = "pct_both_flip + pct_only_istar_flips"
    found = serrano.PUBLISHED.span("table2", metric, judged("imdb"), model="HANrnn")
    assert list(found) == pytest.approx([2.2 + 12.2])
    every = serrano.PUBLISHED.span("table2", metric, judged("20news"), model="HANrnn")
    assert f"{every:.1f}" == "9.2–14.4"
    assert len(every) == 4


@pytest.mark.parametrize(
    ("table", "pairs", "metrics", "tally"),
    [
        ("table1", [("Base", "Tying")], CHANGES, (20, 20)),
        ("table1", [("Base", "MLM")], CHANGES, (15, 20)),
        ("table1", [("Base", "Concat")], CHANGES, (10, 20)),
        ("table3", [("Base", "Resid")], ["avg_per_token_prediction_probability"], (6, 10)),
        ("table6", [("Base-3layer", "Base-1layer")], CHANGES, (8, 8)),
        ("table6", [(f"{m}-3layer", f"{m}-1layer") for m in GROUNDED], CHANGES, (16, 24)),
    ],
)
def test_tallies_are_those_that_the_paper_counts(
    table: str, pairs: list[tuple[str, str]], metrics: list[str], tally: tuple[int, int]
) -> None:
    assert tutek.PUBLISHED.tally(table, pairs, metrics) == tally


def test_a_tally_may_be_a_published_count() -> None:
    metric = "n_models_gradient_smaller_set_for_over_50pct_of_instances"
    assert serrano.published_tally(metric, 16) == (10, 16)


def test_published_numbers_are_those_that_are_numbers() -> None:
    table, numbers = (
        tutek.PUBLISHED.table("table1"),
        read_numbers(tutek.PUBLISHED.folder, "table1"),
    )
    for row in table.to_dict("records"):
        key = (row["dataset"], row["model"], row["attention"], row["metric"])
        if row["value"].replace(".", "", 1).lstrip("-").isdigit():
            assert numbers[key] == tutek.PUBLISHED.number("table1", key) == float(row["value"])
    assert numbers
    nothing = tutek.PUBLISHED.number("table1", ("no", "such", "number", "here"))
    assert nothing != nothing
    with raises("file.missing", "table99"):
        tutek.PUBLISHED.table("table99")
