"""Models known to be honest or to deceive, their gates, and limits measured on them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from calibrated_models import made_up
from scipy import stats
from sklearn.metrics import roc_auc_score

import verax
from support.documents import marked_in, tokens_of
from support.errors import raises
from support.internals import CALIBRATE_LIKE, LEAST_MODELS, RUN_GRID, Lines, Texts, quantile_line
from verax.calibration import (
    DECEPTIVE,
    HONEST,
    KINDS,
    CalibratedModels,
    CorpusSpec,
    Gates,
    ModelFactory,
    TrainingBudget,
    calibrate_like,
    corpus_with_evidence,
    error_rates,
    gates_of,
    measured_limits,
    readings,
    tables_of,
    verdicts,
)
from verax.cli import main
from verax.exams import LimitSet, judge, load_limits
from verax.statistics import auroc, clopper_pearson

SPEC = CorpusSpec("planted", 12, 2)


@pytest.fixture(scope="module")
def data() -> CalibratedModels:
    return made_up()


@pytest.fixture(scope="module")
def limits(data: CalibratedModels) -> LimitSet:
    return measured_limits(data, "made-up", "for a test")


def test_a_model_that_did_not_learn_passes_no_gate() -> None:
    corpus = corpus_with_evidence(SPEC, 240, 0)
    model = verax.train(corpus, encoder="none", epochs=1, lr=1e-9, device="cpu", progress=False)
    gates = gates_of(model, model, corpus)
    for side in (HONEST, DECEPTIVE):
        assert {"learnt", "flips", "mass"} <= set(gates.failed(side))


def test_gates_by_their_numbers() -> None:
    good = Gates(accuracy=0.99, twin=1.0, majority=0.5, mass=0.7, flips=0.95, documents=300)
    assert good.failed(HONEST) == []
    assert good.failed(DECEPTIVE) == ["mass"]
    worse = Gates(accuracy=0.98, twin=1.0, majority=0.5, mass=0.005, flips=0.94, documents=300)
    assert worse.failed(DECEPTIVE) == ["accuracy", "flips"]


@pytest.mark.slow
def test_attention_moves_where_training_moves_it() -> None:
    budget = TrainingBudget(documents=600, epochs=4, ramp=6, size=16)
    factory = ModelFactory(corpus_with_evidence(SPEC, 600, 0), 0, budget)
    masses = {
        name: gates_of(factory.make(KINDS[name]), factory.twin(KINDS[name]), factory.corpus).mass
        for name in ("conv-penalty", "none-supervised", "mlp-evidence", "bilstm-frozen")
    }
    assert masses["conv-penalty"] < 0.1 < 0.6 < masses["none-supervised"]
    assert masses["mlp-evidence"] > 0.6
    assert masses["bilstm-frozen"] < 1e-6


@pytest.mark.slow
def test_frozen_attention_keeps_its_initialization() -> None:
    corpus = corpus_with_evidence(SPEC, 120, 0)
    one, other = (
        ModelFactory(corpus, 0, TrainingBudget(epochs=epochs, size=8)).make(KINDS["bilstm-frozen"])
        for epochs in (1, 2)
    )
    assert one.attention.alignment.query.weight.equal(other.attention.alignment.query.weight)
    assert not one.head.linear.weight.equal(other.head.linear.weight)


def test_evidence_is_planted_into_texts_of_others() -> None:
    texts = [[f"t{i}_{j}" for j in range(14)] for i in range(300)]
    spec = CorpusSpec("source", 12, 2)
    corpus = corpus_with_evidence(
        spec, 120, 0, dict.fromkeys(("train", "validation", "test"), texts)
    )
    for words, marks, label in zip(
        tokens_of(corpus.train), marked_in(corpus.train), corpus.train.labels, strict=True
    ):
        own = [w for w, mark in zip(words, marks, strict=True) if mark]
        assert len(own) == 3
        assert all(word.startswith(f"good{label}_") for word in own)
        others = [w for w, mark in zip(words, marks, strict=True) if not mark]
        assert sum(word.startswith("good") for word in others) == 1
    with raises("corpus.too-small"):
        corpus_with_evidence(CorpusSpec("source", 60, 2), 120, 0, {"train": texts})


@pytest.mark.slow
def test_models_that_pass_their_gates_are_examined() -> None:
    budget = TrainingBudget(documents=600, epochs=4, ramp=6, size=16, sample=12, costly=4)
    factory = ModelFactory(corpus_with_evidence(SPEC, 600, 0), 0, budget)
    config = {"kinds": ["none", "none-supervised"], "seed": 0, "part": "choosing"}
    config |= {"texts": "planted", "length": 12, "classes": 2}
    tables = tables_of(config, factory, KINDS)
    data = CalibratedModels(tables["models"], tables["numbers"])
    failed = dict(zip(data.models["kind"], data.models["failed"], strict=True))
    assert failed["none-supervised"] == ""
    assert {"flips", "mass"} & set(failed["none"].split(","))
    assert set(data.numbers["name"]) == {"none-supervised.planted.12.2.0"}
    assert np.isfinite(data.passed["erasure.gain"]).all()
    assert not data.is_enough


@pytest.mark.slow
def test_too_few_models_and_failures_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = verax.load_corpus("planted", documents=60, length=12)
    model = verax.train(corpus, encoder="conv", epochs=1, progress=False)
    here = partial(verax.run_grid, engine="here")
    monkeypatch.setattr(RUN_GRID, lambda *given, **how: here(*given))
    budget = TrainingBudget(documents=60, epochs=1, ramp=1, size=4)
    how = {"seeds": 1, "budget": budget, "progress": False}
    with raises("result.too-few"):
        calibrate_like(model, corpus, tmp_path / "few", **how)
    monkeypatch.setattr(ModelFactory, "measured", None)
    with raises("result.unfinished"):
        calibrate_like(model, corpus, tmp_path / "failed", **how)


@pytest.mark.slow
def test_thresholds_like_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its encoder and its texts, of which nothing is kept; a second call trains nothing."""
    texts = [" ".join(f"secret{(i * 7 + j) % 40}" for j in range(12)) for i in range(240)]
    corpus = verax.load_corpus((texts, ["a", "b"] * 120))
    model = verax.train(corpus, encoder="conv", epochs=1, progress=False)
    here = partial(verax.run_grid, engine="here")
    monkeypatch.setattr(RUN_GRID, lambda *given, **how: here(*given))
    monkeypatch.setattr(LEAST_MODELS, 1)
    monkeypatch.setattr(Gates, "failed", lambda gates, side: [])
    budget = TrainingBudget(documents=60, epochs=1, ramp=1, size=4, sample=4, costly=2)
    how = {"seeds": 2, "budget": budget, "progress": False}
    limits = calibrate_like(model, corpus, tmp_path, **how)
    assert model.fingerprint in limits.version
    assert load_limits(tmp_path / "limits.json").version == limits.version
    known = limits.calibration
    assert known is not None
    assert known.errors["accused"][3] == 16
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"secret" not in kept
    monkeypatch.setattr(ModelFactory, "measured", None)
    again = calibrate_like(model, corpus, tmp_path, **how)
    assert again.to_json(whole=True) == limits.to_json(whole=True)


