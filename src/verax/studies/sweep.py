"""The λ sweep: a model for every λ of sparsegen, examined alike (Meister et al. 2021)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.errors import VeraxError
from verax.exams.examine import check_split, examine
from verax.exams.registry import EXAMS, chosen_exams, divide_options
from verax.exams.verdict import REPORT, Verdict, is_only_a_verdict, load_verdict
from verax.files import refuse_foreign, replace_folder, write_text
from verax.models.options import ModelOptions
from verax.options import SEED, build, check, divide, names
from verax.statistics import correlations, describe, holm, over_seeds, paired
from verax.studies.measures import SUPPORT_SHARE, measures_of
from verax.training import TrainingOptions, train
from verax.version import __version__

LAMS = (-100.0, -30.0, -10.0, -3.0, -1.0, -0.3, 0.0, 0.25, 0.5, 0.75, 0.9, 0.97)
"""From nearly uniform attention to nearly one item; Meister et al. do not say theirs."""

EXAMINED = ("agreement", "dispersion")
MANIFEST = "sweep.json"
_TABLES = ("instances", "points", "correlations")

Point = tuple[float, int]
"""λ and seed."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """What a sweep found: `instances` has lam, seed, id, measure, value and reason."""

    instances: pd.DataFrame
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def points(self) -> pd.DataFrame:
        """A row per measure and λ: mean, sd, interval, n, and what was left out and why.

        With several seeds sd and interval are over seeds (`over` says so), with one over documents.
        """
        instances = self.instances
        found = over_seeds(instances, ["measure", "lam"], reason="reason")
        found.insert(2, "over", "seeds" if instances["seed"].nunique() > 1 else "documents")
        if instances["seed"].nunique() == 1:
            groups = instances.groupby(["measure", "lam"], sort=False, observed=True)["value"]
            alone = pd.DataFrame([asdict(describe(values)) for _, values in groups])
            found[["sd", "low", "high"]] = alone[["sd", "low", "high"]].to_numpy()
        return found

    def correlations(self) -> pd.DataFrame:
        """A row per measure: how it moves with λ, larger λ being sparser attention.

        tau, spearman, pearson    between λ and the mean at each λ, over seeds; with p-values
        pooled_tau                τ-b over all pairs of λ and a document's own value
        support_tau, …_spearman   the same with the measured share of items in the support in place
                                  of λ: positive where the measure rises as attention gets denser
        points, pooled            how many λ, and how many pairs
        """
        means = over_seeds(self.instances, ["measure", "lam"])
        means = means.pivot(index="lam", columns="measure", values="mean")
        rows = []
        for measure in dict.fromkeys(self.instances["measure"]):
            own = self.instances[self.instances["measure"] == measure]
            by_lam = correlations(means.index, means[measure])
            by_support = correlations(means[SUPPORT_SHARE], means[measure])
            pooled = correlations(own["lam"], own["value"])
            rows.append(
                {
                    "measure": measure,
                    "tau": by_lam.tau,
                    "tau_p": by_lam.tau_p,
                    "spearman": by_lam.spearman,
                    "spearman_p": by_lam.spearman_p,
                    "pearson": by_lam.pearson,
                    "pearson_p": by_lam.pearson_p,
                    "points": by_lam.n,
                    "pooled_tau": pooled.tau,
                    "pooled": pooled.n,
                    "support_tau": by_support.tau,
                    "support_spearman": by_support.spearman,
                }
            )
        return pd.DataFrame(rows)

    def against(self, lam: float = 0.0, test: str = "wilcoxon") -> pd.DataFrame:
        """A row per measure and other λ: its difference from `lam`, document by document.

        difference, low, high  mean of (at the other λ − at `lam`) and its interval; a document's
                               value is its mean over seeds first, so that no document counts twice
        p, holm                of the paired test (see `verax.statistics.paired`), and corrected for
                               the λ of the same measure
        n, excluded            documents, and those without a value at either
        """
        if lam not in set(self.instances["lam"]):
            there = ", ".join(f"{value:g}" for value in sorted(set(self.instances["lam"])))
            raise VeraxError(f"no λ of {lam:g} in this sweep: it has {there}")
        rows = []
        for measure, own in self.instances.groupby("measure", sort=False, observed=True):
            values = own.pivot_table(index="id", columns="lam", values="value", dropna=False)
            base = values[lam] if lam in values else values.iloc[:, 0] * float("nan")
            others = [other for other in map(float, values.columns) if other != lam]
            found = [paired(values[other], base, test) for other in others]
            corrected = holm([result.p for result in found])
            for other, result, p in zip(others, found, corrected, strict=True):
                row = {"measure": measure, "lam": other, **asdict(result), "holm": float(p)}
                rows.append(row)
        return pd.DataFrame(rows)

    def save(self, folder: str | Path) -> None:
        """Write instances, points and correlations as Parquet, and `sweep.json`, all at once."""
        tables = {
            "instances": self.instances,
            "points": self.points(),
            "correlations": self.correlations(),
        }

        def write(target: Path) -> None:
            for name in _TABLES:
                path = target / f"{name}.parquet"
                tables[name].to_parquet(path, index=False, compression="zstd")
            text = json.dumps(dict(self.manifest), indent=2, ensure_ascii=False, allow_nan=False)
            write_text(target / MANIFEST, text + "\n")

        replace_folder(folder, write, owned=is_only_a_sweep)


def load_sweep(folder: str | Path) -> Sweep:
    """What `Sweep.save` wrote in `folder`."""
    path = Path(folder)
    if not (path / MANIFEST).is_file():
        raise VeraxError(f"{folder} holds no saved sweep: expected a folder that save wrote")
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        return Sweep(pd.read_parquet(path / "instances.parquet"), manifest)
    except (OSError, ValueError) as error:
        raise VeraxError(f"cannot read {folder}: {error}") from error


def is_only_a_sweep(folder: Path) -> bool:
    """Whether a folder holds a saved sweep, or one and its report, so that it may be replaced."""
    names = {path.name for path in folder.iterdir()} - {REPORT}
    return names == {MANIFEST, *(f"{name}.parquet" for name in _TABLES)}


def sweep_of(verdicts: Mapping[Point, Verdict]) -> Sweep:
    """The sweep that verdicts by (λ, seed) make up, whoever trained and examined the models."""
    if not verdicts:
        raise VeraxError("no verdict to make a sweep of: give at least one, by (lam, seed)")
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
        raise VeraxError("these verdicts are of different corpora or splits: a sweep is of one")
    instances = pd.concat(parts, ignore_index=True)
    lams, seeds = sorted({float(lam) for lam, _ in verdicts}), sorted({s for _, s in verdicts})
    manifest = {"verax": __version__, "lams": lams, "seeds": seeds, "points": len(verdicts)}
    return Sweep(instances, manifest)


def run_sweep(
    corpus: Corpus | str | Path,
    lams: Iterable[float] = LAMS,
    seeds: Iterable[int] = (0,),
    *,
    exams: Sequence[str] = EXAMINED,
    split: str = "test",
    sample: int | None = None,
    device: str = "auto",
    progress: bool = False,
    keep: str | Path | None = None,
    done: Callable[[float, int, Verdict], None] = lambda lam, seed, verdict: None,
    **options: Any,
) -> Sweep:
    """Train and examine a sparsegen model for every λ and seed.

    `options` are those of models, training and the exams. `keep` is a folder in which each point's
    verdict is put as soon as it is there; a later call with the same settings takes it from there,
    so that an interrupted sweep goes on. `done` is called after each point.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> found = verax.sweep(corpus, lams=[-1, 0.5], encoder="none", epochs=1)
    >>> found.points().query("measure == 'decisions.accuracy'")["lam"].tolist()
    [-1.0, 0.5]
    """
    lams = [float(check("lam", lam, float, {"below": 1})) for lam in _several("lams", lams)]
    seeds = [int(check("seed", seed, int, SEED)) for seed in _several("seeds", seeds)]
    exams = chosen_exams([exams] if isinstance(exams, str) else exams)
    if not set(exams) & set(EXAMINED):
        raise VeraxError(f"a sweep needs measures of {' or '.join(EXAMINED)}: name one of them")
    check_split(split)
    sample = None if sample is None else check("sample", sample, int, {"minimum": 1})
    for name in ("projection", "lam"):
        if name in options:
            raise VeraxError(f"option {name!r} is what a sweep sets: leave it out")
    known = (*names(ModelOptions), *names(TrainingOptions))
    of_exams = divide_options(exams, {n: v for n, v in options.items() if n not in known}, known)
    of_model, of_training = divide(
        {n: v for n, v in options.items() if n in known}, ModelOptions, TrainingOptions
    )
    # in the kinds that options take: a number of NumPy's is as good, and no JSON
    options = _checked(ModelOptions, of_model) | _checked(TrainingOptions, of_training)
    trained = dict(options)
    examined: dict[str, Any] = {}
    for name, given in of_exams.items():
        cls = EXAMS[name].options_class
        examined[name] = _checked(cls, given)
        EXAMS[name](build(cls, given), 0, {})  # refuses what it cannot do before a model is trained
    options |= examined
    budget = {"max_tokens": options["max_tokens"]} if "max_tokens" in options else {}
    if not isinstance(corpus, Corpus):
        corpus = load_corpus(corpus)
    verdicts: dict[Point, Verdict] = {}
    for lam in dict.fromkeys(lams):
        for seed in dict.fromkeys(seeds):
            asked = {
                "lam": lam,
                "seed": seed,
                "exams": exams,
                "split": split,
                "sample": sample,
                "options": dict(sorted(options.items())),
                "corpus": corpus.fingerprint,
                "verax": __version__,
            }
            folder = (
                None
                if keep is None
                else Path(keep) / f"lam{repr(lam).removesuffix('.0')}-seed{seed}"
            )
            verdict = _kept(folder, asked)
            if verdict is None:
                model = train(
                    corpus,
                    projection="sparsegen",
                    lam=lam,
                    seed=seed,
                    device=device,
                    progress=progress,
                    **trained,
                )
                verdict = examine(
                    model,
                    corpus,
                    exams,
                    split,
                    seed=0,  # the same documents and draws at every point
                    sample=sample,
                    progress=progress,
                    **budget,
                    **examined,
                )
                verdict = Verdict(
                    verdict.tables, {**verdict.manifest, "sweep": asked}, verdict.summary()
                )
                if folder is not None:
                    verdict.save(folder)
            verdicts[lam, seed] = verdict
            done(lam, seed, verdict)
    found = sweep_of(verdicts)
    manifest = {**found.manifest, "split": split, "sample": sample, "exams": exams}
    manifest["corpus"] = {k: v for k, v in corpus.config.items() if v is not None}
    manifest["options"] = dict(sorted(options.items()))
    return Sweep(found.instances, manifest)


def _kept(folder: Path | None, asked: Mapping[str, Any]) -> Verdict | None:
    """The verdict kept in a folder, if it is the answer to what is asked."""
    if folder is None or not folder.exists():
        return None
    refuse_foreign(folder, is_only_a_verdict)
    verdict = load_verdict(folder)
    return verdict if verdict.manifest.get("sweep") == asked else None


def _several(name: str, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise VeraxError(f"{name} is {values!r}: give a list of numbers, such as [0, 1]")
    found = list(values)
    if not found:
        raise VeraxError(f"nothing to sweep: {name} is empty, give at least one")
    return found


def _checked(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options given, in the kinds that they take."""
    made = asdict(build(cls, values))
    return {name: made[name] for name in values}
