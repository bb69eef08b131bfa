"""Every claim where it replicates, where it does not, and where its cells are missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest
from made_up_results import made_up_results
from tutek_snajder_worlds import (
    CORPORA,
    PERMUTED,
    PRICE,
    PUBLISHED,
    TRAINED,
    UNIFORM,
    Change,
    Configuration,
    Numbers,
    configurations,
    model_of,
    numbers,
    quick,
    world,
)

from research.papers import Finding, PaperResults, paper
from research.papers.published import read_numbers
from research.papers.results import SUMMARY
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES

PAPER = paper("tutek-snajder-2020")

DELTA = "delta_f1"
ROWS = {UNIFORM: "dF1_uniform_pct", PERMUTED: "dF1_permuted_pct", TRAINED: "F1_trained_pct"}


def check(claim: int, results: PaperResults) -> Finding:
    return PAPER.claims[claim - 1].check(results)


def setting(
    what: tuple[str, str, str] | str,
    value: float,
    model: str | None = None,
    **where: object,
) -> Change:
    """Sets a number, or all of a column, where a configuration is so; only what is there."""

    def change(configuration: Configuration, own: Numbers) -> None:
        fits = all(configuration[name] == wanted for name, wanted in where.items())
        if fits and (model is None or model_of(configuration) == model):
            for key in own:
                if key == what or (key[2] == what and key[1] != TRAINED):
                    own[key] = value

    return change


ALONE = ("single_token", "correct", "mean_probability")
AGREE = ("single_token", "correct", "agreeing")
ENTROPY = ("dispersion.entropy", "attention", "mean")
FAILING = {
    1: setting(("replacement", TRAINED, "f1"), 80.0, "tying"),
    2: setting(DELTA, 0.0, "tying"),
    3: setting(DELTA, 0.0, "mlm"),
    4: setting(DELTA, -40.0, "residual"),
    5: setting("information", 1.0, "mlm"),
    6: setting(ALONE, 0.8, "tying"),
    7: setting(AGREE, 40.0, "base"),
    8: setting(DELTA, -30.0, "base", part="sst"),
    9: setting(DELTA, -40.0, "base", layers=3),
    10: setting(DELTA, -90.0, layers=3),
    11: setting("tvd", 0.001, "mlm"),
    12: setting(ENTROPY, 0.5, query_init="default"),
    13: setting("f1", 60.0, part="mimic_diabetes"),
}
NEEDED: dict[int, Callable[[Configuration], bool]] = {
    1: lambda c: model_of(c) in ("base", "base, frozen"),
    2: lambda c: model_of(c) != "tying",
    3: lambda c: model_of(c) != "mlm",
    4: lambda c: model_of(c) != "residual",
    5: lambda c: not c["part"].startswith("information"),
    6: lambda c: model_of(c) not in ("tying", "mlm"),
    7: lambda c: c["part"] not in ("sst", "imdb"),
    8: lambda c: c["corpus"] != "imdb",
    9: lambda c: not c["part"].startswith("layers"),
    10: lambda c: c["layers"] != 3,
    11: lambda c: not c["part"].startswith("adversaries"),
    12: lambda c: c["query_init"] != "default",
    13: lambda c: c["corpus"] != "mimic_diabetes",
}
ALL = ("sst", "imdb", "mimic_diabetes")


@cache
def everything() -> PaperResults:
    return world(corpora=ALL)


def test_claims_are_numbered_from_one() -> None:
    assert [claim.id for claim in PAPER.claims] == list(range(1, 14))


@pytest.mark.parametrize("claim", range(1, 14))
def test_replicates(claim: int) -> None:
    finding = check(claim, everything())
    assert finding.verdict == REPLICATES, finding
    assert finding.cells
    assert (finding.theirs != "", finding.ours != "") == (True, True)


@pytest.mark.parametrize("claim", range(1, 14))
def test_does_not(claim: int) -> None:
    finding = check(claim, world(FAILING[claim], ALL if claim == 13 else ("sst", "imdb")))
    assert finding.verdict in (DOES_NOT, IN_PART), finding
    assert DOES_NOT in [part.verdict for part in finding.parts]


@pytest.mark.parametrize("claim", range(1, 14))
def test_cannot_be_told_without_its_cells(claim: int) -> None:
    finding = check(claim, world(corpora=ALL, keep=NEEDED[claim]))
    assert CANNOT in (finding.verdict, *(part.verdict for part in finding.parts))
    assert finding.verdict != REPLICATES


@pytest.mark.parametrize("claim", range(1, 14))
def test_cannot_be_told_by_nothing(claim: int) -> None:
    none = PaperResults(
        pd.DataFrame(columns=["cell", "part", "corpus", "seed"]), pd.DataFrame(columns=SUMMARY)
    )
    finding = check(claim, none)
    assert (finding.verdict, finding.parts) == (CANNOT, ())
    assert finding.why


def test_other_corpora_under_the_names_of_parts() -> None:
    """A smaller scale has a built-in corpus in the parts of SST, and nothing to compare it with."""
    small = world(corpora=["sst"])
    small.cells["corpus"] = "rotten_tomatoes"
    compared = {claim.id: claim.check(small).comparisons for claim in PAPER.claims}
    assert {claim for claim, comparisons in compared.items() if not comparisons} == {8, 13}


@cache
def published_world() -> PaperResults:
    """The paper's own numbers as if they had been measured, with next to no spread."""
    table1, table6 = (read_numbers(PAPER.folder, name) for name in ("table1", "table6"))
    table2, table3 = (read_numbers(PAPER.folder, name) for name in ("table2", "table3"))

    def own(configuration: Configuration) -> Numbers:
        corpus = CORPORA[configuration["corpus"]]
        attention, model = configuration["attention"], model_of(configuration)
        part, layers, name = configuration["part"], configuration["layers"], PUBLISHED[model]
        found: Numbers = {}
        for row, metric in ROWS.items():
            column = "f1" if row == TRAINED else DELTA
            if part == configuration["corpus"]:
                found["replacement", row, column] = table1.get((corpus, name, attention, metric))
            elif part.startswith("layers"):
                key = (corpus, f"{name}-{layers}layer", attention, metric)
                found["replacement", row, column] = table6.get(key)
        if part.startswith("information"):
            for row, metric in (("frequent", "MI_MF"), ("sampled", "MI_RS")):
                found["information", row, "information"] = table2[corpus, name, attention, metric]
                # a thousand words by Zipf's law
                found["information", row, "word_entropy"] = 5.2
        if part == configuration["corpus"]:
            key = (corpus, name, attention, "avg_per_token_prediction_probability")
            found[ALONE] = table3.get(key)
        return {key: value for key, value in found.items() if value is not None}

    return quick(made_up_results(configurations(CORPORA), own, spread=1e-4))


