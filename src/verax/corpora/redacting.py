"""Words of texts that are covered before anything is kept of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from verax.errors import VeraxError

COVER = "█"
"""Stands where a word was."""

Patterns = tuple[re.Pattern[str], ...]


def patterns_of(redact: str | re.Pattern[str] | Iterable[str | re.Pattern[str]]) -> Patterns:
    r"""Regular expressions, compiled.

    Args:
        redact: one, or several; none is an empty list.

    >>> patterns_of(r"\d+")
    (re.compile('\\d+'),)
    """
    given = [redact] if isinstance(redact, (str, re.Pattern)) else list(redact)
    compiled = []
    for pattern in given:
        if not isinstance(pattern, (str, re.Pattern)) or not getattr(pattern, "pattern", pattern):
            raise VeraxError(
                f"redact is {pattern!r}: give a regular expression, such as \\d+",
                code="option.wrong-type",
            )
        try:
            compiled.append(re.compile(pattern))
        except re.error as error:
            raise VeraxError(
                f"redact {pattern!r} is no regular expression: {error}; write a sign that is meant "
                "as it stands with a backslash",
                code="option.malformed",
            ) from error
    return tuple(compiled)


def covered_words(
    text: str, places: NDArray[np.int64], patterns: Sequence[re.Pattern[str]]
) -> NDArray[np.bool_]:
    r"""(words,): whether a word shares a letter with a match in the text, or is one by itself.

    Args:
        text: as it was written.
        places: (words, 2), where each word begins and ends in it.
        patterns: what is looked for.

    >>> places = np.array([[0, 4], [5, 8], [9, 10], [11, 15], [16, 19]])
    >>> covered_words("call 555 - 1234 now", places, patterns_of(r"\d+ - \d+")).tolist()
    [False, True, True, True, False]
    """
    covered = np.zeros(len(places), dtype=bool)
    if not len(places):
        return covered
    for pattern in patterns:
        for match in pattern.finditer(text):
            begin, end = match.span()
            covered |= (places[:, 0] < end) & (places[:, 1] > begin)
        words = (text[begin:end] for begin, end in places.tolist())
        covered |= np.array([pattern.search(word) is not None for word in words])
    return covered


def covered_in(
    text: str | Sequence[str],
    places: NDArray[np.int64],
    patterns: Sequence[re.Pattern[str]],
) -> NDArray[np.bool_]:
    """`covered_words` of a text, or of a list of tokens, whose text is these joined by blanks."""
    written = text if isinstance(text, str) else " ".join(text)
    return covered_words(written, places, patterns)
