"""The answers of an audit, from its results: what is asked of every model, with intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from research.audits.models import Entry
from verax import GridResults, Judgement
from verax.errors import VeraxError
from verax.exams import judge
from verax.exams.authoring import AGAINST, FOR, ModelSummary
from verax.files import write_files
from verax.importance import DERIVED
from verax.statistics import bootstrap, bootstrap_seeds, describe

YES, NO, OPEN, ABSENT = "yes", "no", "inconclusive", "not applicable"
MIXED, UNJUDGED = "mixed", "no verdict"
PERCENT, POINTS, WORDS = (0.0, 100.0), (-100.0, 100.0), (0.0, math.inf)
"""Bounds of shares in percent, of differences between them, and of counts of words."""
CONTROLS = ("gradient", "gradient-input", "integrated-gradients", "leave-one-out")
REPLACEABLE = 95.0
"""Percent of decisions that must stay for a head to be replaceable."""
HALF = 50.0
"""Percent of what vectors tell of their word: below it, states have stopped telling it."""
UNIFORM = "replacement.uniform.survival"
TABLES = ("summary", "values", "documents", "randomisation", "spans")
FACTS = "models.json"
_NO_TABLE = pd.DataFrame()


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval.

    Attributes:
        value: the mean.
        low: the lower end.
        high: the upper end.
        seeds: the number of models; with one, the interval is over its documents alone.
        n: the number of values, over all seeds.
    """

    value: float
    low: float
    high: float
    seeds: int
    n: int

    def beyond(self, limit: float) -> str:
        """Return whether it is above a limit: yes, no, or inconclusive."""
        if math.isnan(self.low) or math.isnan(self.high):
            return OPEN
        return YES if self.low > limit else NO if self.high < limit else OPEN


