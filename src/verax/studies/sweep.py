"""A λ sweep: a study over λ of sparsegen, and how measures move as attention gets sparser.

Meister et al. (2021) ask whether sparser attention explains better. `run_sweep` trains and examines
a model for each λ and seed as the cells of a study; `Sweep` is the result.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus, recorded_config
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.corpora.saved import CONFIG as CORPUS
from verax.errors import VeraxError
from verax.exams.dispersion.measures import DOCUMENT_COUNTS
from verax.exams.document_values import DECISIONS
from verax.exams.examine import check_split
from verax.exams.measures import VALUE, measure_id
from verax.exams.registry import EXAMS, chosen_exams, divide_options
from verax.exams.verdict import Verdict
from verax.models.options import ModelOptions
from verax.options import SEED, build, check, divide, names, saved_options
from verax.portable import portable
from verax.results import Result
from verax.schema import (
    COUNT,
    Columns,
    Kind,
    SchemaError,
    listed,
    maybe,
    number,
    record,
    text,
    whole,
)
from verax.statistics import correlations, describe, holm, over_seeds, paired
from verax.studies.grid.parse import declared
from verax.studies.grid.reading import read_study
from verax.studies.grid.study import Study
from verax.studies.running.run import hardware_of, refuse_hardware, run_cells, watching
from verax.studies.running.runner import Runner
from verax.studies.store.results import StudyResults, open_study
from verax.studies.store.store import Store
from verax.training.options import TrainingOptions
from verax.version import __version__

LAMS = (-100.0, -30.0, -10.0, -3.0, -1.0, -0.3, 0.0, 0.25, 0.5, 0.75, 0.9, 0.97)
"""From nearly uniform attention to nearly one item; Meister et al. do not give theirs."""
SWEPT = ("agreement", "dispersion")
"""The default exams, of which a sweep needs at least one: no other measures move with sparsity."""
ACCURACY = measure_id(DECISIONS.id, "accuracy", VALUE)
SUPPORT, SUPPORT_SHARE = (
    measure_id(DOCUMENT_COUNTS.id, name, VALUE) for name in ("support", "support_share")
)
"""Ids of measures that every sweep shows."""
SPARSEGEN = "sparsegen"
Point = tuple[float, int]
"""λ and seed."""
MANIFEST = record(
    {},
    {
        "verax": text,
        "lams": listed(number()),
        "seeds": listed(whole(0, 2**32 - 1)),
        "points": COUNT,
        "split": maybe(text),
        "sample": maybe(COUNT),
        "exams": listed(text),
        "corpus": CORPUS,
        "options": saved_options(ModelOptions, TrainingOptions),
    },
)
"""The schema of a sweep's manifest."""
COLUMNS = {
    "instances": Columns.of(
        sure="lam",
        whole="seed id",
        text="measure",
        number="value",
        maybe_text="reason",
        key=("lam", "seed", "id", "measure"),
        least=1,
    ),
    "points": Columns.of(
        text="measure over",
        sure="lam",
        number="mean sd low high",
        whole="seeds seeds_excluded n excluded",
    ),
    "correlations": Columns.of(
        text="measure",
        number="tau tau_p spearman spearman_p pearson pearson_p pooled_tau support_tau "
        "support_spearman",
        whole="points pooled",
    ),
}
"""The schemas of its tables."""


