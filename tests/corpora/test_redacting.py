"""Words that are covered before texts are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verax
from support.errors import raises
from verax.corpora import Tokenizer
from verax.corpora.redacting import COVER, covered_words, patterns_of

TEXTS = [
    f"{'fine' if n % 2 else 'poor'} film, write to jane.doe{n}@example.org or call 555-{1000 + n}"
    for n in range(60)
]
LABELS = [n % 2 for n in range(60)]
MAIL, NUMBER = r"\S+@\S+", r"\d{3}-\d{4}"
TINY: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 1, "device": "cpu"}


@given(st.text(alphabet="ab1 -@.", max_size=30), st.sampled_from([MAIL, NUMBER, "a+", "ab|1"]))
def test_every_letter_of_a_match_is_in_a_covered_word_and_no_other_word_is(
    text: str, pattern: str
) -> None:
    """By hand: the letters of all matches, of the text and of each word alone."""
    (compiled,) = patterns_of(pattern)
    places = Tokenizer().spans(text)
    matched = np.zeros(len(text), dtype=bool)
    for match in compiled.finditer(text):
        matched[match.start() : match.end()] = True
    for begin, end in places.tolist():
        for match in compiled.finditer(text[begin:end]):
            matched[begin + match.start() : begin + match.end()] = True
    covered = covered_words(text, places, (compiled,))
    assert covered.tolist() == [bool(matched[begin:end].any()) for begin, end in places.tolist()]


@pytest.mark.parametrize("wrong", ["(", "[a", "", ["fine", ""], [7]])
def test_what_is_no_regular_expression_is_refused_in_a_line(wrong: Any) -> None:
    is_text = isinstance(wrong, str) and wrong
    with raises("option.malformed" if is_text else "option.wrong-type", "redact") as refused:
        patterns_of(wrong)
    assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def model() -> Any:
    return verax.train(verax.load_corpus((TEXTS, LABELS)), **TINY)


def test_a_verdict_keeps_no_covered_word(model: Any) -> None:
    corpus = verax.load_corpus((TEXTS, LABELS))
    exams = ["replacement", "information"]
    plain = verax.examine(model, corpus, exams, gallery=5)
    verdict = verax.examine(model, corpus, exams, gallery=5, redact=[MAIL, NUMBER])
    assert verdict.manifest["redacted"] == {"patterns": 2, "documents": len(corpus.test)}
    before, after = (v.tables["gallery_tokens"] for v in (plain, verdict))
    kept = before["text"].where(after["text"] != COVER, COVER)
    assert kept.tolist() == after["text"].tolist(), "other words stay as they were"
    each = after.groupby("id", sort=False)["text"].agg(" ".join)
    expected = f"film , write to {' '.join([COVER] * 7)} or call {' '.join([COVER] * 3)}"
    assert set(each.str.split(" ", n=1).str[1]) == {expected}
    words = set(verdict.tables["information_words"]["word"])
    assert COVER in words
    assert not words & {"jane", "doe", "example", "org", "@"}, "nor where they stand alone"
    assert {"film", "write"} <= words
    pd.testing.assert_frame_equal(plain.summary(), verdict.summary())


def test_an_explanation_covers_words_and_scores_them_all_the_same(model: Any) -> None:
    plain, covered = (model.explain(TEXTS[:2], redact=r) for r in ((), MAIL))
    assert covered["word"].tolist().count(COVER) == 14
    pd.testing.assert_frame_equal(plain.drop(columns="word"), covered.drop(columns="word"))
    tokens = model.explain([["call", "555-1234"]], redact=NUMBER)
    assert tokens["word"].tolist() == ["call", COVER]


def test_texts_of_functions_are_covered_too() -> None:
    asked = verax.from_predict(lambda texts: np.full((len(texts), 2), 0.5), ["no", "yes"])
    given = (TEXTS[:20], ["no", "yes"] * 10)
    verdict = verax.examine(
        asked, given, ["deletion"], "all", gallery=3, redact=MAIL, sample=4, budget=4
    )
    words = verdict.tables["gallery_words"]["text"]
    assert (words == COVER).sum() >= 3
    assert not words.str.contains("jane|@|example").any()
