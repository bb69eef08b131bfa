"""Word vectors: read from GloVe, word2vec and fastText text files, or trained on the corpus."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from verax.corpora.tokenizer import TokenizedTexts
from verax.corpora.vocabulary import Vocabulary
from verax.errors import VeraxError
from verax.files import stamp
from verax.options import WIDEST

TRAINED = "word2vec"
_BLOCK, _LONGEST_LINE = 1 << 20, 1 << 22
"""Characters of a line at most: a file of zeros, zipped, is one line of any length."""

_KEPT: dict[tuple[Any, ...], tuple[NDArray[np.float32], set[int]]] = {}
_KEPT_AT_MOST = 2


@dataclass(frozen=True, eq=False)
class WordVectors:
    """One row per vocabulary row; words without a vector, and PAD, are zero.

    `found` counts the words that have one, of `words`; `occurrences` is the share of the training
    text's tokens they make up.
    """

    matrix: NDArray[np.float32]
    found: int
    words: int
    occurrences: float

    @property
    def coverage(self) -> float:
        return self.found / self.words

    def unit_norm(self) -> WordVectors:
        """Every row scaled to length one; zero rows stay zero."""
        norms = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        scaled = self.matrix / np.where(norms > 0, norms, 1)
        return WordVectors(scaled.astype(np.float32), self.found, self.words, self.occurrences)


def read_vectors(
    path: str | Path,
    vocabulary: Vocabulary,
    train: TokenizedTexts,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> WordVectors:
    """The rows of a vectors file that the vocabulary needs.

    One word and its numbers a line, blank-separated, plain or .gz; a first line of two whole
    numbers (word2vec, fastText) is a header. A word may itself hold blanks, as some in GloVe do,
    unless all it holds after the first are numbers: that is a row too long. Empty lines are
    skipped. Where a word comes twice, the first row counts. Words the vocabulary lacks are not
    parsed. What was read for the last two vocabularies is kept, for models of one corpus need the
    same rows; a file that has changed since is read again.
    """
    path = Path(path).expanduser()
    key = (path.absolute(), tuple(stamp(path) or ()), vocabulary.words)
    matrix, present = _KEPT.pop(key) if key in _KEPT else _read(path, vocabulary, watch)
    if key[1] == tuple(stamp(path) or ()):
        _KEPT[key] = matrix, present
        for oldest in list(_KEPT)[:-_KEPT_AT_MOST]:
            del _KEPT[oldest]
    return _with_coverage(matrix.copy(), present, vocabulary, train)


def _read(
    path: Path, vocabulary: Vocabulary, watch: Callable[[Iterable[Any]], Iterable[Any]]
) -> tuple[NDArray[np.float32], set[int]]:
    """A row for each of the vocabulary's, and which of them the file has."""
    if not path.is_file():
        raise VeraxError(
            f"no such vectors file: {path}; give a GloVe, word2vec or fastText text file",
            code="file.missing",
        )
    with opened(path) as lines:
        rows, size = _needed_rows(path, watch(lines), vocabulary)
    if not rows:
        raise VeraxError(
            f"{path} has a vector for none of the corpus's words: check its language",
            code="vectors.no-match",
        )
    matrix = np.zeros((len(vocabulary), size), dtype=np.float32)
    for row, vector in rows.items():
        matrix[row] = vector
    return matrix, set(rows)


def file_hash(path: str | Path) -> str:
    """A hash of a file's bytes: `sha256:` and the first 16 of its digits."""
    try:
        with Path(path).expanduser().open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    except OSError as error:
        raise VeraxError(f"cannot read {path}: {error.strerror}", code="file.unreadable") from error


def train_vectors(
    vocabulary: Vocabulary, train: TokenizedTexts, size: int, epochs: int, seed: int
) -> WordVectors:
    """word2vec on the corpus's own sentences with unit-norm rows, as Serrano & Smith have it.

    CBOW, window 5, gensim's defaults otherwise; words outside the vocabulary count as one word UNK.
    One worker, so that a seed fixes the result. Needs the `vectors` extra.
    """
    if importlib.util.find_spec("gensim") is None:
        raise VeraxError(
            "vectors 'word2vec' needs gensim: pip install 'verax[vectors]'", code="package.missing"
        )
    from gensim.models import Word2Vec

    encoded = vocabulary.encode(train)
    lengths = train.sentences.values.astype(np.int64)
    edges = np.cumsum(lengths)[:-1]
    sentences = [[str(i) for i in s] for s in np.split(encoded.values, edges)]
    model = Word2Vec(
        sentences,
        vector_size=size,
        epochs=epochs,
        min_count=1,
        workers=1,
        seed=seed,
        window=5,
        sg=0,
    )
    matrix = np.zeros((len(vocabulary), size), dtype=np.float32)
    present = {int(key) for key in model.wv.key_to_index}
    for row in present:
        matrix[row] = model.wv[str(row)]
    return _with_coverage(matrix, present, vocabulary, train).unit_norm()


