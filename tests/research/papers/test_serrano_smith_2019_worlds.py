"""Made-up results of the six architectures in which every claim of Serrano & Smith replicates.

For each claim there is a change after which it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import pytest
from made_up_results import crossed, made_up_results

from research.papers import Checked, Claim, PaperResults, paper
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES

PAPER = paper("serrano-smith-2019")

Change = Callable[[str, dict[tuple[str, str, str], float]], None]
"""From the name of an architecture, what to write into its numbers."""
ENCODERS = {"bigru": "rnn", "conv": "conv", "none": "noenc"}
TENTHS = [f"{k / 10:.1f}-{(k + 1) / 10:.1f}" for k in range(10)]
CASES = ("both", "top_only", "random_only", "neither")
RANKINGS = ("random", "attention", "gradient", "product")
ATTENTION = {  # as CASES
    "HANrnn": (1, 8, 2, 89),
    "HANconv": (1, 8, 2, 89),
    "HANnoenc": (2, 10, 2.5, 85.5),
    "FLANrnn": (0.5, 6, 0.3, 93.2),
    "FLANconv": (0.5, 6, 0.3, 93.2),
    "FLANnoenc": (1, 9, 0.5, 89.5),
}
FRACTIONS = {  # as RANKINGS
    "HANrnn": (0.8, 0.6, 0.45, 0.43),
    "HANconv": (0.78, 0.57, 0.42, 0.4),
    "HANnoenc": (0.5, 0.2, 0.22, 0.18),
    "FLANrnn": (0.99, 0.9, 0.7, 0.68),
    "FLANconv": (0.8, 0.6, 0.35, 0.33),
    "FLANnoenc": (0.4, 0.1, 0.12, 0.08),
}
STEEPNESS = {"rnn": 0.2, "conv": 0.4, "noenc": 0.6}


def name_of(configuration: Mapping[str, Any]) -> str:
    family = "HAN" if configuration["hierarchical"] else "FLAN"
    return family + ENCODERS[configuration["encoder"]]


def as_claimed(name: str) -> dict[tuple[str, str, str], float]:
    """Numbers of one model, such that all claims replicate."""
    found: dict[tuple[str, str, str], float] = {
        ("erasure.documents", "documents", "value"): 1000,
        ("erasure.documents", "examined", "value"): 900 if name.startswith("HAN") else 1000,
        ("erasure.documents", "accuracy", "value"): 50,
        ("erasure.delta_js", "attention", "negative_share"): 5,
        ("erasure.delta_js", "attention", "negative_near_zero_share"): 99,
    }
    steepness = STEEPNESS[name.removeprefix("HAN").removeprefix("FLAN")]
    for k, row in enumerate(TENTHS):
        found["erasure.negative_delta_js", row, "documents"] = 100
        found["erasure.negative_delta_js", row, "negative"] = (30, 12, 4, 2, 1, 1, 0, 0, 0, 0)[k]
        found["erasure.negative_delta_js", row, "negative_share"] = (
            30,
            12,
            4,
            2,
            1,
            1,
            0,
            0,
            0,
            0,
        )[k]
        found["erasure.delta_js_by_alpha", row, "documents"] = 100
        found["erasure.delta_js_by_alpha", row, "near_zero_share"] = 60 - 5 * k
        for column, times in (("q1", 0.5), ("median", 1.0), ("q3", 1.5)):
            middle = (k + 0.5) / 10
            found["erasure.delta_js_by_alpha", row, column] = times * steepness * middle**2
    tops = {"attention": ATTENTION[name], "gradient": (0.5, 5, 2, 92.5), "product": (3, 15, 1, 81)}
    for top, shares in tops.items():
        for ending in ("", "@authors"):
            for case, share in zip(CASES, shares, strict=True):
                found["erasure.contingency", top + ending, case] = share
    for ranking, fraction in zip(RANKINGS, FRACTIONS[name], strict=True):
        found["erasure.fraction", ranking, "median"] = fraction
        found["erasure.fraction", ranking, "above_half"] = 40
        found["erasure.mass", ranking, "median"] = {"attention": 0.8, "random": 0.6}.get(
            ranking, 0.5
        )
    slower, faster = ("more", "fewer") if name.endswith("noenc") else ("fewer", "more")
    pairs = {
        "attention:gradient": {slower: 100, faster: 600},
        "attention:product": {"fewer": 50, "more": 500},
        "attention:random": {"fewer": 600, "more": 200},
        "gradient:product": {"fewer": 100, "more": 200},
    }
    for row, counts in pairs.items():
        for column, count in counts.items():
            found["erasure.pairs", row, column] = count
            found["erasure.pairs", row, f"{column}_of_flips"] = count / 10
            found["erasure.pairs", row, f"{column}_of_all"] = count / 20
    return found


def made(
    change: Change = lambda name, numbers: None,
    corpora: Iterable[str] = ("imdb",),
    seeds: Iterable[int] = (1, 2, 3),
    **options: Any,
) -> PaperResults:
    """The six architectures on each corpus; `options` are settings of every cell."""

    def numbers(configuration: Mapping[str, Any]) -> dict[tuple[str, str, str], float]:
        found = as_claimed(name_of(configuration))
        change(name_of(configuration), found)
        return found

    cells = [
        {"part": c["corpus"], **c, **options}
        for c in crossed(corpus=corpora, hierarchical=(True, False), encoder=ENCODERS)
    ]
    return made_up_results(cells, numbers, seeds=seeds)


@cache
def as_the_paper_has_it(seeds: tuple[int, ...] = (1, 2, 3)) -> PaperResults:
    return made(seeds=seeds)


def setting(value: float, *keys: tuple[str, str, str], only: str = "") -> Change:
    """Some numbers set to a value, in architectures whose name ends in or begins with `only`."""

    def change(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
        if name.startswith(only) or name.endswith(only):
            numbers.update(dict.fromkeys(keys, value))

    return change


def _negatives_turned_round(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
    counts = [numbers["erasure.negative_delta_js", row, "negative"] for row in TENTHS]
    for row, count in zip(TENTHS, reversed(counts), strict=True):
        numbers["erasure.negative_delta_js", row, "negative"] = count


def _steeper_with_context(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
    steepness = {"rnn": 0.6, "conv": 0.4, "noenc": 0.2}[
        name.removeprefix("HAN").removeprefix("FLAN")
    ]
    for k, row in enumerate(TENTHS):
        numbers["erasure.delta_js_by_alpha", row, "median"] = steepness * ((k + 0.5) / 10) ** 2


def _flat(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
    for k, row in enumerate(TENTHS):
        numbers["erasure.delta_js_by_alpha", row, "median"] = 0.3 * ((k + 0.5) / 10) ** 0.5


def _flans_like_hans(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
    numbers["erasure.contingency", "attention", "random_only"] = 0.4 * ATTENTION[name][1]


def _random_as_good(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
    numbers["erasure.pairs", "attention:random", "fewer"] = 200
    numbers["erasure.pairs", "attention:random", "more"] = 600


def _conv_as_late(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
    for ranking in RANKINGS:
        numbers["erasure.fraction", ranking, "median"] = 0.8 if name.endswith("conv") else 0.7


def _drops_alike(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
    for ranking in RANKINGS:
        numbers["erasure.fraction", ranking, "median"] = 0.5 if name.endswith("conv") else 0.7


def _of(table: str, column: str, rows: Iterable[str]) -> list[tuple[str, str, str]]:
    return [(table, row, column) for row in rows]


_GRADIENT = ("erasure.fraction", "gradient", "median")
AGAINST: dict[int, list[Change]] = {
    1: [
        setting(30, ("erasure.delta_js", "attention", "negative_share")),
        setting(50, ("erasure.delta_js", "attention", "negative_near_zero_share")),
    ],
    2: [_negatives_turned_round],
    3: [setting(5, *_of("erasure.delta_js_by_alpha", "near_zero_share", TENTHS)), _flat],
    4: [_steeper_with_context],
    5: [setting(20, ("erasure.contingency", "attention", "random_only")), _flans_like_hans],
    6: [setting(60, ("erasure.contingency", "attention", "top_only"))],
    7: [setting(99, ("erasure.contingency", "attention", "neither"), only="noenc")],
    8: [
        _random_as_good,
        setting(0.9, _GRADIENT),
        setting(0.9, ("erasure.fraction", "product", "median")),
    ],
    9: [setting(0.9, _GRADIENT), setting(20, ("erasure.pairs", "gradient:product", "more"))],
    10: [setting(30, ("erasure.pairs", "attention:gradient", "more_of_flips"))],
    11: [setting(120, ("erasure.pairs", "attention:gradient", "more"), only="HANconv")],
    12: [
        setting(0.3, *_of("erasure.fraction", "median", RANKINGS), only="FLANrnn"),
        setting(0.7, *_of("erasure.fraction", "median", RANKINGS), only="FLANrnn"),
    ],
    13: [_conv_as_late, _drops_alike],
    14: [
        setting(0.95, *_of("erasure.fraction", "median", RANKINGS[1:]), only="FLANnoenc"),
        setting(0.995, ("erasure.fraction", "random", "median"), only="noenc"),
    ],
    15: [
        setting(0.5, ("erasure.fraction", "attention", "median"), only="noenc"),
        setting(
            9, *[("erasure.pairs", f"{n}:product", "more") for n in RANKINGS[1:3]], only="noenc"
        ),
    ],
    16: [
        setting(0.3, ("erasure.mass", "attention", "median")),
        setting(0.7, ("erasure.mass", "gradient", "median")),
        setting(0.7, ("erasure.mass", "product", "median")),
    ],
    17: [
        setting(1, ("erasure.contingency", "product", "top_only"), only="HANrnn"),
        setting(30, ("erasure.contingency", "gradient", "top_only")),
    ],
}
"""By claim: changes after each of which it does not replicate."""
CHANGES = [(claim, change) for claim, changes in AGAINST.items() for change in changes]


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: str(claim.id))
def test_replicates_in_a_world_as_the_paper_has_it(claim: Claim) -> None:
    found = claim.check(as_the_paper_has_it())
    assert found.verdict == REPLICATES, [(part.name, part.verdict) for part in found.parts]
    assert found.comparisons
    assert (found.theirs != "", found.ours != "") == (True, True)
    assert len(found.cells) <= 6 * 3


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: str(claim.id))
def test_one_seed_of_each_model_tells_tallies_alone(claim: Claim) -> None:
    found = claim.check(as_the_paper_has_it((1,)))
    tallies = [part for part in found.parts if part.tally is not None]
    assert all(part.verdict == (REPLICATES if part in tallies else CANNOT) for part in found.parts)


@pytest.mark.parametrize(("number", "change"), CHANGES)
def test_does_not_replicate_where_one_of_its_parts_does_not(number: int, change: Change) -> None:
    found = PAPER.claims[number - 1].check(made(change))
    assert found.verdict != REPLICATES, found.verdict
    assert any(part.verdict in (DOES_NOT, IN_PART) for part in found.parts)


def test_every_claim_has_a_world_against_it() -> None:
    assert sorted(AGAINST) == [claim.id for claim in PAPER.claims] == list(range(1, 18))


@pytest.mark.slow
@pytest.mark.parametrize(("first", "is_aside"), [(100, False), (2000, False), (9000, True)])
def test_a_corpus_whose_attention_was_not_learnt_is_set_aside(first: int, is_aside: bool) -> None:
    """Of 900 + `first` documents, 10, 69 and 91% are in the first tenth of Δα."""
    change = setting(first, ("erasure.delta_js_by_alpha", TENTHS[0], "documents"))
    own = Checked(PAPER, made(change, corpora=("imdb", "yelp")))
    assert (set(own.set_aside) == {"imdb", "yelp"}) == is_aside
    assert own.own_corpora == ([] if is_aside else ["imdb", "yelp"])
    assert (own.counts[CANNOT] == 17) == is_aside
    for one in own.judged if is_aside else ():
        assert one.disagreeing["with corpora set aside"] == REPLICATES
