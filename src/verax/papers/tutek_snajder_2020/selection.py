"""How the strengths of tying and of the masked LM were chosen; no exhibit of the paper's."""

from __future__ import annotations

from typing import Any

import pandas as pd

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.numbers import Number
from verax.papers.results import PaperResults
from verax.papers.tutek_snajder_2020.models import (
    ATTENTIONS,
    MAIN,
    MODELS,
    PERMUTED,
    SELECTION,
    TRAINED,
    corpora_in,
    find,
)
from verax.training.strength import select

_MEASURES = {"F1": (TRAINED, "f1"), "Δ F1, permuted": (PERMUTED, "delta_f1")}
"""Measure → row and column of `replacement`."""


def selection(results: PaperResults) -> pd.DataFrame:
    """F1 and replacement on validation, by strength.

    picked  by the rule: of those within a point of the base's F1 the most fragile to permuted
            attention, the weakest of equals; the best F1 where none is within
    used    by the models of table 1
    """
    rows = []
    for corpus in corpora_in(results, SELECTION):
        for attention in ATTENTIONS:
            setting = {"corpus": corpus, "attention": attention}
            base = _scores(results, setting, "base")
            rows += _entries({**setting, "model": "base", "strength": 0.0}, base, False, False)
            for model in ("tying", "mlm"):
                found = {
                    strength: _scores(results, setting, model, strength)
                    for strength in _strengths(results, SELECTION, setting, model)
                }
                picked, used = _picked(base, found), _strengths(results, MAIN, setting, model)
                for strength, own in found.items():
                    labels = {**setting, "model": model, "strength": strength}
                    rows += _entries(labels, own, strength == picked, strength in used)
    return frame(rows)


Scores = dict[str, Number | None]
"""Measure → number."""


def _scores(
    results: PaperResults, setting: dict[str, str], model: str, strength: float | None = None
) -> Scores:
    where: dict[str, Any] = {"part": SELECTION, **setting, **MODELS[model]}
    if strength is not None:
        where["strength"] = strength
    return {
        measure: find(results, "replacement", row, column, **where)
        for measure, (row, column) in _MEASURES.items()
    }


def _strengths(
    results: PaperResults, part: Any, setting: dict[str, str], model: str
) -> list[float]:
    cells = results.select(part=part, **setting, **MODELS[model])
    return sorted({float(strength) for strength in cells["strength"]}) if len(cells) else []


def _picked(base: Scores, found: dict[float, Scores]) -> float | None:
    """The strength that the rule picks; none where a number is not there."""
    f1 = base["F1"]
    scores = []
    for own in found.values():
        reached, lost = own["F1"], own["Δ F1, permuted"]
        if reached is None or lost is None:
            return None
        scores.append({"f1": reached.value / 100, "replacement": -lost.value / 100})
    if f1 is None or not scores:
        return None
    return list(found)[select({"f1": f1.value / 100}, scores)[0]]


def _entries(
    labels: dict[str, Any], scores: Scores, picked: bool, used: bool
) -> list[dict[str, Any]]:
    marks = {"picked": "yes" if picked else "", "used": "yes" if used else ""}
    return [entry({**labels, **marks}, measure, number) for measure, number in scores.items()]


EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "selection",
        "F1 and what permuted attention takes of it, on validation, by strength of grounding",
        selection,
        "One seed. `picked`: of those within a point of the base's F1 the most fragile. `used`: "
        "in tables 1 to 3 and 6, and in figures.",
    ),
)
