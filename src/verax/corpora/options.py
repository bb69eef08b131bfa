"""How a corpus is read: one dataclass for the Python call, the flags and the config file.

A type checker reads no dataclass as keywords, so the fields of `CorpusOptions` and `Planted` are
repeated as typed dicts; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from verax.corpora.tokenizer import TOKENIZERS
from verax.options import option

# These options are left out of a corpus's config at their defaults.
LEFT_OUT = ("test_limit", "encoding", "count_words_by")


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus is read and split: the options of `load_corpus`."""

    text_column: str = option("text", "column that holds the text")
    label_column: str | None = option(
        "label", "column that holds the label, or none for documents without labels"
    )
    tokens_column: str | None = option(
        None, "column of lists of tokens, which are read in place of texts, joined by blanks"
    )
    rationale_column: str = option(
        "rationale",
        "column of what people marked: 0/1 for each token, or spans of characters; several columns "
        "with commas, one for each annotator",
    )
    labels: dict[str, Any] | None = option(  # noqa: RUF009
        None, "keep and rename these labels only, such as 0=world,2=business"
    )
    min_words: int | None = option(None, "drop documents with fewer words", minimum=1)
    max_words: int | None = option(None, "drop documents with more words", minimum=1)
    count_words_by: str = option(
        "words",
        "the tokenizer by which they are counted; documents without words are dropped",
        choices=TOKENIZERS,
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
    tokens_column: str | None
    rationale_column: str
    labels: dict[str, Any] | None
    min_words: int | None
    max_words: int | None
    count_words_by: str
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
