"""Limits: from where on an exam speaks for a subject or against it, by version.

A version is a JSON file, `limits_files/VERSION.json` beside this module, that stays as it is once
it is published. One of your own has the same keys; what it leaves out is as in the version that it
names under `based_on`, or else in the newest:

    {"version": "ours-1", "limits": {"replacement": {"for_below": 75}}}

A limit is a number, or depends on how long texts are and how many classes there are (`lines`).
Limits that were measured come with the `calibration` that they were measured by. Those of other
kinds of models stand under `by_kind`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verax.errors import VeraxError, nearest
from verax.exams.judgement.calibrated import Calibration
from verax.exams.judgement.lines import Lines, Texts
from verax.models.kinds import KINDS
from verax.options import check_path
from verax.schema import SchemaError, parse_json, plain

if TYPE_CHECKING:
    from verax.exams.exam import Exam

BY_HAND = "2026-11"
"""The version that was set by hand, for what no calibration speaks of."""
_FOLDER = Path(__file__).parent / "limits_files"
NEWEST = max(path.stem for path in _FOLDER.glob("*.json"))
"""The version by which verdicts are judged, unless another is named."""

Limits = Mapping[str, float]
"""Limits of one exam, by name."""


_OF_A_MEASURE = ("for_above", "for_below", "against_above", "against_below")
"""Limits that are compared with a number itself."""
_KEYS = ("version", "provenance", "based_on", "limits", "calibration", "by_kind")


class ExamLimits(dict[str, float]):
    """Limits of one exam; one that it has not is an error that says where to declare it."""

    def __init__(self, exam: str, limits: Limits) -> None:
        super().__init__(limits)
        self.exam = exam

    def __missing__(self, name: str) -> float:
        raise VeraxError(
            f"exam {self.exam!r} has no limit {name!r}: declare it in its limits",
            code="limits.unknown-name",
        )


@dataclass(frozen=True)
class LimitSet:
    """The thresholds by which exams judge attention.

    version     the name of this set of thresholds
    provenance  where they come from
    limits      exam → name → threshold
    calibration the models on which thresholds were measured; None if they were set by hand
    by_kind     kind of model → thresholds measured on that kind, where it has its own
    """

    version: str
    provenance: str
    limits: Mapping[str, Mapping[str, float | Lines]] = field(repr=False)
    calibration: Calibration | None = field(default=None, repr=False)
    by_kind: Mapping[str, LimitSet] = field(default_factory=dict, repr=False)

    @cached_property
    def by_hand(self) -> LimitSet:
        """Limits for what was not calibrated: these where they are numbers, and else `BY_HAND`."""
        hand = {exam: dict(limits) for exam, limits in load_limits(BY_HAND).limits.items()}
        for exam, limits in self.limits.items():
            hand[exam] = {**hand.get(exam, {}), **_numbers(limits)}
        return LimitSet(BY_HAND, self.provenance, hand)

    def is_measured(self, exam: str) -> bool:
        """Whether an exam's limits were measured, and not set by hand."""
        return any(isinstance(limit, Lines) for limit in self.limits.get(exam, {}).values())

    def of(self, exam: str, defaults: Limits | None = None, texts: Texts | None = None) -> Limits:
        """Return the limits of an exam, as numbers within the ranges that it declares.

        A line over lengths and classes can leave the range of its number, such as random order at
        one end.

        Args:
            exam: its name.
            defaults: its own limits, where these have none for it.
            texts: what limits may depend on; that of the middle of a calibration, unless known.
        """
        from verax.exams.registry import EXAMS

        applied = texts or Texts()
        if self.calibration is not None:
            applied = self.calibration.within(applied)
        own = self.limits.get(exam, {}).items()
        numbers = {name: v.at(applied) if isinstance(v, Lines) else v for name, v in own}
        ranges = EXAMS[exam].limit_ranges if exam in EXAMS else {}
        for name, (least, most) in ranges.items():
            if name in numbers:
                numbers[name] = min(max(numbers[name], least), most)
        return ExamLimits(exam, {**(defaults or {}), **numbers})

    def completed(self, defaults: Mapping[str, Limits]) -> LimitSet:
        """These and, of exams that they have none for, the exams' own: exam → its limits."""
        by_exam: dict[str, Mapping[str, float | Lines]] = {
            exam: dict(limits) for exam, limits in defaults.items() if limits
        }
        return replace(self, limits={**by_exam, **self.limits})

    def to_json(self, whole: bool = False) -> dict[str, Any]:
        """As a file of limits has them.

        Args:
            whole: also what a published version has in its own file, the models of a calibration.
        """
        values: dict[str, Any] = {
            "version": self.version,
            "provenance": self.provenance,
            "limits": {
                exam: {n: v.to_json() if isinstance(v, Lines) else v for n, v in limits.items()}
                for exam, limits in self.limits.items()
            },
        }
        if whole or self.version not in versions():
            if self.calibration is not None:
                values["calibration"] = self.calibration.to_json()
            if self.by_kind:
                parts = {kind: one.to_json(whole=True) for kind, one in self.by_kind.items()}
                names = ("limits", "calibration")
                values["by_kind"] = {
                    kind: {name: part[name] for name in names if name in part}
                    for kind, part in parts.items()
                }
        return values

    @classmethod
    def from_json(cls, values: Any, where: str) -> LimitSet:
        """Limits that are complete, from what a file or a manifest holds; strictly checked."""
        shape = 'expected {"version": "…", "limits": {"exam": {"name": 0.5}}}'
        if not isinstance(values, Mapping):
            raise VeraxError(f"{where} is no mapping: {shape}", code="limits.malformed")
        for key in values:
            if key not in _KEYS:
                raise VeraxError(
                    f"{where}: unknown key {str(key)!r}: {nearest(str(key), _KEYS)}",
                    code="limits.unknown-name",
                )
        if not isinstance(values.get("version"), str) or not values["version"].strip():
            raise VeraxError(f"{where} has no version: {shape}", code="limits.malformed")
        try:
            plain(dict(values), where)
        except SchemaError as error:
            raise VeraxError(f"{error}; {shape}", code="limits.malformed") from None
        if not isinstance(values.get("provenance", ""), str):
            raise VeraxError(
                f"{where}: provenance is {values['provenance']!r:.60}: expected text",
                code="limits.malformed",
            )
        if not isinstance(values.get("limits"), Mapping):
            raise VeraxError(f"{where} has no limits: {shape}", code="limits.malformed")
        version, provenance = values["version"], str(values.get("provenance", ""))
        limits, calibration = _named(values["limits"], where), None
        for exam, named in limits.items():
            _refuse_crossed(named, f"{where}: {exam}")
        by_kind: Mapping[str, LimitSet] = _by_kind(values, version, provenance, where)
        if "calibration" in values:
            calibration = Calibration.from_json(values["calibration"], where)
        elif where != version and version in versions():
            calibration, by_kind = _version(version).calibration, _version(version).by_kind
        return cls(version, provenance, limits, calibration, by_kind)


