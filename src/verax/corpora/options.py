"""How a corpus is read: one dataclass for the Python call, the flags and the config file.

A type checker reads no dataclass as keywords, so the fields of `CorpusOptions` and `Planted` are
repeated as typed dicts; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from verax.corpora.tokenising import TOKENISERS
from verax.options import option

# A cell of a study is found by the hash of its corpus's config. These options are younger than some
# results: at their defaults they are left out of the config, so that the hash is the old one.
HASH_COMPAT_DEFAULTS = ("test_limit", "truncate", "encoding")


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus is read and split: the options of `load_corpus`."""

    text_column: str = option("text", "column that holds the text")
    label_column: str | None = option(
        "label", "column that holds the label, or none for documents without labels"
    )
    tokens_column: str = option("tokens", "column of token lists, read with tokeniser 'tokens'")
    rationale_column: str = option(
        "rationale",
        "column of what people marked: 0/1 for each token, or spans of characters; several columns "
        "with commas, one for each annotator",
    )
    tokeniser: str = option(
        "words",
        "words (lower-cased words and signs), digits-masked (as words, what has a digit is qqq, "
        "a sign repeated is one), characters (as words, but every character of a script without "
        "spaces is a token), keras (words without signs, as Keras's IMDB), whitespace (split at "
        "blanks), or tokens (the lists in the tokens column)",
        choices=TOKENISERS,
    )
    lowercase: bool = option(True, "lower-case every token")
    labels: dict[str, Any] | None = option(  # noqa: RUF009
        None, "keep and rename these labels only, such as 0=world,2=business"
    )
    min_length: int | None = option(None, "drop documents with fewer tokens", minimum=1)
    max_length: int | None = option(None, "drop documents with more tokens", minimum=1)
    truncate: int | None = option(
        None, "keep the first so many tokens of a document, instead of dropping it", minimum=1
    )
    limit: int | None = option(
        None, "keep at most this many documents of each split, stratified by label", minimum=1
    )
    test_limit: int | None = option(
        None, "keep at most this many test documents, stratified by label", minimum=1
    )
    validation_fraction: float = option(
        0.1,
        "share cut off for validation where the source has none",
        above=0,
        below=1,
    )
    test_fraction: float = option(
        0.1,
        "share cut off for test where the source has none",
        above=0,
        below=1,
    )
    split_seed: int = option(0, "which cut, where a split has to be cut")
    hub_config: str | None = option(None, "configuration of a Hugging Face hub dataset")
    encoding: str = option("utf-8", "encoding of CSV, TSV and JSONL files, such as latin-1")


class CorpusKeywords(TypedDict, total=False):
    """The fields of `CorpusOptions` for type checkers, which read no dataclass as keywords."""

    text_column: str
    label_column: str | None
    tokens_column: str
    rationale_column: str
    tokeniser: str
    lowercase: bool
    labels: dict[str, Any] | None
    min_length: int | None
    max_length: int | None
    truncate: int | None
    limit: int | None
    test_limit: int | None
    validation_fraction: float
    test_fraction: float
    split_seed: int
    hub_config: str | None
    encoding: str


class PlantedKeywords(TypedDict, total=False):
    """What `Planted` declares, for the corpus `planted` alone."""

    classes: int
    length: int
    sentences: int
    evidence: int
    distractors: int
    label_noise: float
    lexicon: int
    vocabulary: int
    documents: int
    seed: int


class LoadKeywords(CorpusKeywords, PlantedKeywords, total=False):
    """Every option of `verax.load_corpus`."""
