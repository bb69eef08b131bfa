"""Columns, labels, empty documents, missing splits, lengths: what becomes of raw tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.errors import raises
from support.internals import assemble
from verax.corpora import Corpus, CorpusOptions


def corpus_of(columns: dict[str, Any] | pd.DataFrame, **options: Any) -> Corpus:
    """One table cut three ways, with enough of every label for each split."""
    return assemble("mine", {"train": pd.DataFrame(columns)}, CorpusOptions(**options))


def rows(labels: list[Any], n: int = 60) -> dict[str, Any]:
    return {
        "text": [f"text number {i}" for i in range(n)],
        "label": [labels[i % len(labels)] for i in range(n)],
    }


def split_of(texts: list[str], labels: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "label": labels})


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (1, "1"),
        (1.0, "1"),
        ("1", "1"),
        ("1.0", "1"),
        (np.int8(1), "1"),
        (np.float32(1), "1"),
        (-1.0, "-1"),
        (1.5, "1.5"),
        (True, "true"),
        (np.False_, "false"),
        ("True", "true"),
        (" pos ", "pos"),
        ("1.0.0", "1.0.0"),
        ("v1.0", "v1.0"),
    ],
)
def test_a_label_is_the_same_however_it_is_written(value: Any, key: str) -> None:
    for written in (value, key):
        assert set(corpus_of(rows([written, "other"])).classes) == {key, "other"}


@pytest.mark.parametrize(
    ("labels", "keys", "classes"),
    [
        (["pos", "neg"], ["pos", "neg"], ["neg", "pos"]),
        ([10, 9, -1], ["10", "9", "-1"], ["-1", "9", "10"]),
        (["10", "9"], ["10", "9"], ["9", "10"]),
        ([0.5, 10.5, 2.0], ["0.5", "10.5", "2"], ["0.5", "2", "10.5"]),
        (["²", "1"], ["²", "1"], ["1", "²"]),
        ([True, False], ["true", "false"], ["false", "true"]),
    ],
)
def test_numbers_are_ordered_by_size_and_names_by_the_alphabet(
    labels: list[Any], keys: list[str], classes: list[str]
) -> None:
    corpus = corpus_of(rows(labels))
    assert corpus.classes == classes
    for documents in corpus.splits.values():
        given = [keys[i % len(keys)] for i in documents.ids]
        assert [corpus.classes[i] for i in documents.labels] == given


def test_labels_keep_a_subset_under_new_numbers() -> None:
    corpus = corpus_of(rows([0, 1, 2]), labels={0: 0, 2: 1})
    assert corpus.classes == ["0", "1"]
    assert set(corpus.train.ids % 3) == {0, 2}
    assert ((corpus.train.ids % 3 == 2) == (corpus.train.labels == 1)).all()
    assert corpus.notes[0] == "train: 20 documents with other labels left out"


def test_labels_keep_a_subset_under_new_names_in_the_order_given() -> None:
    corpus = corpus_of(rows([0, 1, 2]), labels={"2": "world", "0": "business"})
    assert corpus.classes == ["world", "business"]
    assert ((corpus.train.ids % 3 == 2) == (corpus.train.labels == 0)).all()


def test_labels_can_be_merged() -> None:
    corpus = corpus_of(rows([1, 2, 3, 4]), labels={1: "low", 2: "low", 3: "high", 4: "high"})
    assert corpus.classes == ["low", "high"]
    assert ((corpus.train.ids % 4 >= 2) == (corpus.train.labels == 1)).all()


def test_a_label_asked_for_that_is_not_there_is_refused() -> None:
    with raises("option.unknown-value", "wrold", "world"):
        corpus_of(rows(["world", "sports"]), labels={"wrold": "w", "sports": "s"})
    with raises("option.empty", "labels"):
        corpus_of(rows([0, 1]), labels={})


def test_text_and_label_columns_can_be_chosen() -> None:
    table = pd.DataFrame(rows([0, 1])).rename(columns={"text": "review", "label": "stars"})
    assert len(corpus_of(table, text_column="review", label_column="stars").train) == 48
    with raises("corpus.missing-column", "--text-column"):
        corpus_of(table, label_column="stars")
    with raises("corpus.missing-column", "stars"):
        corpus_of(table, text_column="review", label_column="star")


@pytest.mark.parametrize("column", ["text", "label"])
def test_nulls_are_refused_with_their_row(column: str) -> None:
    table = pd.DataFrame(rows(["a", "b"]))
    table.loc[5, column] = None
    with raises("corpus.null-value", column, "5"):
        corpus_of(table)


def test_an_empty_label_is_a_null() -> None:
    table = pd.DataFrame(rows(["a", "b"]))
    table.loc[3, "label"] = " "
    with raises("corpus.null-value", "3"):
        corpus_of(table)


def test_a_column_of_numbers_is_no_text() -> None:
    table = pd.DataFrame(rows([0, 1])).assign(text=range(60))
    with raises("corpus.bad-value", "0", "text"):
        corpus_of(table)


@pytest.mark.slow
def test_empty_documents_are_dropped_and_counted() -> None:
    table = rows([0, 1])
    table["text"][3], table["text"][4], table["text"][5] = "", " \n", "<br /><br>"
    corpus = corpus_of(table)
    assert sum(map(len, corpus.splits.values())) == 57
    assert corpus.notes[0] == "train: 3 empty documents dropped"
    with raises("corpus.empty-split", "train", "60"):
        corpus_of(rows([0, 1]) | {"text": [""] * 60})


def test_what_counts_as_empty_depends_on_the_tokeniser() -> None:
    table = rows([0, 1])
    table["text"][0] = "<br />"
    assert sum(map(len, corpus_of(table, tokeniser="whitespace").splits.values())) == 60


@pytest.mark.parametrize("ids", [None, ["a"] * 60, [2**70] * 60, [1.5] * 60])
def test_ids_are_row_numbers_where_the_source_has_no_whole_ones(ids: list[Any] | None) -> None:
    table = rows([0, 1]) | ({} if ids is None else {"id": ids})
    corpus = corpus_of(table)
    found = np.concatenate([d.ids for d in corpus.splits.values()])
    assert sorted(found.tolist()) == list(range(60))


def test_ids_with_gaps_are_row_numbers() -> None:
    table = pd.DataFrame(rows([0, 1])).assign(id=pd.array([None, *range(59)], dtype="Int64"))
    assert corpus_of(table).train.ids.max() < 60


@pytest.mark.parametrize(
    ("there", "sizes", "note"),
    [
        ([], [48, 6, 6], "validation and test cut off train, stratified by label"),
        (["test"], [54, 6, 4], "validation cut off train, stratified by label"),
        (["validation"], [54, 4, 6], "test cut off train, stratified by label"),
    ],
)
def test_missing_splits_are_cut_off_train(there: list[str], sizes: list[int], note: str) -> None:
    small = split_of(["one", "two", "three", "four"], [0, 1, 0, 1])
    tables = {"train": pd.DataFrame(rows([0, 1])), **dict.fromkeys(there, small)}
    corpus = assemble("mine", tables, CorpusOptions())
    assert [len(d) for d in corpus.splits.values()] == sizes
    assert corpus.notes == (note,)


def test_shares_and_seed_of_the_cut_can_be_chosen() -> None:
    shares = {"validation_fraction": 0.2, "test_fraction": 0.3}
    corpus = corpus_of(rows([0, 1]), **shares)
    assert [len(d) for d in corpus.splits.values()] == [30, 12, 18]
    other = corpus_of(rows([0, 1]), split_seed=1, **shares)
    assert set(other.test.ids.tolist()) != set(corpus.test.ids.tolist())
    with raises("option.conflict"):
        corpus_of(rows([0, 1]), validation_fraction=0.5, test_fraction=0.5)


def test_lengths_outside_the_bounds_are_dropped_and_counted() -> None:
    table = rows([0, 1], n=100)
    table["text"] = [" ".join(["word"] * (i // 2 + 1)) + f" {i}" for i in range(100)]
    corpus = corpus_of(table, min_length=11, max_length=40)
    for documents in corpus.splits.values():
        assert documents.token_numbers.lengths.min() >= 11
        assert documents.token_numbers.lengths.max() <= 40
    left = sum(map(len, corpus.splits.values()))
    assert left == 60
    counted = [int(n.split()[1]) for n in corpus.notes if "outside 11 to 40 tokens dropped" in n]
    assert sum(counted) == 40


def test_a_limit_keeps_the_shares_of_labels_and_is_counted() -> None:
    table = rows([0, 0, 0, 1], n=400)
    corpus = corpus_of(table, limit=20)
    assert [len(d) for d in corpus.splits.values()] == [20, 20, 20]
    assert np.bincount(corpus.train.labels).tolist() == [15, 5]
    assert "train: 300 documents over the limit left out" in corpus.notes
    larger = corpus_of(table, limit=30)
    assert set(corpus.train.ids.tolist()) <= set(larger.train.ids.tolist())
    assert corpus_of(table, limit=1000).notes == corpus_of(table).notes


def lengths_of(corpus: Corpus, split: str) -> list[int]:
    return sorted(corpus.splits[split].token_numbers.lengths.tolist())


def test_a_limit_of_test_alone() -> None:
    table = rows([0, 0, 0, 1], n=400)
    corpus = corpus_of(table, test_limit=20)
    assert [len(d) for d in corpus.splits.values()] == [320, 40, 20]
    assert np.bincount(corpus.test.labels).tolist() == [15, 5]
    assert "test: 20 documents over the limit left out" in corpus.notes
    assert corpus.test.ids.tolist() == corpus_of(table, limit=20).test.ids.tolist()
    both = corpus_of(table, limit=30, test_limit=20)
    assert [len(d) for d in both.splits.values()] == [30, 30, 20]
    assert [len(d) for d in corpus_of(table, limit=10, test_limit=20).splits.values()] == [10] * 3


NEW = {"test_limit": 5, "truncate": 3}


def test_later_options_are_in_the_config_only_where_they_are_not_at_their_defaults() -> None:
    """The names of before: a cell's hash holds them all, and stored results are found by it."""
    assert list(corpus_of(rows([0, 1])).config) == [
        *("corpus", "text_column", "label_column", "tokens_column", "rationale_column"),
        *("tokeniser", "lowercase", "labels", "min_length", "max_length", "limit"),
        *("validation_fraction", "test_fraction", "split_seed", "hub_config"),
    ]
    config = corpus_of(rows([0, 1]), **NEW).config
    assert {name: config[name] for name in NEW} == NEW


