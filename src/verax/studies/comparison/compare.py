"""`compare`: every model through the same exams on the same documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.errors import VeraxError
from verax.exams.document_values import split_values
from verax.exams.exam import Exam
from verax.exams.examine import check_split, examine, load_trained_on
from verax.exams.judgement.limits import LimitSet, load_limits
from verax.exams.keywords import ExamKeywords
from verax.exams.planning import variant, variants_of
from verax.exams.registry import EXAMS, chosen_exams, default_exams, divide_options
from verax.exams.verdict import Verdict
from verax.models.kinds import POOLED
from verax.options import SEED, build, check, names
from verax.portable import portable
from verax.studies.comparison.comparison import Comparison
from verax.studies.comparison.conditions import common_conditions, refuse_other_conditions
from verax.studies.comparison.grouping import Comparable, Entry, grouped, kept_names
from verax.version import __version__

_BOUNDS = {"minimum": 1}


def compare(
    models: Mapping[str, Comparable | Sequence[Comparable]] | Iterable[Comparable],
    corpus: Corpus | str | Path | None = None,
    exams: str | Sequence[str] | None = None,
    split: str = "test",
    *,
    sample: int | None = None,
    seed: int = 0,
    device: str = "auto",
    max_tokens: int = MAX_TOKENS,
    progress: bool | None = None,
    done: Callable[[str, str, Verdict], None] = lambda group, model, verdict: None,
    limits: str | Path | Mapping[str, Any] | LimitSet | None = None,
    exam_options: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[ExamKeywords],
) -> Comparison:
    """Compare models with the first of them, on the same documents.

    The first is the reference that every other is compared with. All are examined on the same
    documents with the same seed; verdicts on other documents are refused.

    Args:
        models: name → a model or several seeds of it; or a list, in which models that differ in
            nothing but the seed are one (see `grouped`). A model is a classifier, its verdict, or
            a folder of either; `hf:FOLDER` or `FILE.py:FUNCTION` as `examine` takes them. Models of
            several kinds are compared in the numbers that both have.
        corpus: a corpus, or the name or path of one; the models' own, unless given.
        exams: names of exams; those that all verdicts have, unless given.
        split: train, validation or test.
        sample: examine at most so many documents of the split, drawn by the seed.
        seed: of all that is drawn.
        device: where to load saved models: auto, cpu, cuda.
        max_tokens: bound of the padded tokens in memory at once.
        progress: show how far it got; None shows it on a terminal and in a notebook.
        done: called after each model with its group, its name and its verdict.
        limits: limits of all judgements, those of verdicts, too: a version, a file or a mapping;
            the newest for models and a verdict's own, unless given.
        exam_options: exam → its options, for exams of other packages.
        options: options of exams, as of `examine`.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> settings = {"encoder": "conv", "epochs": 1}
    >>> models = [verax.train(corpus, grounding=g, **settings) for g in ("none", "residual")]
    >>> comparison = verax.compare(models, corpus, exams=["replacement", "single_token"])
    >>> comparison.groups
    ['grounding=none', 'grounding=residual']
    """
    check_split(split)
    seed = check("seed", seed, int, SEED)
    max_tokens = check("max_tokens", max_tokens, int, _BOUNDS)
    sample = None if sample is None else check("sample", sample, int, _BOUNDS)
    known_limits = None if limits is None else load_limits(limits)
    groups = grouped(models)
    entries = [entry for group in groups.values() for entry in group]
    chosen = _chosen(exams, entries)
    classes = _classes(chosen, entries)
    by_exam = _checked(classes, {**options, **(exam_options or {})})
    corpus = _corpus(corpus, entries)
    for entry in entries:
        of_corpus = [] if corpus is None else corpus.classes
        unknown = [name for name in of_corpus if name not in entry.classes]
        if corpus is not None and unknown and entry.verdict is None:
            raise VeraxError(
                f"corpus {corpus.name!r} has class {unknown[0]!r}, {entry.name} knows "
                f"{', '.join(entry.classes)}: compare models of the corpus's classes",
                code="corpus.unknown-class",
            )
    conditions = common_conditions(corpus, entries, by_exam, split, sample, seed, classes)
    for entry in entries:
        refuse_other_conditions(entry, conditions)
    called = kept_names(entries)
    instances: list[pd.DataFrame] = []
    numbers: list[pd.DataFrame] = []
    described: dict[str, list[dict[str, Any]]] = {name: [] for name in groups}
    for group, entry in ((name, entry) for name, members in groups.items() for entry in members):
        verdict = entry.source
        if not isinstance(verdict, Verdict):
            verdict = examine(
                verdict,
                corpus,
                chosen,
                split,
                seed=seed,
                sample=sample,
                device=device,
                max_tokens=max_tokens,
                progress=progress,
                exam_options={
                    name: {n: v for n, v in values.items() if n in names(cls.options_class)}
                    for name, values in by_exam.items()
                    if (cls := variant(name, entry.kind)) is not None
                },
            )
        verdict = _only(verdict, chosen)
        columns = {"group": group, "model": called[id(entry)], "seed": entry.seed}
        instances.append(verdict.document_values().assign(**columns))
        if set(instances[0]["id"]) != set(instances[-1]["id"]):  # whatever its manifest says
            raise VeraxError(
                f"{entry.name} was examined on other documents than the first: examine it again",
                code="result.incomparable",
            )
        values = pd.DataFrame(split_values(verdict).items(), columns=["measure", "value"])
        numbers.append(values.assign(**columns))
        described[group].append(_described(entry, called[id(entry)], verdict, known_limits))
        done(group, entry.name, verdict)
    manifest = {
        "format": Comparison.format,
        "verax": __version__,
        **asdict(conditions),
        "exams": chosen,
        "groups": described,
    }
    return Comparison(
        _joined(instances, ["id", "measure", "value", "reason"]),
        _joined(numbers, ["measure", "value"]),
        portable(manifest),
    )


def _chosen(exams: str | Sequence[str] | None, entries: Sequence[Entry]) -> list[str]:
    """The exams named; else all, or those that every verdict has."""
    named = exams
    if named is None:
        kinds = [entry.kind for entry in entries if entry.verdict is None]
        named = list(dict.fromkeys(name for kind in kinds for name in default_exams(kind)))
        named = named or list(EXAMS)
    chosen = chosen_exams([named] if isinstance(named, str) else named)
    for entry in entries:
        if entry.verdict is None:
            continue
        taken = entry.verdict.manifest.get("exams", [])
        missing = [name for name in chosen if name not in taken]
        if exams is None:
            chosen = [name for name in chosen if name in taken]
        elif missing:
            raise VeraxError(
                f"{entry.name} has no exam {missing[0]}: it has {', '.join(taken) or 'none'}; "
                "leave it out, or examine the model again",
                code="result.incomparable",
            )
    if not chosen:
        raise VeraxError(
            "these verdicts have no exam in common: examine the models again",
            code="result.incomparable",
        )
    return chosen


def _classes(exams: Sequence[str], entries: Sequence[Entry]) -> dict[str, type[Exam]]:
    """Exam → the class that takes it; of models of several kinds, the one with most options."""
    kinds = dict.fromkeys(entry.kind for entry in entries)
    classes: dict[str, type[Exam]] = {}
    for name in exams:
        taking = [cls for kind in kinds if (cls := variant(name, kind)) is not None]
        classes[name] = max(taking or [EXAMS[name]], key=lambda c: len(names(c.options_class)))
    return classes


def _checked(
    classes: Mapping[str, type[Exam]], options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Exam → the options given for it, in the kinds that it takes."""
    by_exam = {}
    for name, values in divide_options(classes, options, classes=classes).items():
        built = build(classes[name].options_class, values)
        classes[name](built, 0, {})  # refuses what it cannot do before a model is read
        by_exam[name] = {key: getattr(built, key) for key in values}
    return by_exam


