"""Claims of Wiegreffe & Pinter on results that nobody ran: where each replicates, and where not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_results import crossed, made_up_results

from research.papers import Checked, Finding, PaperResults, paper
from research.papers.axes import Point
from research.papers.checking import Judged
from research.papers.results import SUMMARY
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES
from research.papers.wiegreffe_pinter_2019 import at_equal_tvd, chosen

PAPER = paper("wiegreffe-pinter-2019")

Key = tuple[str, str, str]
Numbers = dict[Key, float]
CORPORA = ["sst", "ag_news", "20news_sports", "imdb"]
CONTROLS = "adversaries.controls"
AS_CLAIMED: Numbers = {
    (CONTROLS, "base", "f1"): 85.0,
    (CONTROLS, "uniform", "f1"): 82.0,
    (CONTROLS, "mlp-uniform", "f1"): 78.0,
    (CONTROLS, "mlp-own", "f1"): 80.0,
    (CONTROLS, "mlp-guided-by-base", "f1"): 83.0,
    (CONTROLS, "mlp-guided-by-adversary", "f1"): 70.0,
    ("adversaries", "lambda=0", "jsd"): 0.10,
    ("adversaries", "lambda=0", "tvd"): 0.02,
    ("adversaries", "lambda=0.1", "jsd"): 0.40,
    ("adversaries", "lambda=0.1", "tvd"): 0.08,
    ("adversaries", "lambda=1", "jsd"): 0.60,
    ("adversaries", "lambda=1", "tvd"): 0.30,
    ("adversaries.chosen", "chosen", "lambda"): 0.1,
    ("adversaries.seeds", "mean", "jsd"): 0.15,
    ("adversary", "epsilon=0.01", "change"): 0.006,
    ("adversary", "epsilon=0.05", "change"): 0.04,
    ("adversary", "epsilon=0.1", "change"): 0.08,
    ("adversary", "epsilon=0.01", "jsd"): 0.55,
    ("adversary", "epsilon=0.05", "jsd"): 0.62,
    ("adversary", "epsilon=0.1", "jsd"): 0.66,
    ("adversary", "any_output", "jsd"): 0.69,
}
TOPICS: Numbers = {(CONTROLS, "uniform", "f1"): 84.7}
"""What is otherwise of the two corpora of topics."""
BROKEN: list[tuple[int, Numbers]] = [
    (1, {(CONTROLS, "uniform", "f1"): 80.0}),
    (2, {(CONTROLS, "uniform", "f1"): 86.0}),
    (3, {("adversaries.seeds", "mean", "jsd"): 0.5}),
    (4, {("adversaries", "lambda=1", "tvd"): 0.001}),
    (4, {("adversaries", "lambda=1", "jsd"): 0.01}),
    (5, {("adversary", "epsilon=0.1", "jsd"): 0.2}),
    (6, {(CONTROLS, "mlp-uniform", "f1"): 84.0}),
    (7, {(CONTROLS, "mlp-own", "f1"): 84.0}),
    (8, {(CONTROLS, "mlp-guided-by-adversary", "f1"): 84.0}),
]
NEEDED: dict[int, list[Key]] = {
    1: [(CONTROLS, "uniform", "f1")],
    2: [(CONTROLS, "uniform", "f1")],
    3: [("adversaries.seeds", "mean", "jsd")],
    4: [("adversaries", lam, m) for lam in ("lambda=0", "lambda=1") for m in ("jsd", "tvd")],
    5: [("adversary", f"epsilon={epsilon}", "jsd") for epsilon in ("0.01", "0.05", "0.1")],
    6: [(CONTROLS, "mlp-uniform", "f1")],
    7: [(CONTROLS, "mlp-own", "f1")],
    8: [(CONTROLS, "mlp-guided-by-adversary", "f1")],
}


def world(
    changes: Numbers | None = None,
    only: list[str] | None = None,
    without: list[Key] | None = None,
    corpora: list[str] | None = None,
    spread: float = 0.002,
) -> PaperResults:
    """As claimed, but for `changes` on the corpora that are `only` meant."""

    def numbers(model: Mapping[str, Any]) -> Numbers:
        found = AS_CLAIMED | (TOPICS if "news" in model["corpus"] else {})
        if only is None or model["corpus"] in only:
            found = found | (changes or {})
        return {key: value for key, value in found.items() if key not in (without or [])}

    return made_up_results(
        crossed(part=["main"], corpus=corpora or CORPORA), numbers, spread=spread
    )


def exact(results: PaperResults, lams: Mapping[int, float]) -> PaperResults:
    """The λ chosen by each seed, and no other."""
    summary = results.summary.copy()
    seeds = results.cells.set_index("cell")["seed"]
    chosen = summary["table"] == "adversaries.chosen"
    summary.loc[chosen, "value"] = summary.loc[chosen, "cell"].map(seeds).map(lams)
    return PaperResults(results.cells, summary)


def settled(results: PaperResults) -> PaperResults:
    return exact(results, dict.fromkeys((1, 2, 3), 0.1))


def check(number: int, results: PaperResults) -> Finding:
    return PAPER.claims[number - 1].check(results)


def test_claims_are_numbered_from_one() -> None:
    assert [claim.id for claim in PAPER.claims] == list(range(1, 9))


def judged(number: int, results: PaperResults) -> Judged:
    return Checked(PAPER, results).judged[number - 1]


@pytest.mark.parametrize("number", range(1, 9))
def test_every_claim_replicates_where_numbers_are_as_claimed(number: int) -> None:
    one = judged(number, settled(world()))
    assert one.verdict == REPLICATES, one
    corpora = {c.corpus for c in one.finding.comparisons}
    assert corpora == ({"ag_news", "20news_sports"} if number == 1 else {"sst", "imdb"})
    assert one.others is not None
    assert not corpora & {c.corpus for c in one.others.comparisons}


@pytest.mark.parametrize(("number", "changes"), BROKEN)
def test_no_claim_does_where_they_are_not(number: int, changes: Numbers) -> None:
    one = judged(number, settled(world(changes)))
    assert one.verdict in (DOES_NOT, IN_PART)
    assert DOES_NOT in [part.verdict for part in one.finding.parts]


@pytest.mark.parametrize(("number", "needed"), NEEDED.items())
def test_without_its_numbers_a_claim_cannot_be_told(number: int, needed: list[Key]) -> None:
    assert check(number, settled(world(without=needed))).verdict == CANNOT


@pytest.mark.parametrize("number", range(1, 9))
def test_with_nothing_a_claim_cannot_be_told(number: int) -> None:
    cells = pd.DataFrame([{"cell": "a", "part": "main", "corpus": "sst", "seed": 1}])
    found = check(number, PaperResults(cells, pd.DataFrame(columns=SUMMARY)))
    assert (found.verdict, found.cells) == (CANNOT, [])
    assert found.why.startswith("controls and adversaries")


@pytest.mark.slow
def test_as_well_is_within_a_point() -> None:
    """84.2 is within one of 85.0, and 83.8 is not."""
    near, far = ({(CONTROLS, "uniform", "f1"): value} for value in (84.2, 83.8))
    assert judged(1, world(near)).verdict == REPLICATES
    assert judged(1, world(far)).verdict == DOES_NOT


def test_the_adversary_held_against_seeds_is_the_one_chosen_for_each() -> None:
    """Seeds 1 and 2 choose λ = 0.1, seed 3 λ = 1: JSD 0.398, 0.4 and 0.602."""
    results = exact(world(corpora=["sst"]), {1: 0.1, 2: 0.1, 3: 1.0})
    found = Point(results, {}, {"corpus": "sst"}).number(chosen("jsd"))
    assert found is not None
    assert found.values == pytest.approx((0.398, 0.4, 0.602))
    assert len(set(found.cells)) == 3


@pytest.mark.parametrize(
    ("tvd", "jsd"),
    [
        (0.006, 0.55),
        (0.023, 0.585),  # half way from 0.006 to 0.04
        (0.04, 0.62),
        (0.06, 0.64),
        (0.3, 0.66),  # beyond the largest ε: the output is freer for adversaries
    ],
)
def test_attention_picked_by_document_is_taken_at_the_same_tvd(tvd: float, jsd: float) -> None:
    results = world({("adversaries", "lambda=0.1", "tvd"): tvd}, corpora=["sst"], spread=0.0)
    found = at_equal_tvd(Point(results, {}, {"corpus": "sst"}))
    assert found is not None
    assert found.values == pytest.approx((jsd,) * 3)


def test_below_the_smallest_tolerance_nothing_compares() -> None:
    results = world({("adversaries", "lambda=0.1", "tvd"): 0.001}, spread=0.0)
    assert check(5, results).verdict == CANNOT
    assert check(5, results).comparisons == []


def test_one_lambda_is_no_curve() -> None:
    single = [key for key in AS_CLAIMED if key[0] == "adversaries" and key[1] != "lambda=0.1"]
    assert check(4, world(without=single)).verdict == CANNOT


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([80.0, 82.5, 83.5, 86.0]), min_size=4, max_size=4))
def test_better_means_better_on_the_corpora_that_decide(scores: list[float]) -> None:
    """With seeds that hardly differ: on both of SST and IMDB, on one, or on none."""
    by = dict(zip(CORPORA, scores, strict=True))
    results = made_up_results(
        crossed(part=["main"], corpus=CORPORA),
        lambda model: {
            (CONTROLS, "mlp-guided-by-base", "f1"): 83.0,
            (CONTROLS, "mlp-uniform", "f1"): by[model["corpus"]],
        },
        spread=1e-3,
    )
    better = sum(by[corpus] < 83 for corpus in ("sst", "imdb"))
    assert judged(6, results).verdict == (DOES_NOT, IN_PART, REPLICATES)[better]
