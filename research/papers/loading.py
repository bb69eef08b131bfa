"""How papers read their corpora, where options of `verax.load_corpus` do not suffice.

A study names it as the loader of a corpus:

    ag_news: {loader: "research.papers.loading:read@1", pool: validation, drop_extremes: true}
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import verax
from verax.corpora import Corpus, Documents, Tokenizer, tokenize

_POOLED = {"none": (), "validation": ("train", "validation"), "all": verax.corpora.SPLITS}
_QUOTED = re.compile(r"writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>")


def read(
    name: str,
    *,
    pool: str = "none",
    drop_extremes: bool = False,
    strip_messages: bool = False,
    **options: Any,
) -> Corpus:
    """Load a corpus from its folder in `$VERAX_DATA` as a paper does.

    Args:
        name: name of the folder.
        pool: splits that are put together and cut anew: `validation` (train and validation), `all`
            or `none`.
        drop_extremes: whether to drop each split's shortest documents if `min_words` is not given,
            and its longest if `max_words` is not. Jain & Wallace keep lo < n < hi, strictly, and
            take the split's minimum or maximum for a missing bound.
        strip_messages: whether texts are newsgroup messages to be read by `strip_message`.
        options: those of `verax.load_corpus`.
    """
    folder = Path(os.environ.get("VERAX_DATA", "")) / name
    files = {split: folder / f"{split}.parquet" for split in verax.corpora.SPLITS}
    if not all(path.is_file() for path in files.values()):
        raise verax.VeraxError(
            f"corpus {name!r} is not at hand: set VERAX_DATA to a folder that has {name} with "
            f"{', '.join(path.name for path in files.values())}",
            code="corpus.not-at-hand",
        )
    tables = {split: pd.read_parquet(path) for split, path in files.items()}
    if strip_messages:
        column = str(options.get("text_column", "text"))
        stripped = {s: [strip_message(text) for text in t[column]] for s, t in tables.items()}
        tables = {s: t.assign(**{column: stripped[s]}) for s, t in tables.items()}
    corpus = verax.load_corpus(pooled(tables, pool), **options)
    if not drop_extremes:
        return corpus
    low, high = "min_words" not in options, "max_words" not in options
    tokenizer = Tokenizer(str(options.get("count_words_by", "words")))
    splits = (
        _without_extremes(corpus.splits[s], tokenizer, low, high) for s in verax.corpora.SPLITS
    )
    train, validation, test = splits
    return replace(corpus, train=train, validation=validation, test=test)


def pooled(tables: Mapping[str, pd.DataFrame], pool: str) -> dict[str, pd.DataFrame]:
    """Put splits together as train, so that missing ones are cut off it.

    Splits often number their documents each from 0. If an id occurs twice in the pool, ids become
    its row numbers.
    """
    if not (names := _POOLED[pool]):
        return dict(tables)
    parts = pd.concat([tables[s] for s in names], ignore_index=True, join="inner")
    if "id" not in parts or parts["id"].duplicated().any():
        parts["id"] = np.arange(len(parts), dtype=np.int64)
    return {"train": parts, **{s: t for s, t in tables.items() if s not in names}}


def _without_extremes(
    documents: Documents, tokenizer: Tokenizer, shortest: bool, longest: bool
) -> Documents:
    lengths = tokenize(documents, tokenizer).numbers.lengths
    kept = np.ones(len(documents), dtype=bool)
    if shortest:
        kept &= lengths > lengths.min(initial=lengths.max(initial=0))
    if longest:
        kept &= lengths < lengths.max(initial=0)
    return documents.take(np.flatnonzero(kept))


def strip_message(text: str) -> str:
    r"""Return a newsgroup message without header, signature and quoted lines, in this order.

    The rules are those of scikit-learn's `fetch_20newsgroups(remove=("headers", "footers",
    "quotes"))`, which Jain & Wallace used. The header is everything up to the first blank line, so
    nothing is left of a text without one. The signature is what follows the last blank line or line
    of hyphens, blank lines at the end aside; a message of a single paragraph has none. Quoted lines
    start with > or |, or introduce a quotation (*wrote:*, *In article*). Lines may end in CR LF.

    >>> strip_message("From: a@b.c\n\nAnn wrote:\n> No.\nI say yes.\n\n--\nBob")
    'I say yes.\n'
    """
    _, _, body = text.replace("\r\n", "\n").partition("\n\n")
    lines = body.strip().split("\n")
    borders = [n for n, line in enumerate(lines) if not line.strip().strip("-")]
    # a border in the first line parts nothing: the body stays as it is, outer blank lines too
    kept = lines[: borders[-1]] if borders and borders[-1] > 0 else body.split("\n")
    return "\n".join(line for line in kept if not _QUOTED.search(line))
