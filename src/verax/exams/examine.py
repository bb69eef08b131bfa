"""`examine`: all exams of a model, from one reading of the split."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.columns import MissingColumnError
from verax.corpora.corpus import ALL, SPLITS, Corpus, Documents
from verax.corpora.files import SUFFIXES
from verax.corpora.loading import Source, load_corpus, load_for_examining, recorded_config
from verax.corpora.redacting import patterns_of
from verax.device import full_precision
from verax.errors import VeraxError, VeraxWarning, nearest, no_exit, outside_verax
from verax.exams.exam import Exam
from verax.exams.gallery import Gallery
from verax.exams.gallery.scored import ScoredGallery
from verax.exams.judgement.limits import LimitSet, load_limits
from verax.exams.keywords import ExamKeywords
from verax.exams.planning import plan, plan_lines, plan_table, without_rationales
from verax.exams.redacting import Redaction
from verax.exams.registry import EXAMS, checked_summary, chosen_exams, default_exams, divide_options
from verax.exams.seeing import Decided, out_of_time, see_all, see_within
from verax.exams.verdict import FORMAT, Verdict
from verax.external.opening import open_classifier
from verax.external.pieces import ReadPieces
from verax.external.reading import ReadTexts
from verax.importance import Importance
from verax.importance.arrays import ArrayImportance
from verax.models.classifier import AttentionClassifier
from verax.models.kinds import POOLED, TextClassifier
from verax.models.pooled import evaluation_mode, unchanged_state
from verax.options import SEED, build, check
from verax.portable import corpus_name, portable
from verax.progress import Display, say, shown
from verax.time_limit import TimeLimit
from verax.version import __version__, source_fingerprint

_FOR_EXAMINING = 0.9
"""The share of a limit of time that is for examining: tables are gathered in the rest."""
_MANY, _BYTES = 200_000, 16_000
"""Documents from which on memory is warned of, and what tables take of one while they are made."""


def examine(
    model: AttentionClassifier | TextClassifier | str | Path,
    corpus: Corpus | Source | None = None,
    exams: str | type[Exam] | Sequence[str | type[Exam]] | None = None,
    split: str | None = None,
    *,
    seed: int = 0,
    sample: int | None = None,
    importances: Mapping[str, Importance | Any] | None = None,
    gallery: int | Sequence[int] = 0,
    redact: str | Sequence[str] = (),
    device: str = "auto",
    max_tokens: int = MAX_TOKENS,
    max_seconds: float | None = None,
    progress: bool | Display | None = None,
    limits: str | Path | Mapping[str, Any] | LimitSet | None = None,
    exam_options: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[ExamKeywords],
) -> Verdict:
    """Put a model through exams on one split of a corpus.

    Args:
        model: a classifier of `verax.train`, `verax.from_transformers`, `verax.from_pooled` or
            `verax.from_predict`; the folder of a saved one; or `hf:FOLDER` for a Hugging Face
            model.
        corpus: a corpus, or what `verax.load_corpus` takes (a name, a path, a DataFrame, lists),
            read by the model's tokeniser; the corpus that the model was trained on, unless given.
            It need not have labels: accuracy is then not known.
        exams: names of exams, or classes of your own derived from `verax.Exam`; all, unless given
            (`verax.EXAMS` has them).
        split: train, validation, test, or all for the documents of all three; test, unless given,
            but all of a lone file, DataFrame or list without splits.
        seed: of all that is drawn.
        sample: examine at most so many documents of the split, drawn by the seed.
        importances: rankings of your own by name: functions of (model, trace) that return a
            (batch, items) tensor of scores; or scores of words, as a list with an array for each
            document of the split, or one padded array or tensor for all, such as an attribution of
            captum's.
        gallery: keep so many of the most surprising documents, or those with these ids, with their
            text and all that a page needs to show them.
        redact: regular expressions; words in which they are found are covered wherever a verdict
            would keep them.
        device: where to load a saved model: auto, cpu, cuda.
        max_tokens: bound of the padded tokens held at once; it changes no result beyond rounding.
        max_seconds: a limit of time. Exams that take time in proportion to a document's words come
            first, the others see the shortest documents first. What there is no time for is left
            out of an exam, and the verdict says how much that is. What is examined is the same as
            without a limit.
        progress: show how far it got; None shows it on a terminal and in a notebook.
        limits: limits of the judgement: a version, a file or a mapping (see
            `verax.exams.judgement.limits`); the newest, unless given.
        exam_options: exam → its options, for exams of other packages.
        options: options of exams, `draws=5`; under its exam's name where two of the exams have one
            of a name, `erasure={"draws": 5}`.

    Returns:
        A verdict: tidy tables, a summary with intervals, and the judgement.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = verax.train(corpus, encoder="none", epochs=1)
    >>> verdict = verax.examine(model, corpus)
    >>> verdict.summary("contingency").columns.tolist()
    ['both', 'only top', 'only random', 'neither']
    >>> verdict.value("replacement.trained.survival")
    100.0
    """
    started = time.monotonic()
    is_chosen = exams is not None
    if exams is None:
        exams = list(EXAMS)
    names = chosen_exams([exams] if isinstance(exams, (str, type)) else exams)
    if split is not None:
        check_split(split, also=(ALL,))
    seed = check("seed", seed, int, SEED)
    max_tokens = check("max_tokens", max_tokens, int, {"minimum": 1})
    if sample is not None:
        sample = check("sample", sample, int, {"minimum": 1})
    limit = None
    if max_seconds is not None:
        max_seconds = check("max_seconds", max_seconds, float, {"above": 0})
        limit = TimeLimit(_FOR_EXAMINING * max_seconds)
    known_limits = load_limits(limits)
    patterns = patterns_of(redact)
    examined: Any = model
    if isinstance(model, (str, Path)):
        examined = open_classifier(model, device=device)
    if not is_chosen:
        names = default_exams(examined.kind)
    planned = plan(examined, names, importances or {})
    classes = {one.name: one.exam for one in planned if one.exam is not None}
    names = list(classes)
    if not names:
        one = planned[0]
        raise VeraxError(
            f"exam {one.name!r} does not apply to this model: {one.reason}",
            code="exam.not-applicable",
        )
    inapplicable = {one.name: one.reason for one in planned if one.exam is None}
    given = {n: v for n, v in {**options, **(exam_options or {})}.items() if n not in inapplicable}
    divided = divide_options(names, given, classes=classes)
    settings = {name: build(classes[name].options_class, v) for name, v in divided.items()}
    rankings: dict[str, Importance] = {
        name: values if callable(values) else ArrayImportance(name, values)
        for name, values in (importances or {}).items()
    }
    takers: list[Exam] = [
        classes[name](setting, seed, rankings, max_tokens) for name, setting in settings.items()
    ]
    applied = known_limits.completed({name: EXAMS[name].limits for name in names})
    can_show = examined.kind == POOLED and examined.has_vectors
    shows: Gallery | ScoredGallery = Gallery(gallery if can_show else 0, max_tokens)
    if examined.kind != POOLED:
        shows = ScoredGallery(gallery, seed, max_tokens)
    if not isinstance(corpus, Corpus):
        source = corpus
        try:
            corpus = load_to_examine(examined, source, split)
        except MissingColumnError as error:
            call = [repr(str(source)) if isinstance(source, (str, Path)) else "frame"]
            call += (
                []
                if examined.tokeniser.kind == "words"
                else [f"tokeniser={examined.tokeniser.kind!r}"]
            )
            call.append(f"{error.option}=…")
            raise VeraxError(
                f"{error}, or load it first: verax.load_corpus({', '.join(call)})", code=error.code
            ) from error
    if split is None:
        split = "test" if len(corpus.train) or len(corpus.validation) else ALL
    documents = _documents(examined, corpus, split)
    unmarked: list[str] = []
    if documents.marks is None or not documents.marks.annotators.any():
        planned = [without_rationales(one) for one in planned]
        reasons = {one.name: one.reason for one in planned if one.exam is None}
        unmarked = [name for name in names if name in reasons]
        names = [name for name in names if name not in unmarked]
        takers = [exam for exam in takers if exam.name in names]
        settings = {name: setting for name, setting in settings.items() if name in names}
        if not names:
            raise VeraxError(
                f"exam {unmarked[0]!r} does not apply: {reasons[unmarked[0]]}",
                code="exam.not-applicable",
            )
        for name in unmarked if is_chosen else ():
            left = f"exam {name!r} is left out: {reasons[name]}"
            warnings.warn(left, UserWarning, outside_verax())
    left_out = [] if documents.is_labelled else [n for n in names if EXAMS[n].needs_labels]
    if left_out:
        names = [name for name in names if name not in left_out]
        takers = [exam for exam in takers if exam.name not in left_out]
        if not names:
            raise VeraxError(
                f"exam {left_out[0]!r} needs labels, and corpus {corpus.name!r} has none: name "
                "their column with label_column",
                code="corpus.no-labels",
            )
    whole = len(documents)
    for ranking in rankings.values():
        if isinstance(ranking, ArrayImportance):
            ranking.bind(examined, _word_counts(examined, documents), documents.ids)
    if sample is not None and sample < whole:
        drawn = np.random.Generator(np.random.PCG64([seed, whole])).permutation(whole)[:sample]
        documents = documents.take(np.sort(drawn))
    if len(documents) > _MANY:
        warnings.warn(
            f"{len(documents):,} documents: tables take some "
            f"{len(documents) * _BYTES / 2**30:.0f} GiB; a sample is examined with sample "
            "(--sample 10000)",
            VeraxWarning,
            outside_verax(),
        )
    with (
        shown(progress) as display,
        full_precision(),
        evaluation_mode(examined),
        unchanged_state(examined),
        no_exit(),
    ):
        if not examined.trained_here:
            say(display, plan_lines(planned))
        if examined.kind == POOLED:
            documents.tokenise(display.watching(f"tokenising {split}"))
        encoded = examined.read(documents)
        unknown = round(examined.unknown_words(encoded), 6)
        if unknown == 1:
            raise VeraxError(
                f"the model knows no word of corpus {corpus.name!r}: give it the tokenizer or "
                "vocabulary that it was trained with",
                code="model.bad-vocabulary",
            )
        for exam in takers:
            exam.prepare(corpus, documents, split)
            exam.begin(examined, encoded)
        shows.begin(examined, documents, encoded)
        decided = Decided(examined.classes)
        how = (decided, examined, encoded, max_tokens, display.watching)
        unseen: dict[str, NDArray[np.int64]] = {}
        if limit is None:
            see_all([*takers, shows], *how)
        else:
            unseen = see_within(limit, takers, shows, *how)
            takers = [exam for exam in takers if len(unseen.get(exam.name, ())) < len(documents)]
            names = [exam.name for exam in takers]
            if not names:
                raise VeraxError(
                    f"max_seconds is {max_seconds:g}: too little for any exam of these documents; "
                    "allow more, or examine fewer (sample, --sample)",
                    code="option.out-of-range",
                )
        for exam in takers:
            exam.conclude(display.watching)
        shows.conclude(display.watching, limit)
        with display.busy("gathering tables"):
            tables = {n: t for exam in takers for n, t in exam.tables().items()}
            tables |= shows.tables()
            redaction = Redaction(patterns, documents, encoded) if patterns else None
            if redaction is not None:
                tables = redaction.tables(tables)
            parts = [checked_summary(name, EXAMS[name].summarise(tables)) for name in names]
            summary = pd.concat(parts, ignore_index=True)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "verax": __version__,
        "source": source_fingerprint(),
        "weights": examined.fingerprint,
        "exams": names,
        "options": {name: asdict(setting) for name, setting in settings.items()},
        "importances": list(rankings),
        "tables": list(tables),
        "seed": seed,
        "split": split,
        "documents": len(documents),
        "sampled_from": whole,
        "attended": examined.attended,
        "classes": examined.classes,
        "labels": _counted(documents, examined.classes),
        "unknown_words": unknown,
        "words": _mean_words(encoded, documents),
        "limits": applied.to_json(),
        "corpus": recorded_config(corpus),
        "texts_fingerprint": corpus.texts_fingerprint,
        "model": {"options": examined.describe(), **examined.record},
        "device": str(examined.device),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seconds": round(time.monotonic() - started, 3),
    }
    if not examined.trained_here:
        manifest["kind"] = manifest["model"]["kind"] = examined.kind
        manifest["plan"] = plan_table(planned).to_dict("records")
    if split == ALL:
        manifest["splits"] = {name: len(part) for name, part in corpus.splits.items()}
    if isinstance(encoded, ReadPieces):
        manifest |= {"cut_at": encoded.cut_at, "cut_texts": encoded.cut_texts}
    if documents.is_labelled:
        manifest["decided"] = decided.against_labels()
    else:
        manifest["without_labels"] = {"exams_left_out": left_out, **decided.to_json()}
    if max_seconds is not None:
        manifest["max_seconds"] = max_seconds
        manifest["out_of_time"] = out_of_time(unseen, _word_counts(examined, documents))
    if unmarked and is_chosen:
        manifest["without_rationales"] = {"exams_left_out": unmarked}
    if any(EXAMS[name].needs_rationales for name in names):
        manifest["rationales"] = {
            "fingerprint": corpus.rationales_fingerprint,
            "are_cause": corpus.marks_are_cause,
        }
    if redaction is not None:
        manifest["redacted"] = redaction.manifest()
    if shows.size:
        manifest["gallery"] = shows.manifest()
        if documents.marks is not None:
            manifest["gallery"]["marks"] = {
                "annotators": int(documents.marks.annotators.max(initial=0)),
                "are_cause": corpus.marks_are_cause,
            }
    return Verdict(tables, portable(manifest), summary)


def check_split(split: str, also: Sequence[str] = ()) -> None:
    """Refuse what is no split."""
    valid = [*SPLITS, *also]
    if not isinstance(split, str) or split not in valid:
        raise VeraxError(
            f"unknown split {split!r:.60}: {nearest(str(split), valid)}",
            code="option.unknown-value",
        )


def load_to_examine(
    model: AttentionClassifier, source: Source | None, split: str | None, **options: Any
) -> Corpus:
    """The corpus to examine a model on; without a source, the one it was trained on.

    A lone file without splits is cut only where a split of it is asked for, or where the model was
    trained on part of it. The text column and the encoding of the corpus that the model was trained
    on stand in where the source has no column `text`, or is not UTF-8.
    """
    if source is None:
        return load_trained_on(model.record, "the model")
    config = model.record.get("corpus", {})
    reading = {**reading_options(model), **options}
    cut = split in SPLITS or (isinstance(source, (str, Path)) and _is_trained_on(source, config))
    return load_for_examining(source, reading, cut=cut, trained_on=config)


def _is_trained_on(source: str | Path, config: Mapping[str, Any]) -> bool:
    """Whether a source is the corpus of a model's record.

    A saved record has a file's own name alone: then the texts and labels decide.
    """
    name = str(config.get("corpus", ""))
    if Path(source).absolute() == Path(name).absolute():
        return True
    if corpus_name(str(Path(source).absolute())) != corpus_name(name):
        return False
    how = {n: value for n, value in config.items() if n not in ("corpus", "fingerprint")}
    try:
        return load_corpus(source, **how).fingerprint == config.get("fingerprint")
    except VeraxError:
        return False


def load_as_read_by(model: AttentionClassifier, name: str | Path | None, who: str) -> Corpus:
    """A corpus by name with the model's tokeniser; without a name, the one it was trained on."""
    if name is not None:
        return load_corpus(name, **reading_options(model))
    return load_trained_on(model.record, who)


