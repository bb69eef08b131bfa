"""`measure_ids` and `verax exams --ids` list every number that a verdict can hold."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import pytest

import verax
from verax.cli import main
from verax.exams import EXAMS, measure_ids

TINY: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 1, "device": "cpu"}


@pytest.mark.slow
def test_every_number_of_a_verdict_is_listed() -> None:
    corpus = verax.load_corpus("planted", documents=120)
    model = verax.train(corpus, **TINY)
    summary = verax.examine(model, corpus, ["erasure", "replacement", "dispersion"]).summary()
    listed = measure_ids("erasure", "replacement", "dispersion")
    for measure, unit in zip(summary["measure"], summary["unit"], strict=True):
        hits = [fnmatchcase(measure, id.replace("[", "[[]")) for id in listed["id"]]
        assert any(hits), measure
        assert unit in set(listed["unit"][hits])


def test_ids_are_unique_and_name_their_exam() -> None:
    listed = measure_ids()
    assert listed["id"].is_unique
    assert set(listed["exam"]) == set(EXAMS)
    for row in listed.itertuples():
        assert str(row.id).startswith(f"{row.exam}.")


def test_the_command_prints_one_id_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exams", "--ids", "replacement"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("\t")[0].startswith("replacement.*.")
    assert [line.split("\t")[0] for line in lines] == measure_ids("replacement")["id"].tolist()
