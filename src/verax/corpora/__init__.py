"""Text in: sources, tokenizing, vocabulary, word vectors, length-bucketed batches."""

from verax.corpora.batch import Batch
from verax.corpora.corpus import SPLITS, Corpus, Documents
from verax.corpora.describing import describe, reading_notes
from verax.corpora.loading import BUILT_IN, known_corpora, load_corpus
from verax.corpora.options import CorpusOptions
from verax.corpora.rationales import Rationales
from verax.corpora.tokenizer import TOKENIZERS, TokenizedTexts, Tokenizer, tokenize
from verax.corpora.vocabulary import EOS, PAD, SOS, SPECIALS, UNK, Vocabulary

__all__ = [
    "BUILT_IN",
    "EOS",
    "PAD",
    "SOS",
    "SPECIALS",
    "SPLITS",
    "TOKENIZERS",
    "UNK",
    "Batch",
    "Corpus",
    "CorpusOptions",
    "Documents",
    "Rationales",
    "TokenizedTexts",
    "Tokenizer",
    "Vocabulary",
    "describe",
    "known_corpora",
    "load_corpus",
    "reading_notes",
    "tokenize",
]
