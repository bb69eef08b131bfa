"""A corpus saved and loaded is the same corpus; its fingerprint tells any two apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from support.documents import marked_in, tokens_of
from support.errors import raises
from support.internals import assemble
from verax.corpora import Corpus, CorpusOptions, Tokenizer, describe, load_corpus, tokenize


def corpus_of(texts: list[str], labels: list[str], /, **options: object) -> Corpus:
    tables = {
        s: pd.DataFrame({"text": texts, "label": labels}) for s in ("train", "validation", "test")
    }
    return assemble("mine", tables, CorpusOptions(**options))  # type: ignore[arg-type]


TEXTS = ["One film.", "Another\nfilm", "NA", "é🎬"]
LABELS = ["b", "a", "b", "a"]


def assert_same(saved: Corpus, loaded: Corpus) -> None:
    assert loaded.classes == saved.classes
    assert loaded.fingerprint == saved.fingerprint
    for a, b in zip(saved.splits.values(), loaded.splits.values(), strict=True):
        assert a.texts == b.texts
        assert (a.labels == b.labels).all()
        assert (a.ids == b.ids).all()
        assert (marked_in(a) is None) == (marked_in(b) is None)
        if marked_in(a) is not None and marked_in(b) is not None:
            assert (marked_in(a).values == marked_in(b).values).all()
            assert (marked_in(a).offsets == marked_in(b).offsets).all()


def test_a_saved_corpus_loads_as_it_was(tmp_path: Path) -> None:
    corpus = corpus_of(TEXTS, LABELS)
    corpus.save(tmp_path / "saved")
    assert_same(corpus, load_corpus(tmp_path / "saved"))


def test_the_order_of_classes_is_kept(tmp_path: Path) -> None:
    corpus = corpus_of(TEXTS, LABELS, labels={"b": "no", "a": "maybe"})
    assert corpus.classes == ["no", "maybe"]
    corpus.save(tmp_path / "saved")
    assert_same(corpus, load_corpus(tmp_path / "saved"))


def test_tokens_rationales_and_ids_are_kept(tmp_path: Path) -> None:
    corpus = load_corpus("planted", documents=60, classes=3, label_noise=0.2)
    some = corpus.train.take(np.array([5, 3, 9]))
    corpus = Corpus("some", corpus.classes, some, corpus.validation, corpus.test)
    corpus.save(tmp_path / "saved")
    loaded = load_corpus(tmp_path / "saved")
    assert_same(corpus, loaded)
    assert loaded.train.ids.tolist() == [5, 3, 9]


def test_saving_again_replaces_a_saved_corpus_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    corpus_of(TEXTS, LABELS).save(folder)
    other = corpus_of(TEXTS[:3], LABELS[:3])
    other.save(folder)
    assert_same(other, load_corpus(folder))
    (folder / "notes.txt").write_text("mine")
    with raises("output.occupied"):
        corpus_of(TEXTS, LABELS).save(folder)
    assert_same(other, load_corpus(folder))


def test_a_folder_with_a_classes_file_of_its_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "classes.json").write_text("[]")
    with raises("output.occupied"):
        corpus_of(TEXTS, LABELS).save(tmp_path)


def test_the_fingerprint_sees_every_text_label_and_class() -> None:
    base = corpus_of(TEXTS, LABELS)
    assert corpus_of(TEXTS, LABELS).fingerprint == base.fingerprint
    others = [
        corpus_of([*TEXTS[:3], "é"], LABELS),
        corpus_of(TEXTS, ["b", "a", "a", "b"]),
        corpus_of(TEXTS, ["c", "a", "c", "a"]),
        corpus_of(TEXTS[::-1], LABELS),
        Corpus("moved", base.classes, base.train, base.validation, base.test.take(np.arange(3))),
    ]
    found = {base.fingerprint, *(corpus.fingerprint for corpus in others)}
    assert len(found) == 1 + len(others)


def test_documents_are_tokenized_once_by_each_tokenizer() -> None:
    corpus = corpus_of(TEXTS, LABELS)
    seen: list[str] = []

    def watch(texts: list[str]) -> list[str]:
        seen.extend(texts)
        return texts

    for _ in range(2):
        tokenize(corpus.train).number(watch)  # type: ignore[arg-type]
    assert seen == TEXTS
    assert tokens_of(corpus.train) == [Tokenizer()(text) for text in TEXTS]
    assert tokens_of(corpus.train, Tokenizer("whitespace"))[0] == ["one", "film."]


def test_taken_documents_keep_their_words() -> None:
    corpus = corpus_of(TEXTS, LABELS)
    known = tokenize(corpus.train)
    assert len(known.numbers) == 4
    taken = corpus.train.take(np.array([2, 0]))
    assert tokenize(taken).lexicon is known.lexicon
    assert tokens_of(taken) == [["na"], ["one", "film", "."]]
    assert tokenize(taken).spans[1].tolist() == [[0, 3], [4, 8], [8, 9]]
    assert taken.labels.tolist() == [corpus.classes.index("b")] * 2


def test_describe_counts_what_a_reader_would() -> None:
    """Words 3, 2, 1, 2 in each split: mean 2; sentences 1 each."""
    row = describe(corpus_of(TEXTS, LABELS))
    words = [3, 2, 1, 2] * 3
    assert row["words_mean"] == np.mean(words)
    assert row["words_sd"] == np.std(words, ddof=1)
    assert (row["sentences_mean"], row["sentences_sd"]) == (1, 0)
    assert row["vocabulary"] == len({"one", "film", ".", "another", "na", "é", "🎬"})
    assert [row[s] for s in ("train", "validation", "test")] == [4, 4, 4]
