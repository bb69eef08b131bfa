"""The choice of strengths for tying and the masked LM; the paper has no such exhibit."""

from __future__ import annotations

from typing import Any

from verax.papers.exhibits import ExhibitList, Rows, entry
from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults
from verax.papers.tutek_snajder_2020.models import (
    ATTENTIONS,
    MAIN,
    MODELS,
    PERMUTED,
    SELECTION,
    TRAINED,
    corpora_in,
)
from verax.training.strength import select

_MEASURES = {"F1": (TRAINED, "f1"), "Δ F1, permuted": (PERMUTED, "delta_f1")}
"""Measure → row and column of `replacement`."""
EXHIBITS = ExhibitList()


@EXHIBITS.add(
    "selection",
    "F1 and what permuted attention takes of it, on validation, by strength of grounding",
    "One seed. `picked`: of those within a point of the base's F1 the most fragile. `used`: "
    "in tables 1 to 3 and 6, and in figures.",
)
def selection(results: PaperResults) -> Rows:
    """F1 and replacement on validation, by strength.

    picked  by the rule: of strengths within a point of the base's F1 the most fragile to permuted
            attention, the weakest of equals; the best F1 if none is within a point
    used    by the models of table 1
    """
    for corpus in corpora_in(results, SELECTION):
        for attention in ATTENTIONS:
            setting = {"corpus": corpus, "attention": attention}
            base = _scores(results, setting, "base")
            yield from _entries({**setting, "model": "base", "strength": 0.0}, base, False, False)
            for model in ("tying", "mlm"):
                by_strength = {
                    strength: _scores(results, setting, model, strength)
                    for strength in _strengths(results, SELECTION, setting, model)
                }
                picked, used = _picked(base, by_strength), _strengths(results, MAIN, setting, model)
                for strength, scores in by_strength.items():
                    labels = {**setting, "model": model, "strength": strength}
                    yield from _entries(labels, scores, strength == picked, strength in used)


Scores = dict[str, SeedMean | None]
"""Measure → number."""


def _scores(
    results: PaperResults, setting: dict[str, str], model: str, strength: float | None = None
) -> Scores:
    where: dict[str, Any] = {"part": SELECTION, **setting, **MODELS[model]}
    if strength is not None:
        where["strength"] = strength
    return {
        measure: results.find("replacement", row, column, **where)
        for measure, (row, column) in _MEASURES.items()
    }


def _strengths(
    results: PaperResults, part: Any, setting: dict[str, str], model: str
) -> list[float]:
    cells = results.select(part=part, **setting, **MODELS[model])
    return sorted({float(strength) for strength in cells["strength"]}) if len(cells) else []


def _picked(base: Scores, by_strength: dict[float, Scores]) -> float | None:
    """The strength that the rule picks; none if a number is missing."""
    f1 = base["F1"]
    scores = []
    for tried in by_strength.values():
        reached, lost = tried["F1"], tried["Δ F1, permuted"]
        if reached is None or lost is None:
            return None
        scores.append({"f1": reached.value / 100, "replacement": -lost.value / 100})
    if f1 is None or not scores:
        return None
    return list(by_strength)[select({"f1": f1.value / 100}, scores)[0]]


def _entries(
    labels: dict[str, Any], scores: Scores, picked: bool, used: bool
) -> list[dict[str, Any]]:
    marks = {"picked": "yes" if picked else "", "used": "yes" if used else ""}
    return [entry({**labels, **marks}, measure, number) for measure, number in scores.items()]
