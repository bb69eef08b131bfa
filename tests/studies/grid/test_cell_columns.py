"""A cell as a row: every option by its name, and none in place of another."""

from __future__ import annotations

import json
from dataclasses import replace

from verax.studies import Cell, read_study


def test_a_corpus_made_by_a_seed_keeps_it_apart_from_that_of_training() -> None:
    corpora = [{"planted": {"documents": 60, "seed": 5}}, {"planted": {"documents": 60, "seed": 6}}]
    study = read_study({"corpora": corpora, "seeds": [1, 2], "exams": "single_token"})
    rows = [cell.columns() for cell in study.cells]
    assert [(row["corpus_seed"], row["seed"]) for row in rows] == [(5, 1), (5, 2), (6, 1), (6, 2)]
    assert {row["corpus"] for row in rows} == {"planted"}


def test_every_option_of_an_exam_has_a_column() -> None:
    exams = [{"replacement": {"permutations": 7}}, "single_token"]
    study = read_study({"corpora": {"planted": {"documents": 60}}, "exams": exams, "sample": 9})
    (row,) = [cell.columns() for cell in study.cells]
    assert (row["replacement.permutations"], row["sample"], row["split"]) == (7, 9, "test")
    assert row["exams"] == "replacement,single_token"
    assert row["single_token.curves"] == 0
    assert "vectors" in row
    assert not {"permutations", "curves"} & set(row)  # two exams may call an option the same
    assert row["fingerprint"] == study.cells[0].fingerprint


def test_files_are_called_by_their_own_names() -> None:
    (cell,) = read_study({"corpora": {"planted": {"documents": 60}}}).cells
    here = {"corpus": "/home/me/data/reviews.csv"}
    training = {**cell.training, "vectors": "/home/me/glove.txt.gz"}
    moved = replace(cell, corpus={**cell.corpus, **here}, training=training, vectors="sha256:ab")
    assert (moved.columns()["corpus"], moved.columns()["vectors"]) == (
        "reviews.csv",
        "glove.txt.gz",
    )
    assert "home" not in json.dumps(moved.to_json())
    again = Cell.from_json(moved.to_json())
    assert (again.key, again.trained) == (moved.key, moved.trained)


def test_json_gives_the_same_cell_back() -> None:
    (cell,) = read_study({"corpora": {"planted": {"documents": 60}}}).cells
    again = Cell.from_json(cell.to_json())
    assert (again, again.key) == (cell, cell.key)
