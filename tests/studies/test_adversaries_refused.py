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
        ({"lams": [-1]}, "option 'lams' is -1.0: it must be at least 0"),
        ({"lams": [math.nan]}, "option 'lams' is nan: it must be a finite number"),
        ({"lams": []}, "lams is empty"),
        ({"lams": 0.5}, "lams is 0.5: give a list of numbers"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [0.5]}, "option 'seeds' is 0.5: expected a whole number"),
        ({"seeds": [-1]}, "option 'seeds' is -1: it must be at least 0"),
        ({"retrain": [-1]}, "option 'retrain' is -1: it must be at least 0"),
        ({"projection": "uniform"}, "an adversary's attention must be free to move"),
        ({"class_weight": "balanced"}, "it must stay 'none'"),
        ({"retrain": [0]}, "cannot retrain with seed 0: it is the base's"),
        ({"retrain": "12"}, "retrain is '12': give a list"),
        ({"others": "folder"}, "others is one model: give a list"),
        ({"others": ["nowhere"]}, "nowhere is not a saved model"),
        ({"split": "dev"}, "unknown split 'dev'"),
        ({"lam": 0.5}, "option 'lam' is what this study sets"),
        ({"epoch": 3}, "unknown option 'epoch': did you mean 'epochs'"),
        ({"epochs": 0}, "option 'epochs' is 0"),
        ({"corpus": "plantd"}, "unknown corpus 'plantd'"),
        ({"base": "nowhere"}, "nowhere is not a saved model"),
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


# -- other corpora than the base's own


def test_another_corpus_is_told_what_would_make_it_the_bases_own(
    base: Model, corpus: verax.Corpus, no_training: None
) -> None:
    other = verax.load_corpus("planted", documents=72, length=12, limit=50)
    message = (
        r"is not what the base was trained on .*: leave out corpus \(--corpus\), or give 'planted' "
        r"with documents 60, limit none, as the base had it$"
    )
    with pytest.raises(verax.VeraxError, match=message):
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
        with pytest.raises(verax.VeraxError, match="changed since; bring it back as it was, or "):
            run_adversaries(model, given)
    path.unlink()
    with pytest.raises(verax.VeraxError, match=r"cannot be loaded \(.*\): put it back, or give"):
        run_adversaries(model)


def test_a_corpus_that_has_moved_is_the_same(from_a_file: tuple[Model, Path]) -> None:
    model, path = from_a_file
    moved = path.rename(path.with_name("elsewhere.csv"))
    found = run_adversaries(model, moved, [0.5], controls=False, epochs=1, device="cpu")
    assert found.points()["lam"].tolist() == [0.5]


# -- where models are kept


@pytest.mark.parametrize("name", ["letter.txt", "lam0.5-seed1/letter.txt", "notes/letter.txt"])
def test_a_folder_of_something_else_is_refused_before_anything_is_trained(
    base: Model, corpus: verax.Corpus, no_training: None, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("dear")
    with pytest.raises(verax.VeraxError, match=rf"it holds other files \({name.split('/')[0]}\)"):
        run_adversaries(base, corpus, [0.1, 0.5], keep=tmp_path)
    assert (tmp_path / name).read_text() == "dear"


def test_where_nothing_can_be_written_is_refused_before_anything_is_trained(
    base: Model, corpus: verax.Corpus, no_training: None, tmp_path: Path
) -> None:
    """`/proc` takes no folder, not even from root, who may write everywhere."""
    with pytest.raises(verax.VeraxError, match="nothing can be written in /proc"):
        run_adversaries(base, corpus, keep="/proc/models")
    (tmp_path / ".hidden").mkdir()
    with pytest.raises(AssertionError, match="a model was trained"):
        run_adversaries(base, corpus, keep=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".hidden"]


def test_what_is_damaged_is_named_and_to_be_deleted(
    base: Model, corpus: verax.Corpus, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"lams": [0.5], "keep": tmp_path, "epochs": 1, "device": "cpu"}
    run_adversaries(base, corpus, **settings)
    kept, guided = tmp_path / "lam0.5-seed1", tmp_path / "mlp-guided-by-base-seed1"
    for file in (kept / "model.safetensors", kept / "config.json", guided / "documents.parquet"):
        whole = file.read_bytes()
        file.write_bytes(whole[:40])
        with pytest.raises(verax.VeraxError, match=rf"^{file.parent} is damaged .*: delete it"):
            run_adversaries(base, corpus, **settings)
        file.unlink()
        with pytest.raises(verax.VeraxError, match=rf"is damaged \(it lacks {file.name}\): delete"):
            run_adversaries(base, corpus, **settings)
        file.write_bytes(whole)
    run_adversaries(base, corpus, **settings)
