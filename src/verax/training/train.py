"""Training a classifier on a corpus: by itself, under another's attention, or with rationales.

`fit` is behind every function that trains: it makes a fresh model, runs the loop with an objective,
and leaves a record of what was done.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, Unpack

import numpy as np
import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.corpus import Corpus, Documents
from verax.corpora.encoded import EncodedDocuments
from verax.corpora.loading import recorded_config
from verax.corpora.tokenizer import TokenizedTexts, tokenize
from verax.corpora.vectors import TRAINED, WordVectors, file_hash, read_vectors, train_vectors
from verax.corpora.vocabulary import Vocabulary
from verax.device import resolve_device
from verax.errors import VeraxError, VeraxWarning, outside_verax
from verax.files import kept_if_possible, refuse_foreign, refuse_unwritable, stamp
from verax.models.classifier import AttentionClassifier
from verax.models.guided import GuidedClassifier
from verax.models.options import AUTO, READING, ModelOptions
from verax.models.saving import is_only_a_model, load, make_classifier
from verax.models.trace import Trace
from verax.options import SEED, check, divide, names, show_options
from verax.progress import Display, shown
from verax.training.keywords import TrainKeywords
from verax.training.loop import Loop, Objective, StepNumber, balanced_weights, evaluate
from verax.training.options import TrainingOptions, build_options
from verax.training.strength import candidates, choose
from verax.version import __version__

M = TypeVar("M", bound=AttentionClassifier)
Make = Callable[..., AttentionClassifier]
"""Resolved options, vocabulary and classes → an untrained classifier."""
VOCABULARY = (*READING, "min_df", "max_vocabulary")
"""Options that decide which words there are."""
GUIDED_DEFAULTS: Mapping[str, Any] = {
    "encoder": "mlp",
    "hidden_size": 128,
    "layers": None,
    "grounding": "none",
    "strength": None,
}
"""Options of a guided model that are not its guide's."""
SET_BY_GUIDE = (
    "hierarchical",
    "boundaries",
    "projection",
    "lam",
    "alpha",
    "strengths",
    *VOCABULARY,
)
TOWARDS, AWAY = "towards", "away"
"""Where attention is moved: onto marked words, or away from them."""
RAMP = (0.1, 3.0)
"""λ in the first epoch and in the last, unless others are given."""
SMALLEST_MASS = 1e-8
"""Mass below this is clamped before its logarithm is taken."""


def train(
    corpus: Corpus,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Display | None = None,
    keep: str | Path | None = None,
    done: Callable[[Mapping[str, Any]], None] = lambda row: None,
    **options: Unpack[TrainKeywords],
) -> AttentionClassifier:
    """Train an attention classifier on a corpus.

    With `strength="auto"` the ungrounded model and one for each of `strengths` are trained, and the
    one chosen on validation is returned (see `verax.training.strength`).

    Args:
        corpus: a corpus with labels, from `verax.load_corpus`.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display of your own (see `verax.progress`); None shows
            bars on a terminal and in a notebook.
        keep: with `strength="auto"`, a folder in which each model is put as soon as it is trained;
            a later call with the same settings takes it from there.
        done: with `strength="auto"`, called with the scores of each model.
        options: fields of `ModelOptions` (the model) and `TrainingOptions` (how it is trained).

    Returns:
        The classifier in eval mode, with the weights of the epoch that scored best on validation.
        Its `history` has a row for each epoch, its `record` the corpus, the options and the scores
        on test, among which `f1` is that of `classes[1]`. With `strength="auto"`,
        `record["strength"]` has the scores of every model.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = verax.train(corpus, encoder="none", projection="sparsemax", epochs=1, seed=1)
    >>> model.predict(["w1 w2 good0_3 ."]).columns.tolist()
    ['label', 'p_0', 'p_1']
    """
    check("seed", seed, int, SEED)
    model_options, settings = build_options(options)
    run = partial(fit, corpus, seed=seed, device=device, progress=progress)
    if model_options.strength == AUTO:
        model = _at_chosen_strength(run, model_options, settings, keep, done)
    else:
        model = run(model_options, settings)
    return with_test_scores(model, corpus)


