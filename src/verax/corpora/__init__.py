"""Text in: sources, tokenising, vocabulary, word vectors, length-bucketed batches."""

from verax.corpora.batch import Batch
from verax.corpora.corpus import Corpus, Documents
from verax.corpora.describing import describe, reading_notes
from verax.corpora.loading import BUILT_IN, known_corpora, load_corpus
from verax.corpora.options import CorpusOptions
from verax.corpora.tokenising import Tokeniser
from verax.corpora.vocabulary import Vocabulary

__all__ = [
    "BUILT_IN",
    "Batch",
    "Corpus",
    "CorpusOptions",
    "Documents",
    "Tokeniser",
    "Vocabulary",
    "describe",
    "known_corpora",
    "load_corpus",
    "reading_notes",
]
