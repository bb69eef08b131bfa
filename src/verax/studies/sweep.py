"""What a λ sweep found: how measures move as attention gets sparser (Meister et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.saved import CONFIG as CORPUS
from verax.errors import VeraxError
from verax.exams.dispersion.measures import DOCUMENT_COUNTS
from verax.exams.document_values import DECISIONS
from verax.exams.measures import VALUE, measure_id
from verax.exams.verdict import Verdict
from verax.models.options import ModelOptions
from verax.options import saved_options
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
from verax.studies.store.results import StudyResults
from verax.training.options import TrainingOptions
from verax.version import __version__

ACCURACY = measure_id(DECISIONS.id, "accuracy", VALUE)
SUPPORT, SUPPORT_SHARE = (
    measure_id(DOCUMENT_COUNTS.id, name, VALUE) for name in ("support", "support_share")
)
"""Ids of what every sweep shows beside what moves."""
SWEPT = ("dispersion", "agreement")
"""Exams of which at least one is needed: the others ask nothing that moves with sparsity."""


def measures_of(verdict: Verdict) -> pd.DataFrame:
    """id, measure, value, reason of a verdict that a sweep can be made of."""
    exams = verdict.manifest.get("exams", [])
    if not set(exams) & set(SWEPT):
        raise VeraxError(
            f"a verdict of these exams ({', '.join(exams) or 'none'}) has nothing to sweep: "
            f"take {' or '.join(SWEPT)}",
            code="exam.not-applicable",
        )
    return verdict.document_values()


SPARSEGEN = "sparsegen"
_POINT = ("lam", "seed")

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
    """What a sweep found: `instances` has lam, seed, id, measure, value and reason."""

    kind, remedy = "sweep", "sweep again"
    always = ("instances", "points", "correlations")

    instances: pd.DataFrame
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def points(self) -> pd.DataFrame:
        """A row per measure and λ: mean, sd, interval, n, and what was left out and why.

        With several seeds sd and interval are over seeds (`over` says so), with one over documents.
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
        """A row per measure: how it moves with λ, larger λ being sparser attention.

        tau, spearman, pearson    between λ and the mean at each λ, over seeds; with p-values
        pooled_tau                τ-b over all pairs of λ and a document's own value
        support_tau, …_spearman   the same with the measured share of items in the support in place
                                  of λ: positive where the measure rises as attention gets denser
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
        """A row per measure and other λ: its difference from `lam`, document by document.

        difference, low, high  mean of (at the other λ − at `lam`) and its interval; a document's
                               value is its mean over seeds first, so that no document counts twice
        p, holm                of the paired test (see `verax.statistics.paired`), and corrected for
                               the λ of the same measure
        n, excluded            documents, and those without a value at either
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
        """The sweep that a study's finished cells of sparsegen make up, by λ and seed.

        Args:
            results: of a study, such as `verax.open` gives of what a sweep kept.
            where: picks cells where they differ in more than λ and seed, as
                `StudyResults.select` takes it.
        """
        keys = results.select(**{"projection": SPARSEGEN, **where})
        others = [name for name in results.differing(keys) if name not in ("lam", "seed")]
        if others:
            raise VeraxError(
                f"these cells differ in {', '.join(others)} beside λ and seed: pick some, such as "
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
            "options": {n: model[n] for n in sorted(model) if n not in ("projection", *_POINT)},
        }
        return cls(sweep.instances, manifest)


def load_sweep(folder: str | Path) -> Sweep:
    """What `Sweep.save` wrote in `folder`."""
    return Sweep.load(folder)


def sweep_of(verdicts: Mapping[Point, Verdict]) -> Sweep:
    """The sweep that verdicts by (λ, seed) make up, whoever trained and examined the models."""
    if not verdicts:
        raise VeraxError(
            "no verdict to make a sweep of: give at least one, by (lam, seed)", code="option.empty"
        )
    parts = []
    for (lam, seed), verdict in sorted(verdicts.items()):
        part = measures_of(verdict)
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
