"""`compare`: every model through the same exams on the same documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.errors import VeraxError
from verax.exams.document_values import split_values
from verax.exams.examine import check_split, examine, load_trained_on
from verax.exams.keywords import ExamKeywords
from verax.exams.registry import EXAMS, chosen_exams, divide_options
from verax.exams.verdict import Verdict
from verax.options import SEED, build, check
from verax.studies.comparison.asked import Asked, asked_about, asked_in, refuse_other
from verax.studies.comparison.comparison import Comparison
from verax.studies.comparison.entries import Entry, Given
from verax.studies.comparison.grouping import grouped
from verax.version import __version__

_BOUNDS = {"minimum": 1}


def compare(
    models: Mapping[str, Given | Sequence[Given]] | Iterable[Given],
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
    exam_options: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[ExamKeywords],
) -> Comparison:
    """Models side by side, over the exams named, or all.

    The first is the reference that every other is compared with. All are examined on the same
    documents with the same seed; verdicts on other documents are refused.

    Args:
        models: name → a model or several seeds of it; or a list, in which models that differ in
            nothing but the seed are one (see `grouped`). A model is a classifier, its verdict, or
            a folder of either.
        corpus: a corpus, or the name or path of one; the models' own, unless given.
        exams: names of exams; those that all verdicts have, unless given.
        split: train, validation or test.
        sample: examine at most so many documents of the split, drawn by the seed.
        seed: of all that is drawn.
        device: where to load saved models: auto, cpu, cuda.
        max_tokens: bound of the padded tokens in memory at once.
        progress: show how far it got; None shows it on a terminal and in a notebook.
        done: called after each model with its group, its name and its verdict.
        exam_options: exam → its options, for exams of other packages.
        options: options of exams, as of `examine`.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> told = {"encoder": "conv", "epochs": 1}
    >>> models = [verax.train(corpus, grounding=g, **told) for g in ("none", "residual")]
    >>> found = verax.compare(models, corpus, exams=["replacement", "single_token"])
    >>> found.groups
    ['grounding=none', 'grounding=residual']
    """
    check_split(split)
    seed = check("seed", seed, int, SEED)
    max_tokens = check("max_tokens", max_tokens, int, _BOUNDS)
    sample = None if sample is None else check("sample", sample, int, _BOUNDS)
    groups = grouped(models)
    entries = [entry for group in groups.values() for entry in group]
    chosen = _chosen(exams, entries)
    given = _checked(chosen, {**options, **(exam_options or {})})
    corpus = _corpus(corpus, entries)
    _refuse_other_classes(corpus, entries)
    asked = _asked(corpus, entries, given, split, sample, seed)
    for entry in entries:
        if entry.verdict is not None:
            refuse_other(entry, asked_in(entry.verdict, chosen), asked)
    instances: list[pd.DataFrame] = []
    numbers: list[pd.DataFrame] = []
    manifest: dict[str, Any] = {"format": Comparison.format, "verax": __version__}
    manifest |= {**asdict(asked), "exams": chosen}
    manifest["groups"] = {name: [] for name in groups}
    for group, members in groups.items():
        for entry in members:
            verdict = entry.given
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
                    exam_options=given,
                )
            verdict = _only(verdict, chosen)
            told = {"group": group, "model": entry.name, "seed": entry.seed}
            instances.append(verdict.document_values().assign(**told))
            _refuse_other_documents(entry, instances)
            found = split_values(verdict)
            numbers.append(pd.DataFrame(found.items(), columns=["measure", "value"]).assign(**told))
            manifest["groups"][group].append(_described(entry, verdict))
            done(group, entry.name, verdict)
    return Comparison(
        _joined(instances, ["id", "measure", "value", "reason"]),
        _joined(numbers, ["measure", "value"]),
        manifest,
    )


def _chosen(exams: str | Sequence[str] | None, entries: Sequence[Entry]) -> list[str]:
    """The exams named; else all, or those that every verdict has."""
    named = EXAMS if exams is None else exams
    chosen = chosen_exams([named] if isinstance(named, str) else named)
    for entry in entries:
        if entry.verdict is None:
            continue
        there = entry.verdict.manifest.get("exams", [])
        missing = [name for name in chosen if name not in there]
        if exams is None:
            chosen = [name for name in chosen if name in there]
        elif missing:
            raise VeraxError(
                f"{entry.name} has no exam {missing[0]}: it has {', '.join(there) or 'none'}; "
                "leave it out, or examine the model again"
            )
    if not chosen:
        raise VeraxError("these verdicts have no exam in common: examine the models again")
    return chosen


def _checked(exams: Sequence[str], options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Exam → the options given for it, in the kinds that it takes."""
    found = {}
    for name, given in divide_options(exams, options).items():
        made = build(EXAMS[name].options_class, given)
        EXAMS[name](made, 0, {})  # refuses what it cannot do before a model is read
        found[name] = {key: getattr(made, key) for key in given}
    return found


