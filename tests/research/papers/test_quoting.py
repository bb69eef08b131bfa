"""Published numbers that claims name, and tallies counted from the papers' own tables."""

from __future__ import annotations

import pytest

from research.papers import paper
from research.papers.exhibits import published_numbers
from research.papers.points import Grid
from research.papers.quoting import quoted, tallied

CHANGES = ["dF1_uniform_pct", "dF1_permuted_pct"]
GROUNDED = ("Concat", "Tying", "MLM")


def grid(name: str) -> Grid:
    found = paper(name).grid
    assert found is not None
    return found


def test_numbers_are_of_the_corpora_judged_if_the_table_has_them() -> None:
    own = grid("serrano-smith-2019")
    source = {
        "table": "table2",
        "model": "HANrnn",
        "metric": "pct_both_flip + pct_only_istar_flips",
    }
    assert list(quoted(own, source, ["imdb"])) == pytest.approx([2.2 + 12.2])
    every = quoted(own, source, ["20news"])
    assert f"{every:.1f}" == "9.2–14.4"
    assert len(every) == 4


@pytest.mark.parametrize(
    ("table", "pairs", "metrics", "tally"),
    [
        ("table1", [["Base", "Tying"]], CHANGES, (20, 20)),
        ("table1", [["Base", "MLM"]], CHANGES, (15, 20)),
        ("table1", [["Base", "Concat"]], CHANGES, (10, 20)),
        ("table3", [["Base", "Resid"]], ["avg_per_token_prediction_probability"], (6, 10)),
        ("table6", [["Base-3layer", "Base-1layer"]], CHANGES, (8, 8)),
        ("table6", [[f"{m}-3layer", f"{m}-1layer"] for m in GROUNDED], CHANGES, (16, 24)),
    ],
)
def test_tallies_are_those_that_the_paper_counts(
    table: str, pairs: list[list[str]], metrics: list[str], tally: tuple[int, int]
) -> None:
    source = {"table": table, "pairs": pairs, "metrics": metrics}
    assert tallied(grid("tutek-snajder-2020"), source) == tally


def test_a_tally_is_two_numbers_or_a_published_count() -> None:
    own = grid("serrano-smith-2019")
    assert tallied(own, [3, 4]) == (3, 4)
    metric = "n_models_gradient_smaller_set_for_over_50pct_of_instances"
    assert tallied(own, {"table": "text", "metric": metric, "of": 16}) == (10, 16)


def test_they_change_with_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    own = grid("tutek-snajder-2020")
    numbers = dict(published_numbers(own.package, "table1"))
    numbers["SST", "MLM", "additive", "dF1_uniform_pct"] = 0.0
    for module in ("quoting", "exhibits"):
        place = f"research.papers.{module}.published_numbers"
        monkeypatch.setattr(place, lambda package, name, column="value": numbers)
    source = {"table": "table1", "pairs": [["Base", "MLM"]], "metrics": CHANGES}
    assert tallied(own, source) == (14, 20)
