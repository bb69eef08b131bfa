"""The estimate: what finished cells teach, what makes a cell longer, and what workers bring."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from study_files import study

from support.internals import estimate, work_of
from verax.studies import Study, read_study

PLANTED = {"planted": {"documents": 60, "length": 12}}


def work(models: dict[str, Any], **more: Any) -> float:
    read = read_study({"corpora": PLANTED, "models": models, "exams": "single_token", **more})
    (cell,) = read.cells
    return work_of(cell, read.corpora)


def test_work_is_documents_of_every_epoch_and_every_exam() -> None:
    read = read_study({"corpora": PLANTED, "models": {"epochs": 3}})
    (cell,) = read.cells
    (corpus,) = read.corpora.values()
    train, test = len(corpus.train), len(corpus.test)
    assert work_of(cell, read.corpora) == 3 * train + len(cell.exams) * test
    assert work_of(replace(cell, sample=2), read.corpora) == 3 * train + len(cell.exams) * 2
    assert work_of(replace(cell, sample=999), read.corpora) == work_of(cell, read.corpora)


def test_an_auto_strength_is_so_many_trainings() -> None:
    """The ungrounded model and three candidates: three trainings more."""
    tied = {"grounding": "tying", "epochs": 10}
    once, double = work(tied), work({**tied, "epochs": 20})
    several = work({**tied, "strength": "auto", "strengths": "1,2,3"})
    assert several - once == 3 * (double - once)


@pytest.fixture
def three(tmp_path: Path) -> Study:
    return study(
        tmp_path, "corpora: SMALL\nmodels: {epochs: [1, 100, 1000]}\nexams: single_token\n"
    )


def test_there_is_no_estimate_before_a_cell_has_finished(three: Study) -> None:
    nothing = estimate(three)
    assert (nothing.seconds, nothing.cells, nothing.measured) == (None, 3, 0)
    no_time = estimate(three, [(three.cells[0], 0.0)])
    assert (no_time.seconds, no_time.cells, no_time.measured) == (None, 2, 0)


def test_the_rest_takes_as_long_for_its_work(three: Study) -> None:
    first, second, third = three.cells
    each = [work_of(cell, three.corpora) for cell in three.cells]
    one = estimate(three, [(first, 5 * each[0])])
    assert one.seconds == pytest.approx(5 * (each[1] + each[2]))
    assert (one.cells, one.measured) == (2, 1)
    two = estimate(three, [(first, 3 * each[0]), (second, each[1])])
    assert two.seconds == pytest.approx(2 * each[2])
    every = estimate(three, [(cell, 1.0) for cell in (first, second, third)])
    assert (every.seconds, every.cells, every.measured) == (0, 0, 3)


def test_workers_share_but_the_longest_takes_its_time(three: Study) -> None:
    first = three.cells[0]
    each = [work_of(cell, three.corpora) for cell in three.cells]
    finished = [(first, each[0])]
    assert estimate(three, finished, workers=2).seconds == pytest.approx(each[2])
    left_out = [three.cells[2].key]
    assert estimate(three, finished, left_out).seconds == pytest.approx(each[1])
    assert estimate(three, finished, left_out).cells == 1


def test_cells_of_the_same_encoder_count_first_and_other_corpora_not(tmp_path: Path) -> None:
    read = study(tmp_path, "corpora: SMALL\nmodels: {encoder: [none, conv], epochs: [1, 2]}\n")
    none, slower_none, conv, slower_conv = read.cells
    finished = [(none, work_of(none, read.corpora)), (conv, 7 * work_of(conv, read.corpora))]
    expected = work_of(slower_none, read.corpora) + 7 * work_of(slower_conv, read.corpora)
    assert estimate(read, finished).seconds == pytest.approx(expected)
    elsewhere = replace(none, fingerprint="of another corpus")
    assert estimate(read, [(elsewhere, 9.0)]).seconds is None