def train_guided(
    guide: AttentionClassifier | str | Path,
    corpus: Corpus,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Display | None = None,
    **options: Any,
) -> GuidedClassifier:
    """Train a classifier under the attention of another, which stays as it is.

    If weights say which words matter, they should serve a model without context better than uniform
    ones do, and better than its own; weights that mean something only inside the model that made
    them will not (Wiegreffe & Pinter, "Attention is not not Explanation", EMNLP 2019, section 3.4).
    Compare it with `verax.train(corpus, encoder="mlp", hidden_size=128)` and with the same under
    `projection="uniform"`.

    Args:
        guide: a classifier over words, or the folder of a saved one.
        corpus: the corpus that the guide was trained on.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display of your own (see `verax.progress`).
        options: fields of `ModelOptions` and `TrainingOptions`. Without them it is an `mlp` of
            width 128, ungrounded, and all else is as the guide had it.

    Returns:
        The classifier; `record["guide"]` has the guide's seed, options and test scores.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> guide = verax.train(corpus, encoder="conv", epochs=1)
    >>> guided = train_guided(guide, corpus, seed=1)
    >>> text = ["w1 w2 good0_3 ."]
    >>> guided.trace(text).weights.equal(guide.trace(text).weights)
    True
    """
    check("seed", seed, int, SEED)
    if not isinstance(guide, AttentionClassifier):
        guide = load(guide, device=device)
    if guide.options.hierarchical:
        raise VeraxError(
            "a guide attends words, not sentences: hierarchical models cannot guide",
            code="model.unsuitable-guide",
        )
    refuse_other_corpus(guide, corpus)
    model = fit(
        corpus,
        *inherit(guide, options, GUIDED_DEFAULTS, SET_BY_GUIDE),
        seed=seed,
        device=device,
        progress=progress,
        vocabulary=guide.vocabulary,
        make=partial(GuidedClassifier, guide=guide),
    )
    assert isinstance(model, GuidedClassifier)
    of_guide = {
        "seed": guide.record.get("training", {}).get("seed"),
        "model": asdict(guide.options),
        "test": guide.record.get("test"),
    }
    return with_test_scores(model, corpus, guide=of_guide)


def train_with_rationales(
    corpus: Corpus,
    move: str | None,
    *,
    ramp: tuple[float, float] = RAMP,
    start: AttentionClassifier | None = None,
    make: Make = make_classifier,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Display | None = None,
    **options: Any,
) -> AttentionClassifier:
    """Train a classifier whose attention is moved onto the marked words, or away from them.

    Marks are a corpus's rationales: on `planted` the evidence. Pruthi et al., "Learning to Deceive
    with Attention-Based Explanations", ACL 2020, take attention away from words that decide, and
    decisions stay as accurate. The same term with the other sign supervises attention.

    Args:
        corpus: a corpus whose documents have rationales.
        move: "towards" the marked words, "away" from them, or None for neither.
        ramp: λ in the first epoch and in the last; in between it grows evenly.
        start: a trained classifier of the same options to begin from.
        make: makes the untrained classifier, if not the ordinary one.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display of your own.
        options: fields of `ModelOptions` and `TrainingOptions`.

    Returns:
        The classifier, with the weights of its last epoch where attention is moved, as λ is
        largest there; else with those of the epoch that scored best on validation.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = train_with_rationales(corpus, "away", encoder="conv", epochs=2)
    >>> model.record["marked"]["move"]
    'away'
    """
    check("seed", seed, int, SEED)
    if move not in (TOWARDS, AWAY, None):
        raise VeraxError(
            f"move is {move!r}: expected {TOWARDS!r}, {AWAY!r} or None", code="option.unknown-value"
        )
    model_options, settings = build_options(options)
    if move is not None:
        settings = replace(settings, select_from=settings.epochs)

    def objective(prepared: Prepared) -> Objective:
        model, plain = prepared.model, classification(prepared)
        if move is None:
            return plain
        return RationaleObjective(
            *(model, plain.class_weights, seed),
            Marks.of(model, corpus.train),
            move == TOWARDS,
            torch.linspace(*ramp, settings.epochs, device=model.device),
            len(prepared.train) + 1,
        )

    model = fit(
        corpus,
        model_options,
        settings,
        seed=seed,
        device=device,
        progress=progress,
        vocabulary=None if start is None else start.vocabulary,
        make=make,
        start=start,
        objective=objective,
    )
    how = {"move": move, "ramp": list(ramp), "warm": start is not None}
    return with_test_scores(model, corpus, marked=how)