def estimate(
    samples: Sequence[ArrayLike], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate | None:
    """Return the mean over seeds of the mean over documents; None without a value.

    The interval is the hull of two: the bootstrap over seeds and documents, which is too narrow for
    few seeds, and Student's over seeds, which ignores the documents. For one seed it is the
    bootstrap over its documents.

    Args:
        samples: the values of the documents of each seed; NaN is ignored.
        bounds: the least and the most that the mean can be; the interval is cut there.
    """
    kept = [np.asarray(one, dtype=np.float64) for one in samples]
    kept = [one[~np.isnan(one)] for one in kept]
    kept = [one for one in kept if len(one)]
    if not kept:
        return None
    n = sum(map(len, kept))
    if len(kept) == 1:
        alone = bootstrap(kept[0], resamples=2000)
        return Estimate(alone.value, alone.low, alone.high, 1, n)
    both = bootstrap_seeds(kept, resamples=2000)
    over = describe([float(one.mean()) for one in kept])
    low, high = np.clip([min(both.low, over.low), max(both.high, over.high)], *bounds).tolist()
    return Estimate(both.value, low, high, len(kept), n)


def over_models(
    numbers: Sequence[tuple[float, float, float]],
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate | None:
    """Return the mean over seeds of numbers with their intervals, within bounds.

    For one seed, the interval is its own.
    """
    if not numbers:
        return None
    if len(numbers) == 1:
        return Estimate(*numbers[0], 1, 1)
    over = describe([value for value, _, _ in numbers])
    low, high = np.clip([over.low, over.high], *bounds).tolist()
    return Estimate(over.mean, low, high, len(numbers), len(numbers))


@dataclass(frozen=True, eq=False)
class AuditResults:
    """Results of examined models. They have no text.

    Attributes:
        facts: what was examined and how, by model.
        tables: rows of all models, by name, with a column `model`: summary, values (of single
            documents), documents, randomisation and spans.
    """

    facts: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, pd.DataFrame]

    @classmethod
    def from_grid(cls, grid: GridResults) -> AuditResults:
        """Take the results from the grid of an audit."""
        models = {key: grid.values(key)["facts"] for key in grid.done}
        names = {key: facts["model"] for key, facts in models.items()}
        tables = {}
        for name in TABLES:
            if name in grid.tables:
                table = grid.table(name).rename(columns={"cell": "model"})
                tables[name] = table.assign(model=table["model"].map(names).astype(str))
        return cls({facts["model"]: facts for facts in models.values()}, tables)

    @classmethod
    def open(cls, *folders: str | Path) -> AuditResults:
        """Open folders that `write` filled; of a model that is in several, the first counts."""
        facts: dict[str, Mapping[str, Any]] = {}
        parts: dict[str, list[pd.DataFrame]] = {}
        for folder in map(Path, folders):
            if not (folder / FACTS).is_file():
                raise VeraxError(
                    f"{folder} has no results of an audit: run python -m research audit NAME",
                    code="result.missing",
                )
            found = json.loads((folder / FACTS).read_text(encoding="utf-8"))
            new = [model for model in found if model not in facts]
            for name in TABLES:
                if (path := folder / f"{name}.parquet").is_file():
                    table = pd.read_parquet(path)
                    table = table.assign(model=table["model"].astype(str))
                    parts.setdefault(name, []).append(table[table["model"].isin(new)])
            facts |= {model: found[model] for model in new}
        return cls(
            facts, {name: pd.concat(some, ignore_index=True) for name, some in parts.items()}
        )

    def write(self, folder: str | Path) -> None:
        """Write a table each, and `models.json`; the same results give the same bytes."""
        order = sorted(self.facts)
        files: dict[str, bytes | str] = {}
        for name, table in self.tables.items():
            rows = table.assign(model=pd.Categorical(table["model"].astype(str), order))
            rows = rows.sort_values("model", kind="stable", ignore_index=True)
            for column in rows.columns:
                if rows[column].dtype == object or str(rows[column].dtype) in ("str", "string"):
                    rows[column] = rows[column].astype("category")
            files[f"{name}.parquet"] = rows.to_parquet(index=False, compression="zstd")
        facts = json.dumps({model: self.facts[model] for model in order}, indent=1)
        write_files(folder, {**files, FACTS: facts + "\n"})

    def only(self, models: Sequence[str]) -> AuditResults:
        """Return the results of some models."""
        tables = {name: table[table["model"].isin(models)] for name, table in self.tables.items()}
        return AuditResults(
            {model: facts for model, facts in self.facts.items() if model in models},
            {name: table for name, table in tables.items() if len(table)},
        )

    @cached_property
    def judgements(self) -> Mapping[str, Judgement]:
        """The judgement of each model, by the thresholds it was examined under."""
        return {one.name: judge(one, self.facts[one.name]["limits"]) for one in self.summaries()}

    def summaries(self) -> Iterator[ModelSummary]:
        """Yield the models as a judgement reads them."""
        summary, documents = self.tables["summary"], self.tables["documents"]
        for name, one in self.facts.items():
            rows = summary[summary["model"] == name].drop(columns="model").reset_index(drop=True)
            read = documents[documents["model"] == name]
            options = one["description"]
            manifest = {
                "classes": one["classes"],
                "labels": read["label"].astype(str).value_counts().to_dict(),
                "words": float(read["words"].mean()),
                "documents": one["documents"],
                "model": {"options": options},
            }
            if "kind" in options:
                manifest["kind"] = options["kind"]
            yield ModelSummary(str(name), rows, manifest)

    def models(self, entry: str) -> list[str]:
        """Return the models of an entry, by seed."""
        some = [model for model, one in self.facts.items() if one["entry"] == entry]
        return sorted(some, key=lambda model: int(self.facts[model]["seed"]))

    def table(self, name: str, models: Sequence[str]) -> pd.DataFrame:
        """Return the rows of some models."""
        table = self.tables.get(name, _NO_TABLE)
        return table[table["model"].isin(list(models))] if len(table) else table

    @cached_property
    def _numbers(self) -> Mapping[tuple[str, str], tuple[float, float, float]]:
        summary = self.tables["summary"]
        keys = zip(summary["model"].astype(str), summary["measure"].astype(str), strict=True)
        ends = zip(*(summary[name] for name in ("value", "low", "high")), strict=True)
        return dict(zip(keys, ends, strict=True))

    def number(self, model: str, measure: str) -> tuple[float, float, float] | None:
        """Return a number of a model's summary with its interval over documents, or None."""
        number = self._numbers.get((model, measure))
        return None if number is None or pd.isna(number[0]) else number

    def measures(self, model: str) -> list[str]:
        """Return the ids of a model's numbers."""
        return [measure for one, measure in self._numbers if one == model]

    @cached_property
    def _wide(self) -> Mapping[str, pd.DataFrame]:
        values = self.tables["values"]
        wide = {}
        for model, part in values.groupby(values["model"].astype(str), sort=False):
            measures = part["measure"].astype(str)
            table = part.assign(measure=measures).drop_duplicates(["id", "measure"])
            wide[str(model)] = table.pivot(index="id", columns="measure", values="value")
        return wide

    def documents(self, model: str) -> pd.DataFrame:
        """Return the values of a model's documents, a row each, and a column for each measure."""
        return self._wide.get(model, _NO_TABLE)


@dataclass(frozen=True)
class Heads:
    """How many heads can be made uniform, how many cannot, and how many are inconclusive."""

    replaceable: int
    needed: int
    open: int

    @property
    def all(self) -> int:
        return self.replaceable + self.needed + self.open


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers about one kind of model.

    Attributes:
        entry: the kind of model.
        seeds: the number of models.
        accuracy: in percent.
        shown: whether each score may be shown: yes, no, mixed, inconclusive or no verdict.
        fewer: by score, how much fewer of the words it removes than random order, in points.
        excess: by score, words beyond the smallest set that was found.
        smallest: words of that set.
        lower: the least that it can have, where this was proved.
        layers: by layer, what its states tell of their word, in percent of what the vectors tell.
        stops: the first layer from which this stays below half, or None.
        heads: how many are replaceable.
        uniform: percent of decisions that stay when all attention is made uniform.
        collapsed_to: the class that every decision becomes then; empty if there is none.
        notices: whether decisions notice: yes, no, inconclusive or no verdict.
        randomised: by score, the correlation with the score of a model with random weights.
    """

    entry: Entry
    seeds: int
    accuracy: Estimate | None
    shown: Mapping[str, str]
    fewer: Mapping[str, Estimate]
    excess: Mapping[str, Estimate]
    smallest: Estimate | None
    lower: Estimate | None
    layers: Mapping[int, Estimate]
    stops: int | None
    heads: Heads | None
    uniform: Estimate | None
    collapsed_to: str
    notices: str
    randomised: Mapping[str, tuple[float, float, float]]

    @property
    def rollout(self) -> Estimate | None:
        return self.fewer.get("rollout")

    @property
    def beats_chance(self) -> str:
        """Whether rollout beats chance."""
        return ABSENT if self.rollout is None else self.rollout.beyond(0.0)

    @property
    def may_be_shown(self) -> list[str]:
        """Scores derived from attention that may be shown."""
        return [name for name, answer in self.shown.items() if answer == YES]

    @property
    def nearest(self) -> str | None:
        """The score derived from attention with the fewest words beyond the smallest set."""
        derived = {name: e.value for name, e in self.excess.items() if name in DERIVED}
        return min(derived, key=lambda name: derived[name]) if derived else None


def answers_of(results: AuditResults, entry: Entry) -> Answers | None:
    """Return the answers about one kind of model; None if there are no results."""
    models = results.models(entry.id)
    if not models:
        return None
    scores = _scores(results, models)
    layers = _layers(results, models)
    return Answers(
        entry=entry,
        seeds=len(models),
        accuracy=of_documents(results, models, "decisions.accuracy", scale=100),
        shown=_shown(results, models),
        fewer=_kept({name: fewer_than_random(results, models, name) for name in scores}),
        excess=_kept(
            {name: of_documents(results, models, f"deletion.{name}.excess") for name in scores}
        ),
        smallest=of_documents(results, models, "deletion.smallest.smallest.upper"),
        lower=of_documents(results, models, "deletion.smallest.smallest.lower"),
        layers=layers,
        stops=_stops(layers),
        heads=_heads(results, models),
        uniform=of_documents(results, models, UNIFORM, scale=100),
        collapsed_to=_collapsed_to(results, models),
        notices=_notices(results, models),
        randomised=_randomised(results, models),
    )


def of_documents(
    results: AuditResults,
    models: Sequence[str],
    measure: str,
    ids: Any = None,
    scale: float = 1,
) -> Estimate | None:
    """Return the mean of a measure, times `scale`, over documents of some models or ids."""
    samples = []
    for model in models:
        table = results.documents(model)
        if measure in table:
            column = scale * table[measure]
            samples.append(column if ids is None else column[column.index.isin(ids)])
    return estimate(samples, PERCENT if scale == 100 else WORDS)


def fewer_than_random(
    results: AuditResults, models: Sequence[str], score: str, ids: Any = None
) -> Estimate | None:
    """Return how much fewer of the words a score removes than random order, in points."""
    samples = [values for m in models if (values := fewer(results, m, score)) is not None]
    return estimate([v if ids is None else v[v.index.isin(ids)] for v in samples], POINTS)


def fewer(results: AuditResults, model: str, score: str) -> pd.Series | None:
    """Return this for each document of a model."""
    table = results.documents(model)
    names = [f"deletion.{name}.share" for name in ("random", score)]
    if any(name not in table for name in names):
        return None
    return 100 * (table[names[0]] - table[names[1]])


def _scores(results: AuditResults, models: Sequence[str]) -> list[str]:
    """Return the scores whose rankings were tried."""
    return [
        name
        for name in (*DERIVED, *CONTROLS)
        if any(f"deletion.{name}.share" in results.documents(model) for model in models)
    ]


def _kept(estimates: Mapping[str, Estimate | None]) -> dict[str, Estimate]:
    return {name: one for name, one in estimates.items() if one is not None}


def _shown(results: AuditResults, models: Sequence[str]) -> dict[str, str]:
    """Return score → yes, no, mixed or no verdict where all models agree, else inconclusive."""
    verdicts: dict[str, set[str]] = {}
    for model in models:
        for name, verdict in results.judgements[model].subjects.items():
            verdicts.setdefault(name, set()).add(verdict)
    return {name: _answer(found) for name, found in verdicts.items()}


def _answer(verdicts: set[str]) -> str:
    answers = {FOR: YES, AGAINST: NO, MIXED: MIXED, "withheld": UNJUDGED}
    return answers.get(verdicts.pop(), OPEN) if len(verdicts) == 1 else OPEN


def _notices(results: AuditResults, models: Sequence[str]) -> str:
    """Return whether decisions notice uniform attention, by the limits of the exam replacement."""
    rows = (row for model in models for row in results.judgements[model].rows)
    return _answer({row.verdict for row in rows if row.measure == UNIFORM})


def _collapsed_to(results: AuditResults, models: Sequence[str]) -> str:
    """Return the class that every decision becomes under uniform attention, or nothing.

    That is, all decisions for one of two classes stay, and all others change.
    """
    classes = set()
    for model in models:
        names = [str(name) for name in results.facts[model]["classes"]]
        values = results.documents(model)
        if len(names) != 2 or not {UNIFORM, "decisions.accuracy"} <= set(values):
            return ""
        known = results.table("documents", [model]).set_index("id")["label"].astype(str)
        labels = known.reindex(values.index)
        other = labels.map({names[0]: names[1], names[1]: names[0]})
        decided = labels.where(values["decisions.accuracy"] == 1, other)
        stays = decided[values[UNIFORM] == 1].unique()
        changes = decided[values[UNIFORM] == 0].unique()
        if len(stays) != 1 or len(changes) != 1 or stays[0] == changes[0]:
            return ""
        classes.add(str(stays[0]))
    return classes.pop() if len(classes) == 1 else ""


def _layers(results: AuditResults, models: Sequence[str]) -> dict[int, Estimate]:
    layers: dict[int, Estimate] = {}
    number = 0
    while any(f"information.layers.{number}.retained" in results.measures(m) for m in models):
        id = f"information.layers.{number}.retained"
        kept = [v for m in models if (v := results.number(m, id)) is not None]
        one = over_models(kept, PERCENT)
        if one is not None:
            layers[number] = one
        number += 1
    if not layers:
        id = "information.frequent.retained"
        kept = [v for m in models if (v := results.number(m, id)) is not None]
        one = over_models(kept, PERCENT)
        if one is not None:
            layers[1] = one
    return layers


def _stops(layers: Mapping[int, Estimate]) -> int | None:
    """Return the first layer from which all are below half."""
    below = [layer for layer, one in layers.items() if one.value >= HALF]
    last = max(below, default=min(layers, default=0) - 1)
    later = [layer for layer in layers if layer > last]
    return min(later) if later else None


def _heads(results: AuditResults, models: Sequence[str]) -> Heads | None:
    """Count heads; one is replaceable, or needed, if its interval says so in every model."""
    counts = {YES: 0, NO: 0, OPEN: 0}
    ids = [id for id in results.measures(models[0]) if _is_head(id)]
    for id in ids:
        ends = [v for m in models if (v := results.number(m, id)) is not None]
        if ends and all(low >= REPLACEABLE for _, low, _ in ends):
            counts[YES] += 1
        elif ends and all(high < REPLACEABLE for _, _, high in ends):
            counts[NO] += 1
        else:
            counts[OPEN] += 1
    return Heads(counts[YES], counts[NO], counts[OPEN]) if ids else None


def _is_head(id: str) -> bool:
    """Return whether an id is of one head: replacement.places.3.2.uniform_survival."""
    parts = id.split(".")
    return parts[:2] == ["replacement", "places"] and parts[4:] == ["uniform_survival"]


def head_survival(results: AuditResults, models: Sequence[str]) -> pd.DataFrame:
    """Return the mean share of decisions that stay by layer and head."""
    rows = []
    for id in [id for id in results.measures(models[0]) if _is_head(id)]:
        values = [v[0] for m in models if (v := results.number(m, id)) is not None]
        layer, head = id.split(".")[2:4]
        mean = sum(values) / len(values) if values else math.nan
        rows.append({"layer": int(layer), "head": head, "value": mean})
    return pd.DataFrame(rows, columns=["layer", "head", "value"])


def _randomised(
    results: AuditResults, models: Sequence[str]
) -> dict[str, tuple[float, float, float]]:
    """Return the correlation of each score with that of a model with random weights."""
    table = results.table("randomisation", models)
    if not len(table):
        return {}
    last = table[table["depth"] == table["depth"].max()]
    columns = ("importance", "correlation", "low", "high")
    return {
        str(name): (float(value), float(low), float(high))
        for name, value, low, high in zip(*(last[c] for c in columns), strict=True)
    }


ACCURACY, NOTICED, ATTENTION, KEPT = "accuracy", "uniform", "attention", "information"
TITLES = {
    ACCURACY: "accuracy, points",
    NOTICED: "decisions that stay under uniform attention, points",
    ATTENTION: "words fewer than random order by attention, points",
    KEPT: "what the last states tell of their word, points",
}
"""What is compared."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """The first kind of model minus the second.

    Attributes:
        first: an entry.
        second: an entry.
        differences: by what is compared; what cannot be compared is missing.
    """

    first: str
    second: str
    differences: dict[str, Estimate]


def contrast(results: AuditResults, first: str, second: str) -> Contrast | None:
    """Return the differences between two kinds of model, document by document and seed by seed."""
    pairs = _pairs(results, first, second)
    if not pairs:
        return None
    differences = {
        ACCURACY: estimate(
            [100 * _apart(results, a, b, "decisions.accuracy") for a, b in pairs], POINTS
        ),
        NOTICED: estimate([100 * _apart(results, a, b, UNIFORM) for a, b in pairs], POINTS),
        ATTENTION: estimate([_fewer_apart(results, a, b) for a, b in pairs], (-200.0, 200.0)),
        KEPT: over_models(_kept_apart(results, pairs), POINTS),
    }
    return Contrast(first, second, {w: d for w, d in differences.items() if d is not None})


def _pairs(results: AuditResults, first: str, second: str) -> list[tuple[str, str]]:
    """Return pairs of models of the same seed."""
    others = {results.facts[m]["seed"]: m for m in results.models(second)}
    return [
        (model, others[results.facts[model]["seed"]])
        for model in results.models(first)
        if results.facts[model]["seed"] in others
    ]


def _apart(results: AuditResults, a: str, b: str, measure: str) -> np.ndarray:
    one, two = results.documents(a), results.documents(b)
    if measure not in one or measure not in two:
        return np.array([np.nan])
    return (one[measure] - two[measure]).to_numpy(dtype=np.float64)


def _fewer_apart(results: AuditResults, a: str, b: str) -> np.ndarray:
    one, two = fewer(results, a, "attention"), fewer(results, b, "attention")
    if one is None or two is None:
        return np.array([np.nan])
    return (one - two).to_numpy(dtype=np.float64)


def _kept_apart(
    results: AuditResults, pairs: list[tuple[str, str]]
) -> list[tuple[float, float, float]]:
    """Return differences of what the last states tell; for one seed there is no interval."""
    id = "information.frequent.retained"
    differences = []
    for a, b in pairs:
        one, two = results.number(a, id), results.number(b, id)
        if one is not None and two is not None:
            differences.append((one[0] - two[0], np.nan, np.nan))
    return differences


def spans_by_score(spans: pd.DataFrame) -> dict[str, dict[str, Estimate]]:
    """Return auprc, top and share of each score, with intervals over texts."""
    return {
        str(name): {
            column: one
            for column in ("auprc", "top", "share")
            if (one := estimate([part[column]])) is not None
        }
        for name, part in spans.groupby(spans["score"].astype(str), sort=False)
    }
