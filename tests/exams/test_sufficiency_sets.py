"""Sets of words at percentages, and the search for the best: held against all sets one by one."""

from __future__ import annotations

from itertools import combinations
from math import ceil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from support.internals import Questions, greedy_order, prefix_answers, words_at

WORDS = 6
POWERS = 2 ** torch.arange(WORDS)


class Table:
    """A document whose every set of words has an answer of its own, drawn at random."""

    def __init__(self, seed: int, counts: list[int]) -> None:
        drawn = torch.Generator().manual_seed(seed)
        p = torch.rand(len(counts), 2**WORDS, dtype=torch.float64, generator=drawn)
        self.answers = torch.stack([p, (p > 0.5).double()], -1)
        self.mask = torch.arange(WORDS) < torch.tensor(counts).unsqueeze(-1)
        self.asked: list[tuple[int, int]] = []
        self.questions = Questions(self.ask, self.answers[:, 0], self.mask)

    def ask(self, rows: Tensor, removed: Tensor) -> Tensor:
        numbers = (removed.long() * POWERS).sum(-1)
        self.asked += zip(rows.tolist(), numbers.tolist(), strict=True)
        return self.answers[rows, numbers]

    def of(self, row: int, removed: set[int]) -> Tensor:
        return self.answers[row, sum(2**word for word in removed)]


documents = st.lists(st.integers(2, WORDS), min_size=1, max_size=3)


@given(st.lists(st.integers(0, 300), min_size=1), st.floats(0.01, 100))
def test_the_words_of_a_percentage_are_as_many_as_the_next_whole_number(
    counts: list[int], percentage: float
) -> None:
    found = words_at(torch.tensor(counts), [percentage, 100.0])
    assert found[0].tolist() == [ceil(n * (percentage / 100) - 1e-9) for n in counts]
    assert found[1].tolist() == counts


def test_percentages_without_a_rest_are_not_rounded_up() -> None:
    for n, percentage, words in ((20, 5, 1), (100, 1, 1), (30, 10, 3), (35, 20, 7), (7, 1, 1)):
        assert words_at(torch.tensor([n]), [percentage]).item() == words


@pytest.mark.slow
@given(st.integers(0, 10**6), documents, st.sampled_from([[20, 50], [1, 40, 100]]))
@settings(max_examples=40)
def test_prefixes_are_answered_and_each_set_is_asked_about_once(
    seed: int, counts: list[int], percentages: list[float]
) -> None:
    table = Table(seed, counts)
    drawn = torch.Generator().manual_seed(seed)
    noise = torch.rand(3, len(counts), WORDS, generator=drawn).masked_fill(~table.mask, -1)
    orders = noise.argsort(dim=-1, descending=True)
    orders[2] = orders[1]  # a ranking that is another one
    sizes = words_at(torch.tensor(counts), percentages)
    everyone = torch.ones(len(counts), dtype=torch.bool)
    without, alone = prefix_answers(orders, sizes, everyone, table.questions)
    for k, at in enumerate(sizes.tolist()):
        for ranking in range(3):
            for row, size in enumerate(at):
                first = set(orders[ranking, row, :size].tolist())
                rest = set(range(counts[row])) - first
                assert torch.equal(without[k, ranking, row], table.of(row, first))
                assert torch.equal(alone[k, ranking, row], table.of(row, rest))
    assert torch.equal(without[:, 1], without[:, 2])
    assert torch.equal(alone[:, 1], alone[:, 2])
    assert all(number for _, number in table.asked)  # nothing is asked of the whole text
    assert table.questions.count.sum() == len(table.asked)


def greedy_by_hand(table: Table, row: int, most: int, keeps: bool) -> list[int]:
    words, taken = set(range(int(table.mask[row].sum()))), list[int]()
    for _ in range(most):
        tried = [[*taken, word] for word in sorted(words - set(taken))]
        p = [table.of(row, words - set(one) if keeps else set(one))[0] for one in tried]
        taken = tried[p.index(max(p) if keeps else min(p))]
    return taken


@given(st.integers(0, 10**6), documents, st.booleans())
@settings(max_examples=40)
def test_a_search_with_a_round_for_each_word_is_the_plain_greedy_one(
    seed: int, counts: list[int], keeps: bool
) -> None:
    table = Table(seed, counts)
    most = torch.tensor(counts) - 1
    order = greedy_order(most, most, table.questions, keeps)
    for row, size in enumerate(most.tolist()):
        assert order[row, :size].tolist() == greedy_by_hand(table, row, size, keeps)
        assert sorted(order[row].tolist()) == list(range(WORDS))


@pytest.mark.slow
@given(st.integers(0, 10**6), documents, st.integers(1, 3))
@settings(max_examples=60)
def test_the_best_found_is_that_of_all_sets_asked_and_single_words_are_all_asked(
    seed: int, counts: list[int], rounds: int
) -> None:
    table = Table(seed, counts)
    whole = torch.tensor(counts)
    sizes = torch.stack([torch.ones_like(whole), (whole + 1) // 2, whole - 1, whole])
    most, looks = whole - 1, torch.minimum(torch.tensor(rounds), whole - 1)
    both = [greedy_order(most, looks, table.questions, keeps) for keeps in (False, True)]
    everyone = looks > 0
    without, alone = prefix_answers(torch.stack(both), sizes, everyone, table.questions)
    least, highest = table.questions.best(sizes)
    assert (least.unsqueeze(1) <= without).all()
    assert (highest.unsqueeze(1) >= alone).all()
    for row, count in enumerate(counts):
        words = set(range(count))
        asked = {number for one, number in table.asked if one == row} | {0}
        sets = {size: list(combinations(sorted(words), size)) for size in range(count + 1)}
        for k, size in enumerate(sizes[:, row].tolist()):
            removed = [set(one) for one in sets[size]]
            left = [words - set(one) for one in sets[size]]
            for answers, candidates, found in ((min, removed, least), (max, left, highest)):
                every = {sum(2**word for word in one) for one in candidates}
                for column in (0, 1):
                    p = [float(table.answers[row, number, column]) for number in every & asked]
                    assert found[k, row, column] == answers(p)
                if size in (1, count - 1, count):
                    assert every <= asked
