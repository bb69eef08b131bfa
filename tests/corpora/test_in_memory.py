"""Corpora from DataFrames and lists, splits named in a column, and documents without labels."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import verax
from support.errors import raises
from verax.cli import main
from verax.errors import VeraxWarning
from verax.exams import load_verdict

TEXTS = [f"{word} film number {i}" for word in ("good", "bad") for i in range(40)]
LABELS = ["pos"] * 40 + ["neg"] * 40
FRAME = pd.DataFrame({"text": TEXTS, "label": LABELS})
SPLITS = (["train"] * 30 + ["dev"] * 5 + ["test"] * 5) * 2


def test_frames_lists_and_files_give_the_same_corpus(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "mine.csv", index=False)
    of_file = verax.load_corpus(tmp_path / "mine.csv")
    for source in (FRAME, (TEXTS, LABELS), {"train": FRAME}):
        corpus = verax.load_corpus(source)
        assert corpus.fingerprint == of_file.fingerprint
        assert corpus.test.ids.tolist() == of_file.test.ids.tolist()


def test_other_columns_and_token_lists() -> None:
    renamed = FRAME.rename(columns={"text": "review", "label": "stars"})
    corpus = verax.load_corpus(renamed, text_column="review", label_column="stars")
    assert corpus.fingerprint == verax.load_corpus(FRAME).fingerprint
    tokens = [text.split() for text in TEXTS]
    assert verax.load_corpus((tokens, LABELS), tokeniser="tokens").train.tokens[0][1] == "film"


@pytest.mark.parametrize("suffix", [None, ".csv", ".parquet"])
def test_a_split_column_is_honoured(suffix: str | None, tmp_path: Path) -> None:
    table = FRAME.assign(split=SPLITS)
    if suffix == ".csv":
        table.to_csv(tmp_path / "mine.csv", index=False)
    elif suffix:
        table.to_parquet(tmp_path / "mine.parquet")
    corpus = verax.load_corpus(table if suffix is None else tmp_path / f"mine{suffix}")
    assert [len(d) for d in corpus.splits.values()] == [60, 10, 10]
    assert corpus.test.texts == [t for t, s in zip(TEXTS, SPLITS, strict=True) if s == "test"]
    assert corpus.test.ids.tolist() == np.flatnonzero(np.array(SPLITS) == "test").tolist()
    assert corpus.notes == ("splits are those of column 'split'",)


def test_a_split_column_of_other_values_is_not_used() -> None:
    corpus = verax.load_corpus(FRAME.assign(split=["fold1", "fold2"] * 40))
    assert corpus.fingerprint == verax.load_corpus(FRAME).fingerprint
    assert "'fold1' is not train, validation or test" in corpus.notes[0]


def test_splits_by_name() -> None:
    corpus = verax.load_corpus({"train": FRAME[::2], "val": FRAME[1::4], "test": FRAME[3::4]})
    assert [len(d) for d in corpus.splits.values()] == [40, 20, 20]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ((TEXTS, LABELS[:-1]), ("corpus.wrong-source", "80", "79")),
        ({"trian": FRAME}, ("option.unknown-value", "train")),
        ({"test": FRAME}, ("corpus.wrong-splits",)),
        (FRAME[:0], ("corpus.wrong-source",)),
        (FRAME[["text"]], ("corpus.missing-column", "label_column", "--label-column")),
        (
            FRAME.rename(columns={"text": "body"}),
            ("corpus.missing-column", "text_column", "--text-column"),
        ),
    ],
)
def test_what_is_no_corpus_is_refused(source: object, expected: tuple[str, ...]) -> None:
    with raises(*expected):
        verax.load_corpus(source)  # type: ignore[arg-type]


def test_its_config_tells_corpora_apart_and_says_that_it_was_in_memory() -> None:
    one, other = verax.load_corpus(FRAME), verax.load_corpus(FRAME[::-1])
    assert one.config["corpus"] != other.config["corpus"]
    with raises("corpus.not-named"):
        verax.load_corpus(one.config["corpus"])


def test_documents_without_labels(tmp_path: Path) -> None:
    corpus = verax.load_corpus(TEXTS)
    assert not corpus.is_labelled
    assert repr(corpus) == "Corpus('in-memory', no labels, 0/0/80 documents)"
    assert set(corpus.test.labels.tolist()) == {-1}
    note = "no labels and no splits: all documents are in test, none are cut off"
    assert corpus.notes == (note,)
    named = FRAME.rename(columns={"text": "body"}).assign(split=SPLITS)
    options = {"text_column": "body", "label_column": None}
    assert len(verax.load_corpus(named.drop(columns="split"), **options).test) == 80  # type: ignore[arg-type]
    assert len(verax.load_corpus(named, **options).test) == 10  # type: ignore[arg-type]
    assert len(verax.load_corpus(TEXTS, test_fraction=0.5).test) == 40
    corpus.save(tmp_path / "saved")
    again = verax.load_corpus(tmp_path / "saved", label_column=None)
    assert again.fingerprint == corpus.fingerprint
    assert again.config["label_column"] == "none"
    with raises("corpus.no-labels"):
        verax.train(corpus, epochs=1)


def test_a_lone_source_that_is_examined_is_not_cut(tmp_path: Path) -> None:
    model = verax.train(verax.load_corpus(FRAME), encoder="none", embedding_size=4, epochs=1)
    few = verax.examine(model, FRAME[:3], "replacement")  # too few to cut, and of one class
    assert (few.manifest["documents"], few.manifest["split"]) == (3, "all")
    bare = verax.examine(model, FRAME[["text"]], "replacement")
    assert bare.manifest["documents"] == 80
    assert math.isnan(bare.value("replacement.trained.accuracy"))
    model.save(tmp_path / "model")
    FRAME.to_csv(tmp_path / "mine.csv", index=False)
    given = ["--corpus", str(tmp_path / "mine.csv"), "--test-fraction", "0.5", "--exams"]
    command = ["examine", str(tmp_path / "model"), *given, "replacement"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    assert load_verdict(tmp_path / "out").manifest["documents"] == 40


def test_all_splits_together() -> None:
    corpus = verax.load_corpus(FRAME, test_limit=None)
    documents = corpus.documents("all")
    assert sorted(documents.texts) == sorted(TEXTS)
    assert documents.tokens == [t for d in corpus.splits.values() for t in d.tokens]


def test_overlap_counts_documents_with_the_tokens_of_a_train_document() -> None:
    test = pd.DataFrame({"text": ["GOOD film  number 0", "good film"], "label": ["pos", "neg"]})
    corpus = verax.load_corpus({"train": FRAME, "validation": FRAME[:5], "test": test})
    assert corpus.overlap == {"validation": 5, "test": 1}


def test_truncating_keeps_the_first_tokens_and_counts() -> None:
    texts = ["It doesn't cost $3.50, does it? Not Today", "Short one"] * 20
    frame = pd.DataFrame({"text": texts, "label": ["a", "b"] * 20, "split": SPLITS[:40]})
    frame["split"] = (["train"] * 6 + ["dev"] * 2 + ["test"] * 2) * 4
    corpus = verax.load_corpus(frame, truncate=6)
    whole = verax.load_corpus(frame)
    assert corpus.test.tokens == [tokens[:6] for tokens in whole.test.tokens]
    assert corpus.test.texts[:2] == ["It does n't cost $ 3.50", "Short one"]
    assert corpus.notes[1:] == tuple(
        f"{split}: {count} documents cut to their first 6 tokens"
        for split, count in (("train", 12), ("validation", 4), ("test", 4))
    )
    assert corpus.config["truncate"] == 6
    assert "truncate" not in whole.config


def test_truncating_given_tokens_and_rationales(planted: verax.Corpus) -> None:
    documents = planted.test.truncated(5)
    assert documents.tokens == [tokens[:5] for tokens in planted.test.tokens]
    assert documents.rationales is not None
    assert planted.test.rationales is not None
    assert [m.tolist() for m in documents.rationales] == [
        m[:5].tolist() for m in planted.test.rationales
    ]


def test_right_to_left_text_is_read_as_it_is() -> None:
    texts = [f"{text} {i}" for i in range(20) for text in ("هذا فيلم رائع", "סרט גרוע!")]
    corpus = verax.load_corpus((texts, ["good", "bad"] * 20))
    assert corpus.train.tokens[0] == ["هذا", "فيلم", "رائع", "0"]
    assert ["סרט", "גרוע", "!", "2"] in corpus.train.tokens


@pytest.mark.parametrize(
    "text", ["这部电影真的很好看我很喜欢", "この映画はとても面白かったです", "หนังเรื่องนี้สนุกมากจริงๆ"]
)
def test_scripts_without_spaces_are_noticed(text: str) -> None:
    corpus_of = ([f"{text}{i}" for i in range(40)], ["a", "b"] * 20)
    with pytest.warns(VeraxWarning, match="script without spaces"):
        verax.load_corpus(corpus_of)
    corpus = verax.load_corpus(corpus_of, tokeniser="characters")
    assert len(corpus.train.tokens[0]) > 10
    parted = ["很 好看 的 电影 really good"] * 2
    assert not verax.corpora.Tokeniser().cannot_part(parted)
