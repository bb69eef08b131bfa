"""What every way of training has before and after its loop: options, a fresh model, a record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from verax.corpora.corpus import Corpus
from verax.corpora.encoded import EncodedDocuments
from verax.corpora.loading import recorded_config
from verax.corpora.tokenizer import TokenizedTexts, tokenize
from verax.corpora.vectors import TRAINED, WordVectors, file_hash, read_vectors, train_vectors
from verax.corpora.vocabulary import Vocabulary
from verax.errors import VeraxError, VeraxWarning, outside_verax
from verax.models.classifier import AttentionClassifier
from verax.models.options import READING, ModelOptions
from verax.models.saving import make_classifier
from verax.options import build, divide, names
from verax.progress import Display
from verax.training.metrics import evaluate
from verax.training.objective import Objective, balanced_weights
from verax.training.options import TrainingOptions

Make = Callable[..., AttentionClassifier]
"""Resolved options, vocabulary and classes → an untrained classifier."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model about to be trained, and what it is trained and validated on."""

    model: AttentionClassifier
    train: EncodedDocuments
    validation: EncodedDocuments
    record: Mapping[str, Any]


def prepare(
    corpus: Corpus,
    options: ModelOptions,
    settings: TrainingOptions,
    *,
    seed: int,
    device: torch.device,
    display: Display,
    vocabulary: Vocabulary | None = None,
    make: Make = make_classifier,
) -> Prepared:
    """The untrained model on its device, and the corpus as its numbers.

    `options` need not be resolved; without a `vocabulary` it is that of the training documents.
    """
    if not corpus.is_labelled:
        raise VeraxError(
            f"corpus {corpus.name!r} has no labels to learn from: name their column with "
            "label_column",
            code="corpus.no-labels",
        )
    options.resolved(len(corpus.classes))  # refuse what cannot be before anything is read
    for name, documents in corpus.splits.items():
        tokenize(documents, options.word_tokenizer).number(display.watching(f"tokenizing {name}"))
    warn_of_tokenizer(corpus, options)
    train = tokenize(corpus.train, options.word_tokenizer)
    if options.max_length is not None:
        train = train.first(options.max_length)
    if vocabulary is None:
        vocabulary = Vocabulary.of(train, settings.min_df, settings.max_vocabulary)
    vectors = _vectors(train, vocabulary, options, settings, seed, display)
    if vectors is not None:
        options = replace(options, embedding_size=vectors.matrix.shape[1])
    resolved = options.resolved(len(corpus.classes))
    model = _initialise(corpus, vocabulary, vectors, resolved, settings, seed, make)
    model.to(device)
    record = {
        "training": {**asdict(settings), "seed": seed},
        "corpus": recorded_config(corpus),
        "vectors": _coverage(vectors, settings.vectors),
    }
    return Prepared(model, model.encode(corpus.train), model.encode(corpus.validation), record)


def classification(prepared: Prepared, settings: TrainingOptions, seed: int) -> Objective:
    """The ordinary objective, with the class weights that the settings ask for."""
    model, weights = prepared.model, None
    if settings.class_weight == "balanced":
        labels = prepared.train.labels
        assert labels is not None
        one_logit = model.options.head == "sigmoid"
        weights = balanced_weights(labels, len(model.classes), one_logit).to(model.device)
    return Objective(model, weights, seed)


def scores_on_test(
    model: AttentionClassifier, corpus: Corpus, max_tokens: int
) -> dict[str, float | None]:
    """What a record keeps of the test split, looked at once a model is trained."""
    return without_nan(evaluate(model.logits(corpus.test, max_tokens), corpus.test.labels))


def without_nan(scores: Mapping[str, float]) -> dict[str, float | None]:
    """Scores as JSON has them: one that is not defined is null."""
    return {name: None if math.isnan(score) else score for name, score in scores.items()}


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """On a GPU, take the algorithms that give the same bits twice, then put the settings back.

    Fresh memory is not filled, as torch would then: nothing here reads what it has not written.
    """
    if device.type != "cuda":
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    settings: Any = torch.utils.deterministic
    filled = settings.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=False)
    settings.fill_uninitialized_memory = False
    try:
        yield
    finally:
        settings.fill_uninitialized_memory = filled
        torch.use_deterministic_algorithms(before, warn_only=warned)


_SPACELESS = (
    "most of corpus {name!r} is in a script without spaces, and words cannot be told apart: read "
    "characters with tokenizer 'characters' (--tokenizer characters), or put blanks between words"
)
_TOKENS = (
    "corpus {name!r} has lists of tokens, and tokenizer {kind!r} splits them in another way: read "
    "them as they are with tokenizer 'whitespace' (--tokenizer whitespace)"
)


