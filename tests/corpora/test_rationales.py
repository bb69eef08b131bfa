"""Rationales: read from every shape, aligned to any tokenizer's words, kept through all changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.documents import marked_in, tokens_of
from support.errors import raises
from support.internals import Ragged, joined_places, places_in, united
from verax.corpora import SPLITS, TOKENIZERS, Corpus, Rationales, Tokenizer, load_corpus, tokenize

TEXT = "The plot isn't GOOD, but 12 actors shine!!"
MARKS = [0, 0, 1, 1, 0, 0, 0, 1]
SPANS = [[9, 20], [36, 42]]
BY_WORDS = ["is", "n't", "good", ",", "shine", "!", "!"]

ARABIC = "الفيلم جيد جدا والقصة مملة"
CHINESE = "这部电影很好 但是太长"


def frame(rationale: Any, text: str = TEXT, n: int = 40, **columns: Any) -> pd.DataFrame:
    """So many copies of one text, told apart by their last word, which nobody marked."""
    rows = {"text": [f"{text} {i}" for i in range(n)], "label": [i % 2 for i in range(n)]}
    every = {"rationale": rationale, **columns}
    return pd.DataFrame(rows | {name: [value] * n for name, value in every.items()})


def marked_words(corpus: Corpus, tokenizer: Tokenizer | None = None) -> list[list[str]]:
    """The words of the rationale of every document of train."""
    documents = corpus.train
    pairs = zip(tokens_of(documents, tokenizer), marked_in(documents, tokenizer), strict=True)
    return [
        [word for word, mark in zip(words, marks, strict=True) if mark] for words, marks in pairs
    ]


def one_of(table: pd.DataFrame, tokenizer: str = "words", **options: Any) -> list[str]:
    """The marked words of a document, which are those of all."""
    corpus = load_corpus(dict.fromkeys(SPLITS, table), **options)
    words = marked_words(corpus, Tokenizer(tokenizer))
    assert all(other == words[0] for other in words)
    return words[0]


# -- shapes


@pytest.mark.parametrize(
    "rationale",
    [
        *([*MARKS, 0], SPANS, np.array([*MARKS, 0]), json.dumps(SPANS), [[*MARKS, 0]]),
        *(
            np.array(SPANS),
            [list(map(np.int64, span)) for span in SPANS],
            [bool(m) for m in [*MARKS, 0]],
        ),
    ],
)
def test_marks_and_spans_of_the_same_thing_are_the_same(rationale: Any) -> None:
    assert one_of(frame(rationale)) == BY_WORDS
    assert one_of(frame(rationale), tokenizer="whitespace") == ["isn't", "good,", "shine!!"]
    assert one_of(frame(rationale), tokenizer="keras") == ["isn't", "good", "shine"]
    assert one_of(frame(rationale), tokenizer="digits-masked") == BY_WORDS[:-1]
    assert one_of(frame(rationale), tokenizer="as-written") == [
        *("isn't", "GOOD", ",", "shine", "!", "!")
    ]


def test_a_word_is_marked_if_one_of_its_characters_is() -> None:
    assert one_of(frame([[15, 16], [19, 20]])) == ["good", ","]
    assert one_of(frame([[12, 15]])) == ["n't"]  # an n, an apostrophe, and the blank after
    assert one_of(frame([[14, 15], [4, 4]])) == []  # a blank, and nothing


@pytest.mark.parametrize(
    ("text", "spans", "words", "characters"),
    [
        (ARABIC, [[7, 14]], ["جيد", "جدا"], ["جيد", "جدا"]),
        (CHINESE, [[4, 6]], ["这部电影很好"], ["很", "好"]),
        ("İyi film", [[0, 1]], ["i̇yi"], ["i̇yi"]),
        ("Don’t go<br />home", [[14, 18]], ["home"], ["home"]),
    ],
)
@pytest.mark.filterwarnings("ignore:most of corpus")
def test_scripts_and_letters_that_change_their_length(
    text: str, spans: list[list[int]], words: list[str], characters: list[str]
) -> None:
    assert one_of(frame(spans, text)) == words
    assert one_of(frame(spans, text), tokenizer="characters") == characters
    of_spaces = [
        int(any(first < stop and last > start for first, last in spans))
        for start, stop in Tokenizer("whitespace").spans(text).tolist()
    ]
    assert one_of(frame([*of_spaces, 0], text)) == words


def test_given_tokens_are_what_marks_are_of() -> None:
    tokens = ["The", "New-York", "plot", "."]
    table = frame([0, 1, 0, 0], "The New-York plot.", tokens=tokens)
    table["text"] = "The New-York plot."
    assert one_of(table) == ["new", "-", "york"]
    how = {"tokenizer": "whitespace", "tokens_column": "tokens"}
    assert one_of(table, **how) == ["new-york"]
    spans = table.assign(rationale=[[[4, 9]]] * len(table))  # "New-Y" of the text, not of the join
    assert one_of(spans, **how) == ["new-york"]
    assert one_of(table.assign(rationale=[[[16, 18]]] * len(table)), **how) == [*("plot", ".")]


def shares_of(corpus: Corpus) -> Ragged:
    """The share of annotators who marked each word of train."""
    assert corpus.train.marks is not None
    return corpus.train.marks.shares(tokenize(corpus.train).spans)


def test_several_annotators_and_ties() -> None:
    one, two, three = [[0, 3]], [[0, 8]], [[4, 8], [36, 40]]
    both = load_corpus(frame([one, two]))
    assert shares_of(both)[0].tolist()[:3] == [1.0, 0.5, 0.0]
    assert marked_words(both)[0] == ["the"]  # a tie is not marked
    assert one_of(frame([one, two, three])) == ["the", "plot"]
    columns = frame(one, second=two, third=three)
    names = "rationale, second,third"
    assert one_of(columns, rationale_column=names) == ["the", "plot"]
    of_tokens = [[1, *[0] * 8], [1, 1, *[0] * 7], [0, 1, *[0] * 5, 1, 0]]
    assert one_of(frame(of_tokens)) == ["the", "plot"]
    shares = shares_of(load_corpus(columns, rationale_column=names))
    assert shares[0].tolist() == pytest.approx([2 / 3, 2 / 3, *[0.0] * 7, 1 / 3, 0, 0, 0])


def test_pairs_are_marks_where_another_row_is_longer() -> None:
    table = frame([[0, 1], [1, 1]], "Good", n=40)
    table["text"] = ["Good film"] * 39 + ["One good film"]
    table.at[39, "rationale"] = [[0, 1, 1], [0, 0, 1]]
    documents = load_corpus(dict.fromkeys(SPLITS, table)).train
    assert marked_in(documents) is not None
    assert marked_in(documents)[39].tolist() == [False, False, True]
    assert marked_in(documents)[0].tolist() == [False, True]
    assert one_of(table[:39]) == ["good"]  # spans of a character each, touching


def test_files_of_every_kind(tmp_path: Path) -> None:
    table = frame([[[9, 14]], [[9, 20]]])
    table.to_parquet(tmp_path / "a.parquet")
    table.to_json(tmp_path / "a.jsonl", orient="records", lines=True, force_ascii=False)
    table.assign(rationale=table["rationale"].map(json.dumps)).to_csv(tmp_path / "a.csv")
    for name in ("a.parquet", "a.jsonl", "a.csv"):
        assert marked_words(load_corpus(tmp_path / name))[0] == ["is", "n't"], name


# -- what is refused, and what is not used


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([0, 1], ("corpus.bad-rationale", "3")),
        ([[5, 2]], ("corpus.bad-rationale", "3", "44")),
        ([[0, 100]], ("corpus.bad-rationale", "3", "100")),
        ([[0.5, 1.5]], ("corpus.bad-rationale", "3", "0.5", "1.5")),
        ([0.5] * 9, ("corpus.bad-rationale", "3", "0.5")),
        ("because", ("corpus.bad-rationale", "3")),
    ],
)
def test_what_does_not_fit_names_its_row(value: Any, expected: tuple[str, ...]) -> None:
    table = frame([*MARKS, 0])
    table.at[3, "rationale"] = value
    with raises(*expected) as error:
        load_corpus(table)
    assert "\n" not in str(error.value)


def test_a_column_that_is_named_must_exist() -> None:
    with raises("corpus.missing-column", "wy", "why", "--rationale-column"):
        load_corpus(frame(SPANS, why=SPANS), rationale_column="wy")


def test_nobody_looked_at_a_document_without_a_list() -> None:
    table = frame(SPANS)
    table.loc[5:, "rationale"] = None
    documents = load_corpus(table).documents("all")
    assert documents.marks is not None
    assert sorted(documents.marks.annotators.tolist()) == [0] * 35 + [1] * 5


def test_reasons_in_words_and_marks_of_another_text_are_left_aside() -> None:
    words = load_corpus(frame("because it is dull"))
    assert words.train.marks is None
    assert words.notes[0] == "column 'rationale' not used: it holds no lists of marks"
    other = frame([1, 0], "Dull film", tokens=["Dull", "film"], short="dull")
    other["text"] = "Dull film"
    chosen = load_corpus(dict.fromkeys(SPLITS, other), text_column="short")
    assert chosen.train.marks is None
    assert len(chosen.notes) == 1
    assert "its marks are of column 'tokens', which says something else" in chosen.notes[0]


def test_without_marks_nothing_is_another() -> None:
    bare = load_corpus(frame(SPANS).drop(columns="rationale"))
    with_marks = load_corpus(frame(SPANS))
    assert bare.fingerprint == with_marks.fingerprint
    assert bare.config == with_marks.config
    assert marked_in(bare.train) is bare.rationales_fingerprint is None
    other = load_corpus(frame([[9, 19]]))
    prints = {with_marks.rationales_fingerprint, other.rationales_fingerprint}
    assert len(prints) == 2


# -- what marks go through


def drawn(n: int = 60) -> pd.DataFrame:
    """Documents of different lengths; the word `hit` is marked wherever it stands."""
    random = np.random.default_rng(3)
    texts, spans = [], []
    for number in range(n):
        words = random.choice(["Hit", "it's", "no.", "miss", "A,b"], size=random.integers(4, 12))
        words[number % 3] = "Hit"
        places = joined_places(words.tolist())
        texts.append(" ".join([*words, str(number)]))
        spans.append(places[words == "Hit"].tolist())
    return pd.DataFrame({"text": texts, "label": np.arange(n) % 2, "rationale": spans})


@pytest.mark.parametrize(
    "options", [{}, {"max_words": 12, "min_words": 6}, {"limit": 9}, {"test_limit": 3}]
)
def test_marks_survive(options: dict[str, Any], tmp_path: Path) -> None:
    table = drawn()
    tables = {"train": table[:40], "validation": table[40:50], "test": table[50:]}
    corpus = load_corpus({s: t.reset_index(drop=True) for s, t in tables.items()}, **options)
    corpus.save(tmp_path / "saved")
    again = load_corpus(tmp_path / "saved")
    for one in (corpus, again):
        every = one.documents("all")
        taken = every.take(np.arange(len(every))[::-2])
        for documents in (*one.splits.values(), every, taken):
            assert len(documents)
            for kind in TOKENIZERS:
                words = tokenize(documents, Tokenizer(kind)).first(5)
                assert documents.marks is not None
                marked = documents.marks.majority(words.spans)
                for row, marks in zip(words.words, marked, strict=True):
                    assert [word.lower() == "hit" for word in row] == marks.tolist()


def test_annotators_survive_being_saved(tmp_path: Path) -> None:
    table = frame([[[0, 3]], [[0, 8]]])
    table.at[7, "rationale"] = None
    corpus = load_corpus(table)
    corpus.save(tmp_path / "saved")
    again = load_corpus(tmp_path / "saved")
    assert again.rationales_fingerprint == corpus.rationales_fingerprint
    assert not again.marks_are_cause


def test_the_marks_of_planted_are_the_cause() -> None:
    corpus = load_corpus("planted", documents=60, distractors=1)
    assert corpus.marks_are_cause
    for words, label in zip(marked_words(corpus), corpus.train.labels, strict=True):
        assert {word.partition("_")[0] for word in words} == {f"good{label}"}
    assert not load_corpus(drawn()).marks_are_cause


# -- alignment


@st.composite
def texts(draw: st.DrawFn) -> str:
    odd = st.sampled_from("İΣ’'n't<br/>3.5!!  \t\n\xa0很好ไทยشعر\u0301")
    return draw(st.text(st.one_of(odd, st.characters(exclude_categories=["Cs"])), max_size=40))


@pytest.mark.slow
@given(text=texts(), kind=st.sampled_from(TOKENIZERS), lowercase=st.booleans())
def test_every_token_has_a_place(text: str, kind: str, lowercase: bool) -> None:
    tokenizer = Tokenizer(kind, lowercase)
    places, tokens = tokenizer.spans(text), tokenizer(text)
    assert len(places) == len(tokens)
    assert (places[:, 0] < places[:, 1]).all()
    assert (places[1:, 0] >= places[:-1, 1]).all()
    for (start, stop), token in zip(places.tolist(), tokens, strict=True):
        part = text[start:stop]
        if kind == "digits-masked":
            assert token == "qqq" or part.lower().replace("’", "'").startswith(token.lower())
        else:
            assert part.lower().replace("’", "'").replace("ς", "σ") == (
                token.lower().replace("’", "'").replace("ς", "σ")
            )


@pytest.mark.slow
@given(text=texts(), kind=st.sampled_from(TOKENIZERS), seed=st.integers(0, 2**16))
def test_marks_to_spans_and_back(text: str, kind: str, seed: int) -> None:
    places = Tokenizer(kind).spans(text)
    marked = np.random.default_rng(seed).random((2, len(places))) < 0.4
    one = Rationales.of([united([places[m] for m in marked])], [2])
    rows = Ragged.from_lengths(places, np.array([len(places)]))
    assert (one.marked(rows) == marked).all()
    assert (one.shares(rows).values == marked.mean(0)).all()
    assert one.moved(0, places, places).tolist() == one.spans[0].tolist()


@pytest.mark.slow
@given(
    spans=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted), max_size=6),
    words=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=8),
)
def test_words_are_marked_as_characters_say(
    spans: list[list[int]], words: list[tuple[int, int]]
) -> None:
    """Against sets of characters; the same document twice, and an empty one between them."""
    ends = np.cumsum([gap + width for gap, width in words], dtype=np.int64)
    widths = np.array([width for _, width in words], dtype=np.int64)
    places = np.stack([ends - widths, ends], axis=1).reshape(-1, 2)
    array = united([np.array(spans, dtype=np.int64).reshape(-1, 2)])
    marks = Rationales.of([array, array[:0], array], [1, 1, 1])
    rows = Ragged.from_lengths(
        np.concatenate([places] * 3), np.array([len(places)] * 3, dtype=np.int64)
    )
    characters = {c for start, stop in spans for c in range(start, stop)}
    expected = [any(c in characters for c in range(s, e)) for s, e in places.tolist()]
    found = marks.marked(rows)[0].tolist()
    assert found == [*expected, *[False] * len(places), *expected]


def test_tokens_in_a_text() -> None:
    assert places_in("A film.", ["A", "film", "!"]) is None
    assert places_in("A film. B", ["A", "film", "."]) is None
    assert places_in("A, film", ["A", "film"]) is None
    assert places_in("", []) is not None