def _corpus(corpus: Corpus | str | Path | None, entries: Sequence[Entry]) -> Corpus | None:
    """The corpus to examine on; None if no model is to be examined and no corpus is given."""
    models = [entry for entry in entries if entry.verdict is None]
    if isinstance(corpus, Corpus):
        return corpus
    if corpus is not None:
        return load_corpus(corpus)
    if not models:
        return None
    for entry in models:
        if not entry.record.get("corpus"):
            raise VeraxError(
                f"{entry.name} does not say what it was trained on: give a corpus",
                code="corpus.not-named",
            )
        if entry.fingerprint != models[0].fingerprint:
            raise VeraxError(
                f"{models[0].name} and {entry.name} were trained on different corpora or parts of "
                "one: name the corpus to compare them on",
                code="corpus.not-named",
            )
    return load_trained_on(models[0].record, models[0].name)


def _only(verdict: Verdict, exams: Sequence[str]) -> Verdict:
    """The part of a verdict that these exams gave."""
    taken = [exam for exam in exams if exam in verdict.manifest.get("exams", exams)]
    tidy = {name for exam in taken for cls in variants_of(exam) for name in cls.tidy_tables}
    tables = {name: table for name, table in verdict.tables.items() if name in tidy}
    manifest = {**verdict.manifest, "exams": taken}
    return Verdict(tables, manifest, verdict.summary())


def _described(
    entry: Entry, name: str, verdict: Verdict, limits: LimitSet | None
) -> dict[str, Any]:
    judgement = verdict.judgement if limits is None else verdict.judge(limits)
    is_asked = judgement.judged or judgement.unlearned
    kind = {} if entry.kind == POOLED else {"kind": entry.kind}
    return {
        "model": name,
        **kind,
        "seed": entry.seed,
        "encoder": entry.options.get("encoder"),
        "attended": verdict.manifest.get("attended"),
        "chosen": (entry.record.get("strength") or {}).get("chosen"),
        "headline": judgement.headline if is_asked else "",
        "learnt": not judgement.unlearned,
        "limits": judgement.limits.version,
        "options": dict(entry.options),
        "training": dict(entry.record.get("training", {})),
    }


def _joined(parts: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """One table of all models, names as categories in the order in which they come."""
    kept = [part for part in parts if len(part)] or parts[:1]
    joined = pd.concat(kept, ignore_index=True)[["group", "model", "seed", *columns]]
    joined["seed"] = joined["seed"].astype("Int64")
    for name in ("group", "model", "measure", "reason"):
        if name in joined:
            joined[name] = pd.Categorical(joined[name], joined[name].dropna().unique())
    return joined