def warn_of_tokenizer(corpus: Corpus, options: ModelOptions) -> None:
    """Warn where a tokenizer does not suit the texts of a corpus, by the first of each split."""
    tokenizer = options.word_tokenizer
    texts = [text[:500] for split in corpus.splits.values() for text in split.texts[:100]]
    problem = None
    if tokenizer.cannot_part(texts):
        problem = _SPACELESS
    elif corpus.config.get("tokens_column") is not None and any(
        len(tokenizer(text)) != len(text.split()) for text in texts
    ):
        problem = _TOKENS
    if problem is not None:
        message = problem.format(name=corpus.name, kind=tokenizer.kind)
        warnings.warn(message, VeraxWarning, outside_verax())


def _vectors(
    train: TokenizedTexts,
    vocabulary: Vocabulary,
    model_options: ModelOptions,
    settings: TrainingOptions,
    seed: int,
    display: Display,
) -> WordVectors | None:
    if settings.vectors is None:
        return None
    if settings.vectors == TRAINED:
        with display.busy("training word2vec"):
            return train_vectors(
                vocabulary,
                train,
                model_options.embedding_size,
                settings.vectors_epochs,
                seed,
            )
    watch = display.watching("reading word vectors")
    vectors = read_vectors(settings.vectors, vocabulary, train, watch)
    return vectors.unit_norm() if settings.unit_norm else vectors


def _initialise(
    corpus: Corpus,
    vocabulary: Vocabulary,
    vectors: WordVectors | None,
    options: ModelOptions,
    settings: TrainingOptions,
    seed: int,
    make: Make,
) -> AttentionClassifier:
    """The untrained model: its seed fixes it, and the caller's generator is left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make(options, vocabulary, corpus.classes)
    with torch.no_grad():
        if vectors is not None:
            model.embedding.weight.copy_(torch.from_numpy(vectors.matrix))
        elif settings.unit_norm:
            norms = model.embedding.weight.norm(dim=1, keepdim=True).clamp(min=1e-12)
            model.embedding.weight.div_(norms)
    model.embedding.weight.requires_grad_(not settings.freeze_embeddings)
    return model


def _coverage(vectors: WordVectors | None, source: str | None) -> dict[str, Any] | None:
    """How many words have vectors, and a hash of the file that these are from."""
    if vectors is None:
        return None
    coverage = {
        "found": vectors.found,
        "words": vectors.words,
        "occurrences": round(vectors.occurrences, 6),
    }
    return coverage if source in (None, TRAINED) else {**coverage, "file": file_hash(str(source))}


VOCABULARY = (*READING, "min_df", "max_vocabulary")
"""Options that decide which words there are."""


def inherit(
    model: AttentionClassifier,
    changes: Mapping[str, Any],
    defaults: Mapping[str, Any],
    fixed: Collection[str],
) -> tuple[ModelOptions, TrainingOptions]:
    """Options and settings of a model to be trained after another.

    Args:
        model: the other; its training settings are those of its record. Its word vectors are read,
            or trained, again, so that a file of them must still exist.
        changes: options that the user gave.
        defaults: options that differ from the other's unless the user gave them.
        fixed: names of options that may have no other value.
    """
    trained = model.record.get("training", {})
    trained_with = {n: v for n, v in trained.items() if n in names(TrainingOptions)}
    standing = {**asdict(TrainingOptions()), **asdict(model.options), **trained_with, **defaults}
    divide(changes, ModelOptions, TrainingOptions)  # refuse what none knows
    for name in fixed:
        if name in changes and changes[name] != standing[name]:
            raise VeraxError(
                f"option {name!r} is {changes[name]!r}: it must stay {standing[name]!r}, "
                "leave it out",
                code="option.conflict",
            )
    model_values, training_values = divide({**standing, **changes}, ModelOptions, TrainingOptions)
    options, settings = build(ModelOptions, model_values), build(TrainingOptions, training_values)
    if settings.vectors not in (None, TRAINED) and "vectors" not in changes:
        _refuse_lost_vectors(str(settings.vectors), (model.record.get("vectors") or {}).get("file"))
    return options, settings


def refuse_other_corpus(model: AttentionClassifier, corpus: Corpus) -> None:
    """A corpus must have the model's classes."""
    if corpus.classes != model.classes:
        raise VeraxError(
            f"the corpus has classes {corpus.classes}, the model {model.classes}: "
            "give the corpus it was trained on",
            code="corpus.unknown-class",
        )


def _refuse_lost_vectors(vectors: str, known_hash: str | None) -> None:
    """Raise where the file that a model's record names is not here, or is another."""
    path, remedy = (
        Path(vectors).expanduser(),
        "give option 'vectors' their file, or none for random",
    )
    if not path.is_file():
        raise VeraxError(
            f"the word vectors this model began with, {path.name}, are not here: {remedy} ones",
            code="file.missing",
        )
    if known_hash is not None and file_hash(vectors) != known_hash:
        raise VeraxError(
            f"{path.name} is not the file of word vectors that this model began with: "
            f"{remedy} ones",
            code="vectors.changed",
        )
