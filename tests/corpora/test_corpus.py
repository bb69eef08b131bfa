"""A corpus saved and loaded is the same corpus; its fingerprint tells any two apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from support.errors import raises
from support.internals import assemble
from verax.corpora import Corpus, CorpusOptions, Tokenizer, describe, load_corpus


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
        assert a.given_tokens == b.given_tokens
        assert (a.labels == b.labels).all()
        assert (a.ids == b.ids).all()
        assert (a.rationales is None) == (b.rationales is None)
        if a.rationales is not None and b.rationales is not None:
            assert (a.rationales.values == b.rationales.values).all()
            assert (a.rationales.offsets == b.rationales.offsets).all()


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
    loaded = load_corpus(tmp_path / "saved", tokenizer="tokens")
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


def test_the_fingerprint_sees_every_text_label_class_and_the_tokenizer() -> None:
    base = corpus_of(TEXTS, LABELS)
    assert corpus_of(TEXTS, LABELS).fingerprint == base.fingerprint
    others = [
        corpus_of([*TEXTS[:3], "é"], LABELS),
        corpus_of(TEXTS, ["b", "a", "a", "b"]),
        corpus_of(TEXTS, ["c", "a", "c", "a"]),
        corpus_of(TEXTS[::-1], LABELS),
        corpus_of(TEXTS, LABELS, lowercase=False),
        corpus_of(TEXTS, LABELS, tokenizer="whitespace"),
        Corpus("moved", base.classes, base.train, base.validation, base.test.take(np.arange(3))),
    ]
    found = {base.fingerprint, *(corpus.fingerprint for corpus in others)}
    assert len(found) == 1 + len(others)


def test_documents_share_one_lexicon_and_take_keeps_it() -> None:
    corpus = corpus_of(TEXTS, LABELS)
    assert corpus.train.lexicon is corpus.test.lexicon
    taken = corpus.train.take(np.array([2, 0]))
    assert taken.tokens == [["na"], ["one", "film", "."]]
    assert taken.labels.tolist() == [corpus.classes.index("b")] * 2


def test_tokenize_passes_every_document_through_watch_once() -> None:
    corpus = corpus_of(TEXTS, LABELS)
    seen: list[str] = []

    def watch(texts: list[str]) -> list[str]:
        seen.extend(texts)
        return texts

    corpus.train.tokenize(watch)  # type: ignore[arg-type]
    corpus.train.tokenize(watch)  # type: ignore[arg-type]
    assert seen == TEXTS
    assert corpus.train.tokens == [Tokenizer()(text) for text in TEXTS]


def test_describe_counts_what_a_reader_would() -> None:
    """Words 3, 2, 1, 2 in each split: mean 2; sentences 1 each."""
    row = describe(corpus_of(TEXTS, LABELS))
    words = [3, 2, 1, 2] * 3
    assert row["words_mean"] == np.mean(words)
    assert row["words_sd"] == np.std(words, ddof=1)
    assert (row["sentences_mean"], row["sentences_sd"]) == (1, 0)
    assert row["vocabulary"] == len({"one", "film", ".", "another", "na", "é", "🎬"})
    assert [row[s] for s in ("train", "validation", "test")] == [4, 4, 4]
