"""What files keep of a corpus: how it was loaded."""

from __future__ import annotations

from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.options import saved_options
from verax.schema import both, mapping, maybe, record, text

CONFIG = both(
    saved_options(CorpusOptions, Planted),
    record({}, {"corpus": text, "fingerprint": maybe(text), "labels": maybe(mapping(text))}),
)
"""The kind of `Corpus.config`, with its fingerprint."""
