"""A cell as a row: every option by its name, and none in place of another."""

from __future__ import annotations

from verax.studies.grid import read_study
from verax.studies.grid.cell import Cell


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
    assert (row["permutations"], row["sample"], row["split"]) == (7, 9, "test")
    assert row["exams"] == "replacement,single_token"
    assert "vectors" in row
    assert row["fingerprint"] == study.cells[0].fingerprint


def test_json_gives_the_same_cell_back() -> None:
    (cell,) = read_study({"corpora": {"planted": {"documents": 60}}}).cells
    again = Cell.from_json(cell.to_json())
    assert (again, again.key) == (cell, cell.key)
