"""The conditions that every model of a comparison is examined under; others are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.loading import saved_name
from verax.errors import VeraxError
from verax.exams.exam import Exam
from verax.exams.verdict import Verdict
from verax.models.kinds import POOLED
from verax.studies.comparison.grouping import Entry

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
    classes: Mapping[str, type[Exam]],
) -> Conditions:
    """The conditions for all models; of models of several kinds, options that were given alone.

    With a corpus and a model to examine they are the arguments. Among verdicts alone they are the
    first verdict's, changed by the arguments.
    """
    changed: dict[str, Any] = {}
    if corpus is not None:
        changed = {"corpus": saved_name(corpus), "fingerprint": corpus.fingerprint}
    if corpus is not None and any(entry.verdict is None for entry in entries):
        whole = len(corpus.splits[split])
        usual = {n: asdict(classes[n].options_class(**given)) for n, given in options.items()}
        common = Conditions(
            saved_name(corpus), corpus.fingerprint, split, whole, whole, seed, usual
        )
    else:
        first = entries[0].verdict
        assert first is not None
        common = conditions_of(first, list(options))
        changed["split"] = None if common.split is None else split
    if len({entry.kind for entry in entries}) > 1:
        changed["options"] = options
    else:
        changed["options"] = {n: {**common.options[n], **given} for n, given in options.items()}
    if sample is not None and common.sampled_from is not None:
        changed["documents"] = min(sample, common.sampled_from)
    return replace(common, **changed)


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
            if name not in actual.options[exam] and entry.kind != POOLED:
                continue  # an option of models of another kind
            used = actual.options[exam].get(name)
            message = f"with {name} {used}, asked for is {value}: give the same {name}"
            differences.append((used != value, message))
    for differs, message in differences:
        if differs:
            raise VeraxError(
                f"{entry.name} was examined {message}, or examine the model again",
                code="result.incomparable",
            )
