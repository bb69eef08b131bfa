"""A cell: one model, one corpus, one seed, and the exams it is put through."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.corpora.saved import CONFIG as CORPUS
from verax.errors import VeraxError
from verax.exams.described import exam_options, model_options
from verax.portable import corpus_name, portable
from verax.schema import (
    COUNT,
    SchemaError,
    declared,
    listed,
    maybe,
    number,
    record,
    text,
    unknown,
    whole,
)
from verax.studies.grid.loader import LOADER, Loader

EXAM_SEED = 0
"""The same documents and draws in every cell, so that cells can be compared."""
RULE = 2
"""The version of the rule by which keys are made; it is hashed with the rest.

Under rule 2 every option is hashed, also one at its default. Files count by their content: the
folder of a corpus and the name of a vectors file do not.
"""


NAME, SOURCE = "outside", "opened_from"
"""Of a model that was not trained here: its name in the study, and what names it (`hf:FOLDER`)."""


@dataclass(frozen=True)
class Cell:
    """One run of a study: exactly the inputs that can affect its results, all defaults included.

    corpus       how the corpus was loaded (`Corpus.config`, without what is None)
    fingerprint  of its texts, labels and classes
    model        every field of `ModelOptions`, resolved; those without effect at their defaults.
                 Of a model that was not trained here: its name, source and a hash of its files;
                 `training` is empty then, and `seed` that of what exams draw
    training     the same of `TrainingOptions`, but `max_tokens`, which changes no result
    vectors      what the vectors file holds, as a hash, whatever it is called; None without one
    seed         of training; exams draw by `EXAM_SEED`
    exams        exam → every one of its options
    split, sample  the documents examined
    adversaries  the keywords of `run_adversaries`; None without any
    rationales   what people marked, as a hash, where an exam needs it; None elsewhere, and then no
                 part of the key: cells are older than it
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
    rationales: str | None = None

    @cached_property
    def key(self) -> str:
        """A hash of what decides the cell's results: its name in a store.

        The content of files counts, their folders do not (see `RULE`).
        """
        return self._hash()

    def load_corpus(self, *, trusted: bool = False) -> Corpus:
        """Load the corpus of the cell as it was read for it.

        Args:
            trusted: whether a function that the cell names as the corpus's `loader` may be run.
                Results are data; set this only for results of your own.

        Raises:
            VeraxError: the corpus at hand has other texts or labels, or a function loads it.
        """
        options = dict(self.corpus)
        name, loader = options.pop("corpus"), options.pop(LOADER, None)
        if loader is not None and not trusted:
            raise VeraxError(
                f"corpus {name!r} is loaded by {loader}, which is run only with trusted=True",
                code="corpus.not-at-hand",
            )
        if loader is not None:
            corpus = Loader.named(loader).load(name, options)
        else:
            corpus = load_corpus(name, **options)
        if corpus.fingerprint != self.fingerprint:
            raise VeraxError(
                f"corpus {corpus.name!r} differs from the cell's in its texts or labels: put the "
                "one that the cell was run with into $VERAX_DATA",
                code="corpus.changed",
            )
        return corpus

    def run(
        self,
        corpus: Corpus | None = None,
        *,
        device: str = "auto",
        max_tokens: int | None = None,
    ) -> tuple[dict[str, pd.DataFrame], Mapping[str, Any]]:
        """Train the cell's model, examine it, and return what a study would store.

        Args:
            corpus: the corpus of the cell; loaded if not given.
            device: where to run, such as "cpu" or "cuda:1"; "auto" uses a GPU if there is one.
            max_tokens: tokens of a batch of documents that are examined.

        Returns:
            The tables by name, such as `summary` and `history`, and the facts of the cell's
            manifest: versions, device, seconds, scores on the test split.

        Raises:
            VeraxError: the cell failed.
        """
        from verax.device import resolve_device
        from verax.studies.engines.engine import Failed, Job

        corpus = self.load_corpus() if corpus is None else corpus
        job = Job(self, max_tokens=max_tokens)
        chosen = str(resolve_device(device))
        ended = job.run(corpus, device=chosen, report=lambda progressed: None)
        if isinstance(ended, Failed):
            raise VeraxError(ended.error, code=ended.code or "study.cell-failed")
        tables = {
            name.removesuffix(".parquet"): pd.read_parquet(io.BytesIO(content))
            for name, content in ended.files.items()
            if name.endswith(".parquet")
        }
        return tables, ended.facts

    @property
    def is_trained(self) -> bool:
        """Whether the cell trains its model."""
        return SOURCE not in self.model

    @cached_property
    def trained(self) -> str:
        """A hash of what decides the model alone: cells of one model differ in their exams."""
        of_exams = ("exams", "split", "sample", "exam_seed", "adversaries", "rationales")
        return self._hash(without=of_exams)

    def _hash(self, without: Collection[str] = ()) -> str:
        # fields as they are: copies of all that is inside would take most of the time
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in without}
        if values.get("rationales") is None:
            values.pop("rationales", None)
        values["rule"] = RULE
        values["corpus"] = _portable_corpus(self.corpus)
        values["model"] = {k: v for k, v in self.model.items() if k != SOURCE}
        if self.vectors is not None:
            values["training"] = {**values["training"], "vectors": self.vectors}
        # one way to write each value: sorted names, no blanks; 1.0 and 1 differ
        text = json.dumps(
            values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def columns(self) -> dict[str, Any]:
        """The configuration as one flat row.

        Options of models, training and corpora have columns of their names, those of an exam
        `exam.option`: two exams may call an option the same. `exams` is a list in text, and so are
        the λ of `adversaries`. A corpus that is made by a seed of its own has it as `corpus_seed`.
        Files are called by their own names, without the folders of a machine.
        """
        config = _portable_corpus(self.corpus)
        corpus = {"corpus_seed" if k == "seed" else k: v for k, v in config.items()}
        row = {
            "corpus": corpus.pop("corpus", None),
            "seed": self.seed,
            **_portable_model(self.model),
            **portable(self.training),
            "split": self.split,
            "sample": self.sample,
            "exams": ",".join(self.exams),
            "adversaries": self.adversaries
            and ",".join(f"{lam:g}" for lam in self.adversaries["lams"]),
            "fingerprint": self.fingerprint,
            **{k: v for k, v in corpus.items() if not isinstance(v, Mapping)},
        }
        for exam, options in self.exams.items():
            row |= {f"{exam}.{name}": value for name, value in options.items()}
        return row

    def to_json(self) -> dict[str, Any]:
        """The cell as it is stored in JSON, without the folders of a machine."""
        values = asdict(self)
        if self.rationales is None:
            del values["rationales"]
        return {
            **values,
            "model": _portable_model(values["model"]),
            "corpus": _portable_corpus(values["corpus"]),
            "training": portable(values["training"]),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cell:
        return cls(**values)


SCHEMA = record(
    {
        "corpus": CORPUS,
        "fingerprint": text,
        "model": model_options,
        "training": declared("training"),
        "seed": whole(0, 2**32 - 1),
        "exams": exam_options,
    },
    {
        "split": text,
        "sample": maybe(COUNT),
        "vectors": maybe(text),
        "exam_seed": COUNT,
        "adversaries": maybe(record({"lams": listed(number(0))})),
        "rationales": maybe(text),
    },
    others=unknown,
)
"""The schema of a cell as a store keeps it."""


def check_cell(values: Any, where: str, key: str) -> None:
    """Raise `SchemaError` where values are not those of the cell that has this key."""
    SCHEMA(values, where)
    if Cell.from_json(values).key != key:
        raise SchemaError(f"{where} is of another cell than {key}")


def _portable_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """A model from outside by the file's or folder's own name."""
    return {k: Path(v).name if k == SOURCE else v for k, v in model.items()}


def _portable_corpus(config: Mapping[str, Any]) -> dict[str, Any]:
    name = config.get("corpus")
    return {**config, "corpus": corpus_name(name)} if isinstance(name, str) else dict(config)
