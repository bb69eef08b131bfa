"""What is kept of a cell, without the folders and addresses of the machine that ran it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from verax.errors import VeraxError, cause_of
from verax.portable import file_name, portable, without_folders

_SOURCE = re.compile(r'(?<=File ")([^"\n]+)(?=", line )')
_FRAME = re.compile(r'\s*File "[^"\n]+", line \d+(,? in \S+)?$')
_BEGINNING = "Traceback (most recent call last):"
_CLASS = re.compile(r"[\w.]+(?=:|$)")
_QUOTED = re.compile(r"""(?:(?<!\w)|(?<=\b[bBrRuU]))(['"])(?:\\.|(?!\1).)*(?:\1|$)""")
_MESSAGE_OF_ANOTHER = re.compile(r": |; | \(")
_INSTALLED = re.compile(r".*[\\/](?:(?:site|dist)-packages|src|lib(?=[\\/]python3))[\\/]")
_ADDRESS = re.compile(r"""(\baddress["']?\s*:\s*)["']?[^\s"',}]+:\d+["']?""")


def message_without_texts(error: BaseException) -> str:
    """Return what a study keeps of an error: no text of a corpus, no message of a user's function.

    Of Verax's own errors that is the message without what is quoted in it, and only its beginning
    where another error is the cause, whose message may follow. Of all others it is the class.

    >>> message_without_texts(VeraxError("the function gave [nan] for 'a text': expected numbers"))
    'the function gave [nan] for …: expected numbers'
    >>> message_without_texts(KeyError("a text"))
    'KeyError'
    """
    if not isinstance(error, VeraxError):
        return type(error).__name__
    message, cause = " ".join(str(error).split()), cause_of(error)
    while isinstance(cause, VeraxError):
        cause = cause_of(cause)
    if cause is not None:
        message = f"{_MESSAGE_OF_ANOTHER.split(message)[0]}: {type(cause).__name__}"
    return _QUOTED.sub("…", message)


def portable_failure(record: Mapping[str, Any]) -> dict[str, Any]:
    """Why a cell failed: where in the code, with files called by their own names."""
    changes = {"config": portable, "error": without_folders, "traceback": portable_traceback}
    changed = {name: change(record[name]) for name, change in changes.items() if record.get(name)}
    return {**record, **changed}


def portable_traceback(text: str) -> str:
    """Return the places in code and the classes of errors that a traceback names.

    Messages and lines of code are left out, because they may hold texts. Source files are named
    from their package on.

    >>> print(portable_traceback('''
    ... Traceback (most recent call last):
    ...   File "/home/me/env/site-packages/torch/nn/x.py", line 3, in y
    ...     raise ValueError(text)
    ... ValueError: a text
    ... '''))
    Traceback (most recent call last):
      File "torch/nn/x.py", line 3, in y
    ValueError
    """
    lines: list[str] = []
    raised = False
    for line in text.splitlines():
        if line.strip() == _BEGINNING:
            raised = True
            lines.append(_BEGINNING)
        elif _FRAME.match(line):
            lines.append(line)
        elif raised and line[:1].strip() and (named := _CLASS.match(line)):
            raised = False
            lines.append(named[0])

    def from_package(match: re.Match[str]) -> str:
        inside, folders = _INSTALLED.subn("", match[0])
        return inside if folders else file_name(match[0])

    return _SOURCE.sub(from_package, "\n".join(lines))


def portable_study(text: str) -> str:
    """A study file with files called by their own names, and no address of a cluster.

    >>> portable_study("training: {vectors: [/data/glove.txt, word2vec], lr: 1}")
    'training: {vectors: [glove.txt, word2vec], lr: 1}'
    >>> portable_study("hardware: {engine: ray, address: 10.0.0.1:6379}")
    'hardware: {engine: ray, address: null}'
    """
    return without_folders(_ADDRESS.sub(r"\1null", text))
