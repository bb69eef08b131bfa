"""Proofs of smallest sets, held against every set: of whole numbers, with ties, and of models."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import pytest
import torch
from deletion_by_force import decided_without, shaken, smallest_by_force
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from support.internals import (
    deletions_within,
    fewest,
    fewest_bits,
    fewest_deletions,
    proof_of,
    way_of,
)
from verax.models import decisions

SEEDS = st.integers(0, 2**31)


def integers(seed: int, *shape: int) -> Tensor:
    """Few whole numbers, so that sums of them tie."""
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(seed)).double()


def expect(
    sums: Callable[[tuple[int, ...]], list[float]], n: int, y: int, keeping: bool
) -> tuple[int, int]:
    """The smallest size by every set of n words, and the largest that one rival alone needs."""
    classes = [c for c in range(len(sums(()))) if c != y]
    every = [one for k in range(n + 1) for one in combinations(range(n), k)]
    if keeping:
        sizes = [[n - len(gone) for gone in every if sums(gone)[c] > 0] or [n + 1] for c in classes]
        whole = [n - len(gone) for gone in every if all(sums(gone)[c] > 0 for c in classes)]
        return min(whole, default=n + 1), max(min(one) for one in sizes)
    least = min(
        (len(o) for o in every if o and any(sums(o)[c] < 0 for c in classes)), default=n + 1
    )
    return least, least


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 6), st.integers(2, 3), st.booleans())
def test_sorting_finds_what_every_set_finds(seed: int, n: int, classes: int, keeping: bool) -> None:
    there, gone = integers(seed, classes, 1, n + 1), integers(seed + 1, classes, 1, n + 1)
    mask = torch.arange(n + 1).unsqueeze(0) < n
    y = seed % classes

    def sums(out: tuple[int, ...]) -> list[float]:
        masked = torch.tensor([k in out for k in range(n)])
        return torch.where(masked, gone[:, 0, :n], there[:, 0, :n]).sum(-1).tolist()

    size, members = fewest(there, gone, mask, torch.tensor([y]), keeping)
    exact, bound = expect(sums, n, y, keeping)
    assert int(size) == bound <= exact
    if classes == 2 and bound <= n:
        chosen = [k for k in range(n) if members[0, k]]
        out = [k for k in range(n) if k not in chosen] if keeping else chosen
        assert len(chosen) == exact
        assert sums(tuple(out))[1 - y] > 0 if keeping else sums(tuple(out))[1 - y] < 0


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 6), st.integers(2, 3), st.booleans(), st.integers(0, 2))
def test_the_programme_over_masked_words_finds_what_every_set_finds(
    seed: int, n: int, classes: int, keeping: bool, first: int
) -> None:
    width = n + first + seed % 3
    values = integers(seed, classes, 1, width, 32)
    words = torch.zeros(1, width, dtype=torch.bool)
    words[0, first : first + n] = True
    values = values * words[..., None]
    y = seed % classes

    def sums(out: tuple[int, ...]) -> list[float]:
        bits = [0, 0, *(int(0 <= t - first < n and t - first in out) for t in range(width)), 0, 0]
        patterns = [int("".join(map(str, bits[t : t + 5])), 2) for t in range(width)]
        return values[:, 0, torch.arange(width), patterns].sum(-1).tolist()

    size, members = fewest_bits(values, words, torch.tensor([y]), keeping)
    exact, bound = expect(sums, n, y, keeping)
    assert int(size) == bound <= exact
    if classes == 2 and bound <= n:
        chosen = [k for k in range(n) if members[0, first + k]]
        out = [k for k in range(n) if k not in chosen] if keeping else chosen
        assert len(chosen) == exact
        assert sums(tuple(out))[1 - y] > 0 if keeping else sums(tuple(out))[1 - y] < 0


@settings(max_examples=40)
@given(SEEDS, st.integers(2, 7), st.integers(2, 3), st.integers(1, 3))
def test_the_programme_over_kept_words_finds_what_every_set_finds(
    seed: int, n: int, classes: int, most: int
) -> None:
    most = min(most, n - 1)
    values = integers(seed, classes, 1, n, *[most + 1] * 4)
    y = seed % classes

    def sums(out: tuple[int, ...]) -> list[float]:
        kept = [-2, -1, *(k for k in range(n) if k not in out), n, n + 1]
        total = torch.zeros(classes, dtype=torch.float64)
        for place in range(2, len(kept) - 2):
            near = kept[place - 2 : place + 3]
            gaps = [b - a - 1 for a, b in pairwise(near)]
            total += values[:, 0, kept[place]][(slice(None), *gaps)]
        return total.tolist()

    possible = torch.full_like(values, torch.inf)
    sets = [one for k in range(1, most + 1) for one in combinations(range(n), k)]
    for out in [(), *sets]:  # what no set asks for stays impossible
        kept = [-2, -1, *(k for k in range(n) if k not in out), n, n + 1]
        for place in range(2, len(kept) - 2):
            near = kept[place - 2 : place + 3]
            gaps = tuple(b - a - 1 for a, b in pairwise(near))
            index = (slice(None), 0, kept[place], *gaps)
            possible[index] = values[index]
    size, members = fewest_deletions(possible, torch.tensor([y]))
    rivals = [c for c in range(classes) if c != y]
    flips = [len(one) for one in sets if any(sums(one)[c] < 0 for c in rivals)]
    assert int(size) == min(flips, default=most + 1)
    if flips:
        out = tuple(members[0].nonzero().squeeze(-1).tolist())
        assert len(out) == int(size)
        assert any(sums(out)[c] < 0 for c in rivals)


@pytest.mark.slow
@pytest.mark.parametrize("projection", ["softmax", "uniform"])
@pytest.mark.parametrize(
    ("encoder", "options"),
    [
        ("none", {}),
        ("mlp", {"classes": 3, "boundaries": True, "grounding": "concat"}),
        ("conv", {"boundaries": True}),
        ("conv", {"classes": 3, "grounding": "residual", "attention": "dot"}),
        ("conv", {"grounding": "concat", "boundaries": True, "head": "sigmoid"}),
    ],
)
def test_proofs_are_what_every_text_says(
    projection: str, encoder: str, options: dict[str, Any], make_model: Callable[..., Any]
) -> None:
    texts = [f"w{k} w{2 * k} w{3 * k + 1} w{k} w7 w{k + 9}".split()[: 2 + k % 5] for k in range(7)]
    reached = 0
    for seed in range(2):
        model = shaken(make_model(encoder=encoder, projection=projection, **options), seed)
        trace = model.trace(texts)
        rows, decided = torch.arange(len(texts)), decisions(trace.logits)
        for operator in ("delete", "mask"):
            forced = [
                smallest_by_force(decided_without(model, words, operator), len(words))
                for words in texts
            ]
            for keeping in (False, True):
                proof = proof_of(
                    *(model, trace, rows, decided, operator), keeping=keeping, max_tokens=500
                )
                if keeping and way_of(model, operator) == "shortened":
                    assert proof is None
                    continue
                assert proof is not None
                for row, words in enumerate(texts):
                    k = forced[row][int(keeping)]
                    lower = int(proof.lower[row])
                    assert lower <= k
                    if operator == "delete" and (keeping or k == len(words) + 1):
                        continue  # the bias decides of the empty text
                    if not keeping or len(model.classes) == 2:
                        assert lower == k
                        reached += k > 1
    assert reached > 3


def test_models_without_a_proof_have_none(make_model: Callable[..., Any]) -> None:
    for options in (
        {"encoder": "bilstm"},
        {"encoder": "transformer"},
        {"encoder": "conv", "projection": "sparsemax"},
        {"encoder": "none", "projection": "entmax"},
        {"encoder": "mlp", "hierarchical": True},
    ):
        model = make_model(**options)
        assert way_of(model, "delete") == way_of(model, "mask") == ""
    assert way_of(make_model(encoder="bilstm", projection="sparsemax"), "attention")
    assert [deletions_within(budget) for budget in (0, 4, 5, 15, 10**9)] == [0, 0, 1, 2, 7]


def test_scores_too_far_apart_prove_nothing(make_model: Callable[..., Any]) -> None:
    for encoder in ("none", "conv"):
        model = make_model(encoder=encoder)
        with torch.no_grad():
            for weight in model.attention.parameters():
                weight.mul_(1e5)
        trace = model.trace(["w1 w2 w3 w4"])
        rows, decided = torch.tensor([0]), decisions(trace.logits)
        for operator in ("delete", "mask"):
            proof = proof_of(model, trace, rows, decided, operator, max_tokens=500)
            assert proof is not None
            assert int(proof.lower) == 1
