"""Newsgroup messages without what gives their group away or was written by someone else."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>")


def strip_message(text: str) -> str:
    r"""What is left without header, signature and quoted lines, in this order.

    The rules are those of scikit-learn's `fetch_20newsgroups(remove=("headers", "footers",
    "quotes"))`, which Jain & Wallace used. The header is everything up to the first blank line, so
    nothing is left of a text without one. The signature is what follows the last blank line or line
    of hyphens, blank lines at the end aside; a message of a single paragraph has none. Quoted lines
    start with > or |, or introduce a quotation (*wrote:*, *In article*). Lines may end in CR LF.

    >>> strip_message("From: a@b.c\n\nAnn wrote:\n> No.\nI say yes.\n\n--\nBob")
    'I say yes.\n'
    """
    _, _, body = text.replace("\r\n", "\n").partition("\n\n")
    return "\n".join(line for line in _unsigned(body) if not _QUOTED.search(line))


def _unsigned(body: str) -> list[str]:
    lines = body.strip().split("\n")
    borders = [n for n, line in enumerate(lines) if not line.strip().strip("-")]
    # a border in the first line parts nothing: the body stays as it is, outer blank lines too
    return lines[: borders[-1]] if borders and borders[-1] > 0 else body.split("\n")
