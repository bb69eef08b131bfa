"""The minimal flipping set against brute force over all subsets, in exact arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.errors import raises
from support.internals import ERASURE_ELEMENTS
from verax.functional import first_flips, minimal_flip_sets

Row = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def decide(logits: list[Fraction]) -> int:
    """The highest logit, of equal ones the first."""
    return max(range(len(logits)), key=lambda c: (logits[c], -c))


def logits_without(removed: frozenset[int], row: Row) -> list[Fraction] | None:
    """Renormalised logits in exact arithmetic; the bias when no weight is left, or None."""
    weights, says, bias = row
    left = [i for i in range(len(weights)) if i not in removed and weights[i] > 0]
    if not left:
        return None if bias is None else [Fraction(float(b)) for b in bias]
    total = sum(Fraction(float(weights[i])) for i in left)
    return [
        sum(Fraction(float(weights[i])) * Fraction(float(says[i, c])) for i in left) / total
        for c in range(says.shape[1])
    ]


def as_two(row: Row) -> Row:
    """A row with one sigmoid logit as the two logits (0, z)."""
    weights, says, bias = row
    if says.shape[1] > 1:
        return row
    both = np.concatenate([np.zeros_like(says), says], axis=1)
    return weights, both, None if bias is None else np.array([0.0, bias[0]])


def whole(numbers: list[Fraction]) -> list[int]:
    """Products of doubles times a power of two that makes all of them whole."""
    scaled = [number * 2**2200 for number in numbers]
    assert all(number.denominator == 1 for number in scaled)
    return [number.numerator for number in scaled]


def highest(numbers: list[int]) -> int:
    """Of equal ones the first."""
    return numbers.index(max(numbers))


def brute_force(row: Row) -> int:
    """The size of the smallest subset whose erasure changes the decision, −1 if none does."""
    weights, says, bias = as_two(row)
    classes = range(says.shape[1])
    # what each attended item adds, in whole numbers; renormalising does not change who is highest
    adds = {
        i: whole([Fraction(float(weights[i])) * Fraction(float(s)) for s in says[i]])
        for i in np.flatnonzero(weights).tolist()
    }
    total = [sum(add[c] for add in adds.values()) for c in classes]
    decision = highest(total)
    for size in range(1, len(weights) + 1):
        for removed in itertools.combinations(range(len(weights)), size):
            gone = [adds[i] for i in removed if i in adds]
            if len(gone) < len(adds):
                left = [total[c] - sum(add[c] for add in gone) for c in classes]
            elif bias is not None:
                left = whole([Fraction(float(b)) for b in bias])
            else:
                continue
            if highest(left) != decision:
                return size
    return -1


def random_row(random: np.random.Generator, kind: str, items: int, classes: int) -> Row:
    """A row of a kind that is hard in its own way."""
    weights = random.dirichlet(np.ones(items))
    says = random.normal(size=(items, classes))
    if kind == "zeros":
        weights[random.random(items) < 0.4] = 0.0
    elif kind == "ties":  # eighths and whole numbers: float64 adds them without rounding
        weights = random.multinomial(8, np.full(items, 1 / items)) / 8
        says = random.integers(-2, 3, size=(items, classes)).astype(float)
    elif kind == "tiny":
        weights = 10.0 ** random.uniform(-12, 0, size=items)
    elif kind == "peaked":  # nearly all weight on one item, real gaps among the rest
        weights = np.full(items, 1e-12)
        weights[random.integers(items)] = 1.0
        says += random.normal(size=classes)
    if weights.sum() == 0:
        weights[0] = 1.0
    return weights / weights.sum(), says, None


def stack(rows: list[Row], random: np.random.Generator) -> tuple[torch.Tensor, ...]:
    """Rows of different lengths in one padded batch; rubbish where there is no item."""
    width = max(len(r[0]) for r in rows) + int(random.integers(0, 3))
    classes = rows[0][1].shape[1]
    weights, says = np.zeros((len(rows), width)), np.full((len(rows), width, classes), np.nan)
    mask = np.zeros((len(rows), width), dtype=bool)
    for number, (alpha, logits, _) in enumerate(rows):
        places = np.sort(random.choice(width, size=len(alpha), replace=False))
        weights[number, places], says[number, places] = alpha, logits
        mask[number, places] = True
    return torch.tensor(weights), torch.tensor(says), torch.tensor(mask)


KINDS = ("plain", "zeros", "ties", "tiny", "peaked")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("classes", [1, 2, 3, 5])
def test_against_brute_force(kind: str, with_bias: bool, classes: int) -> None:
    """Five kinds × with and without bias × one logit to five: 4,800 rows, no mismatch."""
    random = np.random.default_rng([KINDS.index(kind), with_bias, classes])
    bias = random.normal(size=classes)
    if kind == "ties":
        bias = random.integers(-1, 2, size=classes).astype(float)
    rows: list[Row] = []
    for _ in range(120):
        items = int(random.integers(1, 9))
        weights, says, _ = random_row(random, kind, items, classes)
        rows.append((weights, says, bias if with_bias else None))
    for _ in range(4 if kind == "plain" else 0):
        weights, says, _ = random_row(random, kind, 10, classes)
        rows.append((weights, says, bias if with_bias else None))
    weights_t, says_t, mask = stack(rows, random)
    found = minimal_flip_sets(weights_t, says_t, mask, torch.tensor(bias) if with_bias else None)
    assert found.certified
    for number, row in enumerate(rows):
        expected = brute_force(row)
        assert found.size[number].item() == expected, (kind, row)
        members = found.members[number]
        assert not (members & ~mask[number]).any()
        assert int(members.sum()) == max(expected, 0)
        if expected < 0:
            assert found.rival[number].item() == -1
            continue
        removed = frozenset(np.flatnonzero(members[mask[number]].numpy()).tolist())
        two = as_two(row)
        first, after = logits_without(frozenset(), two), logits_without(removed, two)
        assert first is not None
        assert after is not None
        assert decide(after) != decide(first)
        assert found.rival[number].item() == decide(after)


@st.composite
def batches(draw: st.DrawFn, classes: int | None = None) -> tuple[torch.Tensor, ...]:
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    classes = classes or draw(st.integers(1, 6))
    kind = draw(st.sampled_from(KINDS))
    rows = [
        random_row(random, kind, int(random.integers(1, 30)), classes)
        for _ in range(draw(st.integers(1, 6)))
    ]
    weights, says, mask = stack(rows, random)
    return weights, says, mask, torch.tensor(random.normal(size=classes))


@pytest.mark.slow
@given(batches(), st.integers(0, 2**32 - 1), st.booleans())
def test_no_ranking_goes_below_it(
    batch: tuple[torch.Tensor, ...], seed: int, with_bias: bool
) -> None:
    weights, says, mask, bias = batch
    given_bias = bias if with_bias else None
    least = minimal_flip_sets(weights, says, mask, given_bias).size
    own = says.gather(-1, says.nan_to_num(-1e9).argmax(-1, keepdim=True)).squeeze(-1)
    random = torch.rand(weights.shape, generator=torch.Generator().manual_seed(seed))
    for importance in (weights, random.double(), own.nan_to_num(), -weights):
        found = first_flips(weights, says, importance, mask, given_bias)
        flips = found.size > 0
        assert (least[flips] > 0).all()
        assert (found.size[flips] >= least[flips]).all()
        assert (found.mass[flips] > 0).all()
        assert found.mass[~flips].isnan().all()


@pytest.mark.slow
@given(batches(), st.integers(0, 2**32 - 1))
def test_permuting_items_permutes_the_answer(batch: tuple[torch.Tensor, ...], seed: int) -> None:
    weights, says, mask, bias = batch
    order = torch.randperm(weights.shape[1], generator=torch.Generator().manual_seed(seed))
    here = minimal_flip_sets(weights, says, mask, bias)
    there = minimal_flip_sets(weights[:, order], says[:, order], mask[:, order], bias)
    assert torch.equal(here.size, there.size)
    # where whole numbers tie, items can stand in for each other
    if not torch.equal(says.nan_to_num(), says.nan_to_num().round()):
        assert torch.equal(here.members[:, order], there.members)


@pytest.mark.slow
@given(batches())
def test_single_precision_input_gives_the_double_precision_answer(
    batch: tuple[torch.Tensor, ...],
) -> None:
    weights, says, mask, bias = (t.float() if t.is_floating_point() else t for t in batch)
    single = minimal_flip_sets(weights, says, mask, bias)
    double = minimal_flip_sets(weights.double(), says.double(), mask, bias.double())
    assert torch.equal(single.size, double.size)
    assert torch.equal(single.members, double.members)


@pytest.mark.slow
@given(batches(), st.integers(1, 5))
def test_padding_and_company_change_nothing(batch: tuple[torch.Tensor, ...], pad: int) -> None:
    weights, says, mask, bias = batch
    together = minimal_flip_sets(weights, says, mask, bias)
    for row in range(len(weights)):
        wide = [torch.nn.functional.pad(t[row : row + 1], (0, pad)) for t in (weights, mask)]
        logits = torch.nn.functional.pad(says[row : row + 1], (0, 0, 0, pad))
        alone = minimal_flip_sets(wide[0], logits, wide[1], bias)
        assert alone.size.item() == together.size[row].item()
        assert torch.equal(alone.members[0, :-pad], together.members[row])


def test_more_rows_than_fit_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    rows = [random_row(random, "plain", 12, 4) for _ in range(40)]
    weights, says, mask = stack(rows, random)
    whole = minimal_flip_sets(weights, says, mask)
    ranked = first_flips(weights, says, weights, mask)
    monkeypatch.setattr(ERASURE_ELEMENTS, 100)
    cut = minimal_flip_sets(weights, says, mask)
    assert torch.equal(whole.size, cut.size)
    assert torch.equal(whole.members, cut.members)
    assert torch.equal(ranked.size, first_flips(weights, says, weights, mask).size)


def test_a_tie_is_judged_on_logits_and_not_on_what_little_weight_is_left() -> None:
    """One item has all but 1e-10 of the weight: the rest differ by whole units, and decide."""
    weights = torch.tensor([[1 - 2e-10, 1e-10, 1e-10]], dtype=torch.float64)
    says = torch.tensor([[[3.0, 0.0], [0.0, 2.0], [0.0, 1.0]]], dtype=torch.float64)
    found = minimal_flip_sets(weights, says, weights > 0)
    assert found.size.tolist() == [1]
    assert found.ties.tolist() == [False]


def test_an_exact_tie_goes_to_the_lower_class_and_is_told() -> None:
    weights = torch.full((2, 3), 1 / 3)
    says = torch.tensor([[[0.0, 3.0], [1.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [0, 1], [1, 0]]])
    found = minimal_flip_sets(weights, says, weights > 0)
    # without the first item both classes have ½: a flip for y = 1, none for y = 0
    assert found.size.tolist() == [1, 2]
    assert found.ties.tolist() == [True, False]
    assert found.rival.tolist() == [0, 1]


def test_inputs_are_left_alone_and_may_ask_for_gradients() -> None:
    random = np.random.default_rng(5)
    weights, says, mask = stack([random_row(random, "plain", 6, 3) for _ in range(4)], random)
    weights = torch.where(mask, weights, 9.0).requires_grad_()
    says.requires_grad_()
    copies = [t.detach().clone() for t in (weights, says, mask)]
    found = minimal_flip_sets(weights, says, mask)
    ranked = first_flips(weights, says, weights, mask)
    for tensor, copy in zip((weights, says, mask), copies, strict=True):
        assert torch.equal(tensor.nan_to_num(), copy.nan_to_num())
    assert not found.size.requires_grad
    assert not ranked.mass.requires_grad


def test_empty_batch_and_rows_without_items() -> None:
    none = minimal_flip_sets(torch.zeros(0, 3), torch.zeros(0, 3, 2), torch.zeros(0, 3).bool())
    assert none.size.shape == (0,)
    row = minimal_flip_sets(torch.zeros(1, 3), torch.zeros(1, 3, 2), torch.zeros(1, 3).bool())
    assert row.size.tolist() == [-1]
    bias = torch.tensor([0.0, 1.0])
    row = minimal_flip_sets(torch.zeros(1, 3), torch.zeros(1, 3, 2), torch.zeros(1, 3).bool(), bias)
    assert row.size.tolist() == [-1]


@pytest.mark.parametrize("scale", [1e7, 1e10, 1e15])
def test_very_large_logits_are_decided_too(scale: float) -> None:
    weights = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64)
    says = torch.tensor([[[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]]], dtype=torch.float64) * scale
    assert minimal_flip_sets(weights, says, weights > 0).size.tolist() == [1]


def good() -> dict[str, torch.Tensor]:
    return {
        "weights": torch.full((2, 4), 0.25),
        "item_logits": torch.zeros(2, 4, 3),
        "mask": torch.ones(2, 4, dtype=torch.bool),
        "bias": torch.zeros(3),
    }


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("weights", torch.full((2, 4), 0.2502)),
        ("weights", torch.tensor([[0.5, 0.6, -0.1, 0.0]] * 2)),
        ("weights", torch.full((2, 4), torch.nan)),
        ("weights", torch.full((4,), 0.25)),
        ("weights", np.full((2, 4), 0.25)),
        ("weights", torch.zeros(2, 0)),
        ("bias", [0.0, 0.0, 0.0]),
        ("weights", torch.ones(2, 4, dtype=torch.long)),
        ("item_logits", torch.full((2, 4, 3), torch.nan)),
        ("item_logits", torch.full((2, 4, 3), torch.inf)),
        ("item_logits", torch.zeros(2, 4)),
        ("item_logits", torch.zeros(2, 5, 3)),
        ("item_logits", torch.zeros(2, 4, 0)),
        ("mask", torch.ones(2, 5, dtype=torch.bool)),
        ("mask", torch.ones(2, 4)),
        ("bias", torch.zeros(2)),
        ("bias", torch.full((3,), torch.nan)),
    ],
)
def test_bad_input_names_the_argument(argument: str, value: torch.Tensor) -> None:
    minimal_flip_sets(**good())
    with raises("tensor.*", argument) as error:
        minimal_flip_sets(**{**good(), argument: value})
    assert "\n" not in str(error.value)


def test_bad_importance_is_named() -> None:
    given_ = good()
    for bad in (torch.zeros(2, 3), torch.full((2, 4), torch.nan), torch.zeros(2, 4).long()):
        with raises("tensor.*", "importance"):
            first_flips(given_["weights"], given_["item_logits"], bad, given_["mask"])
