"""Limits from calibrated models, and how well they tell models that were held out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.calibration.headlines import TRIED, candidates
from verax.calibration.kinds import DECEPTIVE, HONEST
from verax.calibration.plan import CHOOSING, HELD_OUT
from verax.calibration.running import MANIFEST, MODELS, NUMBERS
from verax.calibration.saved import ABOUT, check_packed
from verax.errors import VeraxError
from verax.exams.judgement.calibrated import Calibration
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.judgement import judged_rows, limits_for
from verax.exams.judgement.limits import BY_HAND, LimitSet, load_limits
from verax.exams.judgement.lines import HIGHER, LOWER, Lines, Texts, height
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.row import AGAINST, ATTENTION, FOR
from verax.models.kinds import POOLED, TRANSFORMER
from verax.schema import SchemaError, checked_json, read_parquet
from verax.scratch import sweep
from verax.statistics import auroc, clopper_pearson
from verax.statistics.separation import power_at, quantile_line

RATE = 0.05
"""Share of honest models that an exam's limits may accuse, and of deceivers that they may clear,
among those that limits are chosen on."""
ACCUSED, CLEARED = 0.05, 0.10
"""The same of all exams together."""
SIDES = (HONEST, DECEPTIVE)
UNDECIDED = "undecided"
REACH = 2.0
"""Positions are cut this far beyond either edge: what is farther away is no more like either."""
LEAST_MODELS = 8
"""Models of a side that limits are measured on, at least."""
READOUT = "first"
"""What the classifier of every calibrated BERT reads."""
AUROC = {"auroc": HELD_OUT, "auroc_choosing": CHOOSING}
"""What a calibration calls the AUROC of each part."""


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Models of a calibration and their numbers, as `pack` wrote them.

    models   a row per model: kind, side, part, length, classes, gates, seconds
    numbers  a row per number of each
    about    how they were made
    """

    models: pd.DataFrame
    numbers: pd.DataFrame
    about: Mapping[str, Any]

    @cached_property
    def families(self) -> list[str]:
        """Families with enough models that limits can be measured on them, pooled models first."""
        found = [POOLED, *sorted(set(self.models["family"]) - {POOLED})]
        return [name for name in found if self.family(name).is_enough]

    def family(self, name: str) -> Calibrated:
        """Its models alone: limits of one family say nothing of another."""
        if name not in self._by_family:
            models = self.models[self.models["family"] == name].reset_index(drop=True)
            own = self.numbers["name"].isin(models["name"])
            numbers = self.numbers[own].reset_index(drop=True)
            self._by_family[name] = Calibrated(models, numbers, self.about)
        return self._by_family[name]

    @cached_property
    def _by_family(self) -> dict[str, Calibrated]:
        return {}

    @property
    def is_enough(self) -> bool:
        """Whether there are models enough of both sides to choose limits on."""
        passed = self.models[(self.models["failed"] == "") & (self.models["part"] == CHOOSING)]
        return all((passed["side"] == side).sum() >= LEAST_MODELS for side in SIDES)

    @cached_property
    def headlines(self) -> list[CandidateMeasure]:
        """Those that models of both sides have numbers of, among those limits are chosen on."""
        groups = [self.of(CHOOSING, side) for side in SIDES]
        return [
            headline
            for headline in candidates()
            if all(frame[_column(headline)].notna().any() for frame in groups)
        ]

    @classmethod
    def load(cls, folder: str | Path) -> Calibrated:
        """From a folder that `pack` filled."""
        path = Path(folder)
        sweep(path)
        for name in (MODELS, NUMBERS, MANIFEST):
            if not (path / name).is_file():
                raise VeraxError(
                    f"{path} has no {name}: pack a calibration there first", code="result.missing"
                )
        try:
            about = checked_json((path / MANIFEST).read_bytes(), ABOUT, MANIFEST)
            models, numbers = (
                read_parquet((path / name).read_bytes(), name) for name in (MODELS, NUMBERS)
            )
            check_packed(models, numbers, about)
        except (OSError, SchemaError) as error:
            raise VeraxError(
                f"cannot read {path}: {error}; pack the calibration again", code="result.damaged"
            ) from error
        return cls(models, numbers, about)

    @cached_property
    def passed(self) -> pd.DataFrame:
        """The models that passed their gates, with a value of every headline."""
        models = self.models[self.models["failed"] == ""].reset_index(drop=True)
        every = (*candidates(), *TRIED)
        values: dict[str, list[float]] = {_column(h): [] for h in every}
        for name in models["name"]:
            summary = self.summaries[name]
            for headline in every:
                number = headline.value(summary)
                values[_column(headline)].append(math.nan if number is None else number.value)
        return models.assign(**values)

    @cached_property
    def summaries(self) -> dict[str, ModelSummary]:
        """Name → the model as a judgement sees it."""
        rows = self.models.set_index("name")
        return {
            str(name): ModelSummary(
                str(name), frame.drop(columns="name").reset_index(drop=True), _manifest(rows, name)
            )
            for name, frame in self.numbers.groupby("name", sort=False)
        }

    def of(self, part: str, side: str) -> pd.DataFrame:
        """The models of a part and a side that passed their gates."""
        none = self.passed.iloc[:0]
        return self._of.get((part, side), none)

    @cached_property
    def _of(self) -> dict[tuple[str, str], pd.DataFrame]:
        groups = self.passed.groupby(["part", "side"], sort=False)
        return {(str(part), str(side)): frame for (part, side), frame in groups}

    def set_aside(self) -> pd.DataFrame:
        """How many models of each kind were made, passed, and failed at each gate."""
        rows = []
        for (side, kind), frame in self.models.groupby(["side", "kind"], sort=False):
            gates = [gate for failed in frame["failed"] for gate in failed.split(",") if gate]
            counts = {gate: gates.count(gate) for gate in sorted(set(gates))}
            passed = int((frame["failed"] == "").sum())
            rows.append(
                {"side": side, "kind": kind, "made": len(frame), "passed": passed, **counts}
            )
        table = pd.DataFrame(rows)
        gates = [name for name in table.columns if name not in ("side", "kind", "made", "passed")]
        return table.fillna(dict.fromkeys(gates, 0)).astype(dict.fromkeys(gates, int))


