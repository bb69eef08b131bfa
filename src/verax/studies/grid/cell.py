"""A cell: one model, one corpus, one seed, and the exams it is put through."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

LATER: Mapping[str, Mapping[str, Any]] = {"single_token": {"curves": 0}}

EXAM_SEED = 0
"""The same documents and draws in every cell, so that cells can be compared."""


@dataclass(frozen=True)
class Cell:
    """Everything that decides a cell's results, every default spelt out; nothing that does not.

    corpus       how the corpus was loaded (`Corpus.config`, without what is None)
    fingerprint  of its texts, labels and classes
    model        every field of `ModelOptions`, resolved; those without effect at their defaults
    training     the same of `TrainingOptions`, but `max_tokens`, which changes no result
    vectors      what the vectors file holds, as a hash, whatever it is called; None without one
    seed         of training; exams draw by `EXAM_SEED`
    exams        exam → every one of its options
    split, sample  the documents examined
    adversaries  the keywords of `run_adversaries`; None has no part in the key, so that cells of
                 studies that know of none are found as before
    """

    corpus: Mapping[str, Any]
    fingerprint: str
    model: Mapping[str, Any]
    training: Mapping[str, Any]
    seed: int
    exams: Mapping[str, Mapping[str, Any]]
    split: str = "test"
    sample: int | None = None
    vectors: str | None = None
    exam_seed: int = field(default=EXAM_SEED)
    adversaries: Mapping[str, Any] | None = None

    @cached_property
    def key(self) -> str:
        """Where the cell is kept: a hash of what decides its results.

        The name of the vectors file has no part in it, its content does.
        """
        return self._hash()

    @cached_property
    def trained(self) -> str:
        """A hash of what decides the model alone: cells of one model differ in their exams."""
        return self._hash(without=("exams", "split", "sample", "exam_seed", "adversaries"))

    def _hash(self, without: Collection[str] = ()) -> str:
        # fields as they are: copies of all that is inside would take most of the time
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in without}
        if self.adversaries is None:
            values.pop("adversaries", None)
        if "exams" in values:
            values["exams"] = {exam: _as_before(exam, own) for exam, own in self.exams.items()}
        if self.vectors is not None:
            values["training"] = {**values["training"], "vectors": self.vectors}
        return hashlib.sha256(canonical(values).encode()).hexdigest()[:16]

    def columns(self) -> dict[str, Any]:
        """The configuration as one flat row: options by their names, `exams` as a list in text,
        and so the λ of `adversaries`.

        A corpus that is made by a seed of its own has it as `corpus_seed`.
        """
        corpus = {"corpus_seed" if k == "seed" else k: v for k, v in self.corpus.items()}
        row = {
            "corpus": corpus.pop("corpus", None),
            "seed": self.seed,
            **self.model,
            **self.training,
            "split": self.split,
            "sample": self.sample,
            "exams": ",".join(self.exams),
            "adversaries": None if self.adversaries is None else _lams(self.adversaries),
            "fingerprint": self.fingerprint,
            **{k: v for k, v in corpus.items() if not isinstance(v, Mapping)},
        }
        for options in self.exams.values():
            row |= options
        return row

    def to_json(self) -> dict[str, Any]:
        """The cell as JSON has it."""
        values = asdict(self)
        if self.adversaries is None:  # as it was before there were any
            del values["adversaries"]
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cell:
        return cls(**values)


def _as_before(exam: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    later = LATER.get(exam)
    if later is None:
        return options
    return {n: v for n, v in options.items() if n not in later or v != later[n]}


def _lams(adversaries: Mapping[str, Any]) -> str:
    return ",".join(f"{lam:g}" for lam in adversaries["lams"])


def canonical(values: Any) -> str:
    """JSON with one way to write each value: sorted names, no blanks; 1.0 and 1 differ."""
    return json.dumps(
        values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
