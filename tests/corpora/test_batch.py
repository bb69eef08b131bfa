"""Words regrouped into sentences and back, against loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.internals import Ragged
from verax.corpora.batch import SentenceLayout

CPU = torch.device("cpu")
DOCUMENTS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=5)


def layout_of(documents: list[list[int]], spare: int = 0) -> tuple[SentenceLayout, int]:
    lengths = np.array([n for d in documents for n in d], dtype=np.int64)
    sentences = Ragged.from_lengths(lengths, np.array([len(d) for d in documents], np.int64))
    width = max(map(sum, documents)) + spare
    return SentenceLayout.of(sentences, width, CPU), width


@pytest.mark.slow
@given(DOCUMENTS, st.integers(0, 2))
def test_words_split_and_joined_are_the_words(documents: list[list[int]], spare: int) -> None:
    layout, width = layout_of(documents, spare)
    values = torch.arange(1.0, len(documents) * width * 2 + 1).view(len(documents), width, 2)
    there = torch.arange(width) < torch.tensor([sum(d) for d in documents]).unsqueeze(1)
    joined = layout.join_words(layout.split(values))
    assert torch.equal(joined, values * there.unsqueeze(-1))
    assert torch.equal(layout.sentence_of_token >= 0, there)


@pytest.mark.slow
@given(DOCUMENTS)
def test_sentences_come_back_to_their_place(documents: list[list[int]]) -> None:
    """The sum of each sentence's words, by groups and by a plain loop."""
    layout, width = layout_of(documents)
    values = torch.arange(1.0, len(documents) * width + 1).view(len(documents), width, 1)
    sums = [
        (part * group.mask.unsqueeze(-1)).sum(1)
        for part, group in zip(layout.split(values), layout.groups, strict=True)
    ]
    joined = layout.join_sentences(sums).squeeze(-1)
    assert joined.shape == layout.mask.shape == (len(documents), max(map(len, documents)))
    for row, document in enumerate(documents):
        parts = values[row, : sum(document), 0].split(document)
        expected = [float(part.sum()) for part in parts]
        assert joined[row, : len(document)].tolist() == expected
        assert layout.mask[row].tolist() == [i < len(document) for i in range(layout.mask.shape[1])]
        assert (joined[row, len(document) :] == 0).all()
        of_token = [i for i, n in enumerate(document) for _ in range(n)]
        assert layout.sentence_of_token[row, : len(of_token)].tolist() == of_token


@given(DOCUMENTS)
def test_groups_are_longest_first_and_less_than_half_padding(documents: list[list[int]]) -> None:
    layout, _ = layout_of(documents)
    lengths = [n for group in layout.groups for n in group.lengths.tolist()]
    assert lengths == sorted((n for d in documents for n in d), reverse=True)
    for group in layout.groups:
        assert 2 * int(group.lengths.min()) >= int(group.lengths.max()) == group.mask.shape[1]
        assert torch.equal(group.mask.sum(1), group.lengths)