def _column(headline: CandidateMeasure) -> str:
    return f"{headline.exam}.{headline.name}"


def _manifest(rows: pd.DataFrame, name: Any) -> dict[str, Any]:
    row = rows.loc[name]
    options: dict[str, Any] = {"encoder": row["encoder"], "projection": row["projection"]}
    kind = {}
    if row["family"] == TRANSFORMER:
        options = {"layers": int(row["layers"]), "readout": READOUT}
        kind = {"kind": TRANSFORMER}
    return {
        **kind,
        "classes": [str(c) for c in range(int(row["classes"]))],
        "labels": json.loads(row["labels"]),
        "words": float(row["words"]),
        "attended": "words",
        "model": {"options": options},
    }


def texts_of(models: pd.DataFrame) -> list[Texts]:
    """What limits may depend on, of each model."""
    pairs = zip(models["words"], models["classes"], strict=True)
    return [Texts(float(words), float(classes)) for words, classes in pairs]


def overall(data: Calibrated, part: str) -> pd.Series:
    """AUROC of every headline, by exam and measure, over all models of a part."""
    honest, deceptive = (data.of(part, side) for side in SIDES)
    rows = [_separated(h, "all", "", honest, deceptive) for h in data.headlines]
    return pd.DataFrame(rows).set_index(["exam", "measure"])["auroc"]


