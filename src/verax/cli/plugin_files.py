"""`--plugin FILE.py`: a loose file that registers exams, importances, encoders or projections."""

from __future__ import annotations

from collections.abc import Sequence

from verax.errors import VeraxError
from verax.plugin_files import import_file

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
