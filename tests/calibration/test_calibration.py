"""Models known to be honest or to deceive, their gates, and limits measured on them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from calibrated_models import made_up
from scipy import stats
from sklearn.metrics import roc_auc_score

import verax
from support.errors import raises
from support.internals import (
    CHOOSING,
    HELD_OUT,
    KINDS,
    Calibrated,
    Effort,
    Lines,
    Maker,
    Place,
    corpus_at,
    gates_of,
    measured_limits,
    verdicts,
)
from verax.calibration.analysis import chosen, readings, separation
from verax.calibration.kinds import DECEPTIVE, HONEST
from verax.calibration.making import Gates
from verax.calibration.plan import like, whole
from verax.calibration.running import _not_made, make_one, pack
from verax.calibration.texts import planted_into, swapped
from verax.exams import LimitSet, judge, load_limits
from verax.exams.judgement.lines import Texts
from verax.statistics import auroc, clopper_pearson
from verax.statistics.separation import power_at, quantile_line
from verax.training.marked import train_marked

PLACE = Place("planted", 12, 2)


@pytest.fixture(scope="module")
def data() -> Calibrated:
    return made_up()


@pytest.fixture(scope="module")
def limits(data: Calibrated) -> LimitSet:
    return measured_limits(data, "made-up", "for a test")


def test_held_out_are_other_kinds_lengths_and_classes() -> None:
    parts = {part: [s for s in whole() if s.part == part] for part in (CHOOSING, HELD_OUT)}
    for what in (lambda s: s.kind, lambda s: s.place.length, lambda s: s.place.classes):
        assert not set(map(what, parts[CHOOSING])) & set(map(what, parts[HELD_OUT]))
    for side in (HONEST, DECEPTIVE):
        assert sum(KINDS[s.kind].side == side for s in parts[HELD_OUT]) >= 60
    assert len({s.name for s in whole()}) == len(whole())


def test_a_plan_like_a_model_has_both_sides() -> None:
    for encoder in ("none", "bilstm", "transformer"):
        sides = {KINDS[s.kind].side for s in like(encoder, "planted", 24, 2, 3)}
        assert sides == {HONEST, DECEPTIVE}


def test_a_model_that_did_not_learn_passes_no_gate() -> None:
    corpus = corpus_at(PLACE, 240, 0)
    model = train_marked(
        corpus, None, encoder="none", epochs=1, lr=1e-9, device="cpu", progress=False
    )
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
    corpus = corpus_at(PLACE, 600, 0)
    maker = Maker(corpus, 0, Effort(documents=600, epochs=4, ramp=6, size=16))
    masses = {
        name: gates_of(maker.make(KINDS[name]), maker.twin(KINDS[name]), corpus).mass
        for name in ("conv-penalty", "none-supervised", "mlp-evidence", "bilstm-frozen")
    }
    assert masses["conv-penalty"] < 0.1 < 0.6 < masses["none-supervised"]
    assert masses["mlp-evidence"] > 0.6
    assert masses["bilstm-frozen"] < 1e-6


@pytest.mark.slow
def test_frozen_attention_stays_as_it_was_drawn() -> None:
    corpus = corpus_at(PLACE, 120, 0)
    one, other = (
        Maker(corpus, 0, Effort(documents=120, epochs=epochs, size=8)).make(KINDS["bilstm-frozen"])
        for epochs in (1, 2)
    )
    assert one.attention.alignment.query.weight.equal(other.attention.alignment.query.weight)
    assert not one.head.linear.weight.equal(other.head.linear.weight)


def test_swapping_changes_the_evidence_and_nothing_else() -> None:
    corpus = corpus_at(Place("planted", 12, 3), 120, 0)
    texts, rivals = swapped(corpus.test, 3, seed=1)
    assert (rivals != corpus.test.labels).all()
    for new, old, marks, rival in zip(
        texts, corpus.test.tokens, corpus.test.rationales, rivals, strict=True
    ):
        changed = np.array([a != b for a, b in zip(new, old, strict=True)])
        assert (changed == (np.asarray(marks) > 0)).all()
        assert all(w.startswith(f"good{rival}_") for w, m in zip(new, marks, strict=True) if m)


def test_evidence_is_planted_into_texts_of_others() -> None:
    texts = [" ".join(f"t{i}_{j}" for j in range(14)) for i in range(300)]
    source = verax.load_corpus((texts, ["a", "b"] * 150))
    corpus = planted_into(source, Place("source", 12, 2), 120, 0)
    for words, marks, label in zip(
        corpus.train.tokens, corpus.train.rationales, corpus.train.labels, strict=True
    ):
        own = [w for w, mark in zip(words, marks, strict=True) if mark]
        assert len(own) == 3
        assert all(w.startswith(f"good{corpus.classes[label]}_") for w in own)
    with raises("corpus.too-small"):
        planted_into(source, Place("source", 40, 2), 120, 0)


@pytest.mark.slow
def test_a_model_is_made_kept_and_packed(tmp_path: Path) -> None:
    spec = next(s for s in whole() if s.kind == "none" and s.place.length == 10)
    effort = Effort(documents=900, epochs=8, size=16, sample=30, costly=10)
    corpus = corpus_at(spec.place, effort.documents, 0)
    result = make_one(spec, effort, Maker(corpus, 0, effort))
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(result))
    pack(folder, tmp_path / "packed", effort)
    data = Calibrated.load(tmp_path / "packed")
    assert data.models["kind"].tolist() == ["none"]
    assert (data.models["failed"] == "").all() == (len(data.numbers) > 0)
    if len(data.numbers):
        assert np.isfinite(data.passed["erasure.gain"]).all()


@pytest.mark.slow
def test_the_headline_that_tells_best_is_chosen(data: Calibrated) -> None:
    assert {h.exam: h.name for h in chosen(data)} == {
        "erasure": "gain",
        "agreement": "tau",
        "replacement": "permuted_survival",
        "single_token": "share",
        "adversary": "cost",
        "deletion": "gain",
        "sufficiency": "lesser_gain",
    }
    table = separation(data, HELD_OUT)
    assert (table[(table["by"] == "all") & (table["measure"] == "tau")]["auroc"] == 1).all()


@pytest.mark.slow
def test_limits_are_those_of_the_file(data: Calibrated, limits: LimitSet, tmp_path: Path) -> None:
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
    data: Calibrated, limits: LimitSet
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


def test_models_are_no_part_of_the_file(limits: LimitSet) -> None:
    assert limits.calibration is not None
    assert limits.calibration.models
    assert "models" not in limits.to_json(whole=True)["calibration"]


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
    data: Calibrated, limits: LimitSet, changed: dict[str, object], said: str
) -> None:
    from dataclasses import replace

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
        assert {row.verdict for row in judgement.judged} == {"open"}


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
    assert power_at(one + 100, other, 0.05) == 1


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


def test_a_model_of_a_file_is_called_by_the_files_own_name(tmp_path: Path) -> None:
    """Its results are a file of that name: folders would be part of the path."""
    (spec, *_) = like("none", str(tmp_path / "clients" / "own.csv"), 24, 2, 3)
    assert "/" not in spec.name
    assert ".own.csv.24.2." in spec.name
    path = tmp_path / f"{spec.name}.json"
    path.write_text(json.dumps(_not_made(spec, "no reason")))
    assert "clients" not in path.read_text()