@contextmanager
def opened(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a vectors file, plain or .gz; what cannot be read is an error for the user."""
    try:
        with path.open("rb") as start:
            zipped = start.read(2) == b"\x1f\x8b"
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if zipped
            else path.open(encoding="utf-8") as lines
        ):
            yield _short_lines(lines)
    except UnicodeDecodeError as error:
        raise VeraxError(
            f"{path} is not UTF-8 text: binary vectors are not read", code="file.wrong-encoding"
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise VeraxError(
            f"{path} is not a whole gzip file: {error}", code="file.unreadable"
        ) from error
    except OSError as error:
        raise VeraxError(f"cannot read {path}: {error.strerror}", code="file.unreadable") from error


def _short_lines(lines: IO[str]) -> Iterator[str]:
    """Lines of a file; of one that is too long the beginning, which is refused."""
    rest = ""
    while block := lines.read(_BLOCK):
        *whole, rest = (rest + block).split("\n")
        yield from whole
        if len(rest) > _LONGEST_LINE:
            break
    if rest:
        yield rest


def _needed_rows(
    path: Path, lines: Iterable[str], vocabulary: Vocabulary
) -> tuple[dict[int, NDArray[np.float32]], int]:
    needed = vocabulary.rows
    rows: dict[int, NDArray[np.float32]] = {}
    size = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip()
        if not line:
            continue
        if len(line) > _LONGEST_LINE:
            raise VeraxError(
                f"{path} line {number} has more than {_LONGEST_LINE:,} characters: a line is one "
                "word and its numbers",
                code="vectors.malformed",
            )
        blanks = line.count(" ")
        if number == 1 and blanks == 1 and all(part.isdecimal() for part in line.split()):
            size = size_in_header(path, line.split()[1])
            continue
        if not size:
            size = blanks
        if size > WIDEST:
            raise VeraxError(
                f"{path} has vectors of {size:,} numbers: at most {WIDEST:,} are read",
                code="vectors.malformed",
            )
        if size < 1 or blanks < size:
            raise VeraxError(
                f"{path} line {number} has {blanks} numbers where {size or 'some'} are expected: "
                "every row needs a word and as many numbers as the first",
                code="vectors.malformed",
            )
        word = line.partition(" ")[0] if blanks == size else line.rsplit(" ", size)[0]
        row = needed.get(word)
        if (row is not None and row not in rows) or blanks != size:
            vector = _numbers(path, number, line.rsplit(" ", size)[1:])
            if blanks != size and all(map(_is_number, word.split(" ")[1:])):
                raise VeraxError(
                    f"{path} line {number} has {blanks} numbers where {size} are expected: "
                    "every row needs a word and as many numbers as the first",
                    code="vectors.malformed",
                )
            if row is not None and row not in rows:
                rows[row] = vector
    return rows, size


def size_in_header(path: Path, field: str) -> int:
    """How many numbers a vector has, by the second field of a header."""
    size = int(field) if len(field) < 10 else WIDEST + 1
    if not 1 <= size <= WIDEST:
        raise VeraxError(
            f"{path} says that its vectors have {field[:20]} numbers: expected 1 to {WIDEST:,}",
            code="vectors.malformed",
        )
    return size


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _numbers(path: Path, number: int, fields: list[str]) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # what is too large is refused below
            vector = np.array(fields, dtype=np.float32)
    except ValueError:
        raise VeraxError(
            f"{path} line {number} is ragged: expected a word and {len(fields)} numbers",
            code="vectors.malformed",
        ) from None
    if not np.isfinite(vector).all():
        raise VeraxError(
            f"{path} line {number} holds a number that is not finite", code="vectors.malformed"
        )
    return vector


def _with_coverage(
    matrix: NDArray[np.float32], present: set[int], vocabulary: Vocabulary, train: TokenizedTexts
) -> WordVectors:
    tokens = vocabulary.encode(train).values
    first = len(vocabulary) - len(vocabulary.words)
    words = [row for row in present if row >= first]
    covered = np.isin(tokens, np.array(words, dtype=np.int64))
    return WordVectors(matrix, len(words), len(vocabulary.words), float(covered.mean()))