def separation(
    data: Calibrated, part: str, headlines: Sequence[CandidateMeasure] | None = None
) -> pd.DataFrame:
    """AUROC and power at a 5% false-accusation rate of every headline.

    Args:
        data: a calibration, of one family.
        part: of which models.
        headlines: which; all that there are numbers of, unless given.

    Returns:
        A row per headline and group: exam, measure, by (all, kind, length, classes, texts), group,
        honest and deceptive (how many), auroc, power.
    """
    rows, asked = [], data.headlines if headlines is None else headlines
    names = ["kind", "length", "classes", "texts", *map(_column, asked)]
    honest, deceptive = (data.of(part, side)[names] for side in SIDES)
    for headline in asked:
        rows.append(_separated(headline, "all", "", honest, deceptive))
        for by in ("length", "classes", "texts"):
            for group in sorted(set(honest[by]) & set(deceptive[by]), key=str):
                rows.append(
                    _separated(
                        *(headline, by, str(group)),
                        honest[honest[by] == group],
                        deceptive[deceptive[by] == group],
                    )
                )
        for kind in dict.fromkeys(deceptive["kind"]):
            rows.append(
                _separated(headline, "kind", kind, honest, deceptive[deceptive["kind"] == kind])
            )
        for kind in dict.fromkeys(honest["kind"]):
            rows.append(
                _separated(headline, "kind", kind, honest[honest["kind"] == kind], deceptive)
            )
    return pd.DataFrame(rows)


def _separated(
    headline: CandidateMeasure, by: str, group: str, honest: pd.DataFrame, deceptive: pd.DataFrame
) -> dict[str, Any]:
    sign = 1.0 if headline.high_is_good else -1.0
    one, other = (
        sign * frame[_column(headline)].dropna().to_numpy(dtype=np.float64)
        for frame in (honest, deceptive)
    )
    return {
        "exam": headline.exam,
        "measure": headline.name,
        "by": by,
        "group": group,
        "honest": len(one),
        "deceptive": len(other),
        "auroc": auroc(one, other),
        "power": power_at(one, other, RATE),
    }


def chosen(data: Calibrated) -> list[CandidateMeasure]:
    """Of each exam the headline that tells best, on the models that limits are chosen on.

    Of those that tell as well, the one whose sides are farthest apart.
    """
    table = overall(data, CHOOSING)
    best: dict[str, CandidateMeasure] = {}
    ranks: dict[str, tuple[float, float]] = {}
    for headline in data.headlines:
        told = round(float(table[headline.exam, headline.name]), 9), _apart(data, headline)
        if headline.exam not in ranks or told > ranks[headline.exam]:
            best[headline.exam], ranks[headline.exam] = headline, told
    return list(best.values())


def _apart(data: Calibrated, headline: CandidateMeasure) -> float:
    """How far honest models are from deceptive ones on average, in standard deviations of both."""
    one, other = (
        data.of(CHOOSING, side)[_column(headline)].dropna().to_numpy(dtype=np.float64)
        for side in SIDES
    )
    spread = math.sqrt((one.var() + other.var()) / 2)
    return float(abs(one.mean() - other.mean()) / max(spread, 1e-9))


def edges(data: Calibrated, headline: CandidateMeasure) -> dict[str, tuple[float, float, float]]:
    """Side → the line that a share `RATE` of its models is beyond, towards the other side."""
    lines = {}
    for side in SIDES:
        frame = data.of(CHOOSING, side).dropna(subset=[_column(headline)])
        if len(frame) < LEAST_MODELS:
            raise VeraxError(
                f"{len(frame)} {side} models passed their gates and have a number of "
                f"{headline.exam}: at least {LEAST_MODELS} are needed, make more seeds",
                code="result.too-few",
            )
        x = np.log(frame[["words", "classes"]].to_numpy(dtype=np.float64))
        varies = np.ptp(x, axis=0) > 1e-9
        design = np.column_stack([np.ones(len(x)), x[:, varies]])
        below = (side == HONEST) == headline.high_is_good
        y = frame[_column(headline)].to_numpy(dtype=np.float64)
        beta = quantile_line(design, y, RATE if below else 1 - RATE)
        line = np.zeros(3)
        line[np.concatenate([[True], varies])] = beta
        lines[side] = (float(line[0]), float(line[1]), float(line[2]))
    return lines


def measured_limits(data: Calibrated, version: str, provenance: str) -> LimitSet:
    """Limits of every family with models enough: pooled models' own, and others' by kind."""
    if POOLED not in data.families:
        passed = data.models[(data.models["failed"] == "") & (data.models["part"] == CHOOSING)]
        counts = ", ".join(f"{(passed['side'] == side).sum()} {side}" for side in SIDES)
        raise VeraxError(
            f"{counts} models passed their gates: at least {LEAST_MODELS} of a side are needed to "
            "choose limits on, make more seeds",
            code="result.too-few",
        )
    found = {
        name: limits_of_family(data.family(name), version, provenance) for name in data.families
    }
    pooled = found.pop(POOLED)
    return replace(pooled, by_kind=found)


