"""Splits cut anew: what is pooled, by which cut, and under which ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.errors import raises
from support.internals import assemble
from verax.corpora import Corpus, CorpusOptions, load_corpus
from verax.corpora.splitting import cut

SIZES = {"train": 60, "validation": 20, "test": 40}


def tables(sizes: Mapping[str, int] = SIZES, **columns: list[Any]) -> dict[str, pd.DataFrame]:
    return {
        split: pd.DataFrame(
            {"text": [f"{split} {i}" for i in range(n)], "label": [i % 2 for i in range(n)]}
            | {name: values[:n] for name, values in columns.items()}
        )
        for split, n in sizes.items()
    }


def resplit(given: Mapping[str, pd.DataFrame], how: str, **options: Any) -> Corpus:
    return assemble("mine", given, CorpusOptions(resplit=how, **options))


def sizes(corpus: Corpus) -> list[int]:
    return [len(documents) for documents in corpus.splits.values()]


def test_validation_is_cut_off_train_and_validation_again() -> None:
    corpus = resplit(tables(), "validation", validation_fraction=0.15)
    assert sizes(corpus) == [68, 12, 40]
    assert corpus.test.texts == [f"test {i}" for i in range(40)]
    both = {text.split()[0] for text in corpus.validation.texts}
    assert both == {"train", "validation"}
    assert corpus.notes == (
        "train and validation pooled, to be cut anew",
        "validation cut off train, stratified by label",
    )


def test_everything_is_pooled_and_both_are_cut() -> None:
    corpus = resplit(tables(), "all", validation_fraction=0.16, test_fraction=0.2)
    assert sizes(corpus) == [76, 20, 24]
    assert corpus.notes == (
        "train, validation and test pooled, to be cut anew",
        "validation and test cut off train, stratified by label",
    )
    for documents in corpus.splits.values():
        assert np.ptp(np.bincount(documents.labels)) == 0


@pytest.mark.slow
@given(
    st.lists(st.integers(6, 30), min_size=3, max_size=3),
    st.sampled_from(["validation", "all"]),
    st.integers(0, 5),
)
def test_the_cut_is_the_one_for_missing_splits(counts: list[int], how: str, seed: int) -> None:
    """By hand: the texts one after the other, cut, and no document lost or there twice."""
    given = tables(dict(zip(SIZES, counts, strict=True)))
    corpus = resplit(given, how, validation_fraction=0.3, test_fraction=0.3, split_seed=seed)
    together = ["train", "validation"] if how == "validation" else list(SIZES)
    texts = [text for split in together for text in given[split]["text"]]
    labels = [str(label) for split in together for label in given[split]["label"]]
    fractions = [0.3] * (len(together) - 1)
    parts = [[texts[i] for i in part] for part in cut(texts, labels, fractions, seed)]
    if how == "validation":
        parts.append(given["test"]["text"].tolist())
    assert [documents.texts for documents in corpus.splits.values()] == parts


def test_a_split_that_is_not_there_is_cut_as_ever() -> None:
    given = {s: t for s, t in tables().items() if s != "validation"}
    assert sizes(resplit(given, "validation")) == [54, 6, 40]
    assert resplit(given, "validation").fingerprint == resplit(given, "none").fingerprint
    assert sizes(resplit(given, "all")) == [80, 10, 10]
    only_train = {"train": given["train"]}
    assert resplit(only_train, "all").notes == resplit(only_train, "none").notes


def test_ids_that_would_clash_are_rows_of_the_pool() -> None:
    given = tables()
    given["validation"].loc[3, "text"] = " "
    corpus = resplit(given, "all")
    texts = [text for table in given.values() for text in table["text"]]
    for documents in corpus.splits.values():
        assert documents.texts == [texts[i] for i in documents.ids]
    assert "train: 1 empty documents dropped" in corpus.notes


def test_ids_that_are_all_different_stay() -> None:
    given = tables()
    for start, table in zip((1000, 2000, 3000), given.values(), strict=True):
        table["id"] = range(start, start + len(table))
    for documents in resplit(given, "all").splits.values():
        starts = {"train": 1000, "validation": 2000, "test": 3000}
        words = [text.split() for text in documents.texts]
        assert documents.ids.tolist() == [starts[split] + int(row) for split, row in words]


def test_rationales_that_some_splits_lack_are_left_out_and_told() -> None:
    given = tables(tokens=[["one", str(i)] for i in range(60)], rationale=[[0, 1]] * 60)
    assert resplit(given, "all", tokeniser="tokens").train.rationales is not None
    del given["test"]["rationale"]
    corpus = resplit(given, "all", tokeniser="tokens")
    assert corpus.train.rationales is None
    assert "rationales left out: not every split has them" in corpus.notes
    assert resplit(given, "validation", tokeniser="tokens").train.rationales is not None


def test_planted_splits_can_be_cut_anew() -> None:
    corpus = load_corpus("planted", documents=120, resplit="all", test_fraction=0.2)
    assert sum(sizes(corpus)) == 120
    ids = np.concatenate([documents.ids for documents in corpus.splits.values()])
    assert sorted(ids.tolist()) == list(range(120))


def test_what_cannot_be_is_refused() -> None:
    with raises("option.conflict"):
        resplit(tables(), "all", validation_fraction=0.5, test_fraction=0.5)
    with raises("option.unknown-value", "resplit"):
        load_corpus("planted", resplit="test")