@dataclass(frozen=True, eq=False)
class Marks:
    """A mark for each token of an encoded split, looked up for batches of it.

    flat    (all tokens,) bool, on the model's device
    starts  (documents + 1,) long: where each document begins
    """

    flat: Tensor
    starts: Tensor

    @classmethod
    def of(cls, model: AttentionClassifier, documents: Documents) -> Marks:
        """The rationales of documents as marks of the model's words, with none at SOS and EOS."""
        if documents.marks is None:
            raise VeraxError(
                "these documents have no marks of words: give a corpus with a rationale for each, "
                "such as 'planted'",
                code="corpus.no-rationales",
            )
        marks, device = documents.marks.majority(model.encode(documents).spans), model.device
        if model.boundaries:
            marks = marks.surround(0, 0)
        flat = torch.from_numpy(np.asarray(marks.values) > 0)
        return cls(flat.to(device), torch.from_numpy(marks.offsets.astype(np.int64)).to(device))

    def beside(self, batch: Batch) -> Tensor:
        """(batch, tokens) bool: which tokens of a batch are marked."""
        places = torch.arange(batch.tokens.shape[1], device=self.flat.device)
        index = self.starts[batch.row_index].unsqueeze(-1) + places
        return self.flat[index.clamp(max=len(self.flat) - 1)] & batch.words


