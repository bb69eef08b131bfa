"""A cell: one model, one corpus, one seed, and the exams it is put through."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.exams.registry import EXAMS
from verax.models.options import ModelOptions
from verax.portable import corpus_name, portable
from verax.studies.grid.loader import LOADER, Loader
from verax.training.adversary import DEFAULTS as ADVERSARY_DEFAULTS
from verax.training.options import TrainingOptions

EXAM_SEED = 0
"""The same documents and draws in every cell, so that cells can be compared."""
RULE = 3
"""The version of the rule by which keys are computed; it is part of what is hashed.

Under rule 3 an option at its default is not hashed, so that a new option does not change the keys
of stored cells. A default therefore never changes its meaning without a new version of its exam
(`Exam.version`) or option (`option(version=)`). Files count by their content: the folder of a
corpus and the name of a vectors file do not matter.
"""

NAME, SOURCE = "outside", "opened_from"
"""Of a model that was not trained here: its name in the study, and what names it (`hf:FOLDER`)."""


@dataclass(frozen=True)
class Cell:
    """One run of a study: exactly the inputs that can affect its results, with all defaults.

    Attributes:
        corpus: how the corpus was loaded (`Corpus.config`, without values that are None).
        fingerprint: a hash of its texts, labels and classes.
        model: every field of `ModelOptions`, resolved; those without effect at their defaults.
            For a model that was not trained here: its name, source and a hash of its files;
            `training` is then empty, and `seed` is that of the exams' draws.
        training: every field of `TrainingOptions` except `max_tokens`, which changes no result.
        vectors: a hash of the content of the vectors file; None without one.
        seed: seed of training; exams draw by `EXAM_SEED`.
        exams: exam → all of its options.
        split, sample: the documents examined.
        adversaries: the keywords of `run_adversaries`; None without adversaries.
        rationales: a hash of the human rationales if an exam needs them, else None.
        versions: versions other than 1 of exams and options, such as `{"exams.erasure": 2}`; by
            default those declared now. A stored cell has those of its run.
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
    exam_seed: int = EXAM_SEED
    adversaries: Mapping[str, Any] | None = None
    rationales: str | None = None
    versions: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if self.versions is None:
            object.__setattr__(self, "versions", self._declared_versions())

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

    @property
    def is_current(self) -> bool:
        """Whether the key can be recomputed: exams are registered, versions are those of now."""
        return set(self.exams) <= set(EXAMS) and self.versions == self._declared_versions()

    @cached_property
    def trained(self) -> str:
        """A hash of what decides the model alone: cells of one model differ in their exams."""
        return self._hash(of_exams=False)

    def _hash(self, of_exams: bool = True) -> str:
        values: dict[str, Any] = {
            "rule": RULE,
            "corpus": _changed(_portable_corpus(self.corpus), self._corpus_defaults),
            "fingerprint": self.fingerprint,
            "model": {name: value for name, value in self.model.items() if name != SOURCE},
            "training": _changed(self.training, defaults_of(TrainingOptions)),
            "seed": self.seed,
        }
        if self.is_trained:
            values["model"] = _changed(self.model, defaults_of(ModelOptions))
        if self.vectors is not None:
            values["training"]["vectors"] = self.vectors
        versions = dict(self.versions or {})
        if of_exams:
            values["exams"] = {name: self._changed_of(name) for name in self.exams}
            # the class has the default of a field as its attribute
            optional = ("split", "sample", "exam_seed", "rationales")
            values |= _changed({n: getattr(self, n) for n in optional}, vars(Cell))
            if self.adversaries is not None:
                values["adversaries"] = _changed(self.adversaries, adversary_defaults())
        else:
            versions = {n: v for n, v in versions.items() if not n.startswith("exams.")}
        if versions:
            values["versions"] = versions
        # one way to write each value: sorted names, no blanks; 1.0 and 1 differ
        text = json.dumps(
            values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def _corpus_options(self) -> Sequence[type]:
        """Where the options of the corpus are declared; those of a user's function are not."""
        if LOADER in self.corpus:
            return ()
        planted = str(self.corpus.get("corpus")).partition(":")[0] == "planted"
        return (CorpusOptions, Planted) if planted else (CorpusOptions,)

    @property
    def _corpus_defaults(self) -> dict[str, Any]:
        return {n: v for cls in self._corpus_options for n, v in defaults_of(cls).items()}

    def _changed_of(self, exam: str) -> dict[str, Any]:
        defaults = defaults_of(EXAMS[exam].options_class) if exam in EXAMS else {}
        return _changed(self.exams[exam], defaults)

    def _declared_versions(self) -> dict[str, int]:
        """Versions other than 1 that exams and options of this cell declare."""
        found = {f"exams.{name}": EXAMS[name].version for name in self.exams if name in EXAMS}
        for options in self._corpus_options:
            found |= _versions_of(options, "corpus")
        if self.is_trained:
            found |= _versions_of(ModelOptions, "model")
            found |= _versions_of(TrainingOptions, "training")
        return {name: version for name, version in found.items() if version != 1}

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
        for name in ("rationales", "versions"):
            if not values[name]:
                del values[name]
        return {
            **values,
            "model": _portable_model(values["model"]),
            "corpus": _portable_corpus(values["corpus"]),
            "training": portable(values["training"]),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cell:
        """The cell of what `to_json` returned, with the versions of its run."""
        try:
            return cls(**{"versions": {}, **values})
        except TypeError as error:
            raise VeraxError(
                f"the configuration of a cell is of another Verax ({error}): update Verax",
                code="result.other-format",
            ) from error


def _portable_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """A model from outside by the file's or folder's own name."""
    return {k: Path(v).name if k == SOURCE else v for k, v in model.items()}


def _portable_corpus(config: Mapping[str, Any]) -> dict[str, Any]:
    name = config.get("corpus")
    return {**config, "corpus": corpus_name(name)} if isinstance(name, str) else dict(config)


@cache
def defaults_of(options: type) -> Mapping[str, Any]:
    """The default of each option of a dataclass, as JSON has it."""
    return {f.name: _as_json(f.default) for f in fields(options) if f.default is not MISSING}


@cache
def _versions_of(options: type, section: str) -> Mapping[str, int]:
    return {f"{section}.{f.name}": f.metadata.get("version", 1) for f in fields(options)}


@cache
def adversary_defaults() -> Mapping[str, Any]:
    """The default of each keyword of a study's `adversaries`, as JSON has it."""
    from verax.studies.adversary_models import run_adversaries

    accepted = inspect.signature(run_adversaries).parameters
    names = ("lams", "seeds", "retrain", "controls")
    return {**{n: _as_json(accepted[n].default) for n in names}, **ADVERSARY_DEFAULTS}


def _changed(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not at their defaults."""
    return {n: v for n, v in options.items() if n not in defaults or not _same(v, defaults[n])}


def _same(value: Any, default: Any) -> bool:
    """Whether two values are the same JSON: 1, 1.0 and true differ."""
    if isinstance(value, (list, tuple, Mapping)):
        value, default = (json.dumps(one, sort_keys=True) for one in (value, _as_json(default)))
    return type(value) is type(default) and bool(value == default)


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
