"""What a function of a grid reads beside its configuration: files, folders and a corpus."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.files import stamp


@dataclass(frozen=True)
class FileInput:
    """A file or a folder with a hash of its content.

    Attributes:
        path: where it is on the machine that started the grid.
        digest: the hash; the names of files in a folder enter it, that of the input does not.
        content: its files by relative name, for workers on other machines.
    """

    path: str
    digest: str
    content: Mapping[str, bytes] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, path: str | os.PathLike[str], *, send: bool = False) -> FileInput:
        """Read a file or a folder.

        Args:
            path: the file or folder.
            send: whether workers are on other machines, so that they need the content.
        """
        place = Path(path).expanduser().absolute()
        try:
            content = {n: f.read_bytes() for n, f in _files(place).items()} if send else None
            return cls(str(place), _digest_of(place), content)
        except OSError as error:
            raise VeraxError(
                f"cannot read {error.filename}: {error.strerror}", code="file.unreadable"
            ) from error

    @contextmanager
    def at_hand(self) -> Iterator[Path]:
        """The path at which a worker finds the content."""
        place = Path(self.path)
        if self.content is None:
            if _digest_of(place) != self.digest:
                raise VeraxError(
                    f"{place.name} has changed since the grid was started: run the grid again",
                    code="file.unreadable",
                )
            yield place
            return
        with tempfile.TemporaryDirectory(prefix="verax-") as scratch:
            copy = Path(scratch) / place.name
            for name, data in self.content.items():
                file = copy / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            yield copy


def corpus_digest(corpus: Corpus) -> str:
    """A hash of all documents, with their ids and marked words."""
    ids = [documents.ids.tolist() for documents in corpus.splits.values()]
    values = (corpus.fingerprint, corpus.rationales_fingerprint, ids)
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _files(place: Path) -> dict[str, Path]:
    """The files of a folder by relative name, or a single file, whose name is empty."""
    if not place.exists():
        raise VeraxError(f"no such file or folder: {place}", code="file.missing")
    if not place.is_dir():
        return {"": place}
    return {f.relative_to(place).as_posix(): f for f in sorted(place.rglob("*")) if f.is_file()}


def _digest_of(place: Path) -> str:
    files = _files(place).items()
    return _digest(tuple((name, str(file), *(stamp(file) or ())) for name, file in files))


@functools.lru_cache(maxsize=64)
def _digest(files: tuple[tuple[str | int, ...], ...]) -> str:
    """The hash of files, computed again when the size or time of one has changed."""
    total = hashlib.sha256()
    for name, path, *_ in files:
        with Path(str(path)).open("rb") as file:
            total.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]
