"""Studies of models that were not trained here: their cells examine, and train nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import verax
from support.errors import raises
from support.internals import MAKE_ENGINE
from verax.errors import VeraxErrors
from verax.studies import HereEngine, read_study

MODULE = """
import numpy as np
import verax

def by_length(texts):
    share = np.array([min(len(text), 60) / 60 for text in texts])
    return np.stack([1 - share, share], axis=1)

def make():
    return verax.from_predict(by_length, ["0", "1"])

def other():
    return verax.from_predict(lambda texts: by_length(texts)[:, ::-1], ["0", "1"])
"""


@pytest.mark.slow
def test_a_grid_of_models_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MODULE)
    study = {
        "name": "outside",
        "corpora": {"planted": {"documents": 60, "length": 10}},
        "models": {"mine": "mine.py:make", "theirs": "mine.py:other"},
        "exams": {"deletion": {"random_orders": 2}},
        "seeds": [0, 1],
    }
    read = read_study(study)
    assert list(read.labels.values()) == [
        *("mine  seed 0", "mine  seed 1", "theirs  seed 0", "theirs  seed 1")
    ]
    engine = MAKE_ENGINE
    monkeypatch.setattr(engine, lambda hardware: HereEngine(hardware.device))
    results = verax.run_study(study, "outside", workers=1)
    assert results.counts == {"done": 4}
    summary = results.summary()
    assert set(summary["outside"]) == {"mine", "theirs"}
    assert results.verdict(results.cells["cell"].iloc[0]).manifest["model"]["kind"] == "predict"
    monkeypatch.setitem(sys.modules, "altair", None)  # no charts
    results.report("page.html")
    assert "theirs" in Path("page.html").read_text()


def test_without_a_name_it_is_called_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    file = tmp_path / "lengths.yaml"
    file.write_text(
        f"corpora: {{planted: {{documents: 60}}}}\nmodels: {{m: {tmp_path}/mine.py:make}}"
    )
    assert read_study(file).name == "lengths"


def test_what_such_a_study_cannot_have_is_refused(tmp_path: Path) -> None:
    study = {
        "corpora": {"planted": {"documents": 60}},
        "models": {"mine": f"{tmp_path}/none.py:make", "theirs": f"hf:{tmp_path}/nowhere"},
        "training": {"epochs": 1},
    }
    with raises("option.malformed") as errors:
        read_study(study)
    assert isinstance(errors.value, VeraxErrors)
    problems = {str(one).partition(": ")[0]: one.code for one in errors.value.problems}
    assert problems["training"] == "option.not-applicable"
    assert sorted(problems.values()) == [*["option.malformed"] * 2, "option.not-applicable"]
