"""Strength auto: the rule by hand, its scores against the exam, and candidates that are kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import verax
from verax.cli import main
from verax.errors import VeraxError
from verax.models import ModelOptions
from verax.training.loop import Loop
from verax.training.strength import STRENGTHS, candidates, doubts, score, select

QUICK: dict[str, Any] = {"hidden_size": 8, "embedding_size": 8, "epochs": 3, "lr": 3e-2}
QUICK |= {"batch_size": 16}
AUTO: dict[str, Any] = {**QUICK, "grounding": "tying", "strength": "auto", "strengths": "0.1,0.3"}


@pytest.fixture(scope="module")
def easy() -> verax.Corpus:
    """What a small model learns in a second."""
    return verax.load_corpus(
        "planted", documents=240, length=12, sentences=2, evidence=2, vocabulary=40, lexicon=3
    )


# -- the rule


def row(f1: float, fragility: float) -> dict[str, float]:
    return {"f1": f1, "fragility": fragility}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # all as good: the most fragile
        ([row(0.80, 0.1), row(0.80, 0.3), row(0.80, 0.2)], (1, True)),
        # the most fragile is too bad, the next one just good enough
        ([row(0.80, 0.1), row(0.79, 0.3), row(0.7899, 0.9)], (1, True)),
        # better than ungrounded is good enough
        ([row(0.95, 0.1), row(0.80, 0.0)], (0, True)),
        # of equals the weaker
        ([row(0.80, 0.1), row(0.80, 0.2), row(0.81, 0.2)], (1, True)),
        ([row(0.80, 0.0), row(0.80, 0.0)], (0, True)),
        # less fragile than nothing is still the most fragile there is
        ([row(0.80, -0.2), row(0.80, -0.1)], (1, True)),
        # none within a point: the best, however fragile
        ([row(0.70, 0.9), row(0.75, 0.1), row(0.72, 0.5)], (1, False)),
        ([row(0.70, 0.1), row(0.70, 0.9)], (0, False)),
        ([row(0.78, 0.4)], (0, False)),
        ([row(0.79, 0.4)], (0, True)),
    ],
)
def test_the_most_fragile_within_a_point(
    scores: list[dict[str, float]], expected: tuple[int, bool]
) -> None:
    assert select(row(0.80, 0.05), scores) == expected


@pytest.mark.parametrize("base", [0.1, 0.37, 0.57, 0.8, 0.93, 1.0])
def test_a_point_less_is_within_whatever_its_rounding(base: float) -> None:
    assert select(row(base, 0), [row(base - 0.01, 0.0)]) == (0, True)
    assert select(row(base, 0), [row(round(base - 0.01, 2), 0.0)]) == (0, True)


def test_equals_but_for_rounding_are_equals() -> None:
    """0.9 falls by 5 points on average whether to 0.8 and 0.9 or to 0.85 twice."""
    one, other = (row(0.9, 0.9 - (u + p) / 2) for u, p in ((0.8, 0.9), (0.85, 0.85)))
    assert one != other
    assert one == pytest.approx(other)
    assert select(row(0.9, 0), [one, other]) == select(row(0.9, 0), [other, one]) == (0, True)


def test_candidates_are_the_papers_and_weaker_ones_unless_given() -> None:
    assert candidates("tying", None) == [0.01, 0.03, 0.1, 0.3, 1, 10, 30]
    assert candidates("mlm", None) == [0.1, 0.3, 1, 3, 5]
    assert set(STRENGTHS) == {"tying", "mlm"}
    assert candidates("tying", "7") == [7]
    # rising, each once
    assert candidates("mlm", " 3, 0.5,3.0 ,1e1,") == [0.5, 3, 10]


# -- scores


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hierarchical": True, "projection": "sparsemax"},
        {"head": "softmax", "attention": "dot"},
    ],
    ids=str,
)
def test_scores_are_the_fragility_exams_on_validation(
    easy: verax.Corpus, options: dict[str, Any]
) -> None:
    model = verax.train(easy, seed=2, **QUICK, **options)
    found = score(model, model.read(easy.validation), seed=3, max_tokens=100)
    verdict = verax.examine(model, easy, "fragility", "validation", seed=3, permutations=10)
    expected = verdict.summary("fragility")["F1"].to_numpy() / 100
    assert [found[n] for n in ("f1", "uniform", "permuted")] == pytest.approx(expected.tolist())
    fall = expected[0] - (expected[1] + expected[2]) / 2
    assert found["fragility"] == pytest.approx(fall)
    assert found["f1"] == pytest.approx(model.history.query("selected")["f1"].item())
    assert found["f1"] != found["permuted"]
    accuracy = verdict.summary("fragility").loc["trained", "accuracy"]
    assert found["accuracy"] == pytest.approx(accuracy / 100)
    assert set(found) == {"accuracy", "f1", "uniform", "permuted", "fragility"}


def test_doubts_are_told() -> None:
    """A model that decides for one class alone has an F1 of two thirds, and notices nothing."""
    base = {"f1": 0.66, "fragility": 0.02, "accuracy": 0.63}
    told = doubts(base, {"f1": 0.667, "fragility": 0.0, "accuracy": 0.5}, True)
    assert "13.0 points below" in told[0]
    assert "no more fragile" in told[1]
    fine = {"f1": 0.65, "fragility": 0.1, "accuracy": 0.62}
    assert doubts(base, fine, True) == []
    assert "no candidate is within 1 point" in doubts(base, fine, False)[0]


def test_candidates_are_not_scored_on_test(easy: verax.Corpus, tmp_path: Path) -> None:
    model = verax.train(easy, keep=tmp_path, **AUTO)
    assert model.record["test"]["accuracy"] >= 0
    assert all("test" not in verax.load(folder).record for folder in tmp_path.iterdir())


def test_a_model_that_notices_nothing_is_not_fragile_at_all(easy: verax.Corpus) -> None:
    """Not by rounding either, which would decide a tie."""
    model = verax.train(easy, seed=2, attention="dot", **QUICK)
    with torch.no_grad():
        model.attention.alignment.query.zero_()
    found = score(model, model.read(easy.validation), seed=3, max_tokens=100)
    assert 0 < found["f1"] < 1
    assert found["f1"] == found["uniform"] == found["permuted"]
    assert found["fragility"] == 0


def test_with_more_classes_the_score_is_macro_f1() -> None:
    corpus = verax.load_corpus("planted", documents=120, classes=3, length=12)
    model = verax.train(corpus, **AUTO)
    record = model.record["strength"]
    assert record["score"] == "macro_f1"
    history = model.history.query("selected")["macro_f1"].item()
    chosen = [c for c in record["candidates"] if c["strength"] == record["chosen"]]
    assert chosen[0]["f1"] == pytest.approx(history)
    verdict = verax.examine(model, corpus, "fragility", "validation")
    shown = verdict.summary("fragility")["macro F1"].to_numpy() / 100
    found = [chosen[0][n] for n in ("f1", "uniform", "permuted")]
    assert found == pytest.approx(shown.tolist())


# -- train(strength="auto")


@pytest.fixture(scope="module")
def told() -> list[Mapping[str, Any]]:
    return []


@pytest.fixture(scope="module")
def chosen(easy: verax.Corpus, told: list[Mapping[str, Any]]) -> verax.AttentionClassifier:
    return verax.train(easy, seed=1, done=told.append, **AUTO)


def same_weights(one: verax.AttentionClassifier, other: verax.AttentionClassifier) -> bool:
    ours, theirs = one.state_dict(), other.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[n], theirs[n]) for n in ours)


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
    assert len({r["fragility"] for r in rows}) == 3
    assert (record["chosen"], record["within"]) == (rows[1 + place]["strength"], within)
    for r in rows:
        alone = verax.train(easy, seed=1, grounding=r["grounding"], strength=r["strength"], **QUICK)
        expected = score(alone, alone.read(easy.validation), 1, 10**5)
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


def test_test_documents_have_no_say(chosen: verax.AttentionClassifier, easy: verax.Corpus) -> None:
    """Other labels or other documents there: the same choice from the same scores."""
    turned = replace(easy.test, labels=1 - easy.test.labels)
    few = replace(easy.train.take(np.arange(3)), labels=np.array([1, 1, 0]))
    for test in (turned, few):
        other = verax.train(replace(easy, test=test), seed=1, **AUTO)
        assert other.record["strength"] == chosen.record["strength"]
        assert same_weights(other, chosen)
        assert other.record["test"] != chosen.record["test"]


def test_validation_documents_have(chosen: verax.AttentionClassifier, easy: verax.Corpus) -> None:
    turned = replace(easy.validation, labels=1 - easy.validation.labels)
    other = verax.train(replace(easy, validation=turned), seed=1, **AUTO)
    assert other.record["strength"]["candidates"] != chosen.record["strength"]["candidates"]


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
    with pytest.raises(VeraxError, match="holds other files"):
        verax.train(easy, keep=tmp_path, **AUTO)
    assert (tmp_path / "none" / "letter.txt").read_text() == "dear"
    with pytest.raises(VeraxError, match="it is a file"):
        verax.train(easy, keep=tmp_path / "none" / "letter.txt", **AUTO)


# -- what is refused


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grounding": "none"}, "strength 'auto' is for grounding tying and mlm, not 'none'"),
        ({"grounding": "concat"}, "strength 'auto' is for grounding tying and mlm, not 'concat'"),
        ({"grounding": "residual"}, "is for grounding tying and mlm, not 'residual'"),
        ({"encoder": "none"}, "grounding 'tying' needs an encoder"),
        ({"hidden_size": 10}, r"hidden_size \(10\) must equal embedding_size \(8\)"),
        ({"strengths": ""}, "strengths is empty"),
        ({"strengths": []}, "strengths is empty"),
        ({"strengths": " , "}, "strengths is empty"),
        ({"strengths": "1,-2"}, "option 'strengths' is -2.0: it must be above 0"),
        ({"strengths": [0]}, "option 'strengths' is 0.0: it must be above 0"),
        ({"strengths": "1,inf"}, "option 'strengths' is inf: it must be a finite number"),
        ({"strengths": "1;2"}, "option 'strengths' is '1;2': expected a number"),
        ({"strength": "often"}, "option 'strength' is 'often': expected a number"),
        ({"strength": "Auto"}, "option 'strength' is 'Auto': expected a number"),
        ({"epoch": 3}, "unknown option 'epoch'"),
        ({"seed": -1}, "option 'seed' is -1"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_anything_is_trained(
    easy: verax.Corpus,
    changed: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_training(monkeypatch)
    with pytest.raises(VeraxError, match=message) as error:
        verax.train(easy, **{**AUTO, **changed})
    assert "\n" not in str(error.value)


def test_until_it_is_chosen_it_is_no_number() -> None:
    options = ModelOptions(grounding="tying", strength="auto", hidden_size=8, embedding_size=8)
    assert options.resolved(2).strength == "auto"
    with pytest.raises(VeraxError, match="strength is 'auto': it is a number once it is chosen"):
        _ = options.resolved(2).grounding_weight


# -- on the command line

PLANTED = "planted:documents=60,length=12"
FLAGS = ["--hidden-size", "8", "--embedding-size", "8", "--epochs", "1", "--grounding", "tying"]
COMMAND = ["train", PLANTED, *FLAGS, "--strength", "auto", "--strengths", "1,5", "--seed", "3"]


@pytest.mark.usefixtures("alone")
def test_the_command_saves_what_the_python_call_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--out", "model"]) == 0
    printed = capsys.readouterr().out
    sizes = {"hidden_size": 8, "embedding_size": 8, "epochs": 1}
    model = verax.train(
        verax.load_corpus(PLANTED),
        seed=3,
        grounding="tying",
        strength="auto",
        strengths=[1, 5],
        **sizes,  # type: ignore[arg-type]
    )
    model.save("by-call")
    for path in Path("by-call").iterdir():
        assert (Path("model") / path.name).read_bytes() == path.read_bytes()
    record = json.loads((Path("model") / "config.json").read_text())["strength"]
    for row in record["candidates"]:
        name = "ungrounded" if row["strength"] is None else f"strength {row['strength']:g}"
        told = f"{name}: validation accuracy {row['accuracy']:.1%}, F1 {100 * row['f1']:.1f}"
        assert f"{told}, with attention" in printed
    assert f"strength {record['chosen']:g}: " in printed
    assert "within 1 point" in " ".join(printed.split())


@pytest.mark.usefixtures("alone")
def test_the_command_keeps_the_candidates_beside_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*COMMAND, "--out", "my/model"]) == 0
    folders = sorted(str(path) for path in Path("my").rglob("*") if path.is_dir())
    beside = "my/model.candidates"
    names = [f"{beside}/{name}" for name in ("none", "tying-1", "tying-5")]
    assert folders == ["my/model", beside, *names]
    assert verax.load(names[2]).options.strength == 5
    no_training(monkeypatch)
    assert main([*COMMAND, "--out", "my/model"]) == 0


@pytest.mark.usefixtures("alone")
def test_the_command_says_where_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether or not a folder's name is written with its slash."""
    for out in ("one", "two/"):
        assert main([*COMMAND, "--out", out]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        where = printed.split("all are in ")[1].split()[0]
        assert (Path(where) / "none" / "config.json").is_file()


@pytest.mark.usefixtures("alone")
def test_a_config_file_may_list_strengths() -> None:
    values: dict[str, Any] = {"corpus": PLANTED, "hidden_size": 8, "embedding_size": 8}
    values |= {"epochs": 1, "grounding": "tying", "strength": "auto", "seed": 3}
    for name, strengths in (("list", [1, 5]), ("text", "1,5")):
        Path(f"{name}.yaml").write_text(yaml.safe_dump({**values, "strengths": strengths}))
        assert main(["train", "--config", f"{name}.yaml", "--out", name]) == 0
    configs = [json.loads((Path(n) / "config.json").read_text()) for n in ("list", "text")]
    assert configs[0] == configs[1]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--grounding", "none"], "strength 'auto' is for grounding tying and mlm"),
        (["--strengths", "1,x"], "option 'strengths' is 'x': expected a number"),
        (["--strengths", "-1,2"], "option 'strengths' is -1.0: it must be above 0"),
        (["--strength", "often"], "option 'strength' is 'often': expected a number"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("alone")
def test_bad_input_is_one_line(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, "--out", "model", *flags]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not Path("model").exists()


@pytest.mark.usefixtures("alone")
def test_a_strength_of_ones_own_keeps_no_candidates() -> None:
    assert main(["train", PLANTED, *FLAGS, "--strength", "2", "--out", "model"]) == 0
    assert [path.name for path in Path().iterdir()] == ["model"]
