"""A calibration: the models that limits were measured on, and which models it does not cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verax.errors import VeraxError
from verax.exams.judgement.lines import LINE, Texts
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.row import AGAINST, ATTENTION, FOR, OPEN, Judged
from verax.schema import (
    COUNT,
    SchemaError,
    flag,
    listed,
    mapping,
    number,
    record,
    text,
    unknown,
)

HONEST, DECEPTIVE = "honest", "deceptive"

_ENDS = listed(number(0), 2, 2)
SCHEMA = record(
    {
        "exams": mapping(
            record(
                {"measure": text, HONEST: LINE, DECEPTIVE: LINE, "high_is_good": flag},
                {"headline": text, "auroc": number(0, 1), "auroc_choosing": number(0, 1)},
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
class Calibration:
    """Models that limits were measured on.

    exams      exam → what it is judged by: `measure`, its id; `honest` and `deceptive`, its edges
               as lines; `auroc` on models held out, `auroc_choosing` on the others
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
        """Return whether an exam was calibrated, and separates the two kinds of model."""
        return exam in self.exams and self.exams[exam]["auroc_choosing"] >= self.blind

    def is_by(self, row: Judged) -> bool:
        """Return whether a row is judged by the number that was calibrated, of whatever score."""
        known = self.exams.get(row.exam)
        if known is None:
            return False
        measure = str(known["measure"])
        return measure in _MADE or row.measure == measure.replace(ATTENTION, row.subject)

    def within(self, texts: Texts) -> Texts:
        """Texts no longer and no shorter than calibrated, and as few or many classes."""
        ends = ((texts.length, self.lengths), (texts.classes, self.classes))
        cut = [None if v is None else min(max(v, low), high) for v, (low, high) in ends]
        return Texts(*cut)

    def doubted(self, row: Judged) -> Judged:
        """Return a row, left open if its exam did not separate the calibrated models.

        A subject that is surely worse than random order is contradicted all the same.
        """
        if not self.is_by(row) or self.tells(row.exam) or row.verdict not in (FOR, AGAINST):
            return row
        if row.below_random and row.verdict == AGAINST:
            return row
        reason = (
            "in calibration this exam did not separate the two kinds of model (AUROC "
            f"{self.exams[row.exam]['auroc_choosing']:.2f}; 0.5 is chance)"
        )
        return replace(row, verdict=OPEN, reason=reason)

    def unlike(self, model: ModelSummary) -> list[str]:
        """Return how a model differs from all that were calibrated, a sentence each."""
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
            "The limits were measured on models with planted evidence. Ordinary models of natural "
            "text are not covered yet."
        )
        return lines

    def to_json(self) -> dict[str, Any]:
        """As a file of limits has it."""
        names = ("exams", "lengths", "classes", "encoders", "accuse", "clear", "errors")
        more = {} if self.layers is None else {"layers": self.layers, "readouts": self.readouts}
        return {**{name: getattr(self, name) for name in (*names, "blind")}, **more}

    @classmethod
    def from_json(cls, values: Any, where: str) -> Calibration:
        """From what a file has."""
        try:
            SCHEMA(values, "calibration")
        except SchemaError as error:
            raise VeraxError(
                f"{where}: its calibration is not whole ({error}): make it with verax calibrate",
                code="limits.malformed",
            ) from error
        return cls(
            exams=dict(values["exams"]),
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


def _two(values: Sequence[Any]) -> tuple[float, float]:
    low, high = values
    return float(low), float(high)