TOKENS = {
    "tokens": [["New York", "Is", str(i)] for i in range(60)],
    "label": [i % 2 for i in range(60)],
    "rationale": [[0, 1, i % 2] for i in range(60)],
}


def test_given_tokens_and_rationales_are_kept() -> None:
    corpus = corpus_of(TOKENS, tokeniser="tokens")
    for documents in corpus.splits.values():
        assert documents.tokens == [["new york", "is", str(i)] for i in documents.ids]
        assert documents.given_tokens == [["New York", "Is", str(i)] for i in documents.ids]
        assert documents.rationales is not None
        assert [r.tolist() for r in documents.rationales] == [
            [False, True, bool(i % 2)] for i in documents.ids
        ]
        assert documents.texts == [f"New York Is {i}" for i in documents.ids]


def test_tokens_and_rationale_columns_can_be_chosen() -> None:
    table = pd.DataFrame(TOKENS).rename(columns={"tokens": "words", "rationale": "why"})
    options = {"tokeniser": "tokens", "tokens_column": "words", "rationale_column": "why"}
    assert corpus_of(table, **options).train.rationales is not None
    with raises("corpus.missing-column", "--tokens-column"):
        corpus_of(table, tokeniser="tokens")


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("rationale", [0, 1], ("corpus.bad-rationale", "4")),
        ("rationale", 7, ("corpus.bad-rationale", "4")),
        ("rationale", [0, 2, 1], ("corpus.bad-rationale", "4")),
        ("rationale", [[0, 1], 1], ("corpus.bad-rationale", "4")),
        ("rationale", [[3, 99]], ("corpus.bad-rationale", "4", "99", "13")),
        ("rationale", "010", ("corpus.bad-rationale", "4")),
        ("tokens", "one two", ("corpus.bad-value", "4", "tokens")),
        ("tokens", 3, ("corpus.bad-value", "4", "tokens")),
        ("tokens", None, ("corpus.null-value", "4")),
    ],
)
def test_tokens_and_rationales_must_fit(column: str, value: Any, expected: tuple[str, ...]) -> None:
    table = pd.DataFrame(TOKENS)
    table[column] = [*TOKENS[column][:4], value, *TOKENS[column][5:]]
    with raises(*expected):
        corpus_of(table, tokeniser="tokens")


def test_documents_of_blank_tokens_are_empty() -> None:
    table = {**TOKENS, "tokens": [["", " "], [], *TOKENS["tokens"][2:]]}
    table["rationale"] = [[0, 0], [], *TOKENS["rationale"][2:]]
    assert corpus_of(table, tokeniser="tokens").notes[0] == "train: 2 empty documents dropped"


def test_one_class_only_is_refused() -> None:
    with raises("corpus.one-class", "--label-column"):
        corpus_of(rows(["a"]))


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_label_never_seen_in_train_is_refused(split: str) -> None:
    tables = {
        "train": split_of(["a", "b"] * 10, [0, 1] * 10),
        "validation": split_of(["c", "d"], [0, 1]),
        "test": split_of(["e", "f"], [0, 1]),
    }
    assert assemble("mine", tables, CorpusOptions()).classes == ["0", "1"]
    tables[split] = split_of(["x", "y"], [0, 7])
    with raises("corpus.unseen-label", split, "7"):
        assemble("mine", tables, CorpusOptions())
