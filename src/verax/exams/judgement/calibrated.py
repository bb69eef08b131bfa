"""What a calibration says of a model: which calibrated models have numbers like its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verax.errors import VeraxError
from verax.exams.judgement.lines import LINE, Line, Texts, height
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.row import AGAINST, ATTENTION, FOR, OPEN, Judged
from verax.schema import (
    COUNT,
    SchemaError,
    choice,
    flag,
    listed,
    mapping,
    maybe,
    number,
    record,
    text,
    unknown,
)

HONEST, DECEPTIVE, UNDECIDED = "honest", "deceptive", "undecided"
NEIGHBOURS = 50
"""Calibrated models that a model is held against, at most; and at most half of the smaller side."""
MOST_ERRORS = 1 / 3
"""Upper end of an error rate, with which all exams together still say honest or deceptive."""
REACH = 2.0
"""Positions are cut this far beyond either edge: what is farther away is no more like either."""


_ENDS = listed(number(0), 2, 2)
SCHEMA = record(
    {
        "exams": mapping(
            record(
                {"measure": text, HONEST: LINE, DECEPTIVE: LINE, "high_is_good": flag},
                {"headline": text, "auroc": number(0, 1), "auroc_choosing": number(0, 1)},
            )
        ),
        "models": listed(
            record(
                {"side": choice((HONEST, DECEPTIVE)), "at": mapping(maybe(number()))},
                {"kind": text, "part": text},
            )
        ),
        "lengths": _ENDS,
        "classes": _ENDS,
        "encoders": listed(text),
        "accuse": COUNT,
        "clear": COUNT,
        "errors": mapping(listed(number(0), 4, 4)),
        "blind": number(0, 1),
    },
    {"layers": _ENDS, "readouts": listed(text)},
    others=unknown,
)
"""The schema of a calibration in a file of limits."""


@dataclass(frozen=True)
class CalibratedReading:
    """What a calibration says of one model.

    verdict   honest, deceptive or undecided, by how many exams agree
    sentences what to say of that and of models with numbers like these
    unlike    how the model is unlike all that were calibrated, a sentence each
    honest    of the `neighbours` with numbers most like these
    """

    verdict: str
    sentences: Sequence[str]
    unlike: Sequence[str]
    honest: int
    neighbours: int

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "verdict": self.verdict,
            "honest": self.honest,
            "neighbours": self.neighbours,
            "unlike": list(self.unlike),
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True)
class Calibration:
    """Models that limits were measured on.

    exams      exam → what it is judged by: `measure`, its id; `honest` and `deceptive`, its edges
               as lines; `auroc` on models held out, `auroc_choosing` on the others
    models     of each: side, kind, and its position in each exam, None where it has none
    lengths    least and most words a document
    classes    fewest and most classes
    encoders   encoders that were calibrated
    accuse     exams that must speak against an attention to call it deceptive
    clear      exams that must speak for it, and more than against it, to call it honest
    errors     share, interval and number: of honest models called deceptive (`accused`) and of
               deceptive ones called honest (`cleared`), among models held out
    blind      an exam whose AUROC is below it, on models that limits are chosen on, judges nothing
    layers     fewest and most layers, of Transformers
    readouts   which positions their classifiers read
    """

    exams: Mapping[str, Mapping[str, Any]]
    models: Sequence[Mapping[str, Any]] = field(repr=False)
    lengths: tuple[float, float]
    classes: tuple[float, float]
    encoders: Sequence[str]
    accuse: int
    clear: int
    errors: Mapping[str, Sequence[float]]
    blind: float = 0.75
    layers: tuple[float, float] | None = None
    readouts: Sequence[str] = ()

    def uncovered(self, model: ModelSummary) -> list[str]:
        """Why limits measured on Transformers are not taken for a model; empty where they are.

        A pooled model is always judged by measured limits, of the nearest texts that there are.
        """
        if self.layers is None:
            return []
        options = (model.manifest.get("model") or {}).get("options") or {}
        lines = []
        if options.get("readout") not in self.readouts:
            lines.append(
                f"its classifier reads {_readout(options.get('readout'))}, and calibrated were "
                f"those that read {' or '.join(map(_readout, self.readouts))}"
            )
        for value, (low, high), what in (
            (options.get("layers"), self.layers, "layers"),
            (model.texts.length, self.lengths, "words a document"),
        ):
            if value is None:
                lines.append(f"how many {what} there are is not known")
            elif not low <= value <= high:
                lines.append(f"{value:.3g} {what}, and calibrated were {low:.3g} to {high:.3g}")
        return lines

    def tells(self, exam: str) -> bool:
        """Whether an exam was calibrated, and tells honest from deceptive models."""
        return exam in self.exams and self.exams[exam]["auroc_choosing"] >= self.blind

    def is_by(self, row: Judged) -> bool:
        """Whether a row is judged by the number that was calibrated."""
        known = self.exams.get(row.exam)
        if known is None or row.subject != ATTENTION:
            return False
        return known["measure"] in _MADE or row.measure == known["measure"]

    def within(self, texts: Texts) -> Texts:
        """Texts no longer and no shorter than calibrated, and as few or many classes."""
        ends = ((texts.length, self.lengths), (texts.classes, self.classes))
        cut = [None if v is None else min(max(v, low), high) for v, (low, high) in ends]
        return Texts(*cut)

    def position(self, exam: str, value: float, texts: Texts) -> float:
        """Where a number stands between the edges: 0 at the deceptive one, 1 at the honest one."""
        known, at = self.exams[exam], self.within(texts)
        honest, deceptive = (height(_line(known[side]), at) for side in (HONEST, DECEPTIVE))
        return place(value, honest, deceptive, bool(known["high_is_good"]))

    def doubted(self, row: Judged) -> Judged:
        """A row, left open if its exam could not tell honest models from deceptive ones."""
        if not self.is_by(row) or self.tells(row.exam) or row.verdict not in (FOR, AGAINST):
            return row
        reason = (
            "in calibration it does not tell honest from deceptive models (AUROC "
            f"{self.exams[row.exam]['auroc_choosing']:.2f}, where 0.5 is chance)"
        )
        return replace(row, verdict=OPEN, reason=reason)

    def read(self, model: ModelSummary, rows: Sequence[Judged]) -> CalibratedReading | None:
        """What these models say of a model's attention; None where no calibrated exam was taken.

        Scores derived from attention have no part in it: no model was built so that one of them
        lies.
        """
        own = {row.exam: row for row in rows if row.counts and self.is_by(row)}
        own = {exam: row for exam, row in own.items() if self.tells(exam)}
        numbers = {exam: self._number(exam, row, model) for exam, row in own.items()}
        found = {exam: value for exam, value in numbers.items() if not math.isnan(value)}
        if not found:
            return None
        at = {exam: self.position(exam, value, model.texts) for exam, value in found.items()}
        near = self.nearest(at)
        honest = sum(self.models[i]["side"] == HONEST for i in near)
        votes = [row.verdict for row in own.values()]
        verdict = reading_of(votes.count(FOR), votes.count(AGAINST), self.accuse, self.clear)
        exams = f"{len(at)} exam{'s' if len(at) > 1 else ''}"
        sentences = [
            f"Of the {len(near)} calibrated models with numbers most like these in {exams}, "
            f"{honest} were honest and {len(near) - honest} deceived."
        ]
        if not self.is_enough:
            verdict = UNDECIDED
            sentences.append(
                "Too few models were held out, or too many were called wrongly, to say by how many "
                "exams agree whether it is honest or deceptive."
            )
        elif len(own) >= max(self.accuse, self.clear):
            sentences.append(self._agreeing(verdict))
        return CalibratedReading(verdict, sentences, self.unlike(model, at), honest, len(near))

    @property
    def is_enough(self) -> bool:
        """Whether models held out are enough, and told well enough, for a combined reading."""
        ends = [self.errors[name][2] for name in ("accused", "cleared") if name in self.errors]
        return len(ends) == 2 and all(end <= MOST_ERRORS for end in ends)

    def nearest(
        self, at: Mapping[str, float], leave_out: NDArray[np.bool_] | None = None
    ) -> list[int]:
        """Places of the calibrated models whose positions are nearest.

        Args:
            at: exam → position of the model.
            leave_out: (models,) which calibrated models not to look at.
        """
        distances = self._distances(at)
        if leave_out is not None:
            distances[leave_out] = math.inf
        order = np.argsort(distances, kind="stable")
        sides = [model["side"] for model in self.models]
        smaller = min(sides.count(side) for side in (HONEST, DECEPTIVE))
        most = min(NEIGHBOURS, max(1, smaller // 2))
        return [int(i) for i in order[:most] if math.isfinite(distances[i])]

    def unlike(self, model: ModelSummary, at: Mapping[str, float]) -> list[str]:
        """How a model is unlike all that were calibrated."""
        lines, texts = [], model.texts
        for value, (low, high), what in (
            (texts.length, self.lengths, "words a document"),
            (texts.classes, self.classes, "classes"),
        ):
            if value is None:
                lines.append(f"How many {what} there are is not known: limits may not fit.")
            elif not low <= value <= high:
                lines.append(
                    f"Unlike all calibrated models: {value:g} {what}, and calibrated were {low:g} "
                    f"to {high:g}."
                )
        options = (model.manifest.get("model") or {}).get("options") or {}
        encoder = options.get("encoder")
        if encoder is not None and encoder not in self.encoders:
            lines.append(
                f"Unlike all calibrated models: encoder {encoder!r}, and calibrated were "
                f"{', '.join(self.encoders)}."
            )
        if model.item == "sentence":
            lines.append("Unlike all calibrated models: attention weighs sentences.")
        lines.append(
            "Calibrated models have evidence that was planted into texts: what decides a real text "
            "may be spread over more words."
        )
        return lines

    def _agreeing(self, verdict: str) -> str:
        accused, cleared = self.errors["accused"], self.errors["cleared"]
        return (
            f"By how many exams agree, it reads as {verdict}: of calibrated models held out, "
            f"{accused[0]:.1%} of {accused[3]:.0f} honest ones were called deceptive (at most "
            f"{accused[2]:.1%}), and {cleared[0]:.1%} of {cleared[3]:.0f} deceptive ones honest "
            f"(at most {cleared[2]:.1%})."
        )

    def _number(self, exam: str, row: Judged, model: ModelSummary) -> float:
        """The number that was calibrated, where the row has it."""
        from verax.exams.single_token.judging import share_of
        from verax.exams.sufficiency.judging import lesser_of

        made = {SHARE: share_of, LESSER: lesser_of}.get(self.exams[exam]["measure"])
        if made is None:
            return row.number.value
        number = made(model)
        return math.nan if number is None else number.value

    def _distances(self, at: Mapping[str, float]) -> NDArray[np.float64]:
        """(models,) mean distance of positions over shared exams; infinite where none is shared."""
        names = list(at)
        table = np.column_stack([self._positions[name] for name in names])
        apart = np.abs(table - np.array([at[name] for name in names]))
        shared = ~np.isnan(apart)
        total = np.where(shared, apart, 0).sum(1)
        full = shared.all(1)
        return np.where(full, total / max(len(names), 1), math.inf)

    @cached_property
    def _positions(self) -> dict[str, NDArray[np.float64]]:
        """Exam → (models,) position of each, NaN where it has none."""
        return {
            exam: np.array([_float(model["at"].get(exam)) for model in self.models], float)
            for exam in self.exams
        }

    def to_json(self) -> dict[str, Any]:
        """As a file of limits has it."""
        names = ("exams", "models", "lengths", "classes", "encoders", "accuse", "clear", "errors")
        more = {} if self.layers is None else {"layers": self.layers, "readouts": self.readouts}
        return {**{name: getattr(self, name) for name in (*names, "blind")}, **more}

    @classmethod
    def from_json(cls, values: Any, where: str) -> Calibration:
        """From what a file has."""
        try:
            SCHEMA(values, "calibration")
        except SchemaError as error:
            raise VeraxError(
                f"{where}: its calibration is not whole ({error}): make it with verax calibrate"
            ) from error
        return cls(
            exams=dict(values["exams"]),
            models=list(values["models"]),
            lengths=_two(values["lengths"]),
            classes=_two(values["classes"]),
            encoders=[str(name) for name in values["encoders"]],
            accuse=int(values["accuse"]),
            clear=int(values["clear"]),
            errors=dict(values["errors"]),
            blind=float(values["blind"]),
            layers=_two(values["layers"]) if "layers" in values else None,
            readouts=[str(name) for name in values.get("readouts", ())],
        )


SHARE, LESSER = "single_token.share", "sufficiency.attention.lesser_gain"
_MADE = (SHARE, LESSER)
"""Ids of numbers that are made of others, so that no row of a judgement has them."""


def _readout(name: Any) -> str:
    words = {"first": "the first position", "last": "the last one", "mean": "the mean of all"}
    return words.get(str(name), "what is not known")


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


def _line(values: Sequence[float]) -> Line:
    a, b, c = values
    return float(a), float(b), float(c)


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


def _two(values: Sequence[Any]) -> tuple[float, float]:
    low, high = values
    return float(low), float(high)
