"""A claim and its finding: what is missing, what is behind it, several parts at once."""

from __future__ import annotations

import itertools
import json
import math
import re

import pandas as pd
import pytest
from made_up_results import made_up_results

from verax.errors import VeraxError
from verax.papers import NAMES, paper
from verax.papers.claims import Claim, Finding, all_of, by_comparisons
from verax.papers.comparing import FAILS, HOLDS, UNDECIDED, PaperComparison, above, larger
from verax.papers.numbers import SeedMean
from verax.papers.results import SUMMARY, PaperResults

RESULTS = made_up_results([{"part": "main", "corpus": "sst"}], lambda _: {("t", "r", "c"): 0.5})


def number(name: str, *values: float) -> SeedMean:
    return SeedMean.of(values, [f"{name}{place}" for place in range(len(values))])


UP = above("up", number("a", 2.0, 2.1, 2.2), 0.0)
UNSURE = above("unsure", number("b", -1.0, 1.2), 0.0)
DOWN = above("down", number("c", -2.0, -2.1, -2.2), 0.0)


def test_a_number_that_is_missing_makes_a_claim_undecided() -> None:
    def judge(results: PaperResults) -> Finding:
        found = results.number("t", "r", "c", corpus="imdb")
        return by_comparisons([above("", found, 0.0)], "never said")

    finding = Claim(1, "text", "table 1", judge).check(RESULTS)
    assert finding == Finding(UNDECIDED, "no finished cell gives t: r, c (corpus imdb)", "", {}, ())
    assert (finding.n, finding.cells) == (0, [])


def test_other_errors_are_not_swallowed() -> None:
    def judge(results: PaperResults) -> Finding:
        raise VeraxError("cells are of several models")

    with pytest.raises(VeraxError, match="several models"):
        Claim(1, "text", "table 1", judge).check(RESULTS)


def test_a_number_that_is_there_decides() -> None:
    def judge(results: PaperResults) -> Finding:
        found = results.number("t", "r", "c", corpus="sst")
        return by_comparisons([above("t", found, 0.4)], "it is larger", numbers={"t": found})

    claim = Claim(3, "text", "table 1", judge)
    finding = claim.check(RESULTS)
    assert (finding.verdict, finding.why, finding.n) == (HOLDS, "it is larger", 1)
    assert finding.cells == RESULTS.cells["cell"].tolist()
    told = json.loads(json.dumps(claim.to_dict(finding), allow_nan=False))
    assert (told["id"], told["verdict"], told["n"]) == (3, HOLDS, 1)
    assert told["numbers"]["t"]["value"] == pytest.approx(0.5)
    assert told["comparisons"][0]["difference"] == pytest.approx(0.1)
    assert told["cells"] == finding.cells


def test_cells_behind_a_finding_are_each_named_once() -> None:
    a, b = number("a", 1.0, 2.0), number("b", 3.0, 4.0)
    comparisons = (larger("", b, a), above("", a, 0.0))
    finding = Finding(HOLDS, "", numbers={"a": a}, comparisons=comparisons)
    assert finding.cells == ["a0", "a1", "b0", "b1"]
    assert finding.n == 2
    assert Finding(HOLDS, "", numbers={"a": a, "b": b}).n == 2


def test_no_comparison_is_no_verdict() -> None:
    assert by_comparisons([], "never said").verdict == UNDECIDED
    assert "none of the cells" in by_comparisons([], "never said").why


@pytest.mark.parametrize("name", NAMES)
def test_undecided_claims_of_every_paper_say_what_is_not_there(name: str) -> None:
    nothing = PaperResults(
        pd.DataFrame(columns=["cell", "part", "corpus", "seed"]), pd.DataFrame(columns=SUMMARY)
    )
    for claim in paper(name).claims:
        finding = claim.check(nothing)
        assert (finding.verdict, finding.narrowly) == (UNDECIDED, False)
        assert re.match("needs |no finished cell", finding.why), finding.why


@pytest.mark.parametrize("narrowly", [True, False])
def test_what_fails_narrowly_is_told_so(narrowly: bool) -> None:
    finding = by_comparisons([UNSURE if narrowly else DOWN], "why")
    assert (finding.verdict, finding.narrowly) == (FAILS, narrowly)
    assert finding.verdict_words == ("fails, narrowly" if narrowly else "fails")
    told = Claim(3, "text", "table 1", lambda _: finding).to_dict(finding)
    assert (told["verdict"], told["narrowly"]) == (FAILS, narrowly)


@pytest.mark.parametrize(
    ("others", "verdict"),
    [([], UNDECIDED), ([UP], UNDECIDED), ([UNSURE], UNDECIDED), ([DOWN], FAILS)],
)
def test_a_part_without_comparisons_is_named(others: list[PaperComparison], verdict: str) -> None:
    """It leaves a claim undecided unless another part fails clearly."""
    parts = [(c.label, [c], 1.0) for c in others]
    finding = all_of([*parts, ("second", [], 1.0), ("third", [], 1.0)], "It is so.")
    assert (finding.verdict, finding.narrowly) == (verdict, False)
    lacking = "It is so; there is nothing to compare for second and third."
    assert finding.why == (lacking if verdict == UNDECIDED else "It is so.")
    assert finding.test.endswith(
        "second: undecided, nothing to compare; third: undecided, nothing to compare"
    )


@pytest.mark.parametrize("parts", list(itertools.product([UP, UNSURE, DOWN], repeat=2)))
def test_parts_have_to_hold_all(parts: tuple[PaperComparison, PaperComparison]) -> None:
    finding = all_of([("first", [parts[0]], 1.0), ("second", [parts[1]], 1.0)], "why")
    own = {"up": HOLDS, "unsure": "fails narrowly", "down": FAILS}
    said = [own[part.label] for part in parts]
    # the worst of them
    expected = next(one for one in (FAILS, "fails narrowly", HOLDS) if one in said)
    assert finding.verdict_words.replace(",", "") == expected
    assert (finding.n, finding.why) == (2, "why")
    assert finding.test.startswith(f"first: {said[0]}, ")
    assert f"; second: {said[1]}, " in finding.test
    assert finding.comparisons == parts


def test_a_part_may_need_fewer() -> None:
    assert all_of([("first", [UP, UP, UP, DOWN], 1.0)], "").verdict == FAILS
    assert all_of([("first", [UP, UP, UP, DOWN], 0.75)], "").verdict == HOLDS
    assert not math.isnan(UP.p)