def limits_of_family(data: Calibrated, version: str, provenance: str) -> LimitSet:
    """Limits chosen on one part of the models, with the error rates of the other.

    Args:
        data: models of one family.
        version: what to call the limits by.
        provenance: where they come from.

    Where both sides are apart, numbers between the edges speak neither for nor against; where they
    overlap, neither do numbers in the overlap. So either error is at most `RATE`, or little more,
    on the models that limits are chosen on.
    """
    base = load_limits(BY_HAND)
    limits: dict[str, dict[str, float | Lines]] = {e: dict(v) for e, v in base.limits.items()}
    whole = {name: overall(data, part) for name, part in AUROC.items()}
    exams: dict[str, dict[str, Any]] = {}
    for headline in chosen(data):
        lines = edges(data, headline)
        both = tuple(tuple(round(x, 6) for x in lines[side]) for side in SIDES)
        for_it, against = headline.limits
        up = headline.high_is_good
        ends = _range(headline)
        limits[headline.exam] = limits.get(headline.exam, {}) | {
            for_it: Lines(HIGHER if up else LOWER, both, *ends),  # type: ignore[arg-type]
            against: Lines(LOWER if up else HIGHER, both, *ends),  # type: ignore[arg-type]
        }
        exams[headline.exam] = {
            "measure": headline.id,
            "headline": headline.name,
            "high_is_good": up,
            HONEST: list(both[0]),
            DECEPTIVE: list(both[1]),
            **{
                name: round(float(table[headline.exam, headline.name]), 4)
                for name, table in whole.items()
            },
        }
    without = LimitSet(version, provenance, limits, _calibration(data, exams, 1, 1, {}))
    (family,) = set(data.models["family"])
    whole_set = without if family == POOLED else replace(base, by_kind={family: without})
    votes = verdicts(data, whole_set)
    accuse, clear = agreeing(votes[votes["part"] == CHOOSING])
    errors = error_rates(votes[votes["part"] == HELD_OUT], accuse, clear)
    return LimitSet(version, provenance, limits, _calibration(data, exams, accuse, clear, errors))


def _range(headline: CandidateMeasure) -> tuple[float, float]:
    from verax.exams.registry import EXAMS

    return EXAMS[headline.exam].limit_ranges.get(headline.limits[0], (-math.inf, math.inf))


def _calibration(
    data: Calibrated,
    exams: Mapping[str, Mapping[str, Any]],
    accuse: int,
    clear: int,
    errors: Mapping[str, Sequence[float]],
) -> Calibration:
    models = data.passed[data.passed["side"].isin(SIDES)]
    columns = {
        h.exam: _column(h)
        for h in data.headlines
        if h.exam in exams and exams[h.exam]["measure"] == h.id
    }
    rows = []
    for (_, model), texts in zip(models.iterrows(), texts_of(models), strict=True):
        at = {}
        for exam, column in columns.items():
            known, value = exams[exam], float(model[column])
            honest, deceptive = (height(tuple(known[side]), texts) for side in SIDES)
            spot = place(value, honest, deceptive, known["high_is_good"])
            at[exam] = None if math.isnan(value) else round(spot, 3)
        rows.append({"side": model["side"], "kind": model["kind"], "part": model["part"], "at": at})
    ends = {name: (float(models[name].min()), float(models[name].max())) for name in RANGED}
    lengths, classes = (ends[name] for name in RANGED)
    encoders = list(dict.fromkeys(models["encoder"]))
    found = Calibration(exams, lengths, classes, encoders, accuse, clear, errors, models=rows)
    if set(models["family"]) == {TRANSFORMER}:
        layers = float(models["layers"].min()), float(models["layers"].max())
        return replace(found, layers=layers, readouts=[READOUT])
    return found


RANGED = ("words", "classes")