def _named(values: Mapping[str, Any], where: str) -> dict[str, dict[str, float | Lines]]:
    """Exam → name → limit, from what a file has."""
    limits = {}
    for exam, named in values.items():
        if not isinstance(named, Mapping):
            raise VeraxError(
                f"{where}: limits of {exam!r:.60} are {named!r:.60}: expected names, numbers",
                code="limits.malformed",
            )
        limits[str(exam)] = {
            str(name): _limit(limit, f"{where}: {exam}, {name}") for name, limit in named.items()
        }
    return limits


def _by_kind(
    values: Mapping[str, Any], version: str, provenance: str, where: str
) -> dict[str, LimitSet]:
    """Kind → limits measured on models of it, from what a file has."""
    found, parts = {}, values.get("by_kind", {})
    if not isinstance(parts, Mapping):
        raise VeraxError(
            f"{where}: by_kind is {parts!r:.60}: expected kinds, each with its limits",
            code="limits.malformed",
        )
    for kind, part in parts.items():
        if kind not in KINDS:
            raise VeraxError(
                f"{where}: unknown kind {str(kind)!r}: {nearest(str(kind), KINDS)}",
                code="limits.unknown-name",
            )
        if not isinstance(part, Mapping) or not isinstance(part.get("limits"), Mapping):
            raise VeraxError(
                f"{where}: {kind} has no limits: make them with verax calibrate",
                code="limits.malformed",
            )
        known = Calibration.from_json(part.get("calibration"), f"{where}: {kind}")
        found[str(kind)] = LimitSet(
            version, provenance, _named(part["limits"], f"{where}: {kind}"), known
        )
    return found


