"""AUPRC, token-F1 and IOU-F1 of words against marks, by scikit-learn, by hand and by loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score

from support.internals import Ragged, pairwise_f1, usual_count
from verax.functional import average_precision, iou_f1, token_f1, top_words


def bits(text: str) -> torch.Tensor:
    return torch.tensor([letter == "1" for letter in text])


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=20),
    st.integers(0, 3),
    st.integers(0, 99),
)
def test_average_precision_is_scikit_learns(
    words: list[tuple[int, bool]], padding: int, seed: int
) -> None:
    """With ties, and with words that are padding at any place."""
    generator = np.random.default_rng(seed)
    mask = np.array([True] * len(words) + [False] * padding)
    generator.shuffle(mask)
    scores, marked = generator.normal(size=len(mask)), generator.random(len(mask)) < 0.5
    scores[mask] = [score for score, _ in words]
    marked[mask] = [mark for _, mark in words]
    ours = average_precision(*(torch.from_numpy(x) for x in (scores, marked, mask)))
    if not marked[mask].any():
        assert ours.isnan()
        return
    expected = average_precision_score(marked[mask], scores[mask])
    assert ours.item() == pytest.approx(expected, abs=1e-12)


def test_the_marks_themselves_and_a_constant() -> None:
    marked = torch.stack([bits("0110100"), bits("1000011")])
    mask = torch.ones_like(marked)
    mask[1, 5:] = False
    marks = average_precision(marked.double(), marked, mask)
    assert marks.tolist() == [1.0, 1.0]
    constant = average_precision(torch.full(marked.shape, 0.3), marked, mask)
    assert constant.tolist() == pytest.approx([3 / 7, 1 / 5])


def test_top_words_take_the_earlier_of_equals() -> None:
    scores = torch.tensor([[1.0, 2.0, 2.0, 2.0, 9.0], [0.0, 0.0, 0.0, -1.0, 5.0]])
    mask = torch.tensor([[True] * 4 + [False], [True] * 5])
    chosen = top_words(scores, torch.tensor([2, 3]), mask)
    assert chosen.tolist() == [
        [False, True, True, False, False],
        [True, True, False, False, True],
    ]
    assert top_words(scores, torch.tensor([9, 0]), mask).sum(-1).tolist() == [4, 0]


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=15))
def test_token_f1_is_scikit_learns(words: list[tuple[bool, bool]]) -> None:
    chosen, marked = (torch.tensor(column) for column in zip(*words, strict=True))
    ours = token_f1(chosen, marked)
    if not chosen.any() and not marked.any():
        assert ours.isnan()
    else:
        assert ours.item() == pytest.approx(f1_score(marked, chosen, zero_division=0))


@pytest.mark.parametrize(
    ("chosen", "marked", "expected"),
    [
        ("0111000", "0111000", 1.0),
        ("0110000", "0111000", 1.0),  # 2 of 3
        ("0100000", "0111000", 0.0),  # 1 of 3
        ("0110000", "0111100", 1.0),  # 2 of 4: a half is enough
        ("0110011", "0111100", 2 / 3),  # one of two is right, the one marked is found
        ("1101100", "0111110", 0.0),  # 1 of 6 and 2 of 5
        ("1100110", "1110111", 1.0),
        ("1010101", "1000000", 2 / 5),
        ("0000000", "0110000", 0.0),
    ],
)
def test_spans_as_eraser_counts_them_by_hand(chosen: str, marked: str, expected: float) -> None:
    assert iou_f1(bits(chosen), bits(marked)).item() == pytest.approx(expected)


def runs(members: list[bool]) -> list[set[int]]:
    found: list[set[int]] = []
    for place, member in enumerate(members):
        if member and place and members[place - 1]:
            found[-1].add(place)
        elif member:
            found.append({place})
    return found


def eraser(chosen: list[bool], marked: list[bool]) -> float:
    """As `partial_match_score` of ERASER's metrics.py has it, of one document."""
    truth = runs(marked)
    best = [max((len(p & t) / len(p | t) for t in truth), default=0.0) for p in runs(chosen)]
    hits = sum(iou >= 0.5 for iou in best)
    recall = hits / len(truth) if truth else 0.0
    precision = hits / len(best) if best else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@pytest.mark.slow
@given(st.data())
def test_spans_as_eraser_counts_them_by_loops(data: st.DataObject) -> None:
    """Rankings by documents by words at once, as the exam asks."""
    width = data.draw(st.integers(1, 12))
    row = st.lists(st.booleans(), min_size=width, max_size=width)
    marked = data.draw(st.lists(row, min_size=1, max_size=3))
    chosen = [[data.draw(row) for _ in marked] for _ in range(2)]
    ours = iou_f1(torch.tensor(chosen), torch.tensor(marked))
    assert ours.shape == (2, len(marked))
    for k, ranking in enumerate(chosen):
        for d, words in enumerate(ranking):
            if any(words) or any(marked[d]):
                assert ours[k, d].item() == pytest.approx(eraser(words, marked[d]))
            else:
                assert ours[k, d].isnan()


def test_the_usual_share_of_words_is_rounded_and_at_least_one() -> None:
    words = torch.tensor([1, 10, 25, 100])
    assert usual_count(0.1, words).tolist() == [1, 1, 3, 10]  # 2.5 is rounded up


@pytest.mark.slow
@given(st.integers(0, 999), st.integers(1, 4))
def test_annotators_agree_by_their_pairs(seed: int, most: int) -> None:
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 5, size=4)
    annotators = random.integers(0, most + 1, size=4)
    words = Ragged.from_lengths(np.zeros(lengths.sum()), lengths)
    marked = random.random((most, lengths.sum())) < 0.5
    marked &= annotators[words.row_of_value] > np.arange(most)[:, None]
    ours = pairwise_f1(marked, words, annotators)
    for row in range(4):
        of_row = marked[:, words.row_of_value == row][: annotators[row]]
        values = [
            f1_score(a, b) for a, b in combinations(of_row, 2) if len(a) and (a.any() or b.any())
        ]
        expected = np.mean(values) if values else np.nan
        assert ours[row] == pytest.approx(expected, nan_ok=True)
