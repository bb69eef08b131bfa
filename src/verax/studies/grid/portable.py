"""What is kept of a cell, without the folders and addresses of the machine that ran it.

Results are packed, published and opened elsewhere. Files are called by their own names there: no
number depends on their folder, on the user or on the host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

_PATH = r"[^\s\"'`,;:()\[\]{}<>|]"
_FOLDERS = re.compile(rf"(?<![\w.~/\\:-])(?:~|/|[A-Za-z]:[\\/])(?:{_PATH}*[\\/])?(?={_PATH})")
"""The folders before a file's name, of a path from the root or from a user's home on."""
_SOURCE = re.compile(r'(?<=File ")([^"\n]+)(?=", line )')
_INSTALLED = re.compile(r".*[\\/](?:(?:site|dist)-packages|src|lib(?=[\\/]python3))[\\/]")
_ADDRESS = re.compile(r"""(\baddress["']?\s*:\s*)["']?[^\s"',}]+:\d+["']?""")


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
    """
    task, colon, path = name.rpartition(":")
    return f"{task}{colon}{file_name(path)}" if path[:1] in ("/", "~") else name


def portable(values: Any) -> Any:
    """JSON in which files of vectors, and corpora, are called by their own names.

    >>> portable({"training": {"vectors": "/data/glove.txt", "lr": 1}, "corpus": "/data/sst"})
    {'training': {'vectors': 'glove.txt', 'lr': 1}, 'corpus': 'sst'}
    """
    if isinstance(values, Mapping):
        return {name: _named(name, value) for name, value in values.items()}
    return [portable(value) for value in values] if isinstance(values, list) else values


def _named(name: str, value: Any) -> Any:
    if name == "vectors" and isinstance(value, str) and not value.startswith("sha256:"):
        return file_name(value)
    if name == "corpus" and isinstance(value, str):
        return corpus_name(value)
    return portable(value)


def portable_failure(record: Mapping[str, Any]) -> dict[str, Any]:
    """Why a cell failed: its message and traceback with files called by their own names."""
    changes = {"config": portable, "error": without_folders, "traceback": portable_traceback}
    changed = {name: change(record[name]) for name, change in changes.items() if record.get(name)}
    return {**record, **changed}


def portable_traceback(text: str) -> str:
    """A traceback whose source files are named from their package on.

    >>> portable_traceback('File "/home/me/env/site-packages/torch/nn/x.py", line 3, in y')
    'File "torch/nn/x.py", line 3, in y'
    """

    def from_package(match: re.Match[str]) -> str:
        inside, folders = _INSTALLED.subn("", match[0])
        return inside if folders else file_name(match[0])

    return without_folders(_SOURCE.sub(from_package, text))


def without_folders(text: str) -> str:
    """Text in which absolute paths are cut to the names of their files.

    >>> without_folders("cannot read /home/me/a.csv: no such file")
    'cannot read a.csv: no such file'
    """
    return _FOLDERS.sub("", text)


def portable_study(text: str) -> str:
    """A study file with files called by their own names, and no address of a cluster.

    >>> portable_study("training: {vectors: [/data/glove.txt, word2vec], lr: 1}")
    'training: {vectors: [glove.txt, word2vec], lr: 1}'
    >>> portable_study("hardware: {engine: ray, address: 10.0.0.1:6379}")
    'hardware: {engine: ray, address: null}'
    """
    return without_folders(_ADDRESS.sub(r"\1null", text))
