"""Word vectors from text files of three kinds, good and broken, and trained ones."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from support.errors import raises
from verax.corpora import UNK, TokenizedTexts, Tokenizer, Vocabulary
from verax.corpora import vectors as kept_in
from verax.corpora.vectors import WordVectors, read_vectors, train_vectors


def documents(texts: list[str]) -> TokenizedTexts:
    return TokenizedTexts([text.split("|") for text in texts], Tokenizer("whitespace"))


TRAIN = documents(["good|film|.", "good|bad|. . .|rare"])
VOCABULARY = Vocabulary(["good", "film", "bad", "."])

GLOVE = "the 9 9 9\ngood 1 2 3\n. 0.5 -1e-2 7\nbad -1 -2 -3\n"


def read(path: Path, content: str | bytes, vocabulary: Vocabulary = VOCABULARY) -> WordVectors:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_vectors(path, vocabulary, TRAIN)


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        "4 3\n" + GLOVE,
        "4 3\n" + GLOVE.replace("\n", " \n"),
        GLOVE.replace("\n", "\r\n"),
        GLOVE + "\n\n",
        GLOVE + "good 7 7 7\n",
        "New York 4 4 4\n".join([GLOVE, ""]),
    ],
    ids=["glove", "word2vec", "fasttext", "windows", "blank lines", "copy", "word with a blank"],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_text_format_gives_the_needed_rows(
    content: str, zipped: bool, tmp_path: Path
) -> None:
    raw = content.encode()
    vectors = read(tmp_path / "vectors", gzip.compress(raw) if zipped else raw)
    assert vectors.matrix.dtype == np.float32
    expected = {"good": [1, 2, 3], "film": [0, 0, 0], "bad": [-1, -2, -3], ".": [0.5, -0.01, 7]}
    assert (vectors.matrix[:4] == 0).all()
    for word, numbers in expected.items():
        row = vectors.matrix[VOCABULARY.rows[word]]
        assert row.tolist() == np.array(numbers, np.float32).tolist()


def test_coverage_counts_words_and_their_share_of_the_text(tmp_path: Path) -> None:
    """Four words, three with a vector; of 7 tokens, good twice, bad and . once: 4/7."""
    vectors = read(tmp_path / "vectors.txt", GLOVE)
    assert (vectors.found, vectors.words) == (3, 4)
    assert vectors.coverage == 0.75
    assert vectors.occurrences == pytest.approx(4 / 7)


def test_words_with_blanks_are_found(tmp_path: Path) -> None:
    vocabulary = Vocabulary([". . .", "good"])
    vectors = read(
        tmp_path / "vectors.txt", "good 1 2\n. . . 3 4\nat name@domain.com 5 6\n", vocabulary
    )
    assert vectors.matrix[4:].tolist() == [[3, 4], [1, 2]]


def test_rows_not_needed_are_not_parsed(tmp_path: Path) -> None:
    assert read(tmp_path / "vectors.txt", "good 1 2\nunneeded x y\n").found == 1


def test_a_word_that_looks_like_a_header_later_is_a_word(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["7"])
    assert read(tmp_path / "vectors.txt", "good 1\n7 5\n", vocabulary).matrix[4].tolist() == [5]


def test_special_rows_get_no_vector_from_a_file(tmp_path: Path) -> None:
    vectors = read(tmp_path / "vectors.txt", "<unk> 1 1\n<pad> 2 2\ngood 3 3\n")
    assert (vectors.matrix[:4] == 0).all()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("good 1 2 3\nbad 1 2\n", ("vectors.malformed", "2")),
        ("good 1 2 3\nother 1 2\n", ("vectors.malformed", "2")),
        ("good 1 2 3\nbad 1 2 3 4\n", ("vectors.malformed", "2")),
        ("9 3\ngood 1 2 3 4\n", ("vectors.malformed", "2")),
        ("9 3\ngood 1 2\n", ("vectors.malformed", "2")),
        ("good\n", ("vectors.malformed", "1")),
        ("good\t1\t2\n", ("vectors.malformed", "1")),
        ("good 1 two 3\n", ("vectors.malformed", "1")),
        ("good 1  3\n", ("vectors.malformed", "1")),
        ("the 1 2\nlong word x 2\n", ("vectors.malformed", "2")),
        ("good 1 nan 3\n", ("vectors.malformed", "1")),
        ("good 1 inf 3\n", ("vectors.malformed", "1")),
        ("nothing 1 2 3\n", ("vectors.no-match",)),
        ("", ("vectors.no-match",)),
        (b"3 2\ngood \x00\x80\xbf\xff\n", ("file.wrong-encoding",)),
        (gzip.compress(GLOVE.encode() * 50, mtime=0)[:-12], ("file.unreadable",)),
        (b"\x1f\x8b not gzip at all", ("file.unreadable",)),
    ],
)
def test_broken_files_are_refused_by_name_and_line(
    content: str | bytes, expected: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "vectors.txt"
    with raises(*expected) as error:
        read(path, content)
    assert str(path) in str(error.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path):
        with raises("file.missing"):
            read_vectors(path, VOCABULARY, TRAIN)


def test_unit_norm_scales_rows_and_leaves_zeros(tmp_path: Path) -> None:
    norms = np.linalg.norm(read(tmp_path / "vectors.txt", GLOVE).unit_norm().matrix, axis=1)
    assert norms == pytest.approx([0, 0, 0, 0, 1, 0, 1, 1])


def test_what_was_read_is_kept_and_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path, lines = tmp_path / "vectors.txt", 0

    def count(values: Iterable[str]) -> Iterator[str]:
        nonlocal lines
        for value in values:
            lines += 1
            yield value

    def again(vocabulary: Vocabulary = VOCABULARY, train: TokenizedTexts = TRAIN) -> WordVectors:
        return read_vectors(path, vocabulary, train, count)

    path.write_text(GLOVE)
    first = again().matrix
    assert lines == 4
    kept = again()
    assert lines == 4
    assert kept.matrix.tolist() == first.tolist()
    kept.matrix[:] = 7  # the caller's own
    assert again().matrix.tolist() == first.tolist()
    norms = np.linalg.norm(again().unit_norm().matrix, axis=1)
    assert norms.max() == pytest.approx(1)
    assert again().matrix.tolist() == first.tolist()
    assert again(train=documents(["good|rare"])).occurrences == pytest.approx(1 / 2)
    assert lines == 4
    path.write_text(GLOVE.replace("good 1 2 3", "good 4 5 6"))  # as long as it was
    os.utime(path, ns=(1, 1))
    assert again().matrix[VOCABULARY.rows["good"]].tolist() == [4, 5, 6]
    assert lines == 8
    path.unlink()
    with raises("file.missing"):
        again()


def test_another_vocabulary_is_read_for_itself_and_only_two_are_kept(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(GLOVE)
    for words in (["good"], ["bad", "good"], ["good", "bad"]):
        vocabulary = Vocabulary(words)
        matrix = read_vectors(tmp_path / "vectors.txt", vocabulary, TRAIN).matrix
        assert matrix[vocabulary.rows["good"]].tolist() == [1, 2, 3]
        assert len(matrix) == 4 + len(words)
        assert 1 <= len(kept_in._KEPT) <= 2


def test_trained_vectors_have_length_one_and_a_seed_fixes_them() -> None:
    train = documents(["good|film|.|rare", "bad|film|."] * 20)
    first, again, other = (train_vectors(VOCABULARY, train, 8, 2, seed) for seed in (1, 1, 2))
    assert (first.matrix == again.matrix).all()
    assert not np.allclose(first.matrix, other.matrix)
    known = [VOCABULARY.rows[word] for word in VOCABULARY.words] + [UNK]
    assert np.linalg.norm(first.matrix[known], axis=1) == pytest.approx(1)
    assert (first.matrix[[0, 2, 3]] == 0).all()
    assert (first.found, first.words) == (4, 4)
    assert first.occurrences == pytest.approx(6 / 7)
