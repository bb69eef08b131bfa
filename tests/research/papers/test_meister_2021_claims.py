"""Every claim of Meister et al. in a made-up world where it replicates, where not, and in none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest
from made_up_results import Numbers, crossed, made_up_results

from research.papers import Checked, PaperResults, paper
from research.papers.results import SUMMARY
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES

PAPER = paper("meister-2021")

Configuration = Mapping[str, Any]
Told = Callable[[Configuration], Numbers]
SOFTMAX, SPARSEMAX, SPARSEGEN = "softmax", "sparsemax", "sparsegen"
LAMS = (-3.0, 0.5, 0.9)
CLAIMS = {claim.id: claim for claim in PAPER.claims}


def configurations(*corpora: str) -> list[dict[str, Any]]:
    """Softmax, sparsemax and three λ of sparsegen, for two encoders; a part for each corpus."""
    found = []
    for corpus in corpora or ("sst",):
        part = corpus if corpus in PAPER.corpora else "sst"
        for encoder in ("bilstm", "transformer"):
            own = {"part": part, "corpus": corpus, "encoder": encoder}
            found += [{**own, "projection": name, "lam": 0.0} for name in (SOFTMAX, SPARSEMAX)]
            found += [{**own, "projection": SPARSEGEN, "lam": lam} for lam in LAMS]
    return found


def world(told: Told, *corpora: str, spread: float = 0.01) -> PaperResults:
    return made_up_results(configurations(*corpora), told, spread=spread)


def sparsity(configuration: Configuration) -> float:
    """0 of softmax, and rising with λ."""
    rank = {-3.0: 1, 0.0: 2, 0.5: 3, 0.9: 4}
    return 0 if configuration["projection"] == SOFTMAX else rank[configuration["lam"]]


def agreement(
    items: Callable[[Configuration], float], inputs: Callable[[Configuration], float]
) -> Told:
    def told(configuration: Configuration) -> Numbers:
        found = {}
        for importance in ("gradient", "leave-one-out"):
            for table in ("agreement", "agreement.on_support"):
                found[table, f"items:attention:{importance}", "tau"] = items(configuration)
                found[table, f"inputs:attention:{importance}", "tau"] = inputs(configuration)
        return found

    return told


def entropies(value: Callable[[Configuration], float]) -> Told:
    def told(configuration: Configuration) -> Numbers:
        of = (
            "influence@norm",
            "gradient",
            "leave-one-out",
        )
        found = {("dispersion.entropy", row, "mean"): value(configuration) for row in of}
        share = 1 - 0.1 * sparsity(configuration)
        return {**found, ("dispersion.documents", "support_share", "value"): share}

    return told


def opposed(fall: float, trained: float, jsd: float = 0.6, seeds: int = 3) -> PaperResults:
    """Bases of accuracy 80; adversaries of two λ, of which the first is less divergent."""

    def told(configuration: Configuration) -> Numbers:
        return {
            ("adversary", "any_output", "delta_accuracy"): fall,
            ("adversary", "epsilon=0.05", "delta_accuracy"): 0.0,
            ("adversary", "epsilon=0.05", "jsd"): 0.65,
            ("adversaries", "lambda=0", "jsd"): 0.9,
            ("adversaries", "lambda=0", "accuracy"): 10.0,
            ("adversaries", "lambda=0.1", "jsd"): jsd / 2,
            ("adversaries", "lambda=0.1", "accuracy"): 20.0,
            ("adversaries", "lambda=1", "jsd"): jsd,
            ("adversaries", "lambda=1", "accuracy"): trained,
            ("adversaries.seeds", "mean", "jsd"): 0.2,
        }

    own = crossed(part=["adversaries"], corpus=["sst"], encoder=["bilstm"])
    given = [
        {**c, "projection": p, "test_accuracy": 0.8} for c in own for p in (SOFTMAX, SPARSEMAX)
    ]
    return made_up_results(given, told, seeds=range(1, seeds + 1), spread=0.1)


WORLDS: dict[int, tuple[PaperResults, PaperResults]] = {
    # (0.9 against 0.4) and (0.45 against 0.4: ahead, not notably)
    1: (
        world(agreement(lambda c: 0.9, lambda c: 0.4)),
        world(agreement(lambda c: 0.45, lambda c: 0.4)),
    ),
    6: (
        world(agreement(lambda c: 0.9, lambda c: 0.6 - 0.1 * sparsity(c))),
        world(agreement(lambda c: 0.9, lambda c: 0.1 * sparsity(c))),
    ),
    7: (opposed(fall=-6.0, trained=79.8), opposed(fall=-6.0, trained=70.0)),
    8: (
        world(agreement(lambda c: 0.9, lambda c: 0.6 - 0.1 * sparsity(c))),
        world(agreement(lambda c: 0.9, lambda c: 0.1 * sparsity(c))),
    ),
}


def test_claims_keep_their_numbers() -> None:
    """Two are no claims, and 5 is a part of 4."""
    assert [claim.id for claim in PAPER.claims] == [1, 4, 6, 7, 8]


@pytest.mark.parametrize("number", WORLDS)
def test_each_replicates_in_one_world_and_not_in_another(number: int) -> None:
    good, bad = (CLAIMS[number].check(results) for results in WORLDS[number])
    assert good.verdict == REPLICATES, good
    assert bad.verdict in (DOES_NOT, IN_PART), bad
    assert DOES_NOT in [part.verdict for part in bad.parts]
    assert good.cells
    assert (good.theirs != "", good.ours != "") == (True, True)


@pytest.mark.parametrize("number", CLAIMS)
def test_each_cannot_be_told_without_its_cells(number: int) -> None:
    nothing = world(lambda c: {("replacement", "uniform", "f1"): 50.0})
    nobody = PaperResults(pd.DataFrame({"cell": [], "part": [], "seed": []}), _no_summary())
    for results in (nothing, nobody):
        finding = CLAIMS[number].check(results)
        assert finding.verdict == CANNOT
        assert "no finished cell" in finding.why


def _no_summary() -> pd.DataFrame:
    return pd.DataFrame({name: [] for name in SUMMARY})


def test_models_of_table_1_decide_claim_1_and_sparsegen_is_reported() -> None:
    finding = CLAIMS[1].check(
        world(agreement(lambda c: 0.9 if c["projection"] != SPARSEGEN else 0.0, lambda c: 0.4))
    )
    assert finding.verdict == REPLICATES
    assert len(finding.comparisons) == 2 * 2 * 2  # encoders, projections, importances
    sparsegen = finding.reported[0]
    assert (sparsegen.favourable, sparsegen.of) == (0, 12)
    assert finding.ours == "τ-b 0.90 for 0.40"


@pytest.mark.slow
@pytest.mark.parametrize(("slope", "sign"), [(-0.05, True), (0.05, False)])
def test_claim_4_has_the_printed_sign_and_the_opposite_words(slope: float, sign: bool) -> None:
    """Whichever way entropy goes along λ, one of the two is so and the other is not."""
    finding = CLAIMS[4].check(world(entropies(lambda c: 0.6 + slope * sparsity(c))))
    verdicts = {part.name: part.verdict for part in finding.parts}
    assert verdicts == {
        "printed sign": REPLICATES if sign else DOES_NOT,
        "rises with sparsity": DOES_NOT if sign else REPLICATES,
    }
    assert finding.verdict == IN_PART
    assert all(abs(c.a.value) == pytest.approx(1) for c in finding.comparisons)


def test_claim_4_has_nothing_to_judge_where_entropy_stays_as_it_is() -> None:
    assert CLAIMS[4].check(world(entropies(lambda c: 0.5))).verdict == CANNOT


@pytest.mark.slow
def test_claim_6_is_of_imdb() -> None:
    """What happens elsewhere is generalisation, and does not decide."""

    def inputs(c: Configuration) -> float:
        return 0.6 + (-0.1 if c["corpus"] == "imdb" else 0.05) * sparsity(c)

    checked = Checked(PAPER, world(agreement(lambda c: 0.9, inputs), "sst", "imdb"))
    (one,) = (one for one in checked.judged if one.claim.id == 6)
    assert {c.corpus for c in one.finding.comparisons} == {"imdb"}
    assert one.others is not None
    assert {c.corpus for c in one.others.comparisons} == {"sst"}
    assert (one.verdict, one.others.verdict) == (REPLICATES, DOES_NOT)


def test_claim_7_takes_the_farthest_adversary() -> None:
    """λ = 0 has no reason to attend elsewhere, λ = 0.1 is nearer: neither has a say."""
    good, bad = (CLAIMS[7].check(results) for results in WORLDS[7])
    assert [part.name for part in good.parts] == [
        *("post hoc costs", "trained costs less", "trained costs nothing")
    ]
    for finding, change in ((good, -0.2), (bad, -10)):
        assert finding.parts[1].comparisons[0].a.value == pytest.approx(change)


@pytest.mark.parametrize(
    ("fall", "trained", "jsd", "verdicts"),
    [
        (-6.0, 79.8, 0.6, [REPLICATES] * 3),
        (0.5, 79.8, 0.6, [DOES_NOT, DOES_NOT, REPLICATES]),
        (-20.0, 76.0, 0.6, [REPLICATES, REPLICATES, DOES_NOT]),
        (-6.0, 79.8, 0.1, [REPLICATES, CANNOT, CANNOT]),  # no farther than another seed
    ],
)
def test_claim_7_has_three_parts(
    fall: float, trained: float, jsd: float, verdicts: list[str]
) -> None:
    finding = CLAIMS[7].check(opposed(fall, trained, jsd))
    assert [part.verdict for part in finding.parts] == verdicts


def test_claim_8_allows_a_quarter_of_gains() -> None:
    """Against softmax's 0.60: sparsemax 0.58, λ of 0.5 and 0.9 at 0.57 and 0.56."""
    results = world(agreement(lambda c: 0.9, lambda c: 0.6 - 0.01 * sparsity(c)), spread=0.001)
    finding = CLAIMS[8].check(results)
    assert finding.verdict == REPLICATES
    assert len(finding.comparisons) == 2 * 3 * 2  # encoders, sparse projections, importances
    assert finding.ours == "τ-b −0.04 to −0.02"
