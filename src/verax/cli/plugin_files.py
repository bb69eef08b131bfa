"""`--plugin FILE.py`: a loose file that registers exams, importances, encoders or projections."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from verax.errors import VeraxError

FLAG = "--plugin"


def import_plugins(arguments: Sequence[str]) -> list[str]:
    """Import the files that `--plugin` names, and return the arguments without them.

    Exams add flags, so that this comes before flags are read.
    """
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*rest, word, *words]
        if word == FLAG or word.startswith(f"{FLAG}="):
            path = word.partition("=")[2] or next(words, "")
            if not path:
                raise VeraxError(f"{FLAG} names no file: give one, as in {FLAG} my_exam.py")
            import_file(path)
        else:
            rest.append(word)
    return rest


def import_file(path: str) -> None:
    """Import a Python file as a module of its name."""
    file = Path(path).resolve()
    if not file.is_file() or file.suffix != ".py":
        raise VeraxError(f"cannot import {path}: expected a Python file, such as my_exam.py")
    known = sys.modules.get(file.stem)
    if known is not None:
        if getattr(known, "__file__", None) == str(file):
            return
        raise VeraxError(
            f"cannot import {path}: a module {file.stem!r} is imported already, rename the file"
        )
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the file raises
        del sys.modules[file.stem]
        if isinstance(error, VeraxError):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise VeraxError(f"cannot import {path}: {reason}") from error
