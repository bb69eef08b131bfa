"""Limits of a family are for its models alone; what is judged by hand says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from calibrated_models import both_families, made_up

from support.errors import raises
from support.internals import (
    CALIBRATED_MODELS,
    IMPORTANCES,
    LIMITS,
    MODELS,
    NUMBERS,
    SET_BY_HAND,
    Calibrated,
    Lines,
    calibrate_like,
    changed_verdicts,
    crossed_limits,
    fraction_of,
    measured_limits,
    part_of,
    verdicts,
)
from support.internals import CALIBRATION_MANIFEST as MANIFEST
from verax.corpora import load_corpus
from verax.exams import LimitSet, judge, load_limits
from verax.exams.authoring import ModelSummary, summary_frame
from verax.statistics import proportion
from verax.training import train

BERT = "bert1-evidence.10.2.0"


@pytest.fixture(scope="module")
def data() -> Calibrated:
    return both_families()


@pytest.fixture(scope="module")
def limits(data: Calibrated) -> LimitSet:
    return measured_limits(data, "made-up", "for a test")


@pytest.mark.slow
def test_each_family_has_limits_of_its_own(data: Calibrated, limits: LimitSet) -> None:
    assert data.families == ["pooled", "transformer"]
    own = limits.by_kind["transformer"]
    assert limits.calibration is not None
    assert own.calibration is not None
    assert "single_token" in limits.calibration.exams
    assert "single_token" not in own.calibration.exams
    kinds = {model["kind"] for model in own.calibration.models}
    assert kinds == {"bert2-evidence", "bert2-penalty", "bert1-evidence", "bert2-others"}
    assert own.calibration.errors["accused"][3] == 20


@pytest.mark.slow
def test_a_family_with_too_few_models_has_none(data: Calibrated) -> None:
    few = data.models["family"].eq("transformer") & (data.models["seed"] > 0)
    some = Calibrated(data.models[~few], data.numbers, data.about)
    assert measured_limits(some, "made-up", "").by_kind == {}
    with raises("result.too-few"):
        measured_limits(data.family("transformer"), "made-up", "")


@pytest.mark.slow
def test_limits_by_kind_are_kept_in_a_file(limits: LimitSet, data: Calibrated) -> None:
    loaded = load_limits(json.loads(json.dumps(limits.to_json(whole=True))))
    for name in (BERT, "mlp.10.2.0"):
        one, other = (judge(data.summaries[name], some) for some in (limits, loaded))
        assert one.frame().equals(other.frame())
        assert one.caveats == other.caveats
    for wrong in ({"by_kind": 3}, {"by_kind": {"bert": {}}}, {"by_kind": {"transformer": {}}}):
        with raises("limits.*"):
            load_limits({"version": "ours", "limits": {}, **wrong})


def test_a_covered_transformer_is_judged_by_measured_limits_of_every_score(
    data: Calibrated, limits: LimitSet
) -> None:
    judgement = judge(data.summaries[BERT], limits)
    assert not any("Unlike" in line for line in judgement.caveats)
    rows = {(row.exam, row.subject): row for row in judgement.judged}
    for exam in ("agreement", "deletion"):
        own, other = rows[exam, "attention"], rows[exam, "chefer"]
        assert own.limits == other.limits
        assert not own.limits.endswith(SET_BY_HAND)
    # what exams say of chefer has no part in what a model of the study is called
    lying = data.summaries["bert2-others.10.2.0"]
    assert judge(lying, limits).subjects["chefer"] == "open"
    votes = verdicts(data.family("transformer"), limits).set_index("name")
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
    data: Calibrated, limits: LimitSet, options: dict[str, object], words: float, said: str
) -> None:
    summary = data.summaries[BERT]
    manifest = {**summary.manifest, "words": words, "model": {"options": options}}
    other = replace(summary, manifest=manifest)
    judgement, by_hand = judge(other, limits), judge(other, "2026-11")
    assert any(said in line for line in judgement.caveats)
    assert [row.verdict for row in judgement.rows] == [row.verdict for row in by_hand.rows]
    assert all(row.limits.endswith(SET_BY_HAND) for row in judgement.judged)
    for one in (judgement, by_hand):
        assert f"limits {one.limits.version} {SET_BY_HAND}" in str(one)


@pytest.mark.slow
def test_votes_are_those_of_the_reading(data: Calibrated, limits: LimitSet) -> None:
    for family in data.families:
        votes = verdicts(data.family(family), limits)
        assert (votes["side"].eq("honest") == votes["for"].gt(votes["against"])).all()


def test_ones_own_limit_of_another_number_is_taken(data: Calibrated, limits: LimitSet) -> None:
    assert limits.is_measured("replacement")
    ours = {"version": "ours", "based_on": "2026-11-measured-3"}
    mine = load_limits({**ours, "limits": {"replacement": {"for_below": 86}}})
    rows = {row.exam: row for row in judge(data.summaries["mlp.10.2.0"], mine).rows}
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
    limits = crossed_limits(data, "crossed", "")
    assert limits.calibration is not None
    errors = limits.calibration.errors
    sides = data.models["side"].value_counts()
    assert errors["accused"][3] == sides["honest"]
    assert errors["cleared"][3] == sides["deceptive"]
    assert errors["caught"][0] > 0.9
    assert limits.calibration.exams["agreement"]["auroc"] == 1
    assert {model["part"] for model in limits.calibration.models} == {"choosing"}


@pytest.mark.slow
def test_limits_like_a_model_judge_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = load_corpus("planted", documents=60)
    model = train(corpus, encoder="none", epochs=1, progress=False)
    data = made_up(3)

    def made(specs: object, effort: object, out: Path, *_: object) -> Path:
        out.mkdir()
        precisions = {f"precision_{name}": 0.5 for name in IMPORTANCES}
        data.models.assign(**precisions).to_parquet(out / MODELS)
        data.numbers.to_parquet(out / NUMBERS)
        (out / MANIFEST).write_text(json.dumps({"models": len(data.models)}))
        return out

    monkeypatch.setattr(CALIBRATED_MODELS, made)
    calibrate_like(model, corpus, tmp_path / "like")
    limits = load_limits(tmp_path / "like" / LIMITS)
    assert model.fingerprint in limits.version
    for name, said in (("mlp.10.2.0", "for"), ("bigru-penalty.10.2.0", "against")):
        judgement = judge(data.summaries[name], limits)
        assert len(judgement.speaks(said)) >= 4


@pytest.mark.slow
def test_changes_are_of_verdicts_and_of_audits(tmp_path: Path, limits: LimitSet) -> None:
    data = both_families()
    for name in ("mlp.10.2.0", "bigru-penalty.10.2.0"):
        place = tmp_path / "saved" / name
        place.mkdir(parents=True)
        data.summaries[name].summary.to_parquet(place / "summary.parquet")
        (place / "manifest.json").write_text(json.dumps(dict(data.summaries[name].manifest)))
    audit = tmp_path / "audit"
    audit.mkdir()
    summary = data.summaries[BERT].summary
    about = {"layers": 6, "readout": "mean", "kind": "transformer"}
    fact = {"classes": ["0", "1"], "documents": 2, "description": about}
    (audit / "models.json").write_text(json.dumps({"bert-0": fact, "bert-1": fact}))
    each = [summary.assign(model=name) for name in ("bert-0", "bert-1")]
    pd.concat(each).to_parquet(audit / "summary.parquet")
    read = {"model": ["bert-0", "bert-1"] * 2, "words": [9, 9, 11, 11], "label": list("0101")}
    pd.DataFrame(read).to_parquet(audit / "documents.parquet")
    frame = changed_verdicts([tmp_path / "saved", audit], limits)
    assert frame["model"].tolist() == ["bigru-penalty.10.2.0", "mlp.10.2.0", "bert, 2 seeds"]
    assert frame["not measured"].tolist()[:2] == ["", ""]
    assert frame["not measured"][2].startswith("its classifier reads the mean of all")
    assert frame["changed"][2] == "none"
    assert frame["measured"][2] == "no verdict"  # of 2 documents
