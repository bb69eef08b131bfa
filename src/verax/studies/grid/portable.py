"""What is kept of a cell, without the folders and addresses of the machine that ran it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from verax.portable import file_name, portable, without_folders

_SOURCE = re.compile(r'(?<=File ")([^"\n]+)(?=", line )')
_INSTALLED = re.compile(r".*[\\/](?:(?:site|dist)-packages|src|lib(?=[\\/]python3))[\\/]")
_ADDRESS = re.compile(r"""(\baddress["']?\s*:\s*)["']?[^\s"',}]+:\d+["']?""")


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


def portable_study(text: str) -> str:
    """A study file with files called by their own names, and no address of a cluster.

    >>> portable_study("training: {vectors: [/data/glove.txt, word2vec], lr: 1}")
    'training: {vectors: [glove.txt, word2vec], lr: 1}'
    >>> portable_study("hardware: {engine: ray, address: 10.0.0.1:6379}")
    'hardware: {engine: ray, address: null}'
    """
    return without_folders(_ADDRESS.sub(r"\1null", text))