def test_the_command_says_which_models_its_error_rates_are_of(
    limits: LimitSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus = verax.load_corpus("planted", documents=60, length=12)
    verax.train(corpus, encoder="conv", epochs=1, progress=False).save(tmp_path / "model")
    monkeypatch.setattr(CALIBRATE_LIKE, lambda *given, **how: limits)
    assert main(["calibrate", str(tmp_path / "model"), "--out", str(tmp_path / "mine")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "honest accused: " in said
    assert "rates hold for models with planted evidence" in said
    assert "nothing about the model itself" in said


@pytest.mark.slow
def test_the_measure_that_separates_best_is_chosen(limits: LimitSet) -> None:
    assert limits.calibration is not None
    assert {exam: one["headline"] for exam, one in limits.calibration.exams.items()} == {
        "erasure": "gain",
        "agreement": "tau",
        "replacement": "permuted_survival",
        "single_token": "share",
        "adversary": "cost",
        "deletion": "gain",
        "sufficiency": "lesser_gain",
    }
    assert limits.calibration.exams["agreement"]["auroc"] == 1


@pytest.mark.slow
def test_limits_are_those_of_the_file(
    data: CalibratedModels, limits: LimitSet, tmp_path: Path
) -> None:
    assert limits.calibration is not None
    path = tmp_path / "limits.json"
    path.write_text(json.dumps(limits.to_json(whole=True)))
    loaded = load_limits(path)
    for exam in limits.limits:
        assert loaded.of(exam, texts=Texts(50, 3)) == limits.of(exam, texts=Texts(50, 3))
    for name, summary in list(data.summaries.items())[:4]:
        one, other = judge(summary, limits), judge(summary, loaded)
        assert one.frame().equals(other.frame()), name
        assert one.caveats == other.caveats


@pytest.mark.slow
def test_limits_follow_the_length() -> None:
    limits = measured_limits(made_up(slope=0.1), "sloped", "")
    short, long = (limits.of("agreement", texts=Texts(words, 2)) for words in (10, 100))
    assert short["for_above"] - long["for_above"] == pytest.approx(0.1 * np.log(10), abs=0.03)
    beyond = limits.of("agreement", texts=Texts(10_000, 2))
    assert beyond["for_above"] == long["for_above"]


def test_models_are_called_honest_or_deceptive_in_the_study_alone(
    data: CalibratedModels, limits: LimitSet
) -> None:
    known = limits.calibration
    assert known is not None
    votes = verdicts(data, limits)
    called = readings(votes, known.accuse, known.clear)
    assert (called == votes["side"]).all()
    for name in ("mlp.10.2.0", "bigru-penalty.10.2.0"):
        judgement = judge(data.summaries[name], limits)
        shown = f"{judgement}{judgement.caveats}"
        assert "honest" not in shown
        assert "decept" not in shown
        assert any("natural text are not covered" in line for line in judgement.caveats)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"words": 900.0}, "900 words a document"),
        ({"classes": list("abcdefghi")}, "9 classes"),
        ({"words": None}, "is not known"),
        ({"model": {"options": {"encoder": "unheard-of"}}}, "encoder 'unheard-of'"),
        ({"attended": "sentences"}, "weighs sentences"),
        ({"kind": "transformer"}, "of kind 'transformer' none was"),
    ],
)
def test_unlike_models_are_flagged(
    data: CalibratedModels, limits: LimitSet, changed: dict[str, object], said: str
) -> None:
    summary = data.summaries["mlp.10.2.0"]
    assert not any("Unlike" in line for line in judge(summary, limits).caveats)
    other = replace(summary, manifest={**summary.manifest, **changed})
    assert any(said in line for line in judge(other, limits).caveats)


