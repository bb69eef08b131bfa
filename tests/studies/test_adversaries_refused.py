"""Studies of adversaries that cannot be, told in one line before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import verax
from verax.studies import run_adversaries
from verax.training import train_adversary, train_guided

MAKING = "verax.studies.adversaries.making"
Model = verax.AttentionClassifier


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=60, length=12)


@pytest.fixture(scope="module")
def make(corpus: verax.Corpus) -> Callable[..., Model]:
    def trained(seed: int = 0, **options: Any) -> Model:
        told = {"encoder": "none", "embedding_size": 8, "epochs": 1, "lr": 0.05, **options}
        return verax.train(corpus, seed=seed, device="cpu", **told)

    return trained


@pytest.fixture(scope="module")
def base(make: Callable[..., Model]) -> Model:
    return make()


@pytest.fixture(scope="module")
def others(make: Callable[..., Model]) -> list[Model]:
    return [make(3)]


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: object, **options: object) -> None:
        raise AssertionError("a model was trained")

    for name in ("train", "train_adversary", "train_guided"):
        monkeypatch.setattr(f"{MAKING}.{name}", never)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lams": [-1]}, "option 'lam' is -1.0: it must be at least 0"),
        ({"lams": [math.nan]}, "option 'lam' is nan: it must be a finite number"),
        ({"lams": []}, "lams is empty"),
        ({"lams": 0.5}, "lams is 0.5: give a list of numbers"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [0.5]}, "option 'seed' is 0.5: expected a whole number"),
        ({"retrain": [0]}, "cannot retrain with seed 0: it is the base's"),
        ({"retrain": "12"}, "retrain is '12': give a list"),
        ({"others": "folder"}, "others is one model: give a list"),
        ({"others": ["nowhere"]}, "nowhere is neither a saved model"),
        ({"split": "dev"}, "unknown split 'dev'"),
        ({"lam": 0.5}, "option 'lam' is what this study sets"),
        ({"epoch": 3}, "unknown option 'epoch': did you mean 'epochs'"),
        ({"epochs": 0}, "option 'epochs' is 0"),
        ({"corpus": "plantd"}, "unknown corpus 'plantd'"),
        ({"base": "nowhere"}, "nowhere is neither a saved model"),
    ],
)
def test_bad_input_is_one_line(
    base: Model, corpus: verax.Corpus, no_training: None, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(verax.VeraxError, match=message) as error:
        run_adversaries(**{"base": base, "corpus": corpus, "lams": [0.5], **given})
    assert "\n" not in str(error.value)


def test_other_models_and_corpora_are_refused(
    base: Model,
    corpus: verax.Corpus,
    others: list[Model],
    make: Callable[..., Model],
    no_training: None,
    tmp_path: Path,
) -> None:
    refused = pytest.raises
    with refused(verax.VeraxError, match=r"the base and model 1 differ .* lr \(0.05, 0.01\)"):
        run_adversaries(base, corpus, others=[make(8, lr=0.01)])
    with refused(verax.VeraxError, match="the base and model 1 are one model with one seed, 0"):
        run_adversaries(base, corpus, others=[base])
    with refused(verax.VeraxError, match="seed 3 is among others already"):
        run_adversaries(base, corpus, others=others, retrain=[3])
    with refused(verax.VeraxError, match="is not what the base was trained on"):
        run_adversaries(base, verax.load_corpus("planted", documents=60, length=12, seed=1))
    with refused(verax.VeraxError, match="attention is uniform whatever it reads"):
        run_adversaries(make(projection="uniform"), corpus)
    with refused(verax.VeraxError, match="this is an adversary: give the model"):
        run_adversaries(train_adversary(base, corpus, 0.1, epochs=1, device="cpu"), corpus)
    with refused(verax.VeraxError, match="a guided model has no attention of its own"):
        run_adversaries(train_guided(base, corpus, device="cpu"), corpus)
    (tmp_path / "file").write_text("dear")
    with refused(verax.VeraxError, match="it is a file, give a folder"):
        run_adversaries(base, corpus, keep=tmp_path / "file")


def test_a_base_that_does_not_say_how_it_was_trained(
    planted: verax.Corpus, make_model: Callable[..., Model]
) -> None:
    model = make_model(encoder="none")
    with pytest.raises(verax.VeraxError, match="does not say how it was trained"):
        run_adversaries(model, planted)
    found = run_adversaries(model, planted, [0.5], controls=False, epochs=1, device="cpu")
    assert found.instances.loc[found.instances["name"] == "base", "seed"].isna().all()
    assert found.points()["lam"].tolist() == [0.5]
