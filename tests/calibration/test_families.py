"""Limits of a family are for its models alone; what is judged by hand says so."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from calibrated_models import both_families, limits_of, made_up

from support.errors import raises
from support.internals import (
    SET_BY_HAND,
    Lines,
    cross_fitted_limits,
    fraction_of,
    part_of,
)
from verax.calibration import CalibratedModels, measured_limits, verdicts
from verax.exams import LimitSet, judge, load_limits
from verax.exams.authoring import ModelSummary, summary_frame
from verax.statistics import proportion

Families = dict[str, CalibratedModels]
BERT = "bert1-evidence.10.2.0"


@pytest.fixture(scope="module")
def data() -> Families:
    return both_families()


@pytest.fixture(scope="module")
def limits(data: Families) -> LimitSet:
    return limits_of(data)


@pytest.mark.slow
def test_each_family_has_limits_of_its_own(data: Families, limits: LimitSet) -> None:
    own = limits.by_kind["transformer"]
    assert limits.calibration is not None
    assert own.calibration is not None
    assert "single_token" in limits.calibration.exams
    assert "single_token" not in own.calibration.exams
    assert own.calibration.encoders == ["bert"]
    assert own.calibration.errors["accused"][3] == 20


@pytest.mark.slow
def test_a_family_with_too_few_models_has_none() -> None:
    with raises("result.too-few"):
        measured_limits(made_up(seeds=1), "made-up", "")


@pytest.mark.slow
def test_limits_by_kind_are_kept_in_a_file(limits: LimitSet, data: Families) -> None:
    loaded = load_limits(json.loads(json.dumps(limits.to_json(whole=True))))
    models = {**data["pooled"].summaries, **data["transformer"].summaries}
    for name in (BERT, "mlp.10.2.0"):
        one, other = (judge(models[name], some) for some in (limits, loaded))
        assert one.frame().equals(other.frame())
        assert one.caveats == other.caveats
    for wrong in ({"by_kind": 3}, {"by_kind": {"bert": {}}}, {"by_kind": {"transformer": {}}}):
        with raises("limits.*"):
            load_limits({"version": "ours", "limits": {}, **wrong})


def test_a_covered_transformer_is_judged_by_measured_limits_of_every_score(
    data: Families, limits: LimitSet
) -> None:
    judgement = judge(data["transformer"].summaries[BERT], limits)
    assert not any("Unlike" in line for line in judgement.caveats)
    rows = {(row.exam, row.subject): row for row in judgement.judged}
    for exam in ("agreement", "deletion"):
        own, other = rows[exam, "attention"], rows[exam, "chefer"]
        assert own.limits == other.limits
        assert not own.limits.endswith(SET_BY_HAND)
    # what exams say of chefer has no part in what a model of the study is called
    lying = data["transformer"].summaries["bert2-others.10.2.0"]
    assert judge(lying, limits).subjects["chefer"] == "open"
    votes = verdicts(data["transformer"], limits).set_index("name")
    assert votes.loc[lying.name, "for"] == 0


@pytest.mark.parametrize(
    ("options", "words", "said"),
    [
        ({"layers": 2, "readout": "mean"}, 20.0, "reads the mean of all"),
        ({"layers": 6, "readout": "first"}, 20.0, "6 layers, and calibrated were 1 to 2"),
        ({"layers": 2, "readout": "first"}, 400.0, "400 words a document"),
        ({"readout": "first"}, 20.0, "how many layers there are is not known"),
    ],
)
def test_an_uncovered_transformer_is_judged_by_hand(
    data: Families, limits: LimitSet, options: dict[str, object], words: float, said: str
) -> None:
    summary = data["transformer"].summaries[BERT]
    manifest = {**summary.manifest, "words": words, "model": {"options": options}}
    other = replace(summary, manifest=manifest)
    judgement, by_hand = judge(other, limits), judge(other, "2026-11")
    assert any(said in line for line in judgement.caveats)
    assert [row.verdict for row in judgement.rows] == [row.verdict for row in by_hand.rows]
    assert all(row.limits.endswith(SET_BY_HAND) for row in judgement.judged)
    for one in (judgement, by_hand):
        assert f"limits {one.limits.version} {SET_BY_HAND}" in str(one)


@pytest.mark.slow
def test_votes_are_those_of_the_reading(data: Families, limits: LimitSet) -> None:
    for models in data.values():
        votes = verdicts(models, limits)
        assert (votes["side"].eq("honest") == votes["for"].gt(votes["against"])).all()


def test_ones_own_limit_of_another_number_is_taken(data: Families, limits: LimitSet) -> None:
    assert limits.is_measured("replacement")
    ours = {"version": "ours", "based_on": "2026-11-measured-3"}
    mine = load_limits({**ours, "limits": {"replacement": {"for_below": 86}}})
    rows = {row.exam: row for row in judge(data["pooled"].summaries["mlp.10.2.0"], mine).rows}
    assert rows["replacement"].measure == "replacement.uniform.survival"
    assert rows["replacement"].limits == f"for it below 86%, against it above 95% {SET_BY_HAND}"
    assert not rows["agreement"].limits.endswith(SET_BY_HAND)


def test_a_calibration_of_ones_own_is_not_mixed_with_the_newest(limits: LimitSet) -> None:
    values = limits.to_json(whole=True)
    assert any(isinstance(limit, Lines) for limit in load_limits().limits["erasure"].values())
    for name, limit in limits.limits["erasure"].items():
        if isinstance(limit, Lines):
            values["limits"]["erasure"].pop(name)
    kept = load_limits(json.loads(json.dumps(values))).limits["erasure"]
    assert not any(isinstance(limit, Lines) for limit in kept.values())


def test_erasure_by_its_other_numbers() -> None:
    cells = [
        {"table": "erasure.documents", "row": row, "column": "value", "value": value, "n": 50}
        | {"unit": "count", "low": float("nan"), "high": float("nan")}
        for row, value in (("examined", 50), ("all_weight_needed", 5), ("no_erasure_flips", 15))
    ]
    fraction = {"table": "erasure.fraction", "row": "attention", "column": "mean", "value": 0.2}
    cells.append(fraction | {"low": 0.1, "high": 0.3, "n": 35, "unit": "number"})
    frame = summary_frame("erasure", cells)
    dense = ModelSummary("dense", frame, {"model": {"options": {"projection": "softmax"}}})
    part = part_of(dense)
    assert part is not None
    share, low, high = proportion(30, 50)
    assert (part.value, part.low, part.high) == (100 * share, 100 * low, 100 * high)
    found = fraction_of(dense)
    assert found is not None
    assert found.value == 0.2
    sparse = {"model": {"options": {"projection": "sparsemax"}}}
    assert fraction_of(replace(dense, manifest=sparse)) is None


def test_words_of_older_results_are_the_items_they_ranked() -> None:
    cell = {"table": "agreement.documents", "row": "items", "column": "value", "value": 18.5}
    frame = summary_frame("agreement", [cell | {"low": 18, "high": 19, "n": 9, "unit": "number"}])
    assert ModelSummary("old", frame).texts.length == 18.5
    assert ModelSummary("new", frame, {"words": 20.0}).texts.length == 20.0


@pytest.mark.slow
def test_seeds_are_left_out_in_turn() -> None:
    data = made_up(3)
    limits = cross_fitted_limits(data, "crossed", "")
    assert limits.calibration is not None
    errors = limits.calibration.errors
    sides = data.models["side"].value_counts()
    assert errors["accused"][3] == sides["honest"]
    assert errors["cleared"][3] == sides["deceptive"]
    assert errors["caught"][0] > 0.9
    assert limits.calibration.exams["agreement"]["auroc"] == 1
