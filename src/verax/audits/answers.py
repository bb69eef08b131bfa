"""The answers of an audit: what is asked of every model, from its results alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from verax.audits.audit import Entry
from verax.audits.estimating import (
    ABSENT,
    NO,
    OPEN,
    PERCENT,
    POINTS,
    UNJUDGED,
    WORDS,
    YES,
    Estimate,
    estimate,
    over_models,
)
from verax.audits.results import AuditResults
from verax.exams.judgement.row import AGAINST, FOR, WITHHELD
from verax.exams.judgement.subjects import MIXED
from verax.importance import DERIVED

CONTROLS = ("gradient", "gradient-input", "integrated-gradients", "leave-one-out")
REPLACEABLE = 95.0
"""Percent of decisions that must stay for a head to be replaceable."""
HALF = 50.0
"""Percent of what vectors tell of their word: below it, states have stopped telling it."""
UNIFORM = "replacement.uniform.survival"


@dataclass(frozen=True)
class Heads:
    """How many heads can be made uniform: surely, surely not, and neither; `all` of them."""

    replaceable: int
    needed: int
    open: int

    @property
    def all(self) -> int:
        return self.replaceable + self.needed + self.open


@dataclass(frozen=True, eq=False)
class Answers:
    """What came of one kind of model.

    entry     the kind of model
    seeds     how many models
    accuracy  percent
    shown     score → yes, no, mixed, inconclusive or no verdict: whether it may be shown
    fewer     score → points of the words by which it needs fewer taken out than random order
    excess    score → words beyond the smallest set that was found
    smallest  words of that set
    lower     words that it has at least, where that was proved
    layers    layer → percent of what vectors tell of their word that its states tell
    stops     the first layer from which on that is below half, or None
    heads     which are replaceable
    uniform   percent of decisions that stay when all attention is made uniform
    notices   yes, no, inconclusive or no verdict: whether decisions notice
    drawn_anew  score → the correlation with that of a model whose weights are drawn anew
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
    becomes: str
    notices: str
    drawn_anew: Mapping[str, tuple[float, float, float]]

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
        """The score derived from attention that needs the fewest words beyond the smallest."""
        derived = {name: e.value for name, e in self.excess.items() if name in DERIVED}
        return min(derived, key=lambda name: derived[name]) if derived else None


def answers_of(results: AuditResults, entry: Entry) -> Answers | None:
    """The answers of one kind of model; None where there are no results of it."""
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
        becomes=_becomes(results, models),
        notices=_notices(results, models),
        drawn_anew=_drawn_anew(results, models),
    )


def of_documents(
    results: AuditResults,
    models: Sequence[str],
    measure: str,
    ids: Any = None,
    scale: float = 1,
) -> Estimate | None:
    """The mean of a measure, times `scale`, over documents of some models, or over some ids."""
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
    """Points of its words by which a document needs fewer taken out than in random order."""
    samples = [values for m in models if (values := fewer(results, m, score)) is not None]
    return estimate([v if ids is None else v[v.index.isin(ids)] for v in samples], POINTS)


def fewer(results: AuditResults, model: str, score: str) -> pd.Series | None:
    """The same for each document of a model."""
    table = results.documents(model)
    names = [f"deletion.{name}.share" for name in ("random", score)]
    if any(name not in table for name in names):
        return None
    return 100 * (table[names[0]] - table[names[1]])


def _scores(results: AuditResults, models: Sequence[str]) -> list[str]:
    """Names of the scores whose rankings were tried."""
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
    answers = {FOR: YES, AGAINST: NO, MIXED: MIXED, WITHHELD: UNJUDGED}
    return answers.get(verdicts.pop(), OPEN) if len(verdicts) == 1 else OPEN


def _notices(results: AuditResults, models: Sequence[str]) -> str:
    """Return whether decisions notice uniform attention, by the limits of the exam replacement."""
    rows = (row for model in models for row in results.judgements[model].rows)
    return _answer({row.verdict for row in rows if row.measure == UNIFORM})


def _becomes(results: AuditResults, models: Sequence[str]) -> str:
    """The class that every decision becomes under uniform attention; empty where there is none.

    Of two classes: those decided for one of them all stay, and all others change.
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
    """The first layer from which on all are below half."""
    below = [layer for layer, one in layers.items() if one.value >= HALF]
    last = max(below, default=min(layers, default=0) - 1)
    later = [layer for layer in layers if layer > last]
    return min(later) if later else None


def _heads(results: AuditResults, models: Sequence[str]) -> Heads | None:
    """A head is replaceable if it surely is in every model, and needed if it surely is in each."""
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
    """Whether an id is of one head made uniform: replacement.places.3.2.uniform_survival."""
    parts = id.split(".")
    return parts[:2] == ["replacement", "places"] and parts[4:] == ["uniform_survival"]


def head_survival(results: AuditResults, models: Sequence[str]) -> pd.DataFrame:
    """Mean survival of decisions by layer and head: layer, head, value."""
    rows = []
    for id in [id for id in results.measures(models[0]) if _is_head(id)]:
        values = [v[0] for m in models if (v := results.number(m, id)) is not None]
        layer, head = id.split(".")[2:4]
        mean = sum(values) / len(values) if values else math.nan
        rows.append({"layer": int(layer), "head": head, "value": mean})
    return pd.DataFrame(rows, columns=["layer", "head", "value"])


def _drawn_anew(
    results: AuditResults, models: Sequence[str]
) -> dict[str, tuple[float, float, float]]:
    """Score → correlation with the score once every weight is drawn anew."""
    table = results.table("randomisation", models)
    if not len(table):
        return {}
    last = table[table["depth"] == table["depth"].max()]
    columns = ("importance", "correlation", "low", "high")
    return {
        str(name): (float(value), float(low), float(high))
        for name, value, low, high in zip(*(last[c] for c in columns), strict=True)
    }