@pytest.mark.parametrize(
    ("claim", "tallies"),
    [
        (1, {"concat": "10 of 10", "tying": "10 of 10", "mlm": "10 of 10"}),
        (2, {"": "20 of 20"}),
        (3, {"": "15 of 20", "concatenation": "10 of 20"}),
        (5, {"residual": "10 of 10", "tying": "10 of 10", "mlm": "10 of 10"}),
        (6, {"tying": "10 of 10", "mlm": "10 of 10", "residual": "6 of 10"}),
        (8, {"": "24 of 24"}),
        (9, {"": "8 of 8", "step by step": "16 of 16"}),
        (10, {"": "16 of 24"}),
    ],
)
def test_published_numbers_bear_the_claims_out(claim: int, tallies: dict[str, str]) -> None:
    """The counts are those that the paper's tables support; lengths come from its table 5."""
    finding = check(claim, published_world())
    assert finding.verdict == REPLICATES, finding
    parts = {part.name: part for part in (*finding.reported, *finding.parts)}
    assert {n: f"{parts[n].favourable} of {parts[n].of}" for n in tallies} == tallies


@pytest.mark.parametrize(("contrary", "verdict"), [(2, REPLICATES), (3, IN_PART), (8, DOES_NOT)])
def test_masked_lm_is_held_against_fifteen_of_twenty(contrary: int, verdict: str) -> None:
    """Two corpora, two attentions, uniform and permuted: eight cells, of which six are as many."""
    cells = [(part, a, row) for row in (UNIFORM, PERMUTED) for part, a in PLACES]

    def change(configuration: Configuration, own: Numbers) -> None:
        where = (configuration["part"], configuration["attention"])
        for part, attention, row in cells[:contrary]:
            if where == (part, attention) and model_of(configuration) == "mlm":
                own["replacement", row, DELTA] = 0.0

    assert check(3, world(change)).verdict == verdict