@dataclass(frozen=True, eq=False)
class RationaleObjective(Objective):
    """Cross-entropy − λ log(mass of the marked words), or − λ log(1 − mass) to move it away.

    marks    of the training documents
    towards  whether mass is moved onto them
    ramp     (epochs,) λ of each epoch
    steps    step numbers per epoch, as `Loop` counts them
    """

    marks: Marks
    towards: bool
    ramp: Tensor
    steps: int

    def losses(self, trace: Trace, step: StepNumber = 0) -> Tensor:
        """(batch,) weighted cross-entropy, and −λ log of the mass that is where it should be."""
        marked = self.marks.beside(trace.batch)
        wanted = marked if self.towards else ~marked & trace.batch.words
        mass = (trace.weights * wanted).sum(-1)
        lam = self.ramp[int(step) // self.steps]
        return super().losses(trace) + lam * -mass.clamp(min=SMALLEST_MASS).log()


# what they all share


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model about to be trained, what it is trained and validated on, and how."""

    model: AttentionClassifier
    train: EncodedDocuments
    validation: EncodedDocuments
    settings: TrainingOptions
    seed: int
    record: Mapping[str, Any]


def classification(prepared: Prepared) -> Objective:
    """The ordinary objective, with the class weights that the settings ask for."""
    model, weights = prepared.model, None
    if prepared.settings.class_weight == "balanced":
        labels = prepared.train.labels
        assert labels is not None
        one_logit = model.options.head == "sigmoid"
        weights = balanced_weights(labels, len(model.classes), one_logit).to(model.device)
    return Objective(model, weights, prepared.seed)


def fit(
    corpus: Corpus,
    options: ModelOptions,
    settings: TrainingOptions,
    *,
    seed: int,
    device: str,
    progress: bool | Display | None,
    vocabulary: Vocabulary | None = None,
    make: Make = make_classifier,
    start: AttentionClassifier | None = None,
    objective: Callable[[Prepared], Objective] = classification,
) -> AttentionClassifier:
    """Train a classifier.

    Args:
        corpus: a corpus with labels.
        options: the model, not necessarily resolved.
        settings: how it is trained.
        seed: of initialisation, dropout and the order of documents.
        device: auto, cpu, cuda or cuda:1.
        progress: whether to show bars, or a display.
        vocabulary: by default that of the training documents.
        make: makes the untrained classifier.
        start: a classifier whose weights the model begins with.
        objective: makes the objective of what is prepared.

    Returns:
        The classifier in eval mode, with its `history` and a `record` that has no test scores yet.
    """
    where = resolve_device(device)
    with shown(progress) as display, repeatable(where):
        prepared = prepare(
            corpus,
            options,
            settings,
            seed=seed,
            device=where,
            display=display,
            vocabulary=vocabulary,
            make=make,
        )
        model = prepared.model
        if start is not None:
            model.load_state_dict(start.state_dict())
        parts = (prepared.train, prepared.validation, objective(prepared))
        model.history = Loop(model, *parts, settings, seed, display.step).run()
    model.record = prepared.record
    return model.eval()


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
    parts = (model.encode(corpus.train), model.encode(corpus.validation))
    return Prepared(model, *parts, settings, seed, record)


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """On a GPU, use deterministic algorithms, and restore the settings afterwards.

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


def with_test_scores(model: M, corpus: Corpus, **more: Any) -> M:
    """The model with its scores on test in its record, computed once it is trained, and more."""
    logits = model.logits(corpus.test, model.record["training"]["max_tokens"])
    test = without_nan(evaluate(logits, corpus.test.labels))
    model.record = {**model.record, "test": test, **more}
    return model


def without_nan(scores: Mapping[str, float]) -> dict[str, float | None]:
    """Scores as JSON has them: one that is not defined is null."""
    return {name: None if math.isnan(score) else score for name, score in scores.items()}


# training after another model


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
    divide(changes, ModelOptions, TrainingOptions)  # refuse unknown names
    for name in fixed:
        if name in changes and changes[name] != standing[name]:
            raise VeraxError(
                f"option {name!r} is {changes[name]!r}: it must stay {standing[name]!r}, "
                "leave it out",
                code="option.conflict",
            )
    options, settings = build_options({**standing, **changes})
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
    """Raise where the file that a model's record names is missing, or has changed."""
    path = Path(vectors).expanduser()
    remedy = "give option 'vectors' their file, or none for random ones"
    if not path.is_file():
        raise VeraxError(
            f"the word vectors this model began with, {path.name}, are not here: {remedy}",
            code="file.missing",
        )
    if known_hash is not None and file_hash(vectors) != known_hash:
        raise VeraxError(
            f"{path.name} is not the file of word vectors that this model began with: {remedy}",
            code="vectors.changed",
        )


# strength="auto"


def _at_chosen_strength(
    run: partial[AttentionClassifier],
    options: ModelOptions,
    settings: TrainingOptions,
    keep: str | Path | None,
    done: Callable[[Mapping[str, Any]], None],
) -> AttentionClassifier:
    """Train every candidate, or take it from where it was kept; returns the chosen one."""
    corpus, call = run.args[0], run.keywords
    strengths = candidates(options.grounding, settings.strengths)
    if keep is not None and Path(keep).exists() and not Path(keep).is_dir():
        raise VeraxError(
            f"cannot keep candidates in {keep}: it is a file, choose another place",
            code="output.wrong-kind",
        )
    if keep is not None:
        refuse_unwritable(Path(keep) / "model")
    options.resolved(len(corpus.classes))
    alone = replace(settings, strengths=None)
    same = {**asdict(options), **asdict(settings), "file": stamp(settings.vectors)}
    same |= {"seed": call["seed"], "corpus": corpus.fingerprint, "verax": __version__}
    for name in ("strengths", "max_tokens"):  # change no candidate
        del same[name]

    def candidate(grounding: str, strength: float | None) -> AttentionClassifier:
        one = replace(options, grounding=grounding, strength=strength)
        if keep is None:
            return run(one, alone)
        name = grounding if strength is None else f"{grounding}-{strength!r}".removesuffix(".0")
        folder, key = Path(keep) / name, {**same, "grounding": grounding, "strength": strength}
        model = _kept(folder, key, call["device"])
        if model is None:
            model = run(one, alone)
            record = model.record
            model.record = {**record, "candidate": key}
            with kept_if_possible():
                model.save(folder, overwrite=True)
            model.record = record
        return model

    model, scores = choose(
        candidate,
        corpus.validation,
        options.grounding,
        strengths,
        call["seed"],
        settings.max_tokens,
        done,
    )
    model.record = {**model.record, "strength": scores}
    return model


def _kept(folder: Path, key: Mapping[str, Any], device: str) -> AttentionClassifier | None:
    """The model kept in a folder, if it was trained in the same way."""
    if not folder.exists():
        return None
    refuse_foreign(folder, is_only_a_model)
    model = load(folder, device=device)
    if model.record.get("candidate") != key:
        return None
    model.record = {n: v for n, v in model.record.items() if n != "candidate"}
    return model


show_options(train, ModelOptions, TrainingOptions)
