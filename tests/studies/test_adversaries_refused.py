"""Studies of adversaries that cannot be, told in one line before anything is trained."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import verax
from support.errors import raises
from verax.studies import run_adversaries
from verax.training import train_adversary, train_guided

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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"lams": [-1]}, ("option.out-of-range", "lams")),
        ({"lams": [math.nan]}, ("option.out-of-range", "lams")),
        ({"lams": []}, ("option.empty", "lams")),
        ({"lams": 0.5}, ("option.wrong-type", "lams", "0.5")),
        ({"seeds": []}, ("option.empty", "seeds")),
        ({"seeds": [0.5]}, ("option.wrong-type", "seeds", "0.5")),
        ({"seeds": [-1]}, ("option.out-of-range", "seeds")),
        ({"retrain": [-1]}, ("option.out-of-range", "retrain")),
        ({"projection": "uniform"}, ("option.conflict", "projection")),
        ({"class_weight": "balanced"}, ("option.conflict", "none")),
        ({"retrain": [0]}, ("option.conflict", "0")),
        ({"retrain": "12"}, ("option.wrong-type", "retrain", "12")),
        ({"others": "folder"}, ("option.wrong-type", "others")),
        ({"others": ["nowhere"]}, ("model.missing",)),
        ({"split": "dev"}, ("option.unknown-value", "dev")),
        ({"lam": 0.5}, ("option.conflict", "lam")),
        ({"epoch": 3}, ("option.unknown", "epochs")),
        ({"epochs": 0}, ("option.out-of-range", "epochs")),
        ({"corpus": "plantd"}, ("corpus.unknown", "plantd")),
        ({"base": "nowhere"}, ("model.missing",)),
    ],
)
def test_bad_input_is_one_line(
    base: Model,
    corpus: verax.Corpus,
    no_training: None,
    given: dict[str, Any],
    expected: tuple[str, ...],
) -> None:
    with raises(*expected) as error:
        run_adversaries(**{"base": base, "corpus": corpus, "lams": [0.5], **given})
    assert "\n" not in str(error.value)


def test_other_models_and_corpora_are_refused(
    base: Model,
    corpus: verax.Corpus,
    others: list[Model],
    make: Callable[..., Model],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    other, uniform = make(8, lr=0.01), make(projection="uniform")
    adversary = train_adversary(base, corpus, 0.1, epochs=1, device="cpu")
    guided = train_guided(base, corpus, device="cpu")
    request.getfixturevalue("no_training")
    with raises("model.incomparable", "lr", "0.05", "0.01"):
        run_adversaries(base, corpus, others=[other])
    with raises("option.duplicate"):
        run_adversaries(base, corpus, others=[base])
    with raises("option.duplicate", "3"):
        run_adversaries(base, corpus, others=others, retrain=[3])
    with raises("model.unsuitable-base"):
        run_adversaries(uniform, corpus)
    with raises("model.unsuitable-base"):
        run_adversaries(adversary, corpus)
    with raises("model.unsuitable-base"):
        run_adversaries(guided, corpus)
    (tmp_path / "file").write_text("dear")
    with raises("output.wrong-kind"):
        run_adversaries(base, corpus, keep=tmp_path / "file")


def test_a_base_that_does_not_say_how_it_was_trained(
    planted: verax.Corpus, make_model: Callable[..., Model]
) -> None:
    model = make_model(encoder="none")
    with raises("model.unsuitable-base"):
        run_adversaries(model, planted)
    found = run_adversaries(model, planted, [0.5], controls=False, epochs=1, device="cpu")
    assert found.instances.loc[found.instances["name"] == "base", "seed"].isna().all()
    assert found.points()["lam"].tolist() == [0.5]


# -- other corpora than the base's own


def test_another_corpus_is_told_what_would_make_it_the_bases_own(
    base: Model, corpus: verax.Corpus, no_training: None
) -> None:
    other = verax.load_corpus("planted", documents=72, length=12, limit=50)
    with raises("corpus.changed", "--corpus", "planted", "documents", 60, "limit"):
        run_adversaries(base, other)


@pytest.fixture
def from_a_file(tmp_path: Path) -> tuple[Model, Path]:
    """A base whose corpus is a file, and the file."""
    path = tmp_path / "texts.csv"
    rows = [f"{'good' if n % 2 else 'bad'} film number {n},{n % 2}" for n in range(60)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    told: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 1, "device": "cpu"}
    return verax.train(verax.load_corpus(path), **told), path


def test_a_corpus_that_has_changed_or_gone_is_told_what_helps(
    from_a_file: tuple[Model, Path], no_training: None
) -> None:
    model, path = from_a_file
    text = path.read_text()
    path.write_text(text.replace("number 7", "number seven"))
    for given in (None, path):  # naming it would be refused as well
        with raises("corpus.changed"):
            run_adversaries(model, given)
    path.unlink()
    with raises("corpus.not-at-hand"):
        run_adversaries(model)


def test_a_corpus_that_has_moved_is_the_same(from_a_file: tuple[Model, Path]) -> None:
    model, path = from_a_file
    moved = path.rename(path.with_name("elsewhere.csv"))
    found = run_adversaries(model, moved, [0.5], controls=False, epochs=1, device="cpu")
    assert found.points()["lam"].tolist() == [0.5]


# -- where models are kept


@pytest.mark.parametrize("name", ["letter.txt", "notes/letter.txt"])
def test_a_folder_of_something_else_is_refused_before_anything_is_trained(
    base: Model, corpus: verax.Corpus, no_training: None, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("dear")
    with raises("output.occupied"):
        run_adversaries(base, corpus, [0.1, 0.5], keep=tmp_path)
    assert (tmp_path / name).read_text() == "dear"


def test_where_nothing_can_be_written_is_refused_before_anything_is_trained(
    base: Model, corpus: verax.Corpus, no_training: None
) -> None:
    """`/proc` takes no folder, not even from root, who may write everywhere."""
    with raises("output.not-writable"):
        run_adversaries(base, corpus, keep="/proc/models")
