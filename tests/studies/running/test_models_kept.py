"""A model that was kept is not trained again when exams are added to a study."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import cells_here

import verax

pytestmark = pytest.mark.usefixtures("cells_here")

STUDY: dict[str, Any] = {
    "name": "kept",
    "corpora": {"planted": {"documents": 60}},
    "models": {"encoder": "none", "embedding_size": 16},
    "training": {"epochs": 2},
    "exams": ["replacement"],
    "weights": True,
}
MORE = {**STUDY, "exams": ["replacement", "single_token"]}


def manifest(folder: Path, results: verax.StudyResults) -> dict[str, Any]:
    from verax.studies import Store

    (key,) = results.done
    return Store.open(folder).manifest(key)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "s"
    with cells_here():
        verax.run_study(STUDY, folder)
    return folder


@pytest.fixture
def first(ran: Path, tmp_path: Path) -> verax.StudyResults:
    """The study with its model, in a folder `s` that a test may change."""
    shutil.copytree(ran, tmp_path / "s")
    return verax.open_study(tmp_path / "s")


@pytest.mark.slow
def test_another_exam_takes_the_model_that_is_there(
    first: verax.StudyResults, tmp_path: Path
) -> None:
    before = manifest(tmp_path / "s", first)
    more = verax.run_study(MORE, tmp_path / "s")
    assert before["model_of"] is None
    assert manifest(tmp_path / "s", more)["model_of"] == first.done[0]
    anew = verax.run_study(MORE, tmp_path / "anew")
    assert manifest(tmp_path / "anew", anew)["model_of"] is None
    assert more.tables == anew.tables
    for name in more.tables:
        pd.testing.assert_frame_equal(more.table(name), anew.table(name))
    text = ["w1 w2 good0_3 ."]
    one, other = (r.model(r.done[0], device="cpu").predict(text) for r in (more, anew))
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_damaged_model_is_trained_again(
    first: verax.StudyResults, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "s" / "cells" / first.done[0] / "model" / name
    path.write_bytes(path.read_bytes()[:-5])
    more = verax.run_study(MORE, tmp_path / "s")
    assert manifest(tmp_path / "s", more)["model_of"] is None


@pytest.mark.slow
def test_without_weights_a_model_is_trained(tmp_path: Path) -> None:
    verax.run_study({**STUDY, "weights": False}, tmp_path / "s")
    more = verax.run_study(MORE, tmp_path / "s")
    assert manifest(tmp_path / "s", more)["model_of"] is None
