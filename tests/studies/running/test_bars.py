"""What a person sees of a run: bars for what is under way, a line for what has ended."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from verax.studies import Progressed
from verax.studies.running.watching import Bars

LABELS = {"a": "softmax  seed 0", "b": "sparsemax  seed 0"}


def test_lines_where_nothing_is_drawn() -> None:
    lines: list[str] = []
    with Bars(LABELS, lines.append) as bars:
        bars.begins("2 workers", cells=3, done=1, failed=0)
        bars.starts("a")
        bars.starts("b")
        bars.gives_up("b", "its worker was killed")
        bars.starts("b")
        bars.finishes("a", {"seconds": {"total": 3.4}, "halved": True})
        bars.fails("b", {"reason": "diverged", "error": "the loss became nan"})
    assert lines == [
        "3 cells, 1 done; 2 workers",
        "sparsemax  seed 0: its worker was killed",
        "2/3  softmax  seed 0  3 s, with half the tokens at once",
        "3/3  sparsemax  seed 0  failed, diverged: the loss became nan",
    ]
    assert (bars.ended, bars.failed) == (2, 1)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Bars:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr("verax.studies.running.watching.Console", lambda stderr: console)
    return Bars(LABELS, lambda line: pytest.fail("bars are drawn, and lines go above them"))


def test_a_bar_for_the_study_and_one_for_each_cell_under_way(drawn: Bars) -> None:
    with drawn:
        drawn.begins("2 workers", cells=2, done=0, failed=0)
        drawn.starts("a")
        drawn.progresses(Progressed("a", "epoch 1/3", 4, 15, "loss 0.7"))
        drawn.progresses(Progressed("gone", "epoch 1/3", 4, 15))
        shown = {task.description: task for task in drawn.columns.tasks}
        assert list(shown) == ["study", "softmax  seed 0"]
        assert (shown["softmax  seed 0"].completed, shown["softmax  seed 0"].total) == (4, 15)
        assert shown["softmax  seed 0"].fields["note"] == "epoch 1/3  loss 0.7"
        drawn.progresses(Progressed("a", "gathering tables"))
        assert shown["softmax  seed 0"].total is None
        drawn.finishes("a", {})
        assert [(t.description, t.completed) for t in drawn.columns.tasks] == [("study", 1)]
        drawn.elsewhere("b")
        assert drawn.columns.tasks[0].completed == 2
