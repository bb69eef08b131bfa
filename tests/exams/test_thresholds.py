"""One limit applies to one number, whatever score it is of; and random order is never beaten by it.

Under every version of limits, for every exam that judges scores, for every score.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from made_up_summaries import Cell, cell, model_of
from support.internals import judged_rows
from support.internals import limit_versions as versions
from verax.exams import judge, load_limits
from verax.exams.authoring import ModelSummary
from verax.importance import DERIVED

ROOT = Path(__file__).parents[2]
SCORES = [*DERIVED, "attention@2.1", "mine"]
SIZES = [(words, classes) for words in (5, 10, 24, 60, 84, 300) for classes in (2, 3, 8)]


def tau(score: str, *number: float) -> list[Cell]:
    return [cell("agreement", "agreement", f"inputs:{score}:leave-one-out", "tau", *number)]


def gain(score: str, *number: float) -> list[Cell]:
    percent = [100 * x for x in number]
    place = ("deletion", "deletion", score)
    return [cell(*place, "gain", *percent, "percent"), cell(*place, "p", 0.001)]


def both_gains(score: str, *number: float) -> list[Cell]:
    percent = [100 * x for x in number]
    place = ("sufficiency", "sufficiency", score)
    return [
        made
        for name in ("comprehensiveness", "sufficiency")
        for made in (
            cell(*place, f"{name}_gain", *percent, "percent"),
            cell(*place, f"{name}_p", 0.001),
        )
    ]


MEASURES = {"agreement": tau, "deletion": gain, "sufficiency": both_gains}


def transformer(words: float, classes: int) -> dict[str, Any]:
    return {
        "kind": "transformer",
        "words": float(words),
        "classes": list(range(classes)),
        "importances": ["mine"],
        "model": {"options": {"layers": 2, "readout": "first"}},
    }


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize("exam", MEASURES)
def test_one_number_has_one_verdict_whatever_the_score(version: str, exam: str) -> None:
    limits = load_limits(version)
    for words, classes in SIZES:
        for value in np.linspace(-0.9, 0.9, 13):
            number = (value, value - 0.02, value + 0.02)
            cells = [made for score in SCORES for made in MEASURES[exam](score, *number)]
            rows = judged_rows(model_of(*cells, **transformer(words, classes)), limits)
            assert {row.subject for row in rows} == set(SCORES)
            said = {(row.verdict, row.reason, row.limits) for row in rows}
            assert len(said) == 1, (words, classes, value, said)


@pytest.mark.parametrize("version", versions())
def test_every_number_of_examined_models_has_one_limit(version: str) -> None:
    """Over every measure and score that is judged of the Transformers under results/audits."""
    limits = load_limits(version)
    for name in ("scratch", "guard", "smollm2"):
        summary = pd.read_parquet(ROOT / "results" / "audits" / name / "summary.parquet")
        model = str(summary["model"].iloc[0])
        numbers = summary[summary["model"] == model].drop(columns="model").reset_index(drop=True)
        rows = judged_rows(ModelSummary(model, numbers, transformer(20, 2)), limits)
        assert {row.subject for row in rows} > {"attention", "rollout", "chefer"}
        found: dict[tuple[str, str], set[str]] = {}
        for row in rows:
            measure = row.measure.replace(f":{row.subject}:", ":*:").replace(
                f".{row.subject}.", ".*."
            )
            found.setdefault((row.exam, measure), set()).add(row.limits)
        assert all(len(texts) == 1 for texts in found.values()), found
        assert {exam for exam, measure in found if "*" in measure} >= {"agreement", "deletion"}


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize(("exam", "kind"), [*product(MEASURES, ("pooled", "transformer"))])
def test_below_random_order_is_contradicted_and_never_supported(
    version: str, exam: str, kind: str
) -> None:
    limits = load_limits(version)
    scores = SCORES if kind == "transformer" or exam != "agreement" else ["attention"]
    for words, classes in SIZES:
        about = transformer(words, classes)
        if kind == "pooled":
            del about["kind"]
        for low, high in ((-0.45, -0.22), (-0.02, -0.001), (-0.3, 0.02), (-0.02, 0.0)):
            number = ((low + high) / 2, low, high)
            cells = [made for score in scores for made in MEASURES[exam](score, *number)]
            for row in judged_rows(model_of(*cells, **about), limits):
                assert row.verdict != "for", (words, classes, row)
                if high < 0:
                    assert row.verdict == "against", (words, classes, row)


@pytest.mark.parametrize("kind", ["pooled", "transformer"])
def test_below_random_order_is_contradicted_by_exams_that_tell_no_models_apart(kind: str) -> None:
    """A calibration may find that an exam separates nothing; what it shows is still worse."""
    blind = deepcopy(load_limits(versions()[-1]).to_json(whole=True))
    for part in (blind, *blind["by_kind"].values()):
        for exam in part["calibration"]["exams"].values():
            exam["auroc_choosing"] = 0.5
    limits = load_limits({**blind, "version": "blind"})
    about = transformer(20, 2)
    if kind == "pooled":
        del about["kind"]
        about["model"] = {"options": {"encoder": "bilstm", "projection": "softmax"}}
    erasure = ("erasure", "erasure.excess", "attention")
    below = [
        *(made for numbers in MEASURES.values() for made in numbers("attention", -0.3, -0.4, -0.2)),
        cell(*erasure, "optimal_in_part", 90.0, 85.0, 95.0, "percent"),
        cell(*erasure, "beyond_random", -4.0, -7.0, -1.0, "points"),
        cell("erasure", "erasure.fraction", "attention", "mean", 0.2, 0.2, 0.2),
    ]
    above = [
        made for numbers in MEASURES.values() for made in numbers("attention", 0.9, 0.88, 0.92)
    ]
    said = {row.exam: row.verdict for row in judged_rows(model_of(*below, **about), limits)}
    assert said == dict.fromkeys((*MEASURES, "erasure"), "against")
    for row in judged_rows(model_of(*above, **about), limits):
        assert (row.verdict, "did not separate" in row.reason) == ("open", True)


@pytest.mark.parametrize("version", versions())
def test_a_gain_far_below_random_order_is_no_open_question(version: str) -> None:
    cells = [made for score in DERIVED for made in gain(score, -0.337, -0.45, -0.22)]
    judgement = judge(model_of(*cells, **transformer(20, 2)), version)
    assert set(judgement.subjects.values()) == {"against"}
    assert "inconclusive" not in judgement.headline


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5])
def test_erasing_that_is_surely_worse_than_random_order_contradicts(
    version: str, fraction: float
) -> None:
    """Whatever the number is that a version judges erasure by."""
    place = ("erasure", "erasure.excess", "attention")
    cells = [
        cell(*place, "optimal_in_part", 90.0, 85.0, 95.0, "percent"),
        cell(*place, "beyond_random", -4.0, -7.0, -1.0, "points"),
        cell("erasure", "erasure.fraction", "attention", "mean", fraction, fraction, fraction),
    ]
    options = {"model": {"options": {"projection": "softmax"}}, "words": 24.0}
    (row,) = judge(model_of(*cells, **options), load_limits(version)).rows
    assert row.verdict == "against"