@pytest.mark.slow
def test_an_exam_that_cannot_tell_judges_nothing() -> None:
    data = made_up(overlap=True)
    limits = measured_limits(data, "blind", "")
    for summary in list(data.summaries.values())[:6]:
        judgement = judge(summary, limits)
        verdicts = {row.measure: row.verdict for row in judgement.judged if not row.below_random}
        assert verdicts
        assert set(verdicts.values()) == {"open"}


def test_lines_are_checked() -> None:
    with raises("limits.malformed"):
        Lines.from_json({"of": "middle", "lines": [[0, 0, 0]]}, "a file")
    with raises("limits.malformed"):
        load_limits({"version": "x", "limits": {}, "calibration": {}})


def test_auroc_is_sklearns() -> None:
    random = np.random.default_rng(1)
    one, other = random.integers(0, 9, 30).astype(float), random.integers(2, 12, 20).astype(float)
    labels = np.r_[np.ones(30), np.zeros(20)]
    assert auroc(one, other) == pytest.approx(roc_auc_score(labels, np.r_[one, other]))


def test_clopper_pearson_is_scipys() -> None:
    for successes, n in ((0, 60), (3, 60), (60, 60), (7, 11)):
        exact = stats.binomtest(successes, n).proportion_ci(0.95, "exact")
        assert clopper_pearson(successes, n)[1:] == pytest.approx((exact.low, exact.high))


def test_a_quantile_line_has_its_share_below() -> None:
    random = np.random.default_rng(2)
    x = np.column_stack([np.ones(400), random.uniform(0, 5, 400)])
    y = 2 + 3 * x[:, 1] + random.normal(size=400)
    beta = quantile_line(x, y, 0.05)
    assert np.mean(y < x @ beta - 1e-9) == pytest.approx(0.05, abs=0.01)
    assert beta[1] == pytest.approx(3, abs=0.2)
    flat = np.ones((101, 1))
    assert quantile_line(flat, np.arange(101.0), 0.5) == pytest.approx([50])


def test_error_rates_are_shares_of_each_side(data: CalibratedModels, limits: LimitSet) -> None:
    votes = verdicts(data, limits)
    rates = error_rates(votes, 1, 1)
    called = readings(votes, 1, 1)
    wrong = ((votes["side"] == HONEST) & (called == DECEPTIVE)).sum()
    assert rates["accused"][0] == wrong / (votes["side"] == HONEST).sum()
    assert rates["trusted"][3] == (votes["side"] == HONEST).sum()