PLACES = [("sst", "additive"), ("sst", "dot"), ("imdb", "additive"), ("imdb", "dot")]


def test_one_clear_exception_is_enough_against_tying() -> None:
    change = setting(("replacement", UNIFORM, DELTA), 0.0, "tying", part="sst", attention="dot")
    finding = check(2, world(change))
    assert finding.verdict == IN_PART
    (part,) = finding.parts
    assert [c.label for c in part.comparisons if not c.is_for] == ["sst: dot, uniform"]
    assert finding.reported[0].of == 4


@pytest.mark.parametrize(
    ("lost", "verdict"), [(-8.0, REPLICATES), (-16.0, DOES_NOT), (8.0, DOES_NOT), (-3.0, CANNOT)]
)
def test_likeness_has_two_sides_and_needs_something_to_lose(lost: float, verdict: str) -> None:
    """Concatenation loses 2 to 8 points: with −3 neither loses 5 in six of eight cells."""
    assert check(4, world(setting(DELTA, lost, "residual"))).verdict == verdict


@pytest.mark.parametrize(("nats", "verdict"), [(4.5, REPLICATES), (4.3, IN_PART)])
def test_near_the_ceiling_is_four_fifths_of_the_entropy(nats: float, verdict: str) -> None:
    """0.8 × 5.5 = 4.4."""
    assert check(5, world(setting("information", nats, "residual"))).verdict == verdict


@pytest.mark.parametrize(
    ("p", "verdict"), [(0.69, REPLICATES), (0.31, REPLICATES), (0.29, IN_PART)]
)
def test_nearer_to_a_half_than_the_base_has_two_sides(p: float, verdict: str) -> None:
    """A token of the base alone gives 0.7."""
    assert check(7, world(setting(ALONE, p, "mlm"))).verdict == verdict


def test_cost_of_divergence_is_the_mean_of_a_straight_line() -> None:
    """TVD = price × JSD, from JSD 0.1 to 0.6: the mean is price × 0.35, but for the seeds' spread.

    Seeds move JSD and TVD by 0.001 at most, so that the common range is 0.101 to 0.599.
    """
    finding = check(11, world())
    for comparison in finding.comparisons:
        assert comparison.b is not None
        assert comparison.a.value == pytest.approx(PRICE["mlm"] * 0.35, abs=1e-3)
        assert comparison.b.value == pytest.approx(PRICE["base"] * 0.35, abs=1e-3)
        assert len(comparison.a.cells) == 3


def test_adversaries_that_reach_nothing_in_common() -> None:
    def change(configuration: Configuration, own: Numbers) -> None:
        if configuration["part"] == "adversaries-sst" and model_of(configuration) == "mlm":
            for place, row in enumerate(("lambda=0", "lambda=0.1", "lambda=1")):
                own["adversaries", row, "jsd"] = 0.65 + place / 100

    finding = check(11, world(change))
    assert finding.verdict == REPLICATES
    assert {c.corpus for c in finding.comparisons} == {"imdb"}
    alone = check(11, world(change, corpora=["sst"]))
    assert (alone.verdict, "divergence in common" in alone.why) == (CANNOT, True)


def test_the_world_has_no_number_that_is_not_there() -> None:
    assert not any(math.isnan(v) for c in configurations() for v in numbers(c).values())
