"""Files of word vectors: the hash of their content, and their width."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from verax.corpora.vectors import opened, size_in_header
from verax.errors import VeraxError

_PIECE = 2**20


def content(path: str, watch: Callable[[Iterable[Any]], Iterable[Any]] = iter) -> str:
    """A hash of a file's bytes: `sha256:` and the first 16 of its digits."""
    file_path = Path(path).expanduser()
    if not file_path.is_file():
        raise VeraxError(
            f"no such vectors file: {path}; give a GloVe, word2vec or fastText text file",
            code="file.missing",
        )
    digest = hashlib.sha256()
    try:
        with file_path.open("rb") as file:
            for _ in watch(range(1 + file_path.stat().st_size // _PIECE)):
                digest.update(file.read(_PIECE))
            digest.update(file.read())
    except OSError as error:
        raise VeraxError(f"cannot read {path}: {error.strerror}", code="file.unreadable") from error
    return f"sha256:{digest.hexdigest()[:16]}"


def width(path: str) -> int:
    """How many numbers a vector of a file has, by its first line (see `read_vectors`)."""
    with opened(Path(path).expanduser()) as file:
        lines = (line.rstrip() for line in file)
        number, first = next(((n, line) for n, line in enumerate(lines) if line), (0, ""))
    blanks = first.count(" ")
    if number == 0 and blanks == 1 and all(part.isdecimal() for part in first.split()):
        return size_in_header(Path(path), first.split()[1])
    if blanks == 0:
        raise VeraxError(
            f"{path} begins with no word vector: expected a word and its numbers",
            code="vectors.malformed",
        )
    return blanks
