"""What a display is told, and how often."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

import verax
from support.internals import shown
from verax.progress import Display, NotebookLine, Progress, Reporting, duration, tracked

Told = tuple[str, int, int | None, str]


def reporting(every: float = 0.2) -> tuple[Reporting, list[Told]]:
    told: list[Told] = []
    return Reporting(lambda *what: told.append(what), every), told


def step(epoch: int, number: int, loss: float | None = None, score: float | None = None) -> Any:
    return SimpleNamespace(epoch=epoch, epochs=3, step=number, steps=10, loss=loss, score=score)


def test_what_is_given_is_used_and_a_bool_makes_bars() -> None:
    display, _ = reporting()
    assert shown(display) is display
    assert isinstance(shown(True), Progress)
    assert isinstance(shown(False), Progress)


@pytest.mark.slow
def test_values_pass_unchanged_and_the_rate_is_bounded() -> None:
    """2,000 values in 0.4 s or more, and one call every 0.1 s: at most 1 + the tenths passed."""
    display, told = reporting(0.1)
    started = time.monotonic()

    def slowly() -> Any:
        for number in range(2000):
            time.sleep(0.0002)
            yield number

    assert list(display.watching("counting")(slowly())) == list(range(2000))
    tenths = (time.monotonic() - started) / 0.1
    assert told[0] == ("counting", 0, None, "")
    assert 3 <= len(told) <= 1 + tenths
    assert [done for _, done, _, _ in told] == sorted(done for _, done, _, _ in told)


def test_every_beginning_is_told_however_soon_it_comes() -> None:
    display, told = reporting(1000)
    for what in ("reading", "writing"):
        assert list(display.watching(what)([1, 2])) == [1, 2]
    with display.busy("thinking"):
        pass
    for epoch in (1, 2):
        for number in (1, 2):
            display.step(step(epoch, number, loss=0.5, score=None if epoch == 1 else 0.75))
    assert told == [
        ("reading", 0, 2, ""),
        ("writing", 0, 2, ""),
        ("thinking", 0, None, ""),
        ("epoch 1/3", 1, 30, "loss 0.500"),
        ("epoch 2/3", 11, 30, "loss 0.500  validation 0.750"),
    ]


def test_things_done_in_turns_do_not_flood() -> None:
    display, told = reporting(1000)
    for _ in display.watching("outer")(range(100)):
        list(display.watching("inner")(range(100)))
    assert len(told) == 2


def test_training_and_examining_tell_a_display_of_their_phases() -> None:
    corpus = verax.load_corpus("planted", documents=120)
    display, told = reporting()
    given: Display = display
    model = verax.train(corpus, encoder="none", epochs=2, progress=given)
    verax.examine(model, corpus, ["replacement"], progress=given)
    phases = [what for what, done, *_ in told if done == 0 or what.startswith("epoch")]
    assert list(dict.fromkeys(phases)) == [
        "tokenizing train",
        "tokenizing validation",
        "tokenizing test",
        "epoch 1/2",
        "epoch 2/2",
        "examining",
        "gathering tables",
    ]
    assert phases.count("tokenizing test") == 1
    assert "loss" in next(note for what, _, _, note in told if what == "epoch 1/2")


def test_a_display_changes_no_result() -> None:
    corpus = verax.load_corpus("planted", documents=120)
    models = [
        verax.train(corpus, encoder="conv", epochs=1, progress=progress)
        for progress in (False, reporting(0)[0])
    ]
    first, second = (model.state_dict() for model in models)
    assert all(first[name].equal(second[name]) for name in first)


def test_one_bar_shows_what_is_told_and_forgets_a_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    with Progress() as display:
        display.tell("epoch 1/2", 3, 10, "loss 0.5")
        (task,) = display._bars.tasks
        assert (task.description, task.completed, task.total) == ("epoch 1/2", 3, 10)
        display.tell("writing")
        (task,) = display._bars.tasks
        assert (task.description, task.completed, task.total) == ("writing", 0, None)
    with Progress(False) as display:
        display.tell("epoch 1/2", 3, 10)
        assert not display._bars.tasks


def test_python_shows_progress_where_somebody_can_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal or in a notebook, unless VERAX_PROGRESS is 0 or a display is open already."""
    monkeypatch.delenv("VERAX_PROGRESS", raising=False)
    assert not shown(None)._wanted  # type: ignore[attr-defined]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert shown(None)._wanted  # type: ignore[attr-defined]
    with shown(None):
        assert not shown(None)._wanted  # type: ignore[attr-defined]
    monkeypatch.setenv("VERAX_PROGRESS", "0")
    assert not shown(None)._wanted  # type: ignore[attr-defined]
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert isinstance(shown(True), NotebookLine)


class Clock:
    """A clock that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("verax.progress.time.monotonic", lambda: self.now)

    def ticking(self, count: int, seconds: float) -> Any:
        for number in range(count):
            self.now += seconds
            yield number


def test_work_of_more_than_a_minute_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten parts of 50 s within one batch, as of a text of 12,000 words; once, and nothing else."""
    clock = Clock(monkeypatch)
    with Progress() as display:
        for _ in display.watching("explaining")([0]):
            list(tracked(clock.ticking(10, 50), "leaving words out", 10, lambda _: 1))
    assert capsys.readouterr().err == f"leaving words out: about {duration(500)}\n"
    with Progress() as display:
        list(tracked(clock.ticking(10, 5), "leaving words out", 10, lambda _: 1))
        list(display.watching("short")(list(clock.ticking(3, 1))))
    with Progress(False):
        list(tracked(clock.ticking(10, 50), "leaving words out", 10, lambda _: 1))
    assert capsys.readouterr().err == ""


def test_a_notebook_has_a_line_that_is_cleared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(monkeypatch)
    with NotebookLine() as display:
        list(tracked(clock.ticking(4, 20), "leaving words out", 4, lambda _: 1))
        list(display.watching("writing")([1]))
    lines = [line.strip() for line in capsys.readouterr().err.split("\r")]
    assert "leaving words out: 2 of 4" in "".join(lines)
    assert lines[-1] == ""