@dataclass(frozen=True, eq=False)
class Sweep(Result):
    """The result of a sweep.

    Attributes:
        instances: a row per model, document and measure: lam, seed, id, measure, value, reason.
        manifest: how the models were trained and examined.
    """

    kind, remedy = "sweep", "sweep again"
    always = ("instances", "points", "correlations")

    instances: pd.DataFrame
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def points(self) -> pd.DataFrame:
        """Return a row per measure and λ: mean, sd, interval, n, and excluded documents by reason.

        sd and interval are over seeds if there are several, else over documents (column `over`).
        """
        return self._points.copy()

    @cached_property
    def _points(self) -> pd.DataFrame:
        instances = self.instances
        points = over_seeds(instances, ["measure", "lam"], reason="reason")
        points.insert(2, "over", "seeds" if instances["seed"].nunique() > 1 else "documents")
        if instances["seed"].nunique() == 1:
            groups = instances.groupby(["measure", "lam"], sort=False, observed=True)["value"]
            over_documents = pd.DataFrame([asdict(describe(values)) for _, values in groups])
            points[["sd", "low", "high"]] = over_documents[["sd", "low", "high"]].to_numpy()
        return points

    def correlations(self) -> pd.DataFrame:
        """Return a row per measure: its correlation with λ, where a larger λ is sparser attention.

        tau, spearman, pearson    between λ and the mean at each λ, over seeds; with p-values
        pooled_tau                τ-b over all pairs of λ and a document's own value
        support_tau, …_spearman   the same with the share of items in the support instead of λ:
                                  positive if the measure rises as attention gets denser
        points, pooled            how many λ, and how many pairs
        """
        return self._correlations.copy()

    @cached_property
    def _correlations(self) -> pd.DataFrame:
        means = over_seeds(self.instances, ["measure", "lam"])
        means = means.pivot(index="lam", columns="measure", values="mean")
        rows = []
        for measure in dict.fromkeys(self.instances["measure"]):
            instances = self.instances[self.instances["measure"] == measure]
            by_lam = correlations(means.index, means[measure])
            by_support = correlations(means[SUPPORT_SHARE], means[measure])
            pooled = correlations(instances["lam"], instances["value"])
            row = {"measure": measure, **asdict(by_lam), "points": by_lam.n}
            row |= {"pooled_tau": pooled.tau, "pooled": pooled.n}
            row |= {"support_tau": by_support.tau, "support_spearman": by_support.spearman}
            rows.append(row)
        return pd.DataFrame(rows).drop(columns=["n", "excluded"], errors="ignore")

    def against(self, lam: float = 0.0, test: str = "wilcoxon") -> pd.DataFrame:
        """Return a row per measure and other λ: its difference from `lam`, paired by document.

        difference, low, high  mean of (at the other λ − at `lam`) and its interval; a document's
                               value is its mean over seeds, so that no document counts twice
        p, holm                of the paired test (see `verax.statistics.paired`), and adjusted for
                               the number of λ
        n, excluded            documents with and without a value at both
        """
        if lam not in set(self.instances["lam"]):
            known = ", ".join(f"{value:g}" for value in sorted(set(self.instances["lam"])))
            raise VeraxError(
                f"no λ of {lam:g} in this sweep: it has {known}", code="result.unknown-name"
            )
        rows = []
        for measure, instances in self.instances.groupby("measure", sort=False, observed=True):
            values = instances.pivot_table(index="id", columns="lam", values="value", dropna=False)
            base = values[lam] if lam in values else values.iloc[:, 0] * float("nan")
            others = [other for other in map(float, values.columns) if other != lam]
            results = [paired(values[other], base, test) for other in others]
            corrected = holm([result.p for result in results])
            for other, result, p in zip(others, results, corrected, strict=True):
                row = {"measure": measure, "lam": other, **asdict(result), "holm": float(p)}
                rows.append(row)
        return pd.DataFrame(rows)

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {
            "instances": self.instances,
            "points": self.points(),
            "correlations": self.correlations(),
        }

    @classmethod
    def _schema(cls) -> Kind:
        return MANIFEST

    @classmethod
    def _columns(cls, table: str) -> Columns:
        return COLUMNS[table]

    @classmethod
    def _restored(cls, tables: Mapping[str, pd.DataFrame], manifest: dict[str, Any]) -> Sweep:
        if SUPPORT_SHARE not in set(tables["instances"]["measure"]):
            raise SchemaError(f"instances.parquet has no measure {SUPPORT_SHARE!r}")
        return cls(tables["instances"], manifest)

    @classmethod
    def of_study(cls, results: StudyResults, **where: Any) -> Sweep:
        """Return the sweep made of a study's finished sparsegen cells.

        Args:
            results: the study, such as the folder `keep` of a sweep, opened.
            where: selects cells, as in `StudyResults.select`, if they differ in more than λ and
                seed.
        """
        keys = results.select(**{"projection": SPARSEGEN, **where})
        others = [name for name in results.differing(keys) if name not in ("lam", "seed")]
        if others:
            raise VeraxError(
                f"these cells differ in {', '.join(others)}, not only in λ and seed: select with "
                f"{others[0]}=…",
                code="result.incomparable",
            )
        cells = results.cells.set_index("cell").loc[keys]
        points = zip(cells["lam"], cells["seed"], keys, strict=True)
        verdicts = {(float(lam), int(seed)): results.verdict(key) for lam, seed, key in points}
        sweep = sweep_of(verdicts)
        about = next(iter(verdicts.values())).manifest
        model = {**about["model"]["options"], **about["model"].get("training", {})}
        corpus = {name: value for name, value in about["corpus"].items() if name != "fingerprint"}
        manifest = {
            **sweep.manifest,
            "split": about["split"],
            "sample": None if about["sampled_from"] == about["documents"] else about["documents"],
            "exams": about["exams"],
            "corpus": corpus,
            "options": {
                n: model[n] for n in sorted(model) if n not in ("projection", "lam", "seed")
            },
        }
        return cls(sweep.instances, manifest)


