"""The judgement of one model: each limit from both sides, and what is said where it is open."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf, nan
from pathlib import Path

import pytest

import verax
from made_up_summaries import (
    Cell,
    another,
    cell,
    judged,
    model_of,
    more_than_random,
    optimal,
    part_optimal,
    right,
    survives,
    tau,
    together,
    token_alone,
)
from verax.exams import judge
from verax.exams.authoring import NOT_APPLICABLE, OPEN
from verax.exams.judgement.row import ATTENTION
from verax.studies.summaries import model_summaries

ABOVE = more_than_random(20.0, 10.0, 30.0)
TRUE = part_optimal(90.0, 85.0, 95.0)
NONE = (nan, nan)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([part_optimal(90.0, 81.0, 95.0), ABOVE], "for"),
        ([part_optimal(90.0, 80.0, 95.0), ABOVE], "open"),
        ([part_optimal(90.0, 79.0, 95.0), ABOVE], "open"),
        ([part_optimal(90.0, 81.0, 95.0), more_than_random(2.0, -1.0, 5.0)], "open"),
        ([part_optimal(90.0, 81.0, 95.0), more_than_random(2.0, 0.0, 5.0)], "open"),
        ([part_optimal(90.0, 81.0, 95.0)], "open"),
        ([part_optimal(90.0, 81.0, 95.0), more_than_random(-4.0, -7.0, -1.0)], "against"),
        ([part_optimal(90.0, 81.0, 95.0), more_than_random(-4.0, -7.0, 0.0)], "open"),
        ([part_optimal(30.0, 20.0, 49.0), ABOVE], "against"),
        ([part_optimal(30.0, 20.0, 50.0), ABOVE], "open"),
        ([part_optimal(30.0, 20.0, 51.0), ABOVE], "open"),
        ([optimal(30.0, 20.0, 49.0)], "against"),
        ([optimal(30.0, 20.0, 50.0)], "open"),
        ([optimal(100.0, 99.0, 100.0)], "open"),
        ([tau(0.7, 0.61, 0.8)], "for"),
        ([tau(0.7, 0.6, 0.8)], "open"),
        ([tau(0.2, 0.1, 0.29)], "against"),
        ([tau(0.2, 0.1, 0.3)], "open"),
        ([tau(0.4, 0.31, 0.5)], "open"),
        ([survives(97.0, 95.5, 99.0)], "against"),
        ([survives(97.0, 95.0, 99.0)], "open"),
        ([survives(70.0, 60.0, 79.0)], "for"),
        ([survives(70.0, 60.0, 80.0)], "open"),
        ([survives(96.0, 94.0, 98.0)], "open"),
        (another((0.3, 0.21, 0.4)), "for"),
        (another((0.3, 0.2, 0.4)), "open"),
        (another((0.03, 0.01, 0.049)), "against"),
        (another((0.03, 0.01, 0.05)), "open"),
        (another((0.1, 0.04, 0.19)), "open"),
    ],
)
def test_an_exam_speaks_only_where_all_of_its_interval_is_beyond_a_limit(
    cells: list[Cell], expected: str
) -> None:
    assert judged(*cells).verdict == expected


@pytest.mark.parametrize(
    "cells",
    [
        [part_optimal(81.0, *NONE), ABOVE],
        [part_optimal(90.0, 85.0, 95.0), more_than_random(20.0, *NONE)],
        [part_optimal(10.0, *NONE), ABOVE],
        [optimal(10.0, *NONE)],
        [tau(0.9, *NONE)],
        [tau(0.1, *NONE)],
        [survives(99.0, *NONE)],
        [survives(10.0, *NONE)],
        [survives(99.0, 98.0, nan)],
        [survives(10.0, nan, 11.0)],
        [token_alone(0.9, *NONE), together(0.93, 0.91, 0.95)],
        [token_alone(0.51, *NONE), together(0.93, 0.91, 0.95)],
        [token_alone(0.9, 0.88, 0.92), together(0.93, *NONE)],
        another((0.3, *NONE)),
        another((0.01, *NONE)),
        another((0.3, 0.21, 0.4), kept=(97.0, *NONE)),
        another((0.3, 0.21, 0.4), confidence=(0.9, *NONE)),
    ],
)
def test_a_number_without_an_interval_speaks_neither_for_nor_against(cells: list[Cell]) -> None:
    assert judged(*cells).verdict == OPEN


@pytest.mark.parametrize(
    ("alone", "confidence", "expected"),
    [
        ((0.90, 0.88, 0.92), (0.93, 0.91, 0.95), "against"),  # less than 0.1 below 0.95
        ((0.90, 0.84, 0.96), (0.93, 0.91, 0.95), "open"),  # intervals that meet are not enough
        ((0.90, 0.95 - 0.1, 0.96), (0.93, 0.91, 0.95), "open"),
        ((0.55, 0.53, 0.59), (0.93, 0.91, 0.95), "for"),
        ((0.55, 0.53, 0.5 + 0.1), (0.93, 0.91, 0.95), "open"),
        ((0.70, 0.68, 0.72), (0.93, 0.91, 0.95), "open"),
        ((0.60, 0.58, 0.62), (0.61, 0.59, 0.63), "open"),  # the model itself is not sure
        ((0.80, 0.78, 0.82), (0.77, 0.76, 0.78), "against"),  # surer than chance + 0.25
        ((0.80, 0.78, 0.82), (0.77, 0.75, 0.78), "open"),
    ],
)
def test_single_token_is_held_against_confidence_and_chance(
    alone: tuple[float, float, float], confidence: tuple[float, float, float], expected: str
) -> None:
    row = judged(token_alone(*alone), together(*confidence))
    assert row.verdict == expected
    assert row.limits == (
        "for it below 0.6, against it less than 0.1 below all together; judged where all together "
        "give more than 0.75"
    )


def test_single_token_is_not_judged_where_classes_are_unknown() -> None:
    row = judged(token_alone(0.9, 0.88, 0.92), together(0.93, 0.91, 0.95), classes=[])
    assert (row.verdict, row.limits) == (NOT_APPLICABLE, "")
    assert "not judged: the number of classes is not known" in row.compared


@pytest.mark.parametrize(
    ("kept", "confidence", "expected", "reason"),
    [
        ((97.0, 95.0, 98.0), (0.9, 0.85, 0.95), "against", ""),
        (
            (97.0, 90.0, 98.0),
            (0.9, 0.85, 0.95),
            "open",
            "not surely more than 90% of the decisions are kept",
        ),
        (
            (58.1, 50.0, 65.0),
            (0.9, 0.85, 0.95),
            "open",
            "not surely more than 90% of the decisions are kept",
        ),
        (None, (0.9, 0.85, 0.95), "open", "not surely more than 90% of the decisions are kept"),
        ((97.0, 95.0, 98.0), None, "open", "how confident the model is, is not known"),
        (
            (97.0, 95.0, 98.0),
            (0.8, 0.75, 0.85),
            "open",
            "the model is not surely more confident than 0.75",
        ),
        (
            (97.0, 95.0, 98.0),
            (0.6, 0.55, 0.65),
            "open",
            "the model is not surely more confident than 0.75",
        ),
    ],
)
def test_another_attention_must_keep_decisions_of_a_model_known_to_be_sure(
    kept: tuple[float, float, float] | None,
    confidence: tuple[float, float, float] | None,
    expected: str,
    reason: str,
) -> None:
    row = judged(*another((0.03, 0.01, 0.049), kept, confidence))
    assert row.verdict == expected
    assert row.reason == reason
    assert (
        (reason in row.sentence)
        if reason
        else row.sentence.endswith("(0.010 to 0.049) nats to keep it.")
    )
    assert row.number.value == 0.03  # what is shown is what is judged
    assert "JSD" in row.compared
    assert (kept is None) or f"decisions kept {kept[0]}%" in row.compared
    assert (confidence is None) or f"confidence {confidence[0]:.3f}" in row.compared
    assert row.limits == (  # the rule that was applied
        "for it above 0.2, against it below 0.05; judged where more than 90% of decisions are kept "
        "and the model's confidence is above 0.75"
    )


def test_how_sure_the_model_is_may_come_from_the_single_token_exam() -> None:
    cells = another((0.03, 0.01, 0.049), confidence=None)

    def verdict(*more: Cell, **manifest: object) -> str:
        rows = model_of(*cells, *more, **manifest).judgement.rows
        return next(row.verdict for row in rows if row.exam == "adversary")

    assert verdict(together(0.9, 0.85, 0.95, "all")) == "against"
    assert verdict(together(0.7, 0.65, 0.75, "all")) == "open"
    assert verdict(together(0.9, 0.85, 0.95, "all"), classes=[]) == "open"
    # its own number comes first
    own = cell("adversary", "adversary.documents", "confidence", "value", 0.6, 0.55, 0.65)
    assert verdict(together(0.9, 0.85, 0.95, "all"), own) == "open"


def test_the_nearest_change_that_was_asked_for_is_judged() -> None:
    near = another((0.03, 0.01, 0.04), row="epsilon=0.01")
    both = [*near, *another((0.3, 0.25, 0.4), confidence=None)]
    assert judged(*near).measure == "adversary.epsilon=0.01.constraint_cost"
    assert judged(*both).measure == "adversary.epsilon=0.05.constraint_cost"


def test_with_twenty_classes_a_small_change_keeps_no_decision() -> None:
    """The decided class has 0.06, so that 0.05 allows nearly everything."""
    cells = another((2.9e-17, 1e-17, 4e-17), kept=(47.7, 40.0, 55.0), confidence=None)
    row = judged(*cells, classes=[str(k) for k in range(20)])
    assert row.verdict == OPEN
    assert "it gives up 0.000 (0.000 to 0.000) nats" in row.sentence
    assert row.reason == "not surely more than 90% of the decisions are kept"


def test_accuracy_is_beside_the_judgement_and_no_row_of_it() -> None:
    judgement = model_of(right(100.0, 99.0, 100.0)).judgement
    assert judgement.rows == []
    assert judgement.accuracy is not None
    assert (judgement.accuracy.value, judgement.accuracy.low) == (100.0, 99.0)
    assert judgement.headline.startswith("The exams run here do not judge")
    trained = cell("replacement", "replacement", "trained", "accuracy", 88.0, 80.0, 95.0, "percent")
    number = model_of(trained).judgement.accuracy
    assert number is not None
    assert number.value == 88.0
    assert model_of(survives(97.0, 95.5, 99.0)).judgement.accuracy is None


def test_rows_say_what_is_judged_by_which_number() -> None:
    entropy = cell("dispersion", "dispersion.entropy", "attention", "mean", 0.8, 0.7, 0.9)
    kept = cell("information", "information", "frequent", "retained", 40.0, 30.0, 50.0, "percent")
    judgement = model_of(kept, entropy, survives(97, 96, 98), tau(0.4, 0.35, 0.5)).judgement
    assert [(row.exam, row.measure, row.verdict) for row in judgement.rows] == [
        ("agreement", "agreement.inputs:attention:leave-one-out.tau", "open"),
        ("replacement", "replacement.uniform.survival", "against"),
        ("dispersion", "dispersion.entropy.attention.mean", "not applicable"),
        ("information", "information.frequent.retained", "not applicable"),
    ]
    assert {row.subject for row in judgement.rows} == {ATTENTION}
    assert [row.exam for row in judgement.judged] == ["agreement", "replacement"]
    assert judgement.speaks("against") == ["replacement"]
    frame = judgement.frame()
    assert frame["value"].tolist() == [0.4, 97.0, 0.8, 40.0]
    assert frame["over"].unique().tolist() == ["documents"]


def test_as_json_a_number_that_is_not_there_is_null() -> None:
    cells = [part_optimal(nan, nan, nan), right(90.0, 85.0, inf), survives(97.0, nan, nan)]
    found = json.loads(json.dumps(model_of(*cells).judgement.to_json(), allow_nan=False))
    assert [row["value"] for row in found["rows"]] == [None, 97.0]
    assert [row["low"] for row in found["rows"]] == [None, None]
    assert [row["verdict"] for row in found["rows"]] == ["open", "open"]
    assert (found["accuracy"]["low"], found["accuracy"]["high"]) == (85.0, None)
    assert found["limits"]["version"] == "2026-11"
    assert found["learnt"]


def test_numbers_come_with_intervals_and_with_what_they_are_compared_to() -> None:
    random = part_optimal(7.2, 4.0, 12.6, "random@all")
    first = part_optimal(6.8, 3.7, 12.1, "random")
    row = judged(part_optimal(30.6, 23.7, 38.5), first, random)
    assert "30.6% (23.7% to 38.5%)" in row.sentence
    assert row.compared == "in random order 7.2%"


def test_sentences_are_not_called_words() -> None:
    row = judged(optimal(30.0, 20.0, 40.0), attended="sentences")
    assert "most attended sentences" in row.label
    assert "word" not in row.sentence


def counted(**counts: float) -> list[Cell]:
    return [
        cell("erasure", "erasure.documents", row, "value", number, unit="count")
        for row, number in counts.items()
    ]


def test_documents_that_change_only_when_all_is_erased_are_counted() -> None:
    counts = counted(examined=250, all_weight_needed=100, no_erasure_flips=63)
    row = judged(part_optimal(19.5, 12.0, 29.0), *counts, n=87)
    assert row.of == (
        "of 87 documents that change before all is erased; 100 change only when all is erased, "
        "63 never"
    )
    assert "in 87 of 250 documents" in row.sentence
    assert "100 more change only when all is erased, where nothing is shorter" in row.sentence


def test_of_too_few_documents_nothing_is_said() -> None:
    row = judged(part_optimal(0.0, 0.0, 16.8), ABOVE, n=19)
    assert row.verdict == OPEN
    assert "too few to judge" in row.sentence
    assert judged(part_optimal(0.0, 0.0, 16.8), ABOVE, n=20).verdict == "against"
    row = judged(part_optimal(nan, nan, nan), optimal(100, 98, 100), n=0)
    assert row.verdict == OPEN
    assert "in 0 documents: too few to judge" in row.sentence


def test_results_that_do_not_tell_them_apart_cannot_speak_for_attention() -> None:
    row = judged(optimal(100, 98, 100), *counted(all_weight_needed=250))
    assert row.verdict == OPEN
    assert "(250) that change only when all is erased" in row.sentence
    assert "with those that change only when all is erased" in row.label
    assert "cannot speak for attention" in row.sentence


def test_nothing_speaks_for_uniform_attention(
    make_model: Callable[..., verax.AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(encoder="none", projection="uniform")
    verdict = verax.examine(model, planted, ["erasure", "single_token"], draws=2)
    assert not verdict.value("erasure.excess.attention.optimal_in_part") > 0
    assert verdict.judgement.speaks("for") == []
    assert any("uniform by construction" in line for line in verdict.judgement.caveats)
    # not even by numbers that would speak for another
    praised = model_of(TRUE, ABOVE, survives(70, 60, 75), model=verdict.manifest["model"])
    assert [row.verdict for row in praised.judgement.rows] == ["open", "open"]


@pytest.mark.slow
def test_a_study_packed_without_its_tables_knows_classes_and_documents() -> None:
    results = verax.open_study(Path(__file__).parents[2] / "results/tutek-snajder-2020/sst")
    models = {model.name: model for model in model_summaries(results)}
    expected = {
        "additive, tying": "open",
        "dot, no grounding": "against",
        "dot, no grounding, freeze embeddings": "open",
    }
    for name, verdict in expected.items():
        model = models[name]
        rows = judge(model, "2026-11").rows
        row = next(row for row in rows if row.exam == "single_token")
        assert row.verdict == verdict, name
        assert model.item == "word"
        assert "1,4" in row.of or "1,5" in row.of  # of 1,821 documents those decided right
