"""How a corpus is read: one dataclass for the Python call, the flags and the config file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verax.corpora.tokenising import TOKENISERS
from verax.options import option


@dataclass(frozen=True)
class CorpusOptions:
    text_column: str = option("text", "column that holds the text")
    label_column: str = option("label", "column that holds the label")
    tokens_column: str = option("tokens", "column of token lists, read with tokeniser 'tokens'")
    rationale_column: str = option("rationale", "column of 0/1 lists, one value per given token")
    tokeniser: str = option(
        "words",
        "words (lower-cased words and signs), whitespace (split at blanks), "
        "or tokens (the lists in the tokens column)",
        choices=TOKENISERS,
    )
    lowercase: bool = option(True, "lower-case every token")
    labels: dict[str, Any] | None = option(  # noqa: RUF009
        None, "keep and rename these labels only, such as 0=world,2=business"
    )
    min_length: int | None = option(None, "drop documents with fewer tokens", minimum=1)
    max_length: int | None = option(None, "drop documents with more tokens", minimum=1)
    limit: int | None = option(
        None, "keep at most this many documents of each split, stratified by label", minimum=1
    )
    validation_fraction: float = option(
        0.1, "share cut off for validation where the source has none", above=0, below=1
    )
    test_fraction: float = option(
        0.1, "share cut off for test where the source has none", above=0, below=1
    )
    split_seed: int = option(0, "which cut, where a split has to be cut")
    hub_config: str | None = option(None, "configuration of a Hugging Face hub dataset")
