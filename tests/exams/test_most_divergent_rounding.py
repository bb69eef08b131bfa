"""Where rounding could speak: items on a face, logits large and small, what is masked, memory."""

from __future__ import annotations

import math

import pytest
import torch
from simplex_points import rows
from torch import Tensor

from support.internals import CUT_PART, Side, change_of, cut_part, faces, farthest
from verax.functional import Adversary, most_divergent

LN2 = math.log(2)


def double(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_items_on_a_face_are_inside() -> None:
    both = torch.ones(1, 2, dtype=torch.bool)
    for z in ([[0.0, 1.0]], [[1.0, 0.0]]):
        found = farthest.farthest(
            double([[1.0, 0.0]]), double(z), both, double([0.0]), double([1.0]), 100
        )
        assert found.value.item() == pytest.approx(LN2)
        assert (found.first.item(), found.second.item(), found.share.item()) == (1, 1, 1.0)


def test_no_more_edges_are_held_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, plain = [], cut_part

    def spy(low: Side, high: Side, face: Tensor) -> farthest.Point:
        sizes.append(len(face) * low.z.shape[1] * high.z.shape[1])
        return plain(low, high, face)

    monkeypatch.setattr(CUT_PART, spy)
    most_divergent(*rows(0, 40, batch=9), 0.05, max_pairs=90)
    assert len(sizes) > 9
    assert max(sizes) <= 90


@pytest.mark.parametrize("level", [1.0, 1e3, 1e5, 1e6])
def test_items_that_say_the_same_are_inside_whatever_they_say(level: float) -> None:
    """Σ α z is not z to the last bit, and the faces have to allow for that."""
    weights = torch.rand(50, 300, generator=torch.Generator().manual_seed(0)).double()
    says = double([level / 3, level / 3 + 0.7]).expand(50, 300, 2)
    found = most_divergent(weights, says, torch.ones(50, 300, dtype=torch.bool), 0.0)
    assert torch.equal(found.weights.argmax(-1), weights.argmin(-1))
    assert (found.weights.amax(-1) == 1).all()


@pytest.mark.parametrize("scale", [1e6, 1e20, 1e31])
def test_huge_logits_are_the_same_alone_and_in_company(scale: float) -> None:
    weights, z, mask = rows(0, 9, batch=60)
    together = most_divergent(weights, scale * z, mask, 0.05)
    for row in range(60):
        one = slice(row, row + 1)
        alone = most_divergent(weights[one], scale * z[one], mask[one], 0.05)
        assert alone.jsd.item() == pytest.approx(together.jsd[row].item(), abs=1e-12)


def test_nothing_is_certified_that_rounding_has_moved() -> None:
    weights, z, mask = rows(0, 6, batch=20)
    found = most_divergent(weights, 1e15 * z, mask, 0.05)
    off = found.change > 0.05 + 1e-6
    assert off.any()
    assert not found.certified[off].any()
    assert found.certified[~off].all()


@pytest.mark.parametrize(("after", "before"), [(41.0, 40.0), (40.0, 41.0), (-41.0, -40.0)])
def test_changes_next_to_0_and_1_keep_their_digits(after: float, before: float) -> None:
    expected = abs(math.exp(-abs(after)) - math.exp(-abs(before)))
    found = change_of(double(after), double(before)).item()
    assert found == pytest.approx(expected, rel=1e-6, abs=0)


@pytest.mark.parametrize("odds", [20.0, 30.0, 33.0])
def test_faces_next_to_1_keep_their_digits(odds: float) -> None:
    """With q = 1 − p = 1/(1 + e^odds) in its own digits; ε = 2e-15 and 1e-15 for rounding."""
    low, high = faces(double([odds]), torch.zeros(1, 1, 2, dtype=torch.float64), 2e-15)
    q, off = 1 / (1 + math.exp(odds)), 3e-15
    assert low.item() == pytest.approx(math.log((1 - q - off) / (q + off)), abs=1e-9)
    if q > off:
        assert high.item() == pytest.approx(math.log((1 - q + off) / (q - off)), abs=1e-9)


@pytest.mark.parametrize("classes", [1, 2, 4])
def test_what_is_masked_has_no_say(classes: int) -> None:
    weights, _, mask = rows(0, 7)
    random = torch.Generator().manual_seed(1)
    says = torch.randn(5, 7, classes, dtype=torch.float64, generator=random)
    plain = most_divergent(weights, says, mask, 0.05)
    noise = says.masked_fill(~mask.unsqueeze(-1), math.nan)
    noisy = most_divergent(weights.masked_fill(~mask, 7.0), noise, mask, 0.05)
    for name in ("weights", "jsd", "change", "logits", "upper_bound"):
        assert torch.equal(getattr(plain, name), getattr(noisy, name))


def test_the_farther_of_two_answers() -> None:
    def answer(jsd: float) -> Adversary:
        yes = torch.tensor([jsd > 0.3])
        told = (double([[jsd, 1 - jsd]]), double([jsd]), double([jsd]))
        return Adversary(*told, yes, yes, double([0.9]), double([[jsd]]))

    for own, other in ((0.2, 0.4), (0.4, 0.2)):
        asked = torch.tensor([True])
        assert answer(own).or_farther(answer(other), ~asked).jsd.item() == own
        found = answer(own).or_farther(answer(other), asked)
        assert found.jsd.item() == found.change.item() == found.logits.item() == 0.4
        assert found.weights.tolist() == [[0.4, 0.6]]
        assert found.certified.item()
