"""What every model of a comparison is asked, so that verdicts which answer another are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.exams.verdict import Verdict
from verax.studies.comparison.entries import Entry


@dataclass(frozen=True)
class Asked:
    """corpus is its name, documents how many of the split's `sampled_from` are examined."""

    corpus: str
    fingerprint: str | None
    split: str | None
    documents: int | None
    sampled_from: int | None
    seed: int | None
    options: Mapping[str, Mapping[str, Any]]


def asked_about(
    corpus: Corpus,
    split: str,
    sample: int | None,
    seed: int,
    options: Mapping[str, Mapping[str, Any]],
) -> Asked:
    """What a model is asked that is examined now."""
    whole = len(corpus.splits[split])
    documents = whole if sample is None else min(sample, whole)
    return Asked(corpus.name, corpus.fingerprint, split, documents, whole, seed, options)


def asked_in(verdict: Verdict, exams: Sequence[str]) -> Asked:
    """What a verdict is the answer to."""
    manifest = verdict.manifest
    corpus = manifest.get("corpus", {})
    options = manifest.get("options", {})
    return Asked(
        str(corpus.get("corpus", "a corpus without a name")),
        corpus.get("fingerprint"),
        manifest.get("split"),
        manifest.get("documents"),
        manifest.get("sampled_from"),
        manifest.get("seed"),
        {exam: dict(options.get(exam, {})) for exam in exams},
    )


def refuse_other(entry: Entry, found: Asked, asked: Asked) -> None:
    """An error where a verdict answers something else than is asked."""
    again = "or examine the model again"
    if found.fingerprint != asked.fingerprint:
        raise VeraxError(
            f"{entry.name} was examined on other texts or labels ({found.corpus}) than those to "
            f"compare on ({asked.corpus}): compare models on one corpus, {again}"
        )
    if found.split != asked.split:
        raise VeraxError(
            f"{entry.name} was examined on split {found.split}, asked for is {asked.split}: "
            f"give split {found.split}, {again}"
        )
    if (found.documents, found.sampled_from) != (asked.documents, asked.sampled_from):
        raise VeraxError(
            f"{entry.name} was examined on {found.documents} documents of {found.sampled_from}, "
            f"asked for are {asked.documents} of {asked.sampled_from}: give the same sample, "
            f"{again}"
        )
    if found.seed != asked.seed:
        raise VeraxError(
            f"{entry.name} was examined with seed {found.seed}, asked for is {asked.seed}: give "
            f"seed {found.seed}, {again}"
        )
    for exam, options in asked.options.items():
        for name, value in options.items():
            if found.options[exam].get(name) != value:
                raise VeraxError(
                    f"{entry.name} was examined with {name} {found.options[exam].get(name)}, "
                    f"asked for is {value}: give the same {name}, {again}"
                )
