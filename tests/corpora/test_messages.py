"""Stripped messages are those of scikit-learn's own three functions."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)

from support.errors import raises
from support.internals import assemble, strip_message
from verax.corpora import CorpusOptions, load_corpus

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


def test_a_corpus_of_messages_is_stripped_before_empty_documents_are_dropped() -> None:
    texts = [f"{HEADER}game {i}\n\n--\nAnn" for i in range(40)]
    texts[3] = f"{HEADER}> all quoted\n\nAnn"
    table = pd.DataFrame({"text": texts, "label": [i % 2 for i in range(40)]})
    corpus = assemble("mine", {"train": table}, CorpusOptions(strip_messages=True))
    for documents in corpus.splits.values():
        assert documents.texts == [f"game {i}\n" for i in documents.ids]
    assert corpus.notes[:2] == (
        "header, quoted lines and signature of messages left out",
        "train: 1 empty documents dropped",
    )
    assert corpus.config["strip_messages"] is True


def test_lists_of_tokens_are_no_messages() -> None:
    with raises("option.not-applicable", "strip_messages"):
        load_corpus("planted", documents=60, strip_messages=True)