def load_trained_on(record: Mapping[str, Any], who: str) -> Corpus:
    """The corpus that a model's record names, if it is still the same."""
    config = dict(record.get("corpus", {}))
    fingerprint = config.pop("fingerprint", None)
    if not config:
        raise VeraxError(
            f"{who} does not say which corpus it was trained on: give one", code="corpus.not-named"
        )
    name = str(config.pop("corpus"))
    if "loader" in config:
        raise VeraxError(
            f"{who} was trained on {name}, which {config['loader']} loaded: give the corpus",
            code="corpus.not-at-hand",
        )
    if Path(name).suffix.lower() in SUFFIXES and not Path(name).is_file():
        raise VeraxError(
            f"{who} was trained on {Path(name).name}, which is not here: give its place (--corpus "
            "PATH; in Python, corpus). Saved models keep the names of files, not of folders",
            code="corpus.not-at-hand",
        )
    corpus = load_corpus(name, **config)
    if fingerprint is not None and corpus.fingerprint != fingerprint:
        raise VeraxError(
            f"corpus {corpus.name!r} is not what {who} was trained on any more (its texts or "
            "labels differ): name the corpus to examine it on",
            code="corpus.changed",
        )
    return corpus


def reading_options(model: AttentionClassifier) -> dict[str, Any]:
    """How a corpus is to be loaded so that the model can read it."""
    return {"tokeniser": model.tokeniser.kind, "lowercase": model.tokeniser.lowercase}


