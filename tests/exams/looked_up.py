"""Models without an encoder whose every score is looked up, and corpora to examine them on.

A word has a score s and says ℓ: its vector is (√3 · s, ℓ, 0), the query picks the first, the head
the second, and the bias is zero. With α the projection of the scores, z = Σ α_i ℓ_i is the one
logit, p = σ(z), and what an importance must be follows on paper, the same on inputs and items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from verax.corpora.corpus import Corpus, Documents
from verax.corpora.tokenising import Lexicon, Tokeniser
from verax.corpora.vocabulary import Vocabulary
from verax.models import AttentionClassifier, ModelOptions, make_classifier


def look_up_model(
    words: Mapping[str, tuple[float, float]], projection: str = "softmax"
) -> AttentionClassifier:
    """`words` has the score and the say of each."""
    options = ModelOptions(
        encoder="none", attention="dot", embedding_size=3, boundaries=False, projection=projection
    ).resolved(2)
    model = make_classifier(options, Vocabulary(list(words)), ["no", "yes"], Tokeniser())
    with torch.no_grad():
        for word, (score, say) in words.items():
            row = model.vocabulary.rows[word]
            model.embedding.weight[row] = torch.tensor([math.sqrt(3) * score, say, 0.0])
        model.attention.alignment.query.copy_(torch.tensor([1.0, 0.0, 0.0]))
        model.head.linear.weight.copy_(torch.tensor([[0.0, 1.0, 0.0]]))
        model.head.linear.bias.zero_()
    return model.eval()


def corpus_of(
    texts: Sequence[str],
    labels: Sequence[int] = (),
    model: AttentionClassifier | None = None,
) -> Corpus:
    """All three splits the same texts, ids from 10 on; label 0 where none is given.

    With a model, its classes and tokeniser.
    """
    given = np.zeros(len(texts), dtype=np.int64)
    given[: len(labels)] = labels
    ids = np.arange(10, 10 + len(texts))
    tokeniser = Tokeniser() if model is None else model.tokeniser
    split = Documents(list(texts), given, ids, tokeniser, Lexicon())
    classes = ["no", "yes"] if model is None else model.classes
    return Corpus("by hand", classes, split, split, split)
