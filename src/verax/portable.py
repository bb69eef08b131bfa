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
_DATA = r"csv|tsv|jsonl|parquet|txt|vec|bin|gz|py"
_RELATIVE = re.compile(rf"(?<![\w.~/\\:@-])(?:{_PATH}+[\\/])+(?={_PATH}*\.(?:{_DATA})(?!\w))")
"""The folders before the name of a file of data or code, of a path from the working folder on."""
_FROM_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def file_name(path: str) -> str:
    """The last part of a path.

    >>> file_name("/home/me/glove.txt.gz"), file_name("word2vec")
    ('glove.txt.gz', 'word2vec')
    """
    return PurePath(path).name or path


def corpus_name(name: str) -> str:
    """Return a corpus's name without folders; `owner/name` is a dataset of the hub.

    >>> corpus_name("~/reviews.csv"), corpus_name("a/b")
    ('reviews.csv', 'a/b')
    >>> corpus_name("/my/8:30.csv"), corpus_name(r"C:\\my\\reviews.csv")
    ('8:30.csv', 'reviews.csv')
    >>> corpus_name("my/reviews.csv"), corpus_name("../my/reviews"), corpus_name("./reviews")
    ('reviews.csv', 'reviews', 'reviews')
    """
    if _FROM_A_DRIVE.match(name):
        return PureWindowsPath(name).name
    is_file = re.search(rf"\.({_DATA})$", name, re.IGNORECASE)
    if name[:1] in ("/", "~", ".") or is_file:
        return file_name(name)
    task, colon, path = name.partition(":")
    if "/" in path:
        return f"{task}{colon}{file_name(path)}"
    return file_name(name) if name.count("/") > 1 else name


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
    """Text in which paths are cut to the names of their files.

    Of relative paths only those of data and code are cut: `owner/name` is a name of the hub.

    >>> without_folders("cannot read /home/me/a.csv or data/b.csv: no such file")
    'cannot read a.csv or b.csv: no such file'
    """
    return _RELATIVE.sub("", _FOLDERS.sub("", text))