def _corpus(given: Corpus | str | Path | None, entries: Sequence[Entry]) -> Corpus | None:
    """What to examine on; None if there is nothing to examine, and nothing given."""
    waiting = [entry for entry in entries if entry.verdict is None]
    if len({tuple(entry.reading.items()) for entry in waiting}) > 1:
        raise VeraxError(
            "these models read texts with different tokenisers, so they see different documents: "
            "compare models of one tokeniser"
        )
    if isinstance(given, Corpus):
        return given
    if given is not None:
        return load_corpus(given, **(waiting or entries)[0].reading)
    if not waiting:
        return None
    for entry in waiting:
        if not entry.record.get("corpus"):
            raise VeraxError(f"{entry.name} does not say what it was trained on: give a corpus")
    prints = [entry.record["corpus"].get("fingerprint") for entry in waiting]
    if len(set(prints)) > 1:
        other = next(n for n, own in enumerate(prints) if own != prints[0])
        raise VeraxError(
            f"{waiting[0].name} and {waiting[other].name} were trained on different corpora or "
            "parts of one: name the corpus to compare them on"
        )
    return load_trained_on(waiting[0].record, waiting[0].name)


def _asked(
    corpus: Corpus | None,
    entries: Sequence[Entry],
    given: Mapping[str, Mapping[str, Any]],
    split: str,
    sample: int | None,
    seed: int,
) -> Asked:
    """What all have to answer; among verdicts alone what the first does, but for what is given."""
    if corpus is not None and any(entry.verdict is None for entry in entries):
        full = {name: asdict(EXAMS[name].options_class(**own)) for name, own in given.items()}
        return asked_about(corpus, split, sample, seed, full)
    first = entries[0].verdict
    assert first is not None
    asked = asked_in(first, list(given))
    options = {name: {**asked.options[name], **own} for name, own in given.items()}
    asked = replace(asked, split=split if asked.split is not None else None, options=options)
    if sample is not None and asked.sampled_from is not None:
        asked = replace(asked, documents=min(sample, asked.sampled_from))
    if corpus is not None:
        asked = replace(asked, corpus=corpus.name, fingerprint=corpus.fingerprint)
    return asked


def _only(verdict: Verdict, exams: Sequence[str]) -> Verdict:
    """The part of a verdict that these exams gave."""
    names = {table for exam in exams for table in EXAMS[exam].tidy_tables}
    tables = {name: table for name, table in verdict.tables.items() if name in names}
    manifest = {**verdict.manifest, "exams": list(exams)}
    return Verdict(tables, manifest, verdict.summary())


def _refuse_other_documents(entry: Entry, instances: Sequence[pd.DataFrame]) -> None:
    """An error where the last has other documents than the first, whatever its manifest says."""
    first, last = (set(instances[place]["id"]) for place in (0, -1))
    if first != last:
        raise VeraxError(
            f"{entry.name} was examined on other documents than the first: examine it again"
        )


def _refuse_other_classes(corpus: Corpus | None, entries: Sequence[Entry]) -> None:
    """Before the first model is examined, not after."""
    for entry in entries:
        if corpus is None or entry.verdict is not None:
            continue
        strange = [name for name in corpus.classes if name not in entry.classes]
        if strange:
            raise VeraxError(
                f"corpus {corpus.name!r} has class {strange[0]!r}, {entry.name} knows "
                f"{', '.join(entry.classes)}: compare models of the corpus's classes"
            )


def _described(entry: Entry, verdict: Verdict) -> dict[str, Any]:
    return {
        "model": entry.name,
        "seed": entry.seed,
        "encoder": entry.options.get("encoder"),
        "attended": verdict.manifest.get("attended"),
        "chosen": (entry.record.get("strength") or {}).get("chosen"),
        "options": dict(entry.options),
        "training": dict(entry.record.get("training", {})),
    }


def _joined(parts: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """One table of all models, names as categories in the order in which they come."""
    kept = [part for part in parts if len(part)] or parts[:1]
    found = pd.concat(kept, ignore_index=True)[["group", "model", "seed", *columns]]
    found["seed"] = found["seed"].astype("Int64")
    for name in ("group", "model", "measure", "reason"):
        if name in found:
            found[name] = pd.Categorical(found[name], found[name].dropna().unique())
    return found
