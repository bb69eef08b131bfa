"""How papers read corpora: pools, extremes, and messages stripped as scikit-learn does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)

import verax
from research.papers.loading import pooled, read, strip_message
from support.errors import raises
from verax.corpora import SPLITS, Corpus

HEADER = "From: ann@example.org\nSubject: Re: game 7\nLines: 4\n\n"


def by_scikit_learn(text: str) -> str:
    return strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(text)))


@pytest.mark.parametrize(
    ("message", "left"),
    [
        (HEADER + "Hello\nworld", "Hello\nworld"),
        (HEADER + "Hello\n\n-- \nAnn", "Hello\n"),
        (HEADER + "Hello\n----\nAnn\n\n\n", "Hello"),
        (HEADER + "One.\n\nTwo.", "One."),
        (HEADER + "\nOne paragraph\n", "\nOne paragraph\n"),
        (
            HEADER + "Bob wrote:\n> No.\n| No.\nYes, he said: no.\n yes > no\n\n--\nAnn",
            " yes > no\n",
        ),
        (HEADER + "In article <1@x> Bob says:\nNot In article\n\n-", "Not In article\n"),
        (HEADER + "--\nAnn", "--\nAnn"),
        (HEADER, ""),
        ("no blank line\nat all", ""),
        ("", ""),
    ],
)
def test_messages_written_by_hand(message: str, left: str) -> None:
    assert strip_message(message) == left == by_scikit_learn(message)


LINES = ["", " ", "--", "- -", "text", "> quoted", "|", "Ann wrote:", "In article", " In article"]


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_any_message_is_stripped_as_scikit_learn_does(lines: list[str]) -> None:
    message = "\n".join(lines)
    assert strip_message(message) == by_scikit_learn(message)
    assert strip_message(message.replace("\n", "\r\n")) == by_scikit_learn(message)


SIZES = {"train": 60, "validation": 20, "test": 40}


def tables(sizes: Mapping[str, int] = SIZES, **columns: list[Any]) -> dict[str, pd.DataFrame]:
    return {
        split: pd.DataFrame(
            {"text": [f"{split} {i}" for i in range(n)], "label": [i % 2 for i in range(n)]}
            | {name: values[:n] for name, values in columns.items()}
        )
        for split, n in sizes.items()
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus `mine` in $VERAX_DATA; tests write its tables."""
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    write(tmp_path / "mine", tables())
    return tmp_path / "mine"


def write(folder: Path, given: Mapping[str, pd.DataFrame]) -> None:
    for split, table in given.items():
        table.to_parquet(folder / f"{split}.parquet")


def sizes(corpus: Corpus) -> list[int]:
    return [len(documents) for documents in corpus.splits.values()]


@pytest.mark.usefixtures("folder")
def test_without_options_a_corpus_is_as_it_is_loaded() -> None:
    corpus, plain = read("mine"), verax.load_corpus("mine")
    assert corpus.fingerprint == plain.fingerprint
    assert all((corpus.splits[s].ids == plain.splits[s].ids).all() for s in SPLITS)


@pytest.mark.usefixtures("folder")
def test_validation_is_cut_off_train_and_validation_again() -> None:
    corpus = read("mine", pool="validation", validation_fraction=0.15)
    assert sizes(corpus) == [68, 12, 40]
    assert corpus.test.texts == [f"test {i}" for i in range(40)]
    assert {text.split()[0] for text in corpus.validation.texts} == {"train", "validation"}


@pytest.mark.usefixtures("folder")
def test_everything_is_pooled_and_both_are_cut() -> None:
    corpus = read("mine", pool="all", validation_fraction=0.16, test_fraction=0.2)
    assert sizes(corpus) == [76, 20, 24]
    for documents in corpus.splits.values():
        assert np.ptp(np.bincount(documents.labels)) == 0


def test_ids_that_would_clash_are_rows_of_the_pool() -> None:
    given = tables()
    texts = [text for table in given.values() for text in table["text"]]
    pool = pooled(given, "all")["train"]
    assert (pool["text"].tolist(), pool["id"].tolist()) == (texts, list(range(120)))
    for start, table in zip((1000, 2000, 3000), given.values(), strict=True):
        table["id"] = range(start, start + len(table))
    assert pooled(given, "all")["train"]["id"][60] == 2000


def test_columns_that_some_splits_lack_are_left_out() -> None:
    given = tables(rationale=[[0, 1]] * 60)
    assert "rationale" in pooled(given, "all")["train"]
    del given["test"]["rationale"]
    assert "rationale" not in pooled(given, "all")["train"]
    assert "rationale" in pooled(given, "validation")["train"]


@pytest.mark.parametrize(
    ("bounds", "kept"),
    [
        ({}, {"train": (2, 29), "validation": (4, 19), "test": (6, 9)}),
        ({"min_words": 5}, {"train": (5, 29), "validation": (5, 19), "test": (5, 9)}),
        ({"max_words": 9}, {"train": (2, 9), "validation": (4, 9), "test": (6, 9)}),
        ({"min_words": 5, "max_words": 30}, dict.fromkeys(SPLITS, (5, 30))),
    ],
)
def test_extremes_of_each_split_are_dropped_where_no_bound_is_given(
    folder: Path, bounds: dict[str, int], kept: dict[str, tuple[int, int]]
) -> None:
    """Splits of lengths 1 to 30, 3 to 20 and 5 to 10, each length twice, once for each label."""
    spans = {"train": range(1, 31), "validation": range(3, 21), "test": range(5, 11)}
    given = {
        split: pd.DataFrame(
            {
                "text": [" ".join([f"{y}"] * n) for n in span for y in (0, 1)],
                "label": [0, 1] * len(span),
            }
        )
        for split, span in spans.items()
    }
    write(folder, given)
    corpus = read("mine", drop_extremes=True, **bounds)
    for split, span in spans.items():
        low, high = kept[split]
        left = [n for n in span for _ in (0, 1) if low <= n <= high]
        assert corpus.splits[split].token_numbers.lengths.tolist() == left


def test_messages_are_stripped_before_empty_documents_are_dropped(folder: Path) -> None:
    given = tables()
    for table in given.values():
        table["text"] = [f"{HEADER}{text}\n\n--\nAnn" for text in table["text"]]
    given["train"].loc[3, "text"] = HEADER
    write(folder, given)
    corpus = read("mine", strip_messages=True)
    assert corpus.test.texts == [f"test {i}\n" for i in range(40)]
    assert sizes(corpus) == [59, 20, 40]


@pytest.mark.usefixtures("folder")
def test_a_corpus_that_is_not_there_is_named() -> None:
    with raises("corpus.not-at-hand", "VERAX_DATA", "sst"):
        read("sst")


needs_data = pytest.mark.skipif(
    not os.environ.get("VERAX_DATA"), reason="$VERAX_DATA names no folder of corpora"
)


@needs_data
@pytest.mark.slow
def test_sst_is_filtered_to_the_sizes_of_jain_and_wallace() -> None:
    options = {"text_column": "text_jw", "tokenizer": "whitespace", "min_words": 6}
    assert sizes(read("sst", **options, drop_extremes=True)) == [6355, 821, 1725]


@needs_data
@pytest.mark.slow
def test_raw_newsgroup_messages_become_the_stripped_ones() -> None:
    raw = read("20news_sports", text_column="text_raw", strip_messages=True)
    assert raw.fingerprint == verax.load_corpus("20news_sports").fingerprint