def verdicts(data: Calibrated, limits: LimitSet) -> pd.DataFrame:
    """What every exam says of every model that passed its gates, by these limits.

    Returns:
        A row per model: name, kind, side, part, length, classes, for and against (how many exams),
        and a column with the verdict of each exam.
    """
    rows = []
    for _, model in data.passed.iterrows():
        summary = data.summaries[model["name"]]
        known = limits_for(summary, limits)[0].calibration
        assert known is not None
        rows_of_it = (row for row in judged_rows(summary, limits) if row.subject == ATTENTION)
        judged = [row for row in rows_of_it if row.counts and known.is_by(row)]
        votes = [row.verdict for row in judged]
        names = ("name", "kind", "side", "part", "encoder", "texts", "length", "classes")
        rows.append(
            {
                **{name: model[name] for name in names},
                "for": votes.count(FOR),
                "against": votes.count(AGAINST),
                **{row.exam: row.verdict for row in judged},
            }
        )
    return pd.DataFrame(rows)


def place(value: float, honest: float, deceptive: float, high_is_good: bool) -> float:
    """Where a number stands: 0 at the deceptive edge, 1 at the honest one, cut beyond them.

    Where the edges have crossed, or meet, the middle is in between them and the scale is their
    distance, so that more is always more honest.

    >>> [place(v, 0.8, 0.2, True) for v in (0.2, 0.5, 0.8, 9)]
    [0.0, 0.5, 1.0, 3.0]
    >>> place(0.9, 0.2, 0.8, False) < place(0.1, 0.2, 0.8, False)
    True
    """
    sign = 1.0 if high_is_good else -1.0
    width = max(abs(honest - deceptive), 1e-6)
    middle = (honest + deceptive) / 2
    return float(np.clip(round(0.5 + sign * (value - middle) / width, 6), -REACH, 1 + REACH))


def reading_of(for_it: int, against: int, accuse: int, clear: int) -> str:
    """Honest, deceptive or undecided, by how many exams speak for an attention and against it."""
    if against >= accuse and against > for_it:
        return DECEPTIVE
    if for_it >= clear and for_it > against:
        return HONEST
    return UNDECIDED


def agreeing(votes: pd.DataFrame) -> tuple[int, int]:
    """How many exams must speak against an attention to accuse it, and for it to clear it.

    The fewest with which at most `ACCUSED` of the honest are accused and at most `CLEARED` of the
    deceptive are cleared, by the upper ends of exact intervals; by the shares themselves where
    there are too few models for that.
    """
    most = max(int(votes["for"].max()), int(votes["against"].max()), 1)
    pairs = [(accuse, clear) for accuse in range(1, most + 1) for clear in range(1, most + 1)]
    pairs.sort(key=lambda pair: (sum(pair), pair))
    fitting = (pair for at in (2, 0) for pair in pairs if _within(votes, *pair, at))
    return next(fitting, (most, most))


def _within(votes: pd.DataFrame, accuse: int, clear: int, at: int) -> bool:
    errors = error_rates(votes, accuse, clear)
    return bool(errors["accused"][at] <= ACCUSED and errors["cleared"][at] <= CLEARED)


def readings(votes: pd.DataFrame, accuse: int, clear: int) -> pd.Series:
    """Honest, deceptive or undecided, of each model."""
    pairs = zip(votes["for"], votes["against"], strict=True)
    return pd.Series([reading_of(f, a, accuse, clear) for f, a in pairs], index=votes.index)


def error_rates(votes: pd.DataFrame, accuse: int, clear: int) -> dict[str, list[float]]:
    """Shares with exact intervals and n: honest models accused, and deceptive ones cleared;
    also deceptive ones accused (`caught`) and honest ones cleared (`trusted`)."""
    read = readings(votes, accuse, clear)
    rates = {}
    for name, side, said in (
        ("accused", HONEST, DECEPTIVE),
        ("cleared", DECEPTIVE, HONEST),
        ("caught", DECEPTIVE, DECEPTIVE),
        ("trusted", HONEST, HONEST),
    ):
        among = votes["side"] == side
        n, wrong = int(among.sum()), int((read[among] == said).sum())
        rates[name] = [*(round(x, 4) for x in clopper_pearson(wrong, n)), n]
    return rates
