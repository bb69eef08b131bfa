"""Bounds of smallest sets, held against every set of every model, by every operator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from deletion_by_force import (
    corpus_of,
    decided_without,
    drawn_texts,
    shaken,
    smallest_by_force,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import verax
from support.documents import per_document
from support.errors import raises
from verax import functional
from verax.exams.authoring import wide

ENCODERS = ["none", "mlp", "bilstm", "conv", "transformer"]
OPERATORS = ["delete", "mask", "attention"]
HOW: dict[str, Any] = {"rankings": "random", "random_orders": 1}
TABLES = ("deletion_smallest", "deletion_sufficient")


def check(model: Any, texts: list[str], operator: str) -> int:
    """Hold bounds against brute force; how many smallest sets have more than one word."""
    corpus = corpus_of(model, texts)
    documents = corpus.documents("all")
    verdicts = [
        verax.examine(model, corpus, "deletion", "all", operator=operator, budget=budget, **HOW)
        for budget in (50, 10**6)
    ]
    several = 0
    for id, text in zip(documents.ids, documents.texts, strict=True):
        words = text.split()
        n = len(words)
        if n == 1:
            continue
        forced = smallest_by_force(decided_without(model, words, operator), n)
        several += 1 < forced[0] <= n
        for k, name in zip(forced, TABLES, strict=True):
            few, many = (per_document(verdict, name).loc[id] for verdict in verdicts)
            assert many["exact"] == 1
            if k > n:
                assert np.isnan(many["upper"])
                assert np.isnan(few["upper"])
            else:
                assert (many["lower"], many["upper"]) == (k, k), (operator, words, name)
                assert np.isnan(few["upper"]) or few["upper"] >= k
                assert few["lower"] <= k
    return several


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_bounds_meet_at_what_brute_force_finds(
    encoder: str, operator: str, make_model: Callable[..., Any]
) -> None:
    texts = drawn_texts(9, 8, [f"w{k}" for k in range(40)])
    several = 0
    for seed, options in enumerate([{"classes": 2}, {"classes": 3, "boundaries": True}]):
        model = shaken(make_model(encoder=encoder, **options), seed)
        several += check(model, texts, operator)
    assert several


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
def test_bounds_of_a_bert_meet_at_what_brute_force_finds(
    operator: str, make_classifier: Callable[..., Any]
) -> None:
    words = ["good", "bad", "the", "film", "unwatchable", "dull", "not", "was", "great"]
    texts = [*drawn_texts(6, 7, words), "the film was not bad and the plot is dull"]
    assert check(make_classifier(2), texts, operator)


def bounds_of(
    function: Callable[[str], bool], text: str, operator: str = "delete", **options: Any
) -> tuple[Any, Any]:
    """Bounds of one text by a rule: (lower, upper) of both questions."""

    def predict(texts: list[str]) -> Any:
        yes = np.array([float(function(one)) for one in texts])
        return np.stack([1 - yes, yes], axis=1)

    model = verax.from_predict(predict, ["no", "yes"], words="whitespace", mask="_")
    corpus = corpus_of(model, [text])
    how = {**HOW, "operator": operator, **options}
    tables = verax.examine(model, corpus, "deletion", "all", **how).tables
    documents = corpus.documents("all")
    id = next(i for i, t in zip(documents.ids, documents.texts, strict=True) if t == text)
    rows = [wide(tables[name]).loc[id] for name in TABLES]
    return tuple((row["lower"], row["upper"]) for row in rows)


@pytest.mark.slow
def test_rules_that_are_worked_out_by_hand() -> None:
    def either(text: str) -> bool:
        return "b" in text.split() or "c" in text.split()

    # both must go, and one is enough
    assert bounds_of(either, "b c d") == ((2, 2), (1, 1))
    assert bounds_of(either, "b c d", "mask") == ((2, 2), (1, 1))

    def odd(text: str) -> bool:
        return ("a" in text.split()) != ("b" in text.split())

    # without b or c there is no a-or-b question left: one goes, and two together keep "no"
    assert bounds_of(odd, "a b c") == ((1, 1), (0, 0))
    assert bounds_of(odd, "a c d") == ((1, 1), (1, 1))
    changed, kept = bounds_of(lambda text: True, "a b c")
    assert changed[0] == 4  # proven: all eight texts say the same
    assert np.isnan(changed[1])
    assert kept == (0, 0)
    assert bounds_of(bool, "a b c") == ((3, 3), (1, 1))


def test_what_is_not_proven_is_not_said_to_be() -> None:
    text = " ".join(f"w{k}" for k in range(30))
    changed, kept = bounds_of(lambda text: True, text, budget=40)
    assert changed[0] == 2  # the singles were asked about, not the pairs
    assert np.isnan(changed[1])
    assert kept == (0, 0)
    assert bounds_of(bool, text, budget=0)[0] == (1, 30)


def test_outcomes_are_counted_by_what_is_proven() -> None:
    def predict(texts: list[str]) -> Any:
        yes = np.array([float(bool(one) or "q" in one) for one in texts])
        return np.stack([1 - yes, yes], axis=1)

    model = verax.from_predict(predict, ["no", "yes"], words="whitespace")
    texts = ["a b c", "a b", "c d", "e f g h", " ".join("abcdefghijklmnopqrstuvwxyz")]
    corpus = corpus_of(model, [*texts, "b c", "c d e", "f g"])
    verdict = verax.examine(model, corpus, "deletion", "all", budget=100, **HOW)
    assert verdict.value("deletion.documents.everything") == 8
    assert verdict.value("deletion.documents.everything_proven") == 7
    assert verdict.value("deletion.documents.never") == 0
    assert verdict.value("deletion.documents.nothing") == 0
    assert verdict.value("deletion.exact.words=2-10.exact") == 100
    assert verdict.value("deletion.exact.words=21-40.exact") == 0
    assert verdict.value("deletion.exact.all.exact") == pytest.approx(100 * 7 / 8)
    assert verdict.value("deletion.sufficient.sufficient.upper") == 1
    instances = per_document(verdict, "deletion_instances")
    assert verdict.value("deletion.documents.passes") == instances["passes"].mean()
    assert (instances["passes"] <= 2 ** instances["words"]).all()  # no text is asked about twice


@pytest.mark.slow
def test_attention_taken_off_words_is_the_erasure_exam(make_model: Callable[..., Any]) -> None:
    texts = drawn_texts(20, 12, [f"w{k}" for k in range(40)])
    for seed, projection in enumerate(["softmax", "sparsemax", "entmax"]):
        model = shaken(make_model(encoder="bilstm", projection=projection, classes=3), seed)
        corpus = corpus_of(model, texts)
        how: dict[str, Any] = {"operator": "attention", "budget": 0, "rankings": "attention"}
        verdict = verax.examine(model, corpus, ["erasure", "deletion"], "all", **how)
        erased = per_document(verdict, "erasure_minimal")
        smallest = per_document(verdict, "deletion_smallest")
        assert erased["size"].notna().any()
        np.testing.assert_array_equal(smallest["upper"], erased["size"])
        np.testing.assert_array_equal(smallest["everything"], erased["everything"])
        known = erased["size"].notna()
        np.testing.assert_array_equal(smallest["lower"][known], erased["size"][known])
        assert (smallest["exact"] == 1).all()
        by_attention = [
            table[(table["ranking"] == "attention") & (table["measure"] == "size")]["value"]
            for table in (verdict.tables[name] for name in ("deletion", "erasure_many"))
        ]
        np.testing.assert_array_equal(*by_attention)


ANSWERS = st.integers(0, 2**31)


def rule(seed: int, words: int, often: float) -> Callable[..., Any]:
    """An arbitrary rule, not monotone: which sets change the decision; the empty one does not."""
    generator = torch.Generator().manual_seed(seed)
    answers = torch.rand(2, 2**words, generator=generator) < often
    answers[:, 0] = False
    powers = 2 ** torch.arange(words)
    return lambda rows, sets: answers[rows, (sets.long() * powers).sum(-1)]


@pytest.mark.slow
@settings(max_examples=12)
@given(ANSWERS, st.integers(1, 6), st.sampled_from([0.01, 0.05, 0.3]), st.integers(1, 3))
def test_more_budget_never_loosens_a_bound(seed: int, words: int, often: float, beam: int) -> None:
    changes = rule(seed, words, often)
    mask = torch.ones(2, words, dtype=torch.bool)
    mask[1, words - 1] = words == 1
    counts = mask.sum(-1)
    for search, keeping in (
        (functional.smallest_sets, False),
        (functional.smallest_sufficient_sets, True),
    ):
        before = None
        for budget in (0, 1, 4, 12, 30, 1000):
            sets = search(changes, mask, beam=beam, budget=budget)
            upper = torch.where(sets.upper < 0, counts + 1, sets.upper)
            if before is not None:
                assert (sets.lower >= before[0]).all()
                assert (upper <= before[1]).all()
            before = (sets.lower, upper)
            some = sets.upper >= 0
            gone = mask & ~sets.members if keeping else sets.members
            assert ((changes(torch.arange(2), gone) != keeping) | ~some).all()
            assert (sets.members.sum(-1) == sets.upper.clamp(min=0)).all()
        assert sets.exact.all()
        for row in range(2):
            places = mask[row].nonzero().squeeze(-1).tolist()
            every = [one for k in range(len(places) + 1) for one in combinations(places, k)]
            sizes = []
            for one in every:
                chosen = torch.zeros(1, words, dtype=torch.bool)
                chosen[0, list(one)] = True
                out = mask[row] & ~chosen if keeping else chosen
                if bool(changes(torch.tensor([row]), out)) != keeping:
                    sizes.append(len(one))
            assert int(sets.lower[row]) == min(sizes, default=len(places) + 1)


def test_no_set_is_asked_about_twice_and_batches_are_shared() -> None:
    seen: list[tuple[int, ...]] = []
    calls = 0

    def changes(rows: torch.Tensor, sets: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        seen.extend(
            (int(r), *s.nonzero().squeeze(-1).tolist()) for r, s in zip(rows, sets, strict=True)
        )
        return sets[:, :3].all(-1)

    mask = torch.ones(30, 8, dtype=torch.bool)
    sets = functional.smallest_sets(changes, mask)
    assert (sets.lower == 3).all()
    assert sets.exact.all()
    assert len(seen) == len(set(seen)) == int(sets.passes.sum())
    assert calls < 40  # for thirty documents


def test_what_is_no_mask_or_width_is_refused() -> None:
    for mask, how, expected in (
        (torch.ones(2, 3), {}, ("tensor.wrong-shape", "mask")),
        (torch.ones(2, 3, dtype=torch.bool), {"beam": 0}, ("option.out-of-range", "beam")),
    ):
        with raises(*expected):
            functional.smallest_sets(lambda rows, sets: sets.any(-1), mask, **how)
