"""`train(strength="auto")`: what it returns, and candidates that are kept."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import verax
from support.errors import raises
from support.internals import Loop
from verax.models import ModelOptions
from verax.training.strength import score, select

QUICK: dict[str, Any] = {"hidden_size": 8, "embedding_size": 8, "epochs": 3, "lr": 3e-2}
QUICK |= {"batch_size": 16}
AUTO: dict[str, Any] = {**QUICK, "grounding": "tying", "strength": "auto", "strengths": "0.1,0.3"}


@pytest.fixture(scope="module")
def easy() -> verax.Corpus:
    """What a small model learns in a second."""
    return verax.load_corpus(
        "planted", documents=144, length=12, sentences=2, evidence=2, vocabulary=40, lexicon=3
    )


@pytest.fixture(scope="module")
def told() -> list[Mapping[str, Any]]:
    return []


@pytest.fixture(scope="module")
def chosen(easy: verax.Corpus, told: list[Mapping[str, Any]]) -> verax.AttentionClassifier:
    return verax.train(easy, seed=1, done=told.append, **AUTO)


def same_weights(one: verax.AttentionClassifier, other: verax.AttentionClassifier) -> bool:
    ours, theirs = one.state_dict(), other.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


@pytest.mark.slow
def test_the_record_has_every_candidate(
    chosen: verax.AttentionClassifier, told: list[Mapping[str, Any]], easy: verax.Corpus
) -> None:
    """The first is the ungrounded model; each is scored as if trained by itself."""
    record = chosen.record["strength"]
    assert (record["score"], record["tolerance"]) == ("f1", 0.01)
    rows = record["candidates"]
    assert [(r["grounding"], r["strength"]) for r in rows] == [
        ("none", None),
        ("tying", 0.1),
        ("tying", 0.3),
    ]
    assert told == rows
    place, within = select(rows[0], rows[1:])
    assert len({r["replacement"] for r in rows}) == 3
    assert (record["chosen"], record["within"]) == (rows[1 + place]["strength"], within)
    for r in rows:
        alone = verax.train(easy, seed=1, grounding=r["grounding"], strength=r["strength"], **QUICK)
        expected = score(alone, alone.encode(easy.validation), 1, 10**5)
        assert {name: r[name] for name in expected} == pytest.approx(expected)


def test_the_model_is_the_one_trained_at_the_chosen_strength(
    chosen: verax.AttentionClassifier, easy: verax.Corpus
) -> None:
    strength = chosen.record["strength"]["chosen"]
    alone = verax.train(easy, seed=1, grounding="tying", strength=strength, **QUICK)
    assert chosen.options == alone.options
    assert chosen.options.strength == chosen.options.grounding_weight == strength
    assert same_weights(chosen, alone)
    assert chosen.history.equals(alone.history)
    assert {n: v for n, v in chosen.record.items() if n != "strength"} == alone.record
    assert not chosen.training


@pytest.mark.slow
def test_test_documents_have_no_say(chosen: verax.AttentionClassifier, easy: verax.Corpus) -> None:
    """Other labels or other documents there: the same choice from the same scores."""
    turned = replace(easy.test, labels=1 - easy.test.labels)
    few = replace(easy.train.take(np.arange(3)), labels=np.array([1, 1, 0]))
    for test in (turned, few):
        other = verax.train(replace(easy, test=test), seed=1, **AUTO)
        assert other.record["strength"] == chosen.record["strength"]
        assert same_weights(other, chosen)
        assert other.record["test"] != chosen.record["test"]


@pytest.mark.slow
def test_validation_documents_have(chosen: verax.AttentionClassifier, easy: verax.Corpus) -> None:
    turned = replace(easy.validation, labels=1 - easy.validation.labels)
    other = verax.train(replace(easy, validation=turned), seed=1, **AUTO)
    assert other.record["strength"]["candidates"] != chosen.record["strength"]["candidates"]


@pytest.mark.slow
def test_masked_lm_has_strengths_too(easy: verax.Corpus) -> None:
    options = {**AUTO, "grounding": "mlm", "strengths": [0.5]}
    model = verax.train(easy, freeze_embeddings=True, **options)
    assert model.record["strength"]["chosen"] == model.options.strength == 0.5
    assert model.options.grounding == "mlm"


def test_it_can_be_saved_and_loaded(chosen: verax.AttentionClassifier, tmp_path: Path) -> None:
    chosen.save(tmp_path / "model")
    again = verax.load(tmp_path / "model")
    assert again.record["strength"] == chosen.record["strength"]
    assert again.options.strength == chosen.options.strength
    assert same_weights(again, chosen)


# -- candidates that are kept


def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(loop: Loop) -> None:
        raise AssertionError("trained though it was kept")

    monkeypatch.setattr(Loop, "run", run)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """The grounding and strength of every model that is trained from here on."""
    trained: list[tuple[str, float]] = []
    run = Loop.run

    def counting(loop: Loop) -> Any:
        trained.append((loop.model.options.grounding, loop.model.options.grounding_weight))
        return run(loop)

    monkeypatch.setattr(Loop, "run", counting)
    return trained


@pytest.fixture(scope="module")
def kept_once(easy: verax.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "deep" / "candidates"
    verax.train(easy, seed=1, keep=folder, **AUTO)
    return folder


@pytest.fixture
def kept(kept_once: Path, tmp_path: Path) -> Path:
    """The candidates of an earlier call, to be changed at will."""
    return Path(shutil.copytree(kept_once, tmp_path / "candidates"))


@pytest.mark.slow
def test_a_second_call_trains_nothing(
    kept: Path,
    easy: verax.Corpus,
    chosen: verax.AttentionClassifier,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """And gives the same model to the last byte of its folder."""
    assert {path.name for path in kept.iterdir()} == {"none", "tying-0.1", "tying-0.3"}
    no_training(monkeypatch)
    told: list[Mapping[str, Any]] = []
    again = verax.train(easy, seed=1, keep=str(kept), done=told.append, **AUTO)
    assert same_weights(again, chosen)
    assert again.record == chosen.record
    assert told == chosen.record["strength"]["candidates"]
    chosen.save(tmp_path / "one")
    again.save(tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "strengths",
    [[0.3, 0.1], (0.1, 0.3), ["0.1", "0.30"], "0.3,1e-1", " 0.1 , 0.3,", [0.3, 0.1, 0.3]],
)
def test_strengths_as_a_list_or_as_text(
    kept: Path,
    chosen: verax.AttentionClassifier,
    easy: verax.Corpus,
    strengths: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_training(monkeypatch)  # they are the same strengths
    other = verax.train(easy, seed=1, keep=kept, **{**AUTO, "strengths": strengths})
    assert other.record["strength"] == chosen.record["strength"]
    assert same_weights(other, chosen)


def test_each_kept_candidate_is_a_model(kept: Path, easy: verax.Corpus) -> None:
    ungrounded, weak, strong = (verax.load(kept / n) for n in ("none", "tying-0.1", "tying-0.3"))
    assert ungrounded.options.grounding == "none"
    assert [m.options.strength for m in (weak, strong)] == [0.1, 0.3]
    alone = verax.train(easy, seed=1, grounding="tying", strength=0.3, **QUICK)
    assert same_weights(strong, alone)
    assert "strength" not in weak.record


@pytest.mark.slow
def test_only_what_is_missing_is_trained(
    kept: Path, easy: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = counted(monkeypatch)
    for path in (kept / "tying-0.1").iterdir():
        path.unlink()
    (kept / "tying-0.1").rmdir()
    verax.train(easy, seed=1, keep=kept, **AUTO)
    assert trained == [("tying", 0.1)]
    verax.train(easy, seed=1, keep=kept, **{**AUTO, "strengths": [0.1, 0.2, 0.3]})
    assert trained[1:] == [("tying", 0.2)]
    # the ungrounded model is the same for both
    verax.train(easy, seed=1, keep=kept, **{**AUTO, "grounding": "mlm", "strengths": "1"})
    assert trained[2:] == [("mlm", 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed", [{"seed": 2}, {"lr": 1e-2}, {"epochs": 1}, {"projection": "sparsemax"}], ids=str
)
def test_another_setting_trains_anew(
    kept: Path, easy: verax.Corpus, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = counted(monkeypatch)
    settings = {"seed": 1, **AUTO, **changed}
    found = verax.train(easy, keep=kept, **settings)
    assert trained == [("none", 0), ("tying", 0.1), ("tying", 0.3)]
    strength = found.record["strength"]["chosen"]
    alone = verax.train(easy, **{**settings, "strength": strength})
    assert same_weights(found, alone)
    del trained[:]
    verax.train(easy, keep=kept, **settings)  # what is kept now is the new one
    assert trained == []


@pytest.mark.slow
def test_another_corpus_trains_anew(
    kept: Path, easy: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = counted(monkeypatch)
    turned = replace(easy, train=replace(easy.train, labels=1 - easy.train.labels))
    verax.train(turned, seed=1, keep=kept, **AUTO)
    assert len(trained) == 3


def test_a_folder_that_is_not_a_model_is_left_alone(
    easy: verax.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "letter.txt").write_text("dear")
    no_training(monkeypatch)
    with raises("output.occupied"):
        verax.train(easy, keep=tmp_path, **AUTO)
    assert (tmp_path / "none" / "letter.txt").read_text() == "dear"
    with raises("output.wrong-kind"):
        verax.train(easy, keep=tmp_path / "none" / "letter.txt", **AUTO)


# -- what is refused


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"grounding": "none"}, ("option.conflict", "auto", "none")),
        ({"grounding": "concat"}, ("option.conflict", "auto", "concat")),
        ({"grounding": "residual"}, ("option.conflict", "residual")),
        ({"encoder": "none"}, ("option.conflict", "tying")),
        ({"hidden_size": 10}, ("option.conflict", "hidden_size", "10", "embedding_size")),
        ({"strengths": ""}, ("option.empty", "strengths")),
        ({"strengths": []}, ("option.empty", "strengths")),
        ({"strengths": " , "}, ("option.empty", "strengths")),
        ({"strengths": "1,-2"}, ("option.out-of-range", "strengths")),
        ({"strengths": [0]}, ("option.out-of-range", "strengths", "0.0")),
        ({"strengths": "1,inf"}, ("option.out-of-range", "strengths")),
        ({"strengths": "1;2"}, ("option.wrong-type", "strengths", "1;2")),
        ({"strength": "often"}, ("option.wrong-type", "strength", "often")),
        ({"strength": "Auto"}, ("option.wrong-type", "strength", "Auto")),
        ({"epoch": 3}, ("option.unknown", "epoch")),
        ({"seed": -1}, ("option.out-of-range", "seed")),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_anything_is_trained(
    easy: verax.Corpus,
    changed: dict[str, Any],
    expected: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_training(monkeypatch)
    with raises(*expected) as error:
        verax.train(easy, **{**AUTO, **changed})
    assert "\n" not in str(error.value)


def test_until_it_is_chosen_it_is_no_number() -> None:
    options = ModelOptions(grounding="tying", strength="auto", hidden_size=8, embedding_size=8)
    assert options.resolved(2).strength == "auto"
    with raises("option.wrong-type", "auto"):
        _ = options.resolved(2).grounding_weight
