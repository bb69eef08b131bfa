"""The judgement: what every exam says of what is judged, under which limits, and the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from verax.errors import VeraxError, nearest
from verax.exams.judgement.headline import (
    LEAST_DOCUMENTS,
    accuracy,
    caveats,
    examined_by,
    headline,
    short,
    unlearned,
    why_withheld,
)
from verax.exams.judgement.limits import LimitSet, load_limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import with_interval
from verax.exams.judgement.row import AGAINST, FOR, NOT_APPLICABLE, OPEN, WITHHELD, Judged
from verax.exams.judgement.subjects import are_several, subjects_of, verdict_on
from verax.exams.registry import EXAMS, STAGES
from verax.exams.titles import exam_title
from verax.models.kinds import POOLED
from verax.results import InNotebook

COLUMNS = [
    *("exam", "measure", "subject", "verdict", "value", "low", "high", "n", "unit", "over"),
    *("limits", "reason", "sentence"),
]
SET_BY_HAND = "(set by hand)"
SIGNS = {FOR: "✓", AGAINST: "✗", OPEN: "?", WITHHELD: "·", NOT_APPLICABLE: "·"}


@dataclass(frozen=True, eq=False)
class Judgement(InNotebook):
    """The judgement of an attention.

    rows       one for each exam, measure and subject that was judged, or could not be
    limits     the limits that were applied, with their version
    caveats    what the numbers do not say
    accuracy   how many of the decisions are right, where labels are known
    unlearned  why the model may have learnt nothing; empty where it has learnt something
    missing    exams that were taken and are not installed here, so that they cannot judge
    reading    what was read: words that the model does not know, or that there are no labels
    withheld   why there is no verdict; empty where there is one

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = verax.train(corpus, encoder="none", epochs=1)
    >>> judgement = verax.examine(model, corpus, "replacement", limits="2026-11").judgement
    >>> [(row.exam, row.measure) for row in judgement.rows]
    [('replacement', 'replacement.uniform.survival')]
    """

    rows: Sequence[Judged]
    limits: LimitSet
    caveats: Sequence[str]
    accuracy: Number | None = None
    unlearned: str = ""
    missing: Sequence[str] = ()
    reading: Sequence[str] = ()
    withheld: str = ""

    @property
    def subjects(self) -> dict[str, str]:
        """What is judged → for, against, mixed, open or withheld, by all exams together."""
        return {name: verdict_on(name, self.rows) for name in subjects_of(self.rows)}

    @property
    def headline(self) -> str:
        """Whether this attention can be trusted, or which scores may be shown, in one sentence.

        Where the verdict is withheld, the sentence says why.
        """
        return headline(self.rows, self.withheld)

    @property
    def short(self) -> str:
        """How many exams support it, contradict it, and are inconclusive."""
        return short(self.rows)

    @property
    def judged(self) -> list[Judged]:
        """The rows of exams that judge the subject."""
        return [row for row in self.rows if row.counts]

    def speaks(self, verdict: str) -> list[str]:
        """The exams with a verdict.

        Args:
            verdict: "for", "against", "open", "withheld" or "not applicable".
        """
        if verdict not in SIGNS:
            raise VeraxError(
                f"no verdict {verdict!r}: {nearest(str(verdict), SIGNS)}",
                code="option.unknown-value",
            )
        return list(dict.fromkeys(row.exam for row in self.rows if row.verdict == verdict))

    def frame(self) -> pd.DataFrame:
        """The rows as a table: exam, measure, subject, verdict, value, low, high, n, …"""
        rows = [_plain(row) for row in self.rows]
        return pd.DataFrame(rows, columns=COLUMNS)

    def to_json(self) -> dict[str, Any]:
        """All of it for machines; a number that is not there is null."""
        scores = {"subjects": self.subjects} if are_several(self.rows) else {}
        return {
            "headline": self.headline,
            **scores,
            "counts": {verdict: len(self.speaks(verdict)) for verdict in (FOR, AGAINST, OPEN)},
            "withheld": self.withheld or None,
            "learnt": not self.unlearned,
            "accuracy": None if self.accuracy is None else _numbers(self.accuracy),
            "limits": replace(self.limits, calibration=None, by_kind={}).to_json(),
            "rows": [{k: _json(v) for k, v in _plain(row).items()} for row in self.rows],
            "caveats": list(self.caveats),
        }

    def lines(self) -> list[str]:
        """The judgement in a few lines, the answer last; by score where there are several."""
        rows, names = self.judged, [exam_title(row.exam) for row in self.judged]
        if are_several(rows):
            order = subjects_of(rows)
            rows = sorted(rows, key=lambda row: order.index(row.subject))
            wide = max(map(len, order))
            names = [f"{row.subject:<{wide}}  {exam_title(row.exam)}" for row in rows]
        width = max(map(len, names), default=0)
        lines = [
            f"{SIGNS[row.verdict]} {name:<{width}}  {_word(row)}{with_interval(row.number)}: "
            f"{row.label}{f' [{row.reason}]' if row.reason else ''}"
            for name, row in zip(names, rows, strict=True)
        ]
        aside = [exam_title(row.exam) for row in self.rows if not row.counts]
        aside += [f"{exam} (not installed here)" for exam in self.missing]
        if aside:
            lines.append(f"· not applicable: {', '.join(aside)}")
        right = f"accuracy {with_interval(self.accuracy)}; " if self.accuracy is not None else ""
        read = "".join(f"{part}; " for part in self.reading)
        lines.append(f"· {right}{read}limits {self.limits.version}{self._by_hand()}")
        return [*lines, self.headline]

    def _by_hand(self) -> str:
        """Return which exams are judged by limits that were not measured."""
        rows = [row for row in self.judged if row.limits]
        hand = dict.fromkeys(row.exam for row in rows if row.limits.endswith(SET_BY_HAND))
        measured = any(map(self.limits.is_measured, self.limits.limits))
        if not measured or (rows and len(hand) == len({row.exam for row in rows})):
            return f" {SET_BY_HAND}"
        return f"; set by hand: {', '.join(hand)}" if hand else ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"Judgement({self.short}; limits {self.limits.version})"


def judge(
    model: ModelSummary, limits: str | Path | Mapping[str, Any] | LimitSet | None = None
) -> Judgement:
    """Return the judgement of a model's attention by every exam that was run, judging exams first.

    Args:
        model: every number of the summary, with what was examined.
        limits: a version, a file or a mapping; those that the model's manifest names, unless
            given, or else the newest.

    No exam supports an attention that is uniform by construction: it points at nothing. Of fewer
    than `LEAST_DOCUMENTS` documents, and of a model that may have learnt nothing, the verdict is
    withheld: every row keeps its number, and its verdict is `withheld`.
    """
    if limits is None and "limits" in model.manifest:
        limits = LimitSet.from_json(model.manifest["limits"], "the manifest")
    applied = load_limits(limits)
    rows = judged_rows(model, applied)
    withheld = why_withheld(model, rows)
    if withheld:
        rows = [replace(r, verdict=WITHHELD, reason="") if r.counts else r for r in rows]
    else:
        rows = [_of_enough(row, model) for row in rows]
    used, why = limits_for(model, applied)
    missing = [name for name in model.exams if name not in EXAMS and name not in STAGES]
    notes = [
        f"Exam {name!r} is not installed here: its judgement is left out; install the package that "
        "registers it."
        for name in missing
    ]
    if why:
        notes.append(
            f"Unlike all calibrated models: {'; '.join(why)}. It is judged by limits set by hand."
        )
    if used.calibration is not None:
        notes += used.calibration.unlike(model)
    read = _reading(model.manifest)
    return Judgement(
        *(rows, applied, [*notes, *caveats(model)], accuracy(model), unlearned(model)),
        *(missing, read, withheld),
    )


def judged_rows(model: ModelSummary, limits: LimitSet) -> list[Judged]:
    """Return what every exam says, however few documents there are, judging exams first.

    One limit applies to one number, whatever score it is of.

    Args:
        model: every number of the summary, with what was examined.
        limits: of all exams.
    """
    used, why = limits_for(model, limits)
    rows: list[Judged] = []
    for name in model.exams:
        exam = EXAMS.get(name)  # trained adversaries have numbers and are no exam
        if exam is not None:
            rows += exam.judge(model, used.of(name, exam.limits, model.texts)) or ()
    order = list(EXAMS)
    rows.sort(key=lambda row: (not row.counts, order.index(row.exam)))
    if model.is_uniform:
        rows = [replace(row, verdict=OPEN) if row.verdict == FOR else row for row in rows]
    known = used.calibration
    if known is not None:
        rows = [_marked(known.doubted(row), known.is_by(row)) for row in rows]
    elif why or any(map(used.is_measured, used.limits)):
        rows = [_marked(row, not why and used.is_measured(row.exam)) for row in rows]
    return rows


def _of_enough(row: Judged, model: ModelSummary) -> Judged:
    """Return a row, left open where there was no time for its exam to see enough documents."""
    seen = examined_by(row.exam, model)
    if seen is None or seen >= LEAST_DOCUMENTS or row.verdict not in (FOR, AGAINST):
        return row
    return replace(row, verdict=OPEN, reason=f"{seen:,} documents, {LEAST_DOCUMENTS} needed")


def limits_for(model: ModelSummary, limits: LimitSet) -> tuple[LimitSet, list[str]]:
    """The limits that a model is judged by, and why these are not measured ones, if others are.

    Args:
        model: of any kind.
        limits: of all kinds.
    """
    measured = any(map(limits.is_measured, limits.limits)) or bool(limits.by_kind)
    if model.kind == POOLED or not measured:
        return limits, []
    own = limits.by_kind.get(model.kind)
    if own is None or own.calibration is None:
        return limits.by_hand, [f"of kind {model.kind!r} none was"]
    why = own.calibration.uncovered(model)
    return (limits.by_hand, why) if why else (own, [])


def _word(row: Judged) -> str:
    """Return the verdict of a row as a column of the terminal; nothing where it is withheld."""
    return "" if row.verdict == WITHHELD else f"{row.verdict:<8} "


def _marked(row: Judged, measured: bool) -> Judged:
    """A row whose limits say that they were set by hand, where they were."""
    if measured or not row.limits or row.limits.endswith(SET_BY_HAND):
        return row
    return replace(row, limits=f"{row.limits} {SET_BY_HAND}")


def _reading(manifest: Mapping[str, Any]) -> list[str]:
    parts = ["accuracy not known without labels"] if "without_labels" in manifest else []
    share = manifest.get("unknown_words")
    if late := [name for name in manifest.get("out_of_time") or {} if name != "gallery"]:
        parts.append(f"not all documents in {manifest['max_seconds']:g} s ({', '.join(late)})")
    return [*parts, f"{share:.1%} of the words unknown to the model"] if share else parts


def _plain(row: Judged) -> dict[str, Any]:
    return {
        "exam": row.exam,
        "measure": row.measure,
        "subject": row.subject,
        "verdict": row.verdict,
        **_numbers(row.number),
        "limits": row.limits,
        "reason": row.reason,
        "sentence": row.sentence,
    }


def _numbers(number: Number) -> dict[str, Any]:
    names = ("value", "low", "high", "n", "unit", "over")
    return {name: _json(getattr(number, name)) for name in names}


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
