"""Small models: untrained ones with any options, and ones whose every score is looked up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from verax.corpora import Corpus, Vocabulary, tokenize
from verax.corpora.encoded import EncodedDocuments
from verax.models import AttentionClassifier, ModelOptions, make_classifier


def model_maker(corpus: Corpus) -> Callable[..., AttentionClassifier]:
    """Return a function that makes untrained models over a corpus, in eval mode.

    It takes the number of classes and any model option.
    """
    vocabulary = Vocabulary.of(tokenize(corpus.train))

    def make(classes: int = 2, **options: object) -> AttentionClassifier:
        sizes = {"hidden_size": 12, "embedding_size": 12, **options}
        resolved = ModelOptions(**sizes).resolved(classes)  # type: ignore[arg-type]
        names = [str(i) for i in range(classes)]
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # others' are not used, and slow to seed
            return make_classifier(resolved, vocabulary, names).eval()

    return make


def encoded_for(model: AttentionClassifier, corpus: Corpus) -> EncodedDocuments:
    """Return the training documents of a corpus as a model reads them."""
    return model.encode(corpus.train)


def look_up_model(
    words: Mapping[str, tuple[float, float]], projection: str = "softmax"
) -> AttentionClassifier:
    """Return a model without an encoder that looks up a score s and a logit ℓ for each word.

    The vector of a word is (√3 · s, ℓ, 0), the query picks the first, the head the second, and the
    bias is zero. With α the projection of the scores, z = Σ α_i ℓ_i is the one logit, p = σ(z), and
    every importance can be derived on paper, the same on inputs and items.
    """
    options = ModelOptions(
        encoder="none", attention="dot", embedding_size=3, boundaries=False, projection=projection
    ).resolved(2)
    model = make_classifier(options, Vocabulary(list(words)), ["no", "yes"])
    with torch.no_grad():
        for word, (score, say) in words.items():
            row = model.vocabulary.rows[word]
            model.embedding.weight[row] = torch.tensor([math.sqrt(3) * score, say, 0.0])
        model.attention.alignment.query.copy_(torch.tensor([1.0, 0.0, 0.0]))
        model.head.linear.weight.copy_(torch.tensor([[0.0, 1.0, 0.0]]))
        model.head.linear.bias.zero_()
    return model.eval()
