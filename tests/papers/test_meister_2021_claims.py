"""Every claim of Meister et al. in a made-up world where it holds, where it fails, and in none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest
from made_up_results import Numbers, crossed, made_up_results

from verax.papers.comparing import FAILS, HOLDS, UNDECIDED
from verax.papers.meister_2021 import PAPER
from verax.papers.results import SUMMARY, PaperResults

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


def is_sparsemax(configuration: Configuration) -> bool:
    return bool(configuration["projection"] == SPARSEMAX)


WORLDS: dict[int, tuple[PaperResults, PaperResults]] = {
    # (0.9 against 0.4) and (0.45 against 0.4: ahead, not notably)
    1: (
        world(agreement(lambda c: 0.9, lambda c: 0.4)),
        world(agreement(lambda c: 0.45, lambda c: 0.4)),
    ),
    2: (
        world(entropies(lambda c: 0.6)),
        world(entropies(lambda c: 0.3 if is_sparsemax(c) and c["encoder"] == "bilstm" else 0.6)),
    ),
    3: (
        world(entropies(lambda c: 0.68 if is_sparsemax(c) else 0.7)),
        world(entropies(lambda c: 0.5 if is_sparsemax(c) else 0.7)),
    ),
    4: (
        world(entropies(lambda c: 0.8 + 0.01 * sparsity(c))),
        world(entropies(lambda c: 0.9 - 0.05 * sparsity(c))),
    ),
    5: (
        world(entropies(lambda c: 0.9 - 0.05 * sparsity(c))),
        world(entropies(lambda c: 0.5 + 0.05 * sparsity(c))),
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


def test_claims_are_numbered() -> None:
    assert [claim.id for claim in PAPER.claims] == list(range(1, 9))
    assert len({claim.text for claim in PAPER.claims}) == 8


@pytest.mark.parametrize("number", WORLDS)
def test_each_holds_in_one_world_and_fails_in_another(number: int) -> None:
    good, bad = (CLAIMS[number].check(results) for results in WORLDS[number])
    assert (good.verdict, bad.verdict) == (HOLDS, FAILS), (good.why, bad.why)
    assert good.why
    assert good.test
    assert good.cells


@pytest.mark.parametrize("number", WORLDS)
def test_each_is_undecided_without_its_cells(number: int) -> None:
    nothing = world(lambda c: {("replacement", "uniform", "f1"): 50.0})
    nobody = PaperResults(pd.DataFrame({"cell": [], "part": [], "seed": []}), _no_summary())
    for results in (nothing, nobody):
        finding = CLAIMS[number].check(results)
        assert finding.verdict == UNDECIDED
        assert "no finished cell" in finding.why


def _no_summary() -> pd.DataFrame:
    return pd.DataFrame({name: [] for name in SUMMARY})


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 8])
def test_other_corpora_serve_as_well(number: int) -> None:
    """The smaller scales have a corpus that the paper has not."""
    told: dict[int, Told] = {
        1: agreement(lambda c: 0.9, lambda c: 0.4),
        4: entropies(lambda c: 0.8),
        6: agreement(lambda c: 0.9, lambda c: 0.6 - 0.1 * sparsity(c)),
    }
    told |= {2: told[4], 3: told[4], 5: entropies(lambda c: 0.9 - 0.05 * sparsity(c)), 8: told[6]}
    finding = CLAIMS[number].check(world(told[number], "rotten_tomatoes"))
    assert finding.verdict == HOLDS
    assert "rotten_tomatoes" in finding.why
    assert "IMDb" in finding.why


def test_models_of_table_1_decide_claim_1_and_sparsegen_is_told() -> None:
    finding = CLAIMS[1].check(
        world(agreement(lambda c: 0.9 if c["projection"] != SPARSEGEN else 0.0, lambda c: 0.4))
    )
    assert finding.verdict == HOLDS
    assert finding.n == 2 * 2 * 2  # encoders, projections, importances
    assert "0 of 6 of sparsegen" in finding.why
    assert "over items and 0.40 over inputs" in finding.why


def test_claim_3_counts_what_falls() -> None:
    """One pair in four is up by 0.02, three are down by 0.02."""

    def value(c: Configuration) -> float:
        up = c["corpus"] == "sst" and c["encoder"] == "bilstm"
        return 0.7 + (0.02 if up else -0.02) * is_sparsemax(c)

    finding = CLAIMS[3].check(world(entropies(value), "sst", "imdb", spread=0.001))
    assert finding.verdict == HOLDS
    assert "by -0.02 to +0.02: by less than 0.1 in 4 of 4, downwards in 3" in finding.why


def test_claim_3_fails_upwards_too() -> None:
    results = world(entropies(lambda c: 0.9 if is_sparsemax(c) else 0.6))
    assert CLAIMS[3].check(results).verdict == FAILS


def test_claim_4_fails_where_entropy_is_low() -> None:
    finding = CLAIMS[4].check(world(entropies(lambda c: 0.3)))
    assert finding.verdict == FAILS
    assert "above 0.46 in 0 of 10 models" in finding.why


def test_claim_5_tells_both_directions() -> None:
    """Entropy falls with λ and with sparsity: −1 with λ, 1 with the support."""
    good, bad = (CLAIMS[5].check(results) for results in WORLDS[5])
    assert "the lower the entropy in 2 of 2" in good.why
    assert "the lower the entropy in 0 of 2" in bad.why
    assert good.numbers["sst, BiLSTM: τ-b with the support"].value == pytest.approx(1)
    assert good.numbers["sst, BiLSTM: Spearman"].value == pytest.approx(-1)
    assert all(c.a.value == pytest.approx(-1) for c in good.comparisons)


def test_claim_5_has_nothing_to_judge_where_entropy_stays_as_it_is() -> None:
    assert CLAIMS[5].check(world(entropies(lambda c: 0.5))).verdict == UNDECIDED


def test_claim_6_is_of_imdb() -> None:
    """What happens elsewhere is told, and does not decide."""

    def inputs(c: Configuration) -> float:
        return 0.6 + (-0.1 if c["corpus"] == "imdb" else 0.05) * sparsity(c)

    finding = CLAIMS[6].check(world(agreement(lambda c: 0.9, inputs), "sst", "imdb"))
    assert finding.verdict == HOLDS
    assert (
        "(correlation -1.00; on other corpora 1.00; items with weight alone -1.00)" in finding.why
    )
    assert finding.n == 4  # encoders, importances


def test_claim_7_takes_the_farthest_adversary() -> None:
    """λ = 0 has no reason to attend elsewhere, λ = 0.1 is nearer: neither has a say."""
    good, bad = (CLAIMS[7].check(results) for results in WORLDS[7])
    assert [c.label for c in good.comparisons[2:]] == [
        "sst, BiLSTM, softmax: trained, λ = 1",
        "sst, BiLSTM, sparsemax: trained, λ = 1",
    ]
    assert good.comparisons[2].a.value == pytest.approx(-0.2)
    assert "Kept within 0.05 of the output it is 0.65 nats away" in good.why
    assert bad.comparisons[2].a.value == pytest.approx(-10)


@pytest.mark.parametrize(
    ("fall", "trained", "jsd", "verdict"),
    [(-6.0, 79.8, 0.6, HOLDS), (0.0, 79.8, 0.6, FAILS), (-6.0, 79.8, 0.1, UNDECIDED)],
)
def test_claim_7_needs_both_halves(fall: float, trained: float, jsd: float, verdict: str) -> None:
    finding = CLAIMS[7].check(opposed(fall, trained, jsd))
    assert finding.verdict == verdict
    assert ("No farther than another seed" in finding.why) == (jsd < 0.2)


def test_claim_7_with_one_seed() -> None:
    """Without intervals the signs decide."""
    assert CLAIMS[7].check(opposed(-6.0, 79.8, seeds=1)).verdict == HOLDS


def test_claim_8_counts_gains_and_losses() -> None:
    """Against softmax's 0.60: sparsemax 0.58, λ of 0.5 and 0.9 at 0.57 and 0.56."""
    results = world(agreement(lambda c: 0.9, lambda c: 0.6 - 0.01 * sparsity(c)), spread=0.001)
    finding = CLAIMS[8].check(results)
    assert finding.verdict == HOLDS
    assert finding.n == 2 * 3 * 2  # encoders, sparse projections, importances
    assert "lower in 12; it changes by -0.04 to -0.02" in finding.why