def load_sweep(folder: str | Path) -> Sweep:
    """Load the sweep that `Sweep.save` wrote to a folder."""
    return Sweep.load(folder)


def sweep_of(verdicts: Mapping[Point, Verdict]) -> Sweep:
    """Return the sweep made of verdicts by (λ, seed), however the models were trained."""
    if not verdicts:
        raise VeraxError(
            "no verdicts to make a sweep of: give at least one, by (lam, seed)", code="option.empty"
        )
    parts = []
    for (lam, seed), verdict in sorted(verdicts.items()):
        exams = verdict.manifest.get("exams", [])
        if not set(exams) & set(SWEPT):
            raise VeraxError(
                f"a verdict of these exams ({', '.join(exams) or 'none'}) has nothing to sweep: "
                f"expected {' or '.join(SWEPT)}",
                code="exam.not-applicable",
            )
        part = verdict.document_values()
        part.insert(0, "lam", float(lam))
        part.insert(1, "seed", int(seed))
        parts.append(part)
    kinds = {
        (v.manifest.get("split"), (v.manifest.get("corpus") or {}).get("fingerprint"))
        for v in verdicts.values()
    }
    if len(kinds) > 1:
        raise VeraxError(
            "these verdicts are of different corpora or splits: a sweep is of one",
            code="result.incomparable",
        )
    instances = pd.concat(parts, ignore_index=True)
    lams, seeds = sorted({float(lam) for lam, _ in verdicts}), sorted({s for _, s in verdicts})
    manifest = {"format": Sweep.format, "verax": __version__, "lams": lams, "seeds": seeds}
    manifest["points"] = len(verdicts)
    return Sweep(instances, manifest)


