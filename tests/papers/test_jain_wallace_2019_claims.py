"""Claims of Jain & Wallace on results that nobody ran: worlds where each holds, and where not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_results import crossed, made_up_results

from verax.papers.claims import Finding
from verax.papers.comparing import FAILS, HOLDS, UNDECIDED
from verax.papers.jain_wallace_2019 import PAPER
from verax.papers.results import SUMMARY, PaperResults

GRADIENT = "inputs:attention:gradient-input-detached"
LOO = "inputs:attention:leave-one-out"
BETWEEN = "inputs:gradient-input-detached:leave-one-out"
MODELS = crossed(
    part=["main"],
    corpus=["sst", "imdb"],
    encoder=["bilstm", "conv", "mlp"],
    attention=["additive", "dot"],
)
Numbers = dict[tuple[str, str, str], float]
AS_CLAIMED: Numbers = {
    ("agreement", GRADIENT, "tau"): 0.3,
    ("agreement", LOO, "tau"): 0.25,
    ("agreement", BETWEEN, "tau"): 0.6,
    ("adversary", "epsilon=0.05", "jsd"): 0.65,
    ("adversary", "epsilon=0.05", "far"): 90.0,
    ("adversary.search", "epsilon=0.05", "jsd"): 0.5,
    ("adversary.groups", "all", "permuted_change"): 0.03,
    ("adversary.groups", "max_weight=0-0.25", "permuted_change"): 0.9,
    ("adversary.groups", "max_weight=0.75-1", "permuted_change"): 0.06,
    ("adversary.groups", "max_weight=0.75-1", "far@epsilon=0.05"): 80.0,
}
ALONE: Numbers = {("agreement", GRADIENT, "tau"): 0.7, ("agreement", LOO, "tau"): 0.6}
"""What is otherwise of models without context."""
BROKEN: list[tuple[int, Numbers]] = [
    (1, {("agreement", GRADIENT, "tau"): 0.8}),
    (2, {("agreement", LOO, "tau"): 0.8}),
    (3, {("agreement", BETWEEN, "tau"): 0.1}),
    (4, {("agreement", GRADIENT, "tau"): 0.9, ("agreement", LOO, "tau"): 0.9}),
    (5, {("adversary.groups", "all", "permuted_change"): 0.3}),
    (5, {("adversary.groups", "max_weight=0.75-1", "permuted_change"): 0.3}),
    (6, {("adversary", "epsilon=0.05", "far"): 20.0}),
    (7, {("adversary.groups", "max_weight=0.75-1", "far@epsilon=0.05"): 20.0}),
    (8, {("adversary.search", "epsilon=0.05", "jsd"): 0.69}),
]
NEEDED = {
    1: ("agreement", GRADIENT, "tau"),
    2: ("agreement", LOO, "tau"),
    3: ("agreement", BETWEEN, "tau"),
    5: ("adversary.groups", "max_weight=0.75-1", "permuted_change"),
    6: ("adversary", "epsilon=0.05", "far"),
    7: ("adversary.groups", "max_weight=0.75-1", "far@epsilon=0.05"),
    8: ("adversary.search", "epsilon=0.05", "jsd"),
}


def world(
    changes: Numbers | None = None,
    only: Mapping[str, Any] | None = None,
    without: tuple[str, str, str] | None = None,
    models: list[dict[str, Any]] = MODELS,
    spread: float = 0.01,
) -> PaperResults:
    """As claimed, but for `changes` of models `only` of this kind, and of BiLSTMs."""
    kind = {"encoder": "bilstm"} | dict(only or {})

    def numbers(model: Mapping[str, Any]) -> Numbers:
        found = AS_CLAIMED | (ALONE if model["encoder"] == "mlp" else {})
        if all(model[name] == value for name, value in kind.items()):
            found = found | (changes or {})
        return {key: value for key, value in found.items() if key != without}

    return made_up_results(models, numbers, spread=spread)


def check(number: int, results: PaperResults) -> Finding:
    return PAPER.claims[number - 1].check(results)


def test_claims_are_numbered_from_one() -> None:
    assert [claim.id for claim in PAPER.claims] == list(range(1, 9))


@pytest.mark.parametrize("number", range(1, 9))
def test_every_claim_holds_where_numbers_are_as_claimed(number: int) -> None:
    found = check(number, world())
    assert found.verdict == HOLDS, found
    assert found.comparisons
    assert found.why.endswith("on sst, imdb")


@pytest.mark.parametrize(("number", "changes"), BROKEN)
def test_every_claim_fails_where_they_are_not(number: int, changes: Numbers) -> None:
    assert check(number, world(changes)).verdict == FAILS


@pytest.mark.parametrize(("number", "needed"), NEEDED.items())
def test_without_its_numbers_a_claim_is_undecided(
    number: int, needed: tuple[str, str, str]
) -> None:
    assert check(number, world(without=needed)).verdict == UNDECIDED


def test_without_a_model_without_context_the_comparison_is_undecided() -> None:
    recurrent = [model for model in MODELS if model["encoder"] == "bilstm"]
    found = check(4, world(models=recurrent))
    assert found.verdict == UNDECIDED
    assert "an mlp and of a BiLSTM" in found.why


@pytest.mark.parametrize("number", range(1, 9))
def test_with_nothing_a_claim_is_undecided(number: int) -> None:
    cells = pd.DataFrame([{"cell": "a", "part": "sst", "corpus": "sst", "seed": 1}])
    found = check(number, PaperResults(cells, pd.DataFrame(columns=SUMMARY)))
    assert (found.verdict, found.cells) == (UNDECIDED, [])


def test_only_recurrent_models_speak_for_weak_agreement() -> None:
    """The mlp's τ of 0.7 has no say: 2 corpora × 2 attentions are judged."""
    found = check(1, world())
    assert found.n == 4
    assert found.why == (
        "the mean τ of attention with gradients is 0.30; it is below 0.5 in 4 of 4 models, "
        "on sst, imdb"
    )