def _word_counts(model: TextClassifier, documents: Documents) -> NDArray[np.int64]:
    """(documents,): how many words of each the model reads."""
    if model.kind == POOLED:
        return documents.token_numbers.lengths
    return np.array([len(spans) for spans in model.read(documents).spans], dtype=np.int64)


def _mean_words(encoded: Any, documents: Documents) -> float:
    """Words a document, on average."""
    if isinstance(encoded, ReadTexts):
        lengths = np.array([len(words) for words in encoded.words])
    else:
        lengths = documents.token_numbers.lengths
    return round(float(lengths.mean()), 2)


def _counted(documents: Documents, classes: Sequence[str]) -> dict[str, int]:
    """Class → how many of the documents have it as their label."""
    labels = np.bincount(documents.labels[documents.labels >= 0], minlength=len(classes))
    return {name: int(count) for name, count in zip(classes, labels, strict=True)}


def _documents(model: AttentionClassifier, corpus: Corpus, split: str) -> Documents:
    """A split with labels by the model's classes, and ids of which no two are the same."""
    for name in corpus.classes:
        if name not in model.classes:
            told = "rename or leave it out with labels"
            if model.kind != POOLED:
                told = f"give the model the names of its classes (classes=[…]), or {told}"
            raise VeraxError(
                f"corpus {corpus.name!r} has class {name!r}, the model knows "
                f"{', '.join(model.classes)}: {told}",
                code="corpus.unknown-class",
            )
    documents = corpus.documents(split)
    if len(documents) == 0:
        raise VeraxError(
            f"corpus {corpus.name!r} has no documents in {split}: choose another split",
            code="corpus.empty-split",
        )
    # the last place is that of label −1: none
    place = np.array([*map(model.classes.index, corpus.classes), -1], dtype=np.int64)
    ids = documents.ids
    if len(np.unique(ids)) < len(ids):
        ids = np.arange(len(ids))
    same = replace(documents, labels=place[documents.labels], ids=ids)
    # the texts are the same ones: what was found in them need not be found again
    computed = {n: v for n, v in vars(documents).items() if n in ("token_numbers", "sentences")}
    vars(same).update(computed)
    return same