def run_sweep(
    corpus: Corpus | str | Path,
    lams: Iterable[float] = LAMS,
    seeds: Iterable[int] = (0,),
    *,
    exams: Sequence[str] = SWEPT,
    split: str = "test",
    sample: int | None = None,
    device: str = "auto",
    engine: str = "here",
    workers: int | None = None,
    progress: bool | None = None,
    keep: str | Path | None = None,
    **options: Any,
) -> Sweep:
    """Train and examine a sparsegen model for each λ and seed.

    Args:
        corpus: a corpus, or its name or path.
        lams: values of λ, below 1; larger is sparser.
        seeds: random seeds of training.
        exams: exams to run, with agreement or dispersion among them.
        split: the documents to examine.
        sample: examine only so many of them, the same for all models.
        device: auto, cpu, cuda or cuda:1.
        engine: "here" (this process), "local" (worker processes), or "ray" (a cluster).
        workers: models at once; by default one per core, or one per GPU.
        progress: show progress bars; by default on a terminal and in a notebook.
        keep: a folder for the study, to which each model's results are saved when it is done. A
            later call with this folder resumes an interrupted sweep; `verax.open` opens it.
        options: options of models, training and exams.

    Returns:
        The sweep.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> found = verax.sweep(corpus, lams=[-1, 0.5], encoder="none", epochs=1)
    >>> found.points().query("measure == 'decisions.accuracy'")["lam"].tolist()
    [-1.0, 0.5]
    """
    lams = [float(check("lam", lam, float, {"below": 1})) for lam in _several("lams", lams)]
    seeds = [int(check("seed", seed, int, SEED)) for seed in _several("seeds", seeds)]
    exams = chosen_exams([exams] if isinstance(exams, str) else exams)
    if not set(exams) & set(SWEPT):
        raise VeraxError(
            f"a sweep needs measures of {' or '.join(SWEPT)}: name one of them",
            code="option.missing",
        )
    check_split(split)
    sample = None if sample is None else check("sample", sample, int, {"minimum": 1})
    for name in ("projection", "lam"):
        if name in options:
            raise VeraxError(
                f"option {name!r} is set by the sweep: leave it out", code="option.conflict"
            )
    known = names(ModelOptions, TrainingOptions)
    examined = divide_options(exams, {n: v for n, v in options.items() if n not in known}, known)
    training = {n: v for n, v in options.items() if n in known}
    trained, also_trained = divide(training, ModelOptions, TrainingOptions)
    # checked values are plain: NumPy's numbers are no JSON
    trained = _checked(ModelOptions, trained) | _checked(TrainingOptions, also_trained)
    by_exam = {name: _checked(EXAMS[name].options_class, v) for name, v in examined.items()}
    for name, values in by_exam.items():  # check exams before training
        EXAMS[name](build(EXAMS[name].options_class, values), 0, {})
    if not isinstance(corpus, Corpus):
        corpus = load_corpus(corpus)
    study = _study_over(corpus, lams, seeds, by_exam, split, sample, trained)
    hardware, here = hardware_of(
        engine, workers=workers, device=device, max_tokens=study.hardware.max_tokens
    )
    refuse_hardware(hardware)
    study = replace(study, hardware=hardware)
    scratch: AbstractContextManager[str | Path]
    scratch = tempfile.TemporaryDirectory(prefix="verax-") if keep is None else nullcontext(keep)
    with scratch as folder, watching(study.labels, progress) as watcher:
        store = Store.create(folder, study.name, study.text, study.resolved())
        run_cells(Runner(study, store, watcher, retry_failed=True, fail_fast=True), here=here)
        results = open_study(folder)
        verdicts = {
            (float(cell.model["lam"]), cell.seed): results.verdict(cell.key) for cell in study.cells
        }
    sweep = sweep_of(verdicts)
    manifest = {**sweep.manifest, "split": split, "sample": sample, "exams": exams}
    recorded = recorded_config(corpus)
    manifest["corpus"] = {k: v for k, v in recorded.items() if k != "fingerprint"}
    with_options = {name: values for name, values in by_exam.items() if values}
    manifest["options"] = {**dict(sorted(trained.items())), **with_options}
    return Sweep(sweep.instances, portable(manifest))


def _study_over(
    corpus: Corpus,
    lams: Iterable[float],
    seeds: Iterable[int],
    exams: Mapping[str, Mapping[str, Any]],
    split: str,
    sample: int | None,
    options: Mapping[str, Any],
) -> Study:
    """Return the study of a sweep, its cells ordered by λ, then seed, without duplicates."""
    name = str(corpus.config.get("corpus") or corpus.name)
    reading = {**declared(CorpusOptions), **declared(Planted)}
    read = {n: v for n, v in corpus.config.items() if n in reading and v is not None}
    models = {n: value for n, value in options.items() if n != "max_tokens"}
    source = {
        "name": "sweep",
        "question": "Does attention explain better where it is sparser?",
        "corpora": {name: read},
        "models": {**models, "projection": {SPARSEGEN: {"lam": list(dict.fromkeys(lams))}}},
        "seeds": list(dict.fromkeys(seeds)),
        "exams": {exam: dict(exam_options) for exam, exam_options in exams.items()},
        "split": split,
        "sample": sample,
        "hardware": {"max_tokens": options.get("max_tokens")},
    }
    return read_study(source, in_memory=[corpus])


def _several(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise VeraxError(
            f"{name} is {values!r}: expected a list of numbers, such as [0, 1]",
            code="option.wrong-type",
        )
    listed = list(values)
    if not listed:
        raise VeraxError(f"{name} is empty: give at least one", code="option.empty")
    return listed


def _checked(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options, checked and converted."""
    made = asdict(build(cls, values))
    return {name: made[name] for name in values}
