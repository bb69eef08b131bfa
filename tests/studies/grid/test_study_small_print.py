"""Small print of study files: what would otherwise make two cells of one, or one name of two."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_files import chosen, refused, study, write

from support.internals import content
from verax.studies import read_study


def test_a_corpus_s_cells_stand_together(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: [{planted: {documents: 60, seed: 1}}, {planted: {documents: 60, seed: 2}}]
        models: [{encoder: none}, {encoder: conv}]
        exams: single_token
        """,
    )
    order = [(cell.corpus["seed"], cell.model["encoder"]) for cell in found.cells]
    assert order == [(1, "none"), (1, "conv"), (2, "none"), (2, "conv")]


def test_a_choice_called_none_says_of_what(tmp_path: Path) -> None:
    text = "corpora: SMALL\nmodels: {grounding: [none, residual]}\nexams: single_token\n"
    assert list(study(tmp_path, text).labels.values()) == ["grounding=none", "residual"]


@pytest.mark.parametrize("name", ["study.yaml", "study.json"])
def test_a_mark_of_byte_order_is_no_part_of_the_file(tmp_path: Path, name: str) -> None:
    text = '{"corpora": {"planted": {"documents": 60}}, "exams": "single_token"}'
    marked, plain = (read_study(write(tmp_path, m + text, name)) for m in ("\ufeff", ""))
    assert marked.cells == plain.cells


@pytest.mark.parametrize("name", [".hidden", "..", "a/b", '" "'])
def test_a_name_is_one_that_a_folder_can_have(tmp_path: Path, name: str) -> None:
    (problem,) = refused(tmp_path, f"name: {name}\ncorpora: SMALL\n")
    problem.check("line 1", "file.bad-name", "name")


def test_minus_nought_is_nought(tmp_path: Path) -> None:
    text = "corpora: SMALL\nmodels: {projection: sparsegen, lam: LAM}\nexams: single_token\n"
    one, other = (study(tmp_path, text.replace("LAM", lam)) for lam in ("-0.0", "0.0"))
    assert one.cells[0].key == other.cells[0].key
    assert str(chosen(one, "lam")) == "[(0.0,)]"


def test_a_vectors_file_is_read_to_its_end(tmp_path: Path) -> None:
    start = b"a 1 2\n" * (3 * 2**20 // 6)
    found = []
    for number, end in enumerate((b"", b"b 1 2\n", b"c 1 2\n")):
        path = tmp_path / f"{number}.txt"
        path.write_bytes(start + end)
        found.append(content(str(path)))
    assert len(set(found)) == 3
    (tmp_path / "again.txt").write_bytes(start)
    assert content(str(tmp_path / "again.txt")) == found[0]