def test_one_corpus_with_strong_agreement_is_enough_to_fail() -> None:
    found = check(1, world({("agreement", GRADIENT, "tau"): 0.8}, {"corpus": "imdb"}))
    assert found.verdict == FAILS
    assert "0.30 to 0.80; it is below 0.5 in 2 of 4" in found.why


def test_in_general_allows_a_quarter_of_exceptions() -> None:
    """8 comparisons, 6 needed: one model of the four brings two, two models bring four."""
    poor = {("agreement", BETWEEN, "tau"): 0.1}
    one = check(3, world(poor, {"corpus": "imdb", "attention": "dot"}))
    assert (one.verdict, sum(c.is_for for c in one.comparisons), one.n) == (HOLDS, 6, 8)
    assert check(3, world(poor, {"corpus": "imdb"})).verdict == FAILS


def test_peaked_attention_may_matter_to_a_model() -> None:
    moved = {("adversary.groups", "max_weight=0.75-1", "permuted_change"): 0.3}
    assert check(5, world(moved, {"corpus": "imdb", "attention": "dot"})).verdict == HOLDS
    assert check(5, world(moved)).verdict == FAILS


def test_where_no_attention_is_peaked_that_is_said() -> None:
    found = check(5, world(without=("adversary.groups", "max_weight=0.75-1", "permuted_change")))
    assert "no document has half the weight on one word" in found.why


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([0.1, 0.45, 0.55, 0.9]), min_size=4, max_size=4))
def test_weak_means_weak_everywhere(taus: list[float]) -> None:
    """With seeds that hardly differ the claim holds if all are below 0.5, and fails if not."""
    recurrent = [model for model in MODELS if model["encoder"] == "bilstm"]
    by = {
        (m["corpus"], m["attention"]): tau
        for m, tau in zip(recurrent, taus, strict=True)
    }  # fmt: skip
    results = made_up_results(
        recurrent,
        lambda m: {("agreement", GRADIENT, "tau"): by[m["corpus"], m["attention"]]},
        spread=1e-4,
    )
    assert check(1, results).verdict == (HOLDS if max(taus) < 0.5 else FAILS)
