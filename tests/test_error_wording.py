"""The wording of errors, and the only file that tests it: one line, which says what to do.

A case per kind of problem, of every area. All other tests match codes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import verax
from support.errors import raises, refused
from support.internals import refuse_foreign
from verax.errors import VeraxError
from verax.exams import load_limits
from verax.functional import entmax, minimal_flip_sets
from verax.models import ModelOptions
from verax.statistics import bootstrap
from verax.studies import read_study

SMALL = {"documents": 60, "length": 12}
FRAME = pd.DataFrame({"body": [f"good {i}" for i in range(40)], "stars": ["a", "b"] * 20})


def csv(text: str) -> Any:
    Path("mine.csv").write_text(text, encoding="utf-8")
    return verax.load_corpus("mine.csv")


def planted(**options: Any) -> Any:
    return verax.load_corpus("planted", **{**SMALL, **options})


def study(**more: Any) -> Any:
    return read_study({"corpora": {"planted": SMALL}, **more})


def settled(**options: Any) -> Any:
    return ModelOptions(**options).resolved(2)


def occupied() -> None:
    Path("there").mkdir()
    Path("there", "thesis.txt").write_text("mine")
    refuse_foreign(Path("there"), lambda folder: False)


def predicts(function: Any, classes: Any = ("no", "yes")) -> Any:
    return verax.from_predict(function, classes)


WEIGHTS = torch.full((1, 4), 0.25)

CASES: dict[str, tuple[Callable[[], object], str, tuple[str, ...]]] = {
    # options
    "unknown": (lambda: planted(lenght=3), "option.unknown", ("'lenght'", "did you mean 'length'")),
    "far off": (
        lambda: study(models={"encoder": "qqq"}),
        "option.unknown-value",
        ("'encoder'", "choose from bigru"),
    ),
    "near": (
        lambda: study(models={"encoder": "lstm"}),
        "option.unknown-value",
        ("did you mean 'bilstm'",),
    ),
    "range": (
        lambda: study(training={"epochs": 0}),
        "option.out-of-range",
        ("'epochs' is 0", "at least 1"),
    ),
    "type": (
        lambda: study(training={"epochs": "many"}),
        "option.wrong-type",
        ("'epochs' is 'many'", "expected a whole number"),
    ),
    "conflict": (
        lambda: settled(grounding="mlm", encoder="none"),
        "option.conflict",
        ("grounding 'mlm'", "encoder"),
    ),
    "list": (lambda: study(seeds=[]), "option.empty", ("'seeds' is an empty list", "give values")),
    "twice": (lambda: study(seeds=[1, 1]), "option.duplicate", ("'seeds' has 1 twice",)),
    # corpora
    "corpus": (
        lambda: verax.load_corpus("rotten_tomatos"),
        "corpus.unknown",
        ("did you mean 'rotten_tomatoes'",),
    ),
    "column": (
        lambda: verax.load_corpus(FRAME, label_column="stars"),
        "corpus.missing-column",
        ("no column 'text'", "name it with text_column (--text-column)"),
    ),
    "null": (
        lambda: verax.load_corpus(
            FRAME.assign(body=FRAME["body"].where(FRAME.index != 3, None)),
            text_column="body",
            label_column="stars",
        ),
        "corpus.null-value",
        ("null text", "row 3", "fill or remove"),
    ),
    "one class": (
        lambda: csv("text,label\n" + "".join(f"word {i},1\n" for i in range(40))),
        "corpus.one-class",
        ("one class only", "check label_column (--label-column)"),
    ),
    "source": (lambda: verax.load_corpus(3), "corpus.wrong-source", ("a int", "give a name")),  # type: ignore[arg-type]
    "lengths": (
        lambda: verax.load_corpus((["a"] * 3, [0, 1])),
        "corpus.wrong-source",
        ("3 texts and 2 labels", "give a label for each text"),
    ),
    "planted": (lambda: planted(evidence=40), "option.conflict", ("raise length to at least",)),
    # files
    "missing": (lambda: verax.load_corpus("none.csv"), "file.missing", ("no such file: none.csv",)),
    "empty": (lambda: csv(""), "file.empty", ("mine.csv is empty", "expected a header")),
    "cells": (
        lambda: csv("text,label\na, b,1\nc, d,0\n"),
        "file.malformed",
        ("more cells in a row", "put quotes around text"),
    ),
    "yaml": (
        lambda: (Path("study.yaml").write_text("corpora:\n\t- sst\n"), read_study("study.yaml")),
        "file.malformed",
        ("study.yaml line 2", "indent with blanks, not with tabs"),
    ),
    "vectors": (
        lambda: (
            Path("v.txt").write_text("good0_1 1 2 3\nw0 1 2\n"),
            verax.train(planted(), vectors="v.txt", encoder="none", epochs=1),
        ),
        "vectors.malformed",
        ("v.txt line 2", "every row needs a word and as many numbers"),
    ),
    # output
    "occupied": (
        occupied,
        "output.occupied",
        ("cannot write there", "holds other files", "give a new or an empty folder"),
    ),
    # models
    "model": (lambda: verax.load("."), "model.missing", ("is not a saved model",)),
    "texts": (lambda: predicts(None), "model.wrong-type", ("expected a function",)),
    "classes": (
        lambda: predicts(len, "no"),
        "model.class-names",
        ("classes is 'no'", "give a list of two names or more"),
    ),
    "probabilities": (
        lambda: predicts(lambda texts: np.full((len(texts), 2), 0.9)),
        "model.wrong-output",
        ("expected probabilities that sum to one", "gives='logits'"),
    ),
    "raising": (
        lambda: predicts(lambda texts: 1 / 0),
        "model.failed",
        ("the function failed", "ZeroDivisionError"),
    ),
    # exams, importance, limits
    "exam": (
        lambda: verax.examine(verax.train(planted(), encoder="none", epochs=1), exams="erasurs"),
        "option.unknown-value",
        ("unknown exam 'erasurs'", "did you mean 'erasure'"),
    ),
    "limits": (
        lambda: load_limits({"version": "mine", "limits": {"replacement": {"for_blow": 1}}}),
        "limits.unknown-name",
        ("has no limit 'for_blow'", "did you mean"),
    ),
    "limits version": (
        lambda: load_limits("2026-1"),
        "limits.unknown-version",
        ("no file '2026-1'", "did you mean"),
    ),
    "weights": (
        lambda: minimal_flip_sets(
            WEIGHTS, torch.zeros(1, 4, 2), torch.ones(1, 4).bool(), torch.zeros(3)
        ),
        "tensor.wrong-shape",
        ("bias has shape (3,)", "expected (2,)"),
    ),
    "alpha": (
        lambda: entmax(torch.zeros(1, 3), alpha=0.5),
        "option.out-of-range",
        ("alpha is 0.5", "choose one, such as 1.5"),
    ),
    # results, studies
    "result": (lambda: verax.load_verdict("."), "result.missing", ("holds no saved verdict",)),
    "open": (lambda: verax.open("nowhere"), "file.missing", ("no folder nowhere",)),
    "study": (
        lambda: read_study("grounding-x-sparse"),
        "study.unknown",
        ("no study 'grounding-x-sparse'", "did you mean"),
    ),
    "key": (
        lambda: study(workers=2),
        "study.unknown-key",
        ("'workers' does not belong here", "put it under hardware"),
    ),
    # statistics
    "values": (
        lambda: bootstrap(np.array([1.0, np.inf])),
        "statistics.bad-values",
        ("must be finite", "NaN to be left out"),
    ),
}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("case", CASES)
def test_an_error_is_one_line_that_says_what_to_do(case: str) -> None:
    call, code, phrases = CASES[case]
    with raises(code) as caught:
        call()
    check(caught.value, phrases)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("words", "code", "phrases"),
    [
        (["train", "planted", "--epcohs", "2"], "option.unknown", ("did you mean '--epochs'?",)),
        (["tarin"], "option.unknown-value", ("unknown command 'tarin'", "did you mean 'train'?")),
        (["train", "planted", "--epochs"], "command.usage", ("expected one argument", "--help")),
        (["train", "planted"], "option.missing", ("no out given", "--out DIR")),
        (["train", "planted", "--seed", "-1"], "option.out-of-range", ("--seed is -1",)),
        (["run"], "option.missing", ("no study given", "a YAML file")),
    ],
)
def test_an_error_of_the_command_line_is_too(
    words: list[str], code: str, phrases: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(words, code)
    assert capsys.readouterr().err == f"verax: {error}\n"
    check(error, phrases)


def check(error: VeraxError, phrases: tuple[str, ...]) -> None:
    line = str(error)
    assert "\n" not in line
    assert len(line) < 400
    assert not line.endswith(".")
    for phrase in phrases:
        assert phrase in line
