"""Corpora of a study that a function loads: what it gets, what enters the key, what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import cells_here
from study_files import Problem, refused, study

import verax
from support.errors import raises

SOURCE = '''
import verax

def fewer(name, *, most, **options):
    """The first documents of each class."""
    whole = verax.load_corpus(name, documents=90, length=12)
    texts = [" ".join(tokens) for tokens in tokens_of(whole.train)]
    labels = [whole.classes[label] for label in whole.train.labels]
    kept = [n for n in range(len(texts)) if labels[:n].count(labels[n]) < most]
    return verax.load_corpus(([texts[n] for n in kept], [labels[n] for n in kept]), **options)

def wrong(name):
    return name

def failing(name):
    raise RuntimeError("no network")

def bare(name):
    return verax.load_corpus(name, documents=60)

bare.version = 3
constant = 7
'''


@pytest.fixture
def module(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file of a name of its own: modules stay imported."""
    name = f"corpora_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return f"{name}.py"


def read(folder: Path, loader: str, more: str = "") -> verax.studies.Study:
    return study(
        folder, f"corpora:\n  planted: {{loader: '{loader}'{more}}}\nexams: single_token\n"
    )


def test_a_function_loads_the_corpus_with_its_options(tmp_path: Path, module: str) -> None:
    found = read(tmp_path, f"{module}:fewer", ", most: 20, tokenizer: whitespace, min_df: 2")
    (cell,) = found.cells
    (corpus,) = found.corpora.values()
    assert (corpus.name, len(corpus.train) + len(corpus.validation) + len(corpus.test)) == (
        "planted",
        40,
    )
    assert cell.corpus == {
        "corpus": "planted",
        "loader": f"{module}:fewer@1",
        "most": 20,
        "tokenizer": "whitespace",
    }
    assert cell.training["min_df"] == 2
    with cells_here():
        results = verax.run_study(tmp_path / "study.yaml", tmp_path / "out")
    assert results.cells["loader"].tolist() == [f"{module}:fewer@1"]
    assert list(results.cells["cell"]) == [cell.key]
    assert cell.load_corpus(trusted=True).fingerprint == cell.fingerprint
    with raises("corpus.not-at-hand", f"{module}:fewer@1"):
        cell.load_corpus()


def test_name_options_and_version_of_the_function_are_part_of_the_key(
    tmp_path: Path, module: str
) -> None:
    def key(loader: str, more: str = "") -> str:
        (cell,) = read(tmp_path, loader, more).cells
        return cell.key

    (plain,) = study(tmp_path, "corpora: {planted: {documents: 60}}\nexams: single_token\n").cells
    keys = [plain.key, key(f"{module}:bare"), key(f"{module}:fewer", ", most: 90")]
    assert key(f"{module}:bare@3") == key(f"{tmp_path / module}:bare") == keys[1]
    sys.modules[module.removesuffix(".py")].bare.version = 4
    keys.append(key(f"{module}:bare"))
    assert len(set(keys)) == len(keys)


def problem_of(folder: Path, loader: str, more: str = "") -> Problem:
    (problem,) = refused(folder, f"corpora:\n  planted:\n    loader: '{loader}'\n{more}")
    return problem


@pytest.mark.parametrize(
    ("function", "more", "expected"),
    [
        (":bare@2", "", ("line 3", "option.conflict", "3", "2")),
        (":bare", "    most: 3\n", ("line 4", "option.unknown", "most")),
        (":fewer", "    most: 3\n    mots: 3\n", ("line 5", "option.unknown", "mots", "most")),
        (":fewer", "    most: 3\n    min_words: 0\n", ("line 5", "option.out-of-range", "0")),
        (":constant", "", ("line 3", "option.unknown-value", "constant")),
        (":nothing", "", ("line 3", "option.unknown-value", "nothing")),
        ("", "", ("line 3", "option.malformed")),
        (":wrong", "", ("line 2", "plugin.invalid", "str")),
        (":failing", "", ("line 2", "plugin.invalid", "RuntimeError", "no network")),
        (":fewer", "", ("line 2", "plugin.invalid", "most")),
    ],
)
def test_what_is_wrong_with_a_loader_is_refused_with_its_line(
    tmp_path: Path, module: str, function: str, more: str, expected: tuple[str, ...]
) -> None:
    problem_of(tmp_path, f"{module}{function}", more).check(*expected)


def test_a_loader_that_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    problem_of(tmp_path, "no_such_package.corpora:load").check("line 3", "plugin.import-failed")


def test_a_stored_model_does_not_run_the_function_again(tmp_path: Path, module: str) -> None:
    """A saved file names code, and is not trusted."""
    read(tmp_path, f"{module}:bare")
    path = tmp_path / "study.yaml"
    path.write_text(path.read_text() + "weights: true\ntraining: {epochs: 1}\n")
    with cells_here():
        results = verax.run_study(path, tmp_path / "out")
    model = verax.load(tmp_path / "out" / "cells" / results.cells["cell"][0] / "model")
    with raises("corpus.not-at-hand", f"{module}:bare@3"):
        verax.examine(model)