def versions() -> list[str]:
    """The versions there are, the newest last."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def load_limits(limits: str | Path | Mapping[str, Any] | LimitSet | None = None) -> LimitSet:
    """Load thresholds by version, from a file or from a mapping; by default the newest.

    >>> load_limits("2026-11").version
    '2026-11'
    """
    if isinstance(limits, LimitSet):
        return limits
    if limits is None:
        return _version(NEWEST)
    if isinstance(limits, Mapping):
        return _based(limits, "these limits")
    if str(limits) in versions():
        return _version(str(limits))
    path = Path(check_path("limits", limits))
    if not path.is_file():
        known = versions()
        raise VeraxError(
            f"no file {str(limits)!r}, and no version of that name: {nearest(str(limits), known)}",
            code="limits.unknown-version",
        )
    try:
        values = parse_json(path.read_bytes())
    except SchemaError as error:
        raise VeraxError(
            f"{path} is no valid file of limits: {error}", code="limits.malformed"
        ) from error
    except OSError as error:
        raise VeraxError(f"cannot read {path}: {error.strerror}", code="file.unreadable") from error
    return _based(values, str(path))


@cache
def _version(name: str) -> LimitSet:
    path = _FOLDER / f"{name}.json"
    return LimitSet.from_json(json.loads(path.read_text(encoding="utf-8")), name)


def _based(values: Any, where: str) -> LimitSet:
    """Limits of the user's over those of a version; names that no exam has are refused.

    Limits that come with a calibration are whole, and stand over those set by hand. Where a version
    judges an exam by a measured number and the user sets limits of another, the user's are taken.
    """
    custom = LimitSet.from_json(values, where)
    name = values.get("based_on", BY_HAND if custom.calibration is not None else NEWEST)
    if not isinstance(name, str) or name not in versions():
        raise VeraxError(
            f"{where}: based_on is {name!r:.60}: {nearest(str(name), versions())}",
            code="limits.unknown-version",
        )
    if custom.version in versions():
        raise VeraxError(
            f"{where}: version {custom.version!r} is one of Verax's: name yours otherwise",
            code="limits.malformed",
        )
    base, hand = _version(name), _version(BY_HAND).limits
    merged: dict[str, dict[str, float | Lines]] = {
        exam: dict(limits) for exam, limits in base.limits.items()
    }
    for exam, limits in custom.limits.items():
        known = base.limits.get(exam) or _exam(exam, where).limits
        ranges = _exam(exam, where).limit_ranges
        for limit in limits:
            if limit not in known and limit not in ranges:
                remedy = nearest(limit, known) if known else "it has none to set"
                raise VeraxError(
                    f"{where}: {exam} has no limit {limit!r}: {remedy}", code="limits.unknown-name"
                )
        _refuse_out_of_range(_numbers(limits), ranges, f"{where}: {exam}")
        measured = [limit for limit, v in merged.get(exam, {}).items() if isinstance(v, Lines)]
        of_another = measured and not set(measured) & set(limits)
        before = hand.get(exam, {}) if of_another else merged.get(exam, {})
        merged[exam] = {**before, **limits}
        _refuse_crossed(merged[exam], f"{where}: {exam}")
    provenance = custom.provenance or f"based on {name}"
    return LimitSet(custom.version, provenance, merged, custom.calibration, custom.by_kind)


def check_declared(exam: type[Exam]) -> None:
    """Raise an error where limits that an exam's class declares cannot be.

    Args:
        exam: the class, with its name, `limits`, `limit_ranges` and `summary_tables`.
    """
    where = f"exam {exam.name!r}"
    for name, limit in exam.limits.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise VeraxError(
                f"{where} has a limit {name!r}: name it with letters, digits and _",
                code="plugin.invalid",
            )
        _number(limit, f"{where}: limit {name}")
    every = [_version(version).limits.get(exam.name, {}) for version in versions()]
    known = {name: 0.0 for limits in [*every, exam.limits] for name in limits}
    for name, ends in exam.limit_ranges.items():
        if name not in known and exam.limits:
            remedy = nearest(name, known) if known else "it declares no limits"
            raise VeraxError(
                f"{where} has a range of the limit {name!r}: {remedy}", code="plugin.invalid"
            )
        if len(ends) != 2 or not ends[0] <= ends[1]:
            raise VeraxError(
                f"{where}: the range of {name} is {ends!r}: expected (least, most)",
                code="plugin.invalid",
            )
    _refuse_out_of_range(exam.limits, {**_ranges(exam), **exam.limit_ranges}, where)
    _refuse_crossed(exam.limits, where)


def _ranges(exam: type[Exam]) -> dict[str, tuple[float, float]]:
    """Limit → from where to where the measures go of which one way is better."""
    measures = [measure for table in exam.summary_tables for measure in table.measures]
    ranges = [measure.range for measure in measures if measure.better]
    if not ranges or any(table.has_variants for table in exam.summary_tables):
        return {}
    between = min(least for least, _ in ranges), max(most for _, most in ranges)
    return dict.fromkeys(_OF_A_MEASURE, between)


def _refuse_out_of_range(
    limits: Limits, ranges: Mapping[str, tuple[float, float]], where: str
) -> None:
    """An error for a limit that no number of the exam could be on either side of."""
    for name, limit in limits.items():
        least, most = ranges.get(name, (-math.inf, math.inf))
        if not least <= limit <= most:
            end = "on" if math.isinf(most) else f"to {most:.3g}"
            raise VeraxError(
                f"{where}, {name} is {limit:g}: expected from {least:g} {end}",
                code="limits.out-of-range",
            )


def _refuse_crossed(limits: Mapping[str, float | Lines], where: str) -> None:
    """An error for limits under which one number would be for and against at once.

    Limits that depend on texts are held against others at texts of the middle.
    """
    numbers = {n: v.at(Texts()) if isinstance(v, Lines) else v for n, v in limits.items()}
    for high, low in (("for_above", "against_below"), ("against_above", "for_below")):
        if high in numbers and low in numbers and numbers[high] < numbers[low]:
            raise VeraxError(
                f"{where}: {high} is {numbers[high]:g} and {low} {numbers[low]:g}: the first must "
                "not be below the second",
                code="limits.out-of-range",
            )


def _exam(name: str, where: str) -> type[Exam]:
    from verax.exams.registry import EXAMS

    if name not in EXAMS:
        raise VeraxError(
            f"{where}: unknown exam {name!r}: {nearest(name, EXAMS)}", code="limits.unknown-name"
        )
    return EXAMS[name]


def _numbers(limits: Mapping[str, float | Lines]) -> dict[str, float]:
    """Those limits that are numbers, whatever is read."""
    return {name: limit for name, limit in limits.items() if not isinstance(limit, Lines)}


def _limit(value: Any, where: str) -> float | Lines:
    return Lines.from_json(value, where) if isinstance(value, Mapping) else _number(value, where)


def _number(value: Any, where: str) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:  # NaN is not, nor a huge integer
        raise VeraxError(f"{where} is {value!r:.60}: expected a number", code="limits.malformed")
    return float(value)
