"""The one error a user is meant to read."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable


class VeraxError(ValueError):
    """Bad input: one line that says what was wrong, what was expected and what to do.

    The command line prints it as it is and exits with code 2.

    Args:
        message: the line.
        options: ids of the options that do not go together.
    """

    def __init__(self, *message: object, options: Iterable[str] = ()) -> None:
        super().__init__(*message)
        self.options = tuple(options)


class WriteError(VeraxError):
    """A place that cannot be written to: its disk is full, read-only or gone."""


class OccupiedError(VeraxError):
    """A place where something else is, which is not written over."""


class VeraxWarning(UserWarning):
    """Input that works and may not be what was meant: one line, with what to do.

    The command line prints it on standard error.
    """


def is_utf8(text: str) -> bool:
    """Whether text can be written as UTF-8: names of files that are not hold surrogates.

    >>> is_utf8("café"), is_utf8("caf\\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def nearest(name: str, valid: Iterable[str]) -> str:
    """The part of a message that helps with a mistyped `name`.

    >>> nearest("projektion", ["projection", "encoder"])
    "did you mean 'projection'?"
    >>> nearest("zzz", ["projection", "encoder"])
    'choose from encoder, projection'
    """
    valid = sorted(valid)
    meant = near(name, valid)
    return f"did you mean {meant!r}?" if meant is not None else "choose from " + ", ".join(valid)


def near(name: str, valid: Iterable[str]) -> str | None:
    """The valid name that another library's name stands for, or that a mistyped one is near to.

    >>> near("learning_rate", ["lr", "epochs"]), near("epcohs", ["lr", "epochs"])
    ('lr', 'epochs')
    """
    valid = sorted(valid)
    bare = name.lstrip("-")
    meant = name.removesuffix(bare) + _ELSEWHERE.get(bare.replace("-", "_"), bare)
    meant = meant.replace("_", "-") if name.startswith("-") else meant
    if meant in valid:
        return meant
    close = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return close[0] if close else None


_ELSEWHERE = {
    "learning_rate": "lr",
    "n_epochs": "epochs",
    "num_epochs": "epochs",
    "num_train_epochs": "epochs",
    "max_epochs": "epochs",
    "l2": "weight_decay",
    "random_state": "seed",
    "embedding_dim": "embedding_size",
    "hidden_dim": "hidden_size",
    "min_freq": "min_df",
    "max_features": "max_vocabulary",
    "num_layers": "layers",
    "n_layers": "layers",
    "early_stopping": "patience",
    "output": "out",
    "output_dir": "out",
}
"""What other libraries call options → what they are called here."""


def outside_verax() -> int:
    """The `stacklevel` at which a warning points to the line outside this package that led to it.

    To be called by the function that warns.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("verax"):
        level, frame = level + 1, frame.f_back
    return level


class VeraxErrors(VeraxError):  # noqa: N818 (there are several)
    """Several things wrong at once, a line each: the command line prints them one by one."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))
