"""The conditions that every model of a comparison is examined under; others are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.exams.registry import EXAMS
from verax.exams.verdict import Verdict
from verax.studies.comparison.entries import Entry

ExamOptions = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Conditions:
    """The corpus, documents, seed and options of exams that a model is examined with.

    corpus     its name
    documents  how many of the split's `sampled_from` are examined
    """

    corpus: str
    fingerprint: str | None
    split: str | None
    documents: int | None
    sampled_from: int | None
    seed: int | None
    options: ExamOptions


def conditions_of(verdict: Verdict, exams: Sequence[str]) -> Conditions:
    """The conditions that a verdict was made under."""
    manifest = verdict.manifest
    corpus, options = manifest.get("corpus", {}), manifest.get("options", {})
    return Conditions(
        str(corpus.get("corpus", "a corpus without a name")),
        corpus.get("fingerprint"),
        manifest.get("split"),
        manifest.get("documents"),
        manifest.get("sampled_from"),
        manifest.get("seed"),
        {exam: dict(options.get(exam, {})) for exam in exams},
    )


def common_conditions(
    corpus: Corpus | None,
    entries: Sequence[Entry],
    options: ExamOptions,
    split: str,
    sample: int | None,
    seed: int,
) -> Conditions:
    """The conditions for all models.

    With a corpus and a model to examine they are the arguments. Among verdicts alone they are the
    first verdict's, changed by the arguments.
    """
    if corpus is not None and any(entry.verdict is None for entry in entries):
        whole = len(corpus.splits[split])
        documents = whole if sample is None else min(sample, whole)
        full = {
            name: asdict(EXAMS[name].options_class(**chosen)) for name, chosen in options.items()
        }
        return Conditions(corpus.name, corpus.fingerprint, split, documents, whole, seed, full)
    first = entries[0].verdict
    assert first is not None
    common = conditions_of(first, list(options))
    merged = {name: {**common.options[name], **chosen} for name, chosen in options.items()}
    common = replace(common, split=split if common.split is not None else None, options=merged)
    if sample is not None and common.sampled_from is not None:
        common = replace(common, documents=min(sample, common.sampled_from))
    if corpus is not None:
        common = replace(common, corpus=corpus.name, fingerprint=corpus.fingerprint)
    return common


def refuse_other_conditions(entry: Entry, common: Conditions) -> None:
    """Raise an error where an entry is a verdict that was made under other conditions."""
    if entry.verdict is None:
        return
    actual = conditions_of(entry.verdict, list(common.options))
    differences = [
        (
            actual.fingerprint != common.fingerprint,
            f"on other texts or labels ({actual.corpus}) than those to compare on "
            f"({common.corpus}): compare models on one corpus",
        ),
        (
            actual.split != common.split,
            f"on split {actual.split}, asked for is {common.split}: give split {actual.split}",
        ),
        (
            (actual.documents, actual.sampled_from) != (common.documents, common.sampled_from),
            f"on {actual.documents} documents of {actual.sampled_from}, asked for are "
            f"{common.documents} of {common.sampled_from}: give the same sample",
        ),
        (
            actual.seed != common.seed,
            f"with seed {actual.seed}, asked for is {common.seed}: give seed {actual.seed}",
        ),
    ]
    for exam, options in common.options.items():
        for name, value in options.items():
            used = actual.options[exam].get(name)
            message = f"with {name} {used}, asked for is {value}: give the same {name}"
            differences.append((used != value, message))
    for differs, message in differences:
        if differs:
            raise VeraxError(f"{entry.name} was examined {message}, or examine the model again")
