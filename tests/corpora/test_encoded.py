"""Batches: what is read, what is attended, what is padding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.errors import raises
from support.internals import EncodedDocuments, encode
from verax.corpora import (
    EOS,
    PAD,
    SOS,
    UNK,
    Documents,
    Tokenizer,
    Vocabulary,
    load_corpus,
    tokenize,
)

CPU = torch.device("cpu")
VOCABULARY = Vocabulary(["a", "b", "."])
A, B, STOP = 4, 5, 6


def encoded(texts: list[str], **options: bool) -> EncodedDocuments:
    labels, ids = np.arange(len(texts)) % 2, np.arange(len(texts)) + 100
    return encode(Documents(texts, labels, ids), VOCABULARY, Tokenizer(), **options)


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


TEXTS = ["a b unseen", "b", "a . b b ."]


def test_without_boundaries_every_token_is_attended_and_the_rest_is_padding() -> None:
    batch = encoded(TEXTS).batch(rows(2, 0), CPU)
    assert batch.tokens.tolist() == [[A, STOP, B, B, STOP], [A, B, UNK, PAD, PAD]]
    assert batch.token_mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert torch.equal(batch.mask, batch.token_mask)
    assert batch.item_of_token.tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, -1, -1]]
    assert batch.lengths.tolist() == [5, 3]
    assert batch.labels is not None
    assert batch.labels.tolist() == [0, 0]
    assert batch.ids.tolist() == [102, 100]
    assert batch.row_index.tolist() == [2, 0]
    assert len(batch) == 2


def test_boundaries_are_read_and_never_attended() -> None:
    batch = encoded(TEXTS, boundaries=True).batch(rows(0, 1), CPU)
    assert batch.tokens.tolist() == [[SOS, A, B, UNK, EOS], [SOS, B, EOS, PAD, PAD]]
    assert batch.token_mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert batch.mask.tolist() == [
        [False, True, True, True, False],
        [False, True, False, False, False],
    ]
    assert batch.item_of_token.tolist() == [[-1, 1, 2, 3, -1], [-1, 1, -1, -1, -1]]
    assert batch.lengths.tolist() == [5, 3]


def test_hierarchical_items_are_sentences() -> None:
    batch = encoded(TEXTS, hierarchical=True).batch(rows(2, 1), CPU)
    assert batch.mask.tolist() == [[True, True], [True, False]]
    assert batch.item_of_token.tolist() == [[0, 0, 1, 1, 1], [0, -1, -1, -1, -1]]
    assert batch.layout is not None
    assert batch.layout.counts.tolist() == [2, 1]


DOCUMENT = st.lists(st.sampled_from(["a", "b", ".", "unseen"]), min_size=1, max_size=7)


@pytest.mark.slow
@given(st.lists(DOCUMENT, min_size=1, max_size=5), st.booleans(), st.data())
def test_a_batch_holds_its_documents_and_nothing_else(
    documents: list[list[str]], boundaries: bool, data: st.DataObject
) -> None:
    split = encoded([" ".join(d) for d in documents], boundaries=boundaries)
    chosen = data.draw(st.lists(st.sampled_from(range(len(documents))), min_size=1, max_size=6))
    batch = split.batch(rows(*chosen), CPU)
    assert batch.tokens.shape[1] == max(len(documents[i]) for i in chosen) + 2 * boundaries
    assert (batch.tokens[~batch.token_mask] == PAD).all()
    for place, i in enumerate(chosen):
        attended = batch.tokens[place][batch.mask[place]].tolist()
        assert attended == [VOCABULARY.rows.get(word, UNK) for word in documents[i]]
        assert int(batch.token_mask[place].sum()) == int(batch.lengths[place])
        items = batch.item_of_token[place]
        assert items[items >= 0].tolist() == torch.where(batch.mask[place])[0].tolist()


@pytest.mark.parametrize("options", [{"boundaries": True}, {"hierarchical": True}, {}])
def test_new_texts_are_read_as_a_corpus_is(options: dict[str, bool]) -> None:
    new = encode(TEXTS, VOCABULARY, Tokenizer(), **options).batch(rows(0, 1, 2), CPU)
    old = encoded(TEXTS, **options).batch(rows(0, 1, 2), CPU)
    for name in ("tokens", "token_mask", "mask", "item_of_token", "lengths"):
        assert torch.equal(getattr(new, name), getattr(old, name))
    assert new.labels is None


def test_token_lists_are_texts_too() -> None:
    split = encode([["a", "b"], ("b",)], VOCABULARY, Tokenizer())
    assert [row.tolist() for row in split.tokens] == [[A, B], [B]]


def test_words_have_their_spans_in_the_text() -> None:
    split = encode(["A  b.", ["b", "a b"]], VOCABULARY, Tokenizer(), boundaries=True)
    assert split.words == [["a", "b", "."], ["b", "a b"]]
    assert [row.tolist() for row in split.spans] == [[[0, 1], [3, 4], [4, 5]], [[0, 1], [2, 5]]]
    assert split.word_counts.tolist() == [3, 2]


def test_words_beyond_the_longest_length_are_not_read() -> None:
    texts = ["a b. b unseen a", "b"]
    split = encode(texts, VOCABULARY, Tokenizer(), max_length=3, hierarchical=True)
    assert [row.tolist() for row in split.tokens] == [[A, B, STOP], [B]]
    assert split.words == [["a", "b", "."], ["b"]]
    assert split.spans[0].tolist() == [[0, 1], [2, 3], [3, 4]]
    assert split.sentences is not None
    assert [row.tolist() for row in split.sentences] == [[3], [1]]
    assert split.texts == texts


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("one text", ("text.wrong-type",)),
        (["a", 3], ("text.wrong-type", "1")),
        (["a", None], ("text.wrong-type", "1")),
        (["a", " ", ""], ("text.empty", "1")),
        (["a", []], ("text.empty", "1")),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts: Any, expected: tuple[str, ...]) -> None:
    with raises(*expected):
        encode(texts, VOCABULARY, Tokenizer())


@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_both_ways_to_build_a_batch_agree(boundaries: bool, labelled: bool) -> None:
    corpus = load_corpus("planted", documents=60)
    vocabulary = Vocabulary.of(tokenize(corpus.train))
    whole = encode(corpus.train, vocabulary, Tokenizer(), boundaries=boundaries)
    encoded = replace(whole, labels=whole.labels if labelled else None)
    rows = np.array([5, 0, 17, 3])
    lengths, cpu = encoded.lengths[rows], torch.device("cpu")
    width = int(lengths.max())
    pairs = zip(
        encoded._on_cpu(rows, lengths, width, cpu),
        encoded._on_accelerator(rows, lengths, width, cpu),
        strict=True,
    )
    assert all(torch.equal(ours, theirs) for ours, theirs in pairs)
