"""Which words are asked about, and their states, against a naive reading of the split."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import torch
from gathered import SLOTS, gather
from scipy import stats
from torch import Tensor

import verax
from support.documents import tokens_of
from support.internals import PRIVATE_SLOTS, Occurrences, choose_words
from support.models import look_up_model
from verax.corpora import SPECIALS
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
NAN = math.nan


# -- which words


def test_the_most_frequent_the_lower_row_in_a_tie() -> None:
    counts = np.array([0, 0, 0, 0, 3, 9, 5, 5, 0, 5, 1])
    assert choose_words(counts, 3, "frequent", 0).tolist() == [5, 6, 7]
    assert choose_words(counts, 1, "frequent", 0).tolist() == [5]
    assert choose_words(counts, 5, "frequent", 8).tolist() == [4, 5, 6, 7, 9]


@pytest.mark.parametrize("by", ["frequent", "sampled"])
def test_all_that_occur_where_there_are_no_more(by: str) -> None:
    counts = np.array([0, 2, 0, 7, 1])
    for words in (3, 4, 100):
        assert choose_words(counts, words, by, 0).tolist() == [1, 3, 4]


SKEWED = np.array([0, 1000, 300, 0, 100, 30, 10, 3, 1])


@pytest.mark.slow
def test_a_sample_of_one_follows_the_frequency_to_the_power_of_three_quarters() -> None:
    drawn = np.zeros(len(SKEWED))
    for seed in range(12_000):
        drawn[choose_words(SKEWED, 1, "sampled", seed)] += 1
    assert drawn[[0, 3]].sum() == 0
    there = SKEWED > 0
    expected = SKEWED[there] ** 0.75
    assert stats.chisquare(drawn[there], 12_000 * expected / expected.sum()).pvalue > 1e-3


@pytest.mark.slow
def test_a_sample_of_several_is_drawn_one_after_another() -> None:
    """Without replacement, which is Efraimidis & Spirakis's way: give each word an exponential
    over its weight, and take the least."""
    there = np.flatnonzero(SKEWED)
    n, words = 3_000, 3
    drawn = np.zeros(len(SKEWED))
    for seed in range(n):
        chosen = choose_words(SKEWED, words, "sampled", seed)
        assert len(chosen) == words
        assert (np.diff(chosen) > 0).all()
        drawn[chosen] += 1
    random = np.random.default_rng(0)
    times = random.exponential(size=(200_000, len(there))) / SKEWED[there] ** 0.75
    first = np.argsort(times, axis=1)[:, :words]
    share = np.bincount(first.ravel(), minlength=len(there)) / len(times)
    off = np.abs(drawn[there] / n - share) / np.sqrt(share * (1 - share) / n)
    assert off.max() < 4


def test_the_seed_decides_the_sample() -> None:
    counts = np.arange(200)
    one, again, other = (choose_words(counts, 20, "sampled", s).tolist() for s in (0, 0, 1))
    assert one == again
    assert one != other


# -- where they occur


def naively(
    model: AttentionClassifier, texts: list[list[str]], chosen: set[int]
) -> list[tuple[int, Tensor]]:
    """Every document alone, word by word."""
    found = []
    first = 1 if model.options.boundaries else 0
    for text in texts:
        trace = model.trace([text])
        for place, word in enumerate(text):
            row = model.vocabulary.rows.get(word, 1)
            if row in chosen:
                found.append((row, trace.states[0, first + place]))
    return found


@pytest.mark.parametrize("max_tokens", [10**5, 70, 1])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_states_are_those_of_the_chosen_words_in_order_of_the_split(
    make_model: Make, few: verax.Corpus, slot: dict[str, object], max_tokens: int
) -> None:
    """The 15 most frequent of the split, whatever is read together with what."""
    model = make_model(**slot)
    texts = tokens_of(few.test)
    counts = Counter(word for text in texts for word in text if word in model.vocabulary.rows)
    rows = model.vocabulary.rows
    ranked = sorted(counts, key=lambda word: (-counts[word], rows[word]))
    chosen = {rows[word] for word in ranked[:15]}
    found = gather(model, few.test, max_tokens)
    expected = naively(model, texts, chosen)
    assert found.words.tolist() == [row for row, _ in expected]
    assert found.in_split == len(expected) == sum(counts[word] for word in ranked[:15])
    assert found.states.dtype == torch.float32
    torch.testing.assert_close(
        found.states, torch.stack([s for _, s in expected]), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("slot", [SLOTS[0], SLOTS[3]], ids=str)
def test_at_most_so_many_drawn_by_the_seed(
    make_model: Make, planted: verax.Corpus, slot: dict[str, object]
) -> None:
    model = make_model(**slot)
    whole = gather(model, planted.test)
    few, again, others = (
        gather(model, planted.test, 200, limit=40, seed=seed) for seed in (0, 0, 1)
    )
    assert few.words.tolist() == again.words.tolist()
    assert not few.states.equal(others.states)
    assert few.in_split == whole.in_split > 40
    assert few.states.shape == (40, 12)
    # each is one of all, and they stand in the same order
    near = torch.cdist(few.states, whole.states).argmin(1)
    torch.testing.assert_close(few.states, whole.states[near], atol=1e-5, rtol=1e-5)
    assert (near.diff() > 0).all()
    assert few.words.tolist() == whole.words[near].tolist()


def test_a_limit_takes_every_occurrence_as_likely() -> None:
    model = look_up_model({"a": (0.0, 0.0), "b": (0.0, 1.0)})
    encoded = model.encode([["a", "b", "a", "a", "b", "a", "b", "a"]])
    taken = np.zeros(8)
    for seed in range(2_000):
        slots = getattr(Occurrences(encoded, 2, "frequent", 3, seed), PRIVATE_SLOTS).numpy()
        assert (slots >= 0).sum() == 3
        taken += slots >= 0
    assert stats.chisquare(taken).pvalue > 1e-3


@pytest.mark.parametrize("by", ["frequent", "sampled"])
def test_specials_are_no_words(make_model: Make, planted: verax.Corpus, by: str) -> None:
    """Half of the text is unknown, and SOS and EOS are in every document: none is ever asked."""
    model = make_model()
    texts = [["never", "heard", *words[:4], "of"] for words in tokens_of(planted.test)]
    found = gather(model, texts, words=10**4, by=by)
    assert found.words.min() >= len(SPECIALS)
    assert len(found.words) == sum(w in model.vocabulary.rows for text in texts for w in text)


def test_a_text_that_says_unk_says_a_word() -> None:
    model = look_up_model({"<unk>": (0.0, 1.0), "a": (0.0, 0.0)})
    found = gather(model, [["<unk>", "a", "never"], ["<unk>"]])
    assert found.words.tolist() == [4, 5, 4]


def test_a_split_without_a_known_word_has_no_occurrence(make_model: Make) -> None:
    for model in (make_model(), make_model(boundaries=False)):
        found = gather(model, [["never", "heard"], ["of"]], max_tokens=1)
        assert (found.in_split, found.words.tolist()) == (0, [])
        assert found.states.shape == (0, 12)
        squares, between = found.distances(model.embedding.weight.detach())
        assert len(squares) == len(between) == 0


def test_distances_by_hand(make_model: Make) -> None:
    """‖(3, 4)‖² = 25 and ‖(3, 4) − (3, 3)‖² = 1; ‖(0, 2)‖² = 4 and ‖(0, 2) − (1, 0)‖² = 5."""
    found = gather(make_model(), [["w1"]])
    found.words, found.states = np.array([1, 0]), torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    squares, between = found.distances(torch.tensor([[1.0, 0.0], [3.0, 3.0]]))
    assert (squares.tolist(), between.tolist()) == ([25, 4], [1, 5])
    squares, between = found.distances(torch.ones(2, 3))
    assert squares.tolist() == [25, 4]
    assert np.isnan(between).all()


def test_distances_piece_by_piece(make_model: Make) -> None:
    """States so wide that two are taken at a time."""
    found = gather(make_model(), [["w1"]])
    size = 2**21
    found.words = np.array([0, 1, 0])
    found.states = torch.tensor([1.0, 2.0, 4.0]).unsqueeze(-1).expand(3, size)
    embedding = torch.tensor([1.0, 0.0]).unsqueeze(-1).expand(2, size)
    squares, between = found.distances(embedding)
    assert (squares / size).tolist() == [1, 4, 16]
    assert (between / size).tolist() == [0, 4, 9]
