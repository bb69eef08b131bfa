"""A claim and its finding: what is missing, and what is behind it."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest
from made_up_results import made_up_results
from made_up_results import number as mean_of

from research.papers import NAMES, Claim, Finding, PaperResults, paper
from research.papers.claims import Comparisons, Span
from research.papers.results import SUMMARY
from research.papers.verdicts import CANNOT, REPLICATES, Part, above, larger
from research.papers.words import as_json
from verax.statistics import SeedMean

RESULTS = made_up_results([{"part": "main", "corpus": "sst"}], lambda _: {("t", "r", "c"): 0.5})


def number(name: str, *values: float) -> SeedMean:
    return SeedMean.of(values, [f"{name}{place}" for place in range(len(values))])


def test_a_finding_without_parts_cannot_be_told() -> None:
    finding = Finding(why="no finished cell")
    assert (finding.verdict, finding.cells) == (CANNOT, [])


def test_a_number_that_is_there_decides() -> None:
    def judge(results: PaperResults) -> Finding:
        found = mean_of(results, "t", "r", "c", corpus="sst")
        return Finding([Part("t", [above("t", found, 0.4)])], theirs="0.4", ours="0.5")

    finding = Claim(3, "text", "table 1", judge).check(RESULTS)
    assert finding.verdict == REPLICATES
    assert finding.cells == RESULTS.cells["cell"].tolist()
    told = json.loads(as_json(finding.to_dict()))
    assert (told["verdict"], told["paper"], told["here"]) == (REPLICATES, "0.4", "0.5")
    (part,) = told["parts"]
    assert (part["name"], part["of"], part["fisher"]) == ("t", 1, None)
    assert part["comparisons"][0]["difference"] == pytest.approx(0.1)
    assert told["cells"] == finding.cells


def test_cells_behind_a_finding_are_each_named_once() -> None:
    a, b = number("a", 1.0, 2.0), number("b", 3.0, 4.0)
    parts = [Part("x", [larger("", b, a)]), Part("y", [above("", a, 0.0)])]
    assert Finding(parts).cells == ["b0", "b1", "a0", "a1"]


def test_ranges_are_written_with_signs_where_they_have_any() -> None:
    assert f"{Span([0.5, 0.25])}" == "0.25–0.50"
    assert f"{Span([-1.2, 0.42]):+.1f}" == "−1.2 to +0.4"
    low = larger("x", number("a", 1.0), number("b", 3.0))
    several = Comparisons([replace(low, values={"attention": "dot"})])
    assert (f"{several.differences:.0f}", f"{several.changes:.0f}") == ("−2", "2")
    assert (several["dot"].tally, several["additive"].tally) == ("0 of 1", "0 of 0")


@pytest.mark.parametrize("name", NAMES)
def test_claims_of_every_paper_say_what_is_not_there(name: str) -> None:
    nothing = PaperResults(
        pd.DataFrame(columns=["cell", "part", "corpus", "seed"]), pd.DataFrame(columns=SUMMARY)
    )
    for claim in paper(name).claims:
        finding = claim.check(nothing)
        assert (finding.verdict, finding.parts) == (CANNOT, ())
        assert finding.why
