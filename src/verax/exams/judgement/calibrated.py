"""What a calibration says of a model: which calibrated models have numbers like its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verax.errors import VeraxError
from verax.exams.judgement.lines import LINE, Line, Texts, height
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.row import AGAINST, FOR, OPEN, Judged
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
"""Calibrated models that a model is held against, at most."""
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
    clear      exams that must speak for it, with none against, to call it honest
    errors     share, interval and number: of honest models called deceptive (`accused`) and of
               deceptive ones called honest (`cleared`), among models held out
    blind      an exam whose AUROC is below it, on models that limits are chosen on, judges nothing
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
        known = self.exams.get(row.exam)
        if known is None or known["auroc_choosing"] >= self.blind:
            return row
        if row.verdict not in (FOR, AGAINST):
            return row
        reason = (
            "in calibration it hardly tells honest from deceptive models (AUROC "
            f"{known['auroc_choosing']:.2f}, where 0.5 is chance)"
        )
        return replace(row, verdict=OPEN, reason=reason)

    def read(self, model: ModelSummary, rows: Sequence[Judged]) -> CalibratedReading | None:
        """What these models say of a model; None where no exam that was calibrated was taken."""
        own = {row.exam: row for row in rows if row.counts and row.exam in self.exams}
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
        if self.errors and len(own) >= max(self.accuse, self.clear):
            sentences.append(self._agreeing(verdict))
        return CalibratedReading(verdict, sentences, self.unlike(model, at), honest, len(near))

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
        return [int(i) for i in order[:NEIGHBOURS] if math.isfinite(distances[i])]

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
            f"{accused[0]:.1%} of the honest were called deceptive (at most {accused[2]:.1%}), and "
            f"{cleared[0]:.1%} of the deceptive honest (at most {cleared[2]:.1%})."
        )

    def _number(self, exam: str, row: Judged, model: ModelSummary) -> float:
        """The number that was calibrated, where the row has it."""
        known = self.exams[exam]
        if known["measure"] == "single_token.share":
            from verax.exams.single_token.judging import share_of

            share = share_of(model)
            return math.nan if share is None else share.value
        return row.number.value if row.measure == known["measure"] else math.nan

    def _distances(self, at: Mapping[str, float]) -> NDArray[np.float64]:
        """(models,) mean distance of positions over shared exams; infinite where none is shared."""
        names = list(at)
        table = np.array(
            [[_float(model["at"].get(name)) for name in names] for model in self.models], float
        ).reshape(len(self.models), len(names))
        apart = np.abs(table - np.array([at[name] for name in names]))
        shared = ~np.isnan(apart)
        total = np.where(shared, apart, 0).sum(1)
        full = shared.all(1)
        return np.where(full, total / max(len(names), 1), math.inf)

    def to_json(self) -> dict[str, Any]:
        """As a file of limits has it."""
        names = ("exams", "models", "lengths", "classes", "encoders", "accuse", "clear", "errors")
        return {name: getattr(self, name) for name in (*names, "blind")}

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
        )


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
