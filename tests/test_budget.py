"""Budgets count classes: what is done in parts is the same as what is done at once."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import verax
from verax import budget
from verax.budget import parts_within, rows_within, tokens_within
from verax.exams import item_evidence
from verax.exams.adversary.several import _met
from verax.exams.item_evidence import ItemEvidence, put_together
from verax.functional import most_divergent
from verax.importance import leave_one_out

CLASSES = 90
EXAMS = ["erasure", "agreement", "replacement", "single_token", "adversary", "sufficiency"]


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    random = np.random.default_rng(0)
    labels = [f"c{number % CLASSES:02}" for number in range(10 * CLASSES)]
    texts = [
        " ".join([label, *(f"w{k}" for k in random.integers(0, 40, size=3 + number % 5))])
        for number, label in enumerate(labels)
    ]
    return verax.load_corpus((texts, labels))


@pytest.fixture(scope="module")
def model(corpus: verax.Corpus) -> Any:
    return verax.train(corpus, encoder="bilstm", hidden_size=8, embedding_size=8, epochs=1)


def test_up_to_some_classes_nothing_is_cut_smaller() -> None:
    assert tokens_within(1000, 64) == 1000
    assert tokens_within(1000, 65) == 500
    assert tokens_within(10, 10_000) == 1
    assert rows_within(1024, 8, 32, classes=16) == rows_within(1024, 8, 32)
    assert rows_within(1024, 8, 1024, classes=160) == rows_within(1024, 8, 1024) // 10
    assert rows_within(1, 8, 10**9, classes=10**6) == 1


@pytest.mark.parametrize(
    ("rows", "each", "numbers"), [(0, 3, 5), (7, 3, 6), (7, 100, 6), (4, 1, 9)]
)
def test_parts_cover_all_rows_once(rows: int, each: int, numbers: int) -> None:
    parts = list(parts_within(rows, each, numbers))
    covered = [row for part in parts for row in range(part.start, part.stop)]
    assert covered == list(range(rows))
    assert all((part.stop - part.start) * each <= max(each, numbers) for part in parts)


def test_with_many_classes_fewer_tokens_are_traced_together(
    model: Any, corpus: verax.Corpus
) -> None:
    encoded = model.encode(corpus.train)
    batches = model.batches(encoded, 128)
    padded = [len(rows) * int(encoded.lengths[rows].max()) for rows in batches]
    assert max(padded) <= 64  # 90 classes take two of 64
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(corpus.train)))


@pytest.mark.slow
def test_a_tiny_budget_changes_no_number(
    model: Any, corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Joined items, permutations and sets of words, each cut as small as it goes."""
    how: dict[str, Any] = {"sample": 12, "progress": False, "permutation_test": 7}
    how |= {"max_tokens": 128, "greedy_sets": 50}
    whole = verax.examine(model, corpus, EXAMS, **how)
    monkeypatch.setattr(item_evidence, "HELD", 64)
    monkeypatch.setattr(
        item_evidence, "parts_within", lambda rows, each: parts_within(rows, each, 2 * each)
    )
    for module in ("sufficiency", "deletion"):
        monkeypatch.setattr(
            f"verax.exams.{module}.exam.parts_within",
            lambda rows, each: parts_within(rows, each, 3 * each),
        )
    parts = verax.examine(model, corpus, EXAMS, **how)
    assert list(parts.tables) == list(whole.tables)
    for name, table in whole.tables.items():
        near = {"rtol": 1e-6, "atol": 1e-6} if name.startswith("suff") else {}  # read together
        pd.testing.assert_frame_equal(
            parts.tables[name], table, **(near or {"rtol": 0, "atol": 1e-12})
        )


def test_leave_one_out_is_the_same_in_blocks_that_count_classes(
    model: Any, corpus: verax.Corpus
) -> None:
    texts = [corpus.test.texts[0], corpus.test.texts[1]]
    scores = [leave_one_out(model, model.trace(texts), max_tokens=n) for n in (16_384, 64, 1)]
    for some in scores[1:]:
        assert torch.allclose(some, scores[0], atol=1e-6)


@pytest.fixture
def evidence() -> ItemEvidence:
    random = torch.Generator().manual_seed(0)
    mask = torch.arange(6) < torch.tensor([[6], [3], [5], [1], [6]])
    weights = torch.rand(5, 6, generator=random, dtype=torch.float64) * mask
    weights = weights / weights.sum(-1, keepdim=True)
    says = torch.randn(5, 6, 4, generator=random, dtype=torch.float64) * mask.unsqueeze(-1)
    logits = torch.einsum("bi,bic->bc", weights, says)
    rows = torch.arange(5)
    return ItemEvidence(rows.numpy(), rows, rows.double(), weights, mask, says, logits)


def test_evidence_is_cut_by_documents(
    evidence: ItemEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert evidence.take(slice(0, 5)) is evidence
    monkeypatch.setattr(
        item_evidence, "parts_within", lambda rows, each: budget.parts_within(rows, each, 20)
    )
    parts = [evidence.take(rows) for rows in evidence.parts(10)]
    assert [len(part) for part in parts] == [2, 2, 1]
    joined = torch.cat([part.logits_under(part.weights) for part in parts])
    assert torch.equal(joined, evidence.logits_under(evidence.weights))


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 1.0])
def test_edges_in_parts_have_the_same_farthest_end(
    evidence: ItemEvidence, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = evidence.weights, evidence.item_logits, evidence.mask, epsilon
    whole = most_divergent(*given)
    sizes: list[int] = []

    def spy(says: Any, decided: Any, face: Any, row: Any, *more: Any) -> Any:
        sizes.append(len(row))
        return _met(says, decided, face, row, *more)

    monkeypatch.setattr("verax.exams.adversary.several._met", spy)
    parts = most_divergent(*given, max_pairs=8)  # two edges of four classes
    assert max(sizes, default=0) <= 2
    assert epsilon == 1.0 or sizes
    for name in ("weights", "jsd", "change", "upper_bound", "logits"):
        assert torch.equal(getattr(parts, name), getattr(whole, name))


def test_units_are_what_exams_of_items_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    class Encoded:
        lengths = np.array([9, 8, 5, 5, 4, 2, 1])

    monkeypatch.setattr(item_evidence, "HELD", 16)
    batches = [np.array(rows) for rows in ([0, 1], [2, 3], [4, 5], [6])]
    units = put_together(batches, Encoded(), classes=2)
    assert [[rows.tolist() for rows in unit] for unit in units] == [
        [[0, 1]],  # 18 padded items
        [[2, 3], [4, 5]],  # 10, and 8 more
        [[6]],
    ]
    many = put_together(batches, Encoded(), classes=640)  # ten times as much each
    assert [len(unit) for unit in many] == [1, 1, 1, 1]


def test_counting_words_takes_memory_of_some_documents_not_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In parts the counts are the same, and the pairs of words and documents never lie whole."""
    from support.internals import Ragged
    from verax.corpora import vocabulary

    random = np.random.default_rng(0)
    tokens = Ragged.from_lengths(
        random.integers(0, 50, size=80_000).astype(np.int32), np.full(8_000, 10)
    )
    peaks, counts = [], []
    for documents in (2**16, 256):
        monkeypatch.setattr(vocabulary, "_DOCUMENTS", documents)
        tracemalloc.start()
        counts.append(vocabulary._document_frequency(tokens, 50))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert np.array_equal(*counts)
    plain = [len({d for d in range(8_000) if word in tokens[d]}) for word in (0, 49)]
    assert counts[0][[0, 49]].tolist() == plain
    assert peaks[1] < peaks[0] / 8
