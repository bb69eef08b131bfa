"""What is saved names files by their own names: no folder, no user, no host.

Models and results are passed on, published and opened elsewhere. No number depends on where a file
lay. A corpus is known again by its fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath, PureWindowsPath
from typing import Any

_PATH = r"[^\s\"'`,;:()\[\]{}<>|]"
_FOLDERS = re.compile(rf"(?<![\w.~/\\:-])(?:~|/|[A-Za-z]:[\\/])(?:{_PATH}*[\\/])?(?={_PATH})")
"""The folders before a file's name, of a path from the root or from a user's home on."""
_FROM_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def file_name(path: str) -> str:
    """The last part of a path.

    >>> file_name("/home/me/glove.txt.gz"), file_name("word2vec")
    ('glove.txt.gz', 'word2vec')
    """
    return PurePath(path).name or path


def corpus_name(name: str) -> str:
    """A corpus's name without the folders of a path from the root on, or from a user's home on.

    >>> corpus_name("mimic_anemia:/my/mimic"), corpus_name("~/reviews.csv"), corpus_name("a/b")
    ('mimic_anemia:mimic', 'reviews.csv', 'a/b')
    >>> corpus_name("/my/8:30.csv"), corpus_name(r"C:\\my\\reviews.csv")
    ('8:30.csv', 'reviews.csv')
    """
    if _FROM_A_DRIVE.match(name):
        return PureWindowsPath(name).name
    if name[:1] in ("/", "~"):
        return file_name(name)
    task, colon, path = name.partition(":")
    return f"{task}{colon}{file_name(path)}" if path[:1] in ("/", "~") else name


def portable(values: Any) -> Any:
    """JSON in which files of vectors, and corpora, are called by their own names.

    >>> portable({"training": {"vectors": "/data/glove.txt", "lr": 1}, "corpus": "/data/sst"})
    {'training': {'vectors': 'glove.txt', 'lr': 1}, 'corpus': 'sst'}
    """
    if isinstance(values, Mapping):
        return {name: _named(name, value) for name, value in values.items()}
    return [portable(value) for value in values] if isinstance(values, (list, tuple)) else values


def _named(name: str, value: Any) -> Any:
    if name == "vectors" and isinstance(value, str) and not value.startswith("sha256:"):
        return file_name(value)
    if name == "corpus" and isinstance(value, str):
        return corpus_name(value)
    return portable(value)


def without_folders(text: str) -> str:
    """Text in which absolute paths are cut to the names of their files.

    >>> without_folders("cannot read /home/me/a.csv: no such file")
    'cannot read a.csv: no such file'
    """
    return _FOLDERS.sub("", text)
