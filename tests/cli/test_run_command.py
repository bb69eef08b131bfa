"""`verax run` as typed: what it shows, what it refuses, what it says at the end."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from refused import refusal

import verax
from forked_workers import forked_workers
from support.internals import Event
from support.internals import running_run as running
from verax.cli import main
from verax.studies import DIVERGED, Failed, Finished, Hardware, Job, Store

pytestmark = pytest.mark.usefixtures("alone")

STUDY = """\
question: Does it [bold]run[/bold]?
corpora: {planted: {documents: 60, length: 12}}
models:
  encoder: none
  projection: [softmax, sparsemax]
training: {epochs: 1}
seeds: [0, 1]
exams: [replacement, single_token]
hardware: {workers: 1, threads: 2}
"""
CELLS = 4
Fate = Callable[[Job], Event]


def fine(job: Job) -> Event:
    facts = {"seconds": {"total": 20.0}, "versions": {"verax": verax.__version__}}
    return Finished(job.cell.key, {"table.parquet": b"rows"}, facts)


def failing(*seeds: int) -> Fate:
    def fate(job: Job) -> Event:
        if job.cell.seed in seeds:
            return Failed(job.cell.key, DIVERGED, "the [bold]loss\nbecame nan", "Traceback …")
        return fine(job)

    return fate


class Instant:
    """An engine without processes: cells end at once, as `fate` says."""

    fate: Fate = staticmethod(fine)

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        self.workers = hardware.workers or 1
        self.jobs: list[Job] = []
        self.run: list[Job] = []
        self.stopped = False

    @property
    def free(self) -> int:
        return self.workers - len(self.jobs)

    def describe(self) -> str:
        return "at once"

    def submit(self, job: Job, corpus: verax.Corpus) -> None:
        self.jobs.append(job)
        self.run.append(job)

    def wait(self, timeout: float) -> list[Event]:
        return [type(self).fate(self.jobs.pop(0))]

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[Instant]:
    """Every engine that a command made, in place of real ones."""
    made: list[Instant] = []

    def make(hardware: Hardware) -> Instant:
        made.append(Instant(hardware))
        return made[-1]

    monkeypatch.setattr(Instant, "fate", staticmethod(fine))
    monkeypatch.setattr(running, "make_engine", make)
    return made


def end_with(monkeypatch: pytest.MonkeyPatch, fate: Fate) -> None:
    monkeypatch.setattr(Instant, "fate", staticmethod(fate))


@pytest.fixture
def study() -> str:
    return written(STUDY)


def written(text: str, name: str = "mine.yaml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def printed(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int = 0, errors: int = 0
) -> list[str]:
    """The lines on standard output, after a look at the exit code and standard error."""
    assert main(["run", *arguments]) == code
    out, err = capsys.readouterr()
    assert err.count("\n") == errors
    return out.splitlines() + err.splitlines()


def cells(folder: str = "mine") -> dict[str, dict[str, Any]]:
    return dict(Store.open(folder).resolved()["cells"])


def test_a_dry_run_shows_the_cells_and_touches_nothing(
    study: str, engines: list[Instant], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, [study, "--dry-run"])
    assert lines[0] == "Does it [bold]run[/bold]?"
    assert [line.split("  ", 1)[1].split(maxsplit=2)[:2] for line in lines[1:5]] == [
        ["to", "do"]
    ] * 4
    assert [line.split("to do")[1].strip() for line in lines[1:5]] == [
        f"{projection}  seed {seed}" for projection in ("softmax", "sparsemax") for seed in (0, 1)
    ]
    assert lines[5] == (
        f"{CELLS} cells, {CELLS} to run on 1 worker, 2 threads each, CPU: no estimate yet: no cell "
        "has finished"
    )
    assert len(lines) == 6
    assert not engines
    assert [path.name for path in Path().iterdir()] == [study]
    assert main(["run", study]) == 0
    assert [line.split()[0] for line in lines[1:5]] == list(cells())


def test_a_dry_run_says_what_became_of_cells(
    study: str,
    engines: list[Instant],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    end_with(monkeypatch, failing(1))
    main(["run", study])
    capsys.readouterr()
    done = [key for key, config in cells().items() if config["seed"] == 0]
    Path("mine/cells", done[0], "table.parquet").write_bytes(b"")
    lines = printed(capsys, [study, "--seeds", "0,1,2", "--dry-run"])
    states = {line.split()[0]: line[18:25].strip() for line in lines[1:7]}
    assert states[done[0]] == "damaged"
    assert states[done[1]] == "done"
    assert list(states.values()).count("failed") == 2
    assert list(states.values()).count("to do") == 2
    # by the one that is left, though it was made up: 20 seconds a cell
    assert lines[-1].startswith("6 cells, 3 to run on ")  # the damaged one, and the new seed's
    assert lines[-1].endswith("CPU: about 60 s (estimated from 1 cell that finished)")
    assert Path("mine/cells", done[0]).exists()


def test_a_long_list_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    seeds = f"seeds: [{', '.join(map(str, range(203)))}]\n"
    study = written("corpora: {planted: {documents: 60}}\nexams: single_token\n" + seeds)
    lines = printed(capsys, [study, "--dry-run"])
    assert len(lines) == 202
    assert lines[200] == "… and 3 more"
    assert lines[201].startswith("203 cells, 203 to run on ")


@pytest.mark.slow
def test_a_study_is_run_kept_and_gone_on_with(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a worker: the one test here that trains."""
    one = [study, "--device", "cpu", "--threads", "1", "--set", "projection=softmax"]
    lines = printed(capsys, [*one, "--seeds", "0"])
    assert lines[0] == "1 cell; 1 worker, 1 thread each, CPU"
    assert lines[1].startswith("1/1  planted  seed 0  ")
    assert lines[2] == (
        "1 of 1 cells are done, in mine: verax.open_study('mine').summary() has their numbers"
    )
    assert lines[3:] == ["to look at: mine/report.html"]
    assert '<section id="exam-single_token"' in Path("mine/report.html").read_text(encoding="utf-8")
    results = verax.open_study("mine")
    assert {"replacement", "single_token", "summary", "history"} <= set(results.tables)
    lines = printed(capsys, [*one, "--seeds", "0"])
    assert lines[0] == "1 cell, 1 done; nothing to run"
    assert lines[-1] == "to look at: mine/report.html"
    # a page that cannot be made costs no finished cell, and is not asked for where none is done
    Path("mine/report.html").unlink()
    Path("mine/report.html").mkdir()
    lines = printed(capsys, [*one, "--seeds", "0"])
    assert lines[-1].startswith("no report: cannot write mine/report.html: ")
    assert lines[-1].endswith("; to try again: verax report mine")
    with forked_workers():
        lines = printed(capsys, [*one, "--set", "lr=1e30", "--retry-failed"], code=1)
    assert "report" not in lines[-1]
    assert lines[0].startswith("2 cells; ")
    assert sum("failed, diverged: the loss became" in line for line in lines) == 2
    assert "1 cell more in mine, of other seeds or options" in "\n".join(lines)
    assert results.done == [path.name for path in Path("mine/cells").iterdir()]


def test_what_a_reader_might_not_expect_is_said_first(
    engines: list[Instant], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.csv").write_text(
        "text,label\n" + "".join(f"{'good' if i % 2 else 'bad'} {i},{i % 2}\n" for i in range(40))
    )
    study = written("corpora: mine.csv\nmodels: {lam: [0.1, 0.2]}\nexams: single_token\n")
    note = "2 combinations are one model (lam has no effect with projection=softmax): run once"
    for arguments in ([study], [study, "--dry-run"]):
        lines = printed(capsys, arguments)
        notes = verax.load_corpus("mine.csv").notes
        assert lines[: len(notes) + 1] == [*(f"mine.csv: {n}" for n in notes), note]


@pytest.mark.slow
def test_everything_wrong_is_told_at_once_with_its_line(
    engines: list[Instant], capsys: pytest.CaptureFixture[str]
) -> None:
    study = written("corpora: planted\nmodel: {}\nseeds: [a]\nexams: [frag]\ntraining: {lr: -1}\n")
    lines = printed(capsys, [study], code=2, errors=4)
    assert [line.partition(": ")[2][:24] for line in lines] == [
        "mine.yaml line 2: unknow",
        "mine.yaml line 3: option",
        "mine.yaml line 4: unknow",
        "mine.yaml line 5: option",
    ]
    assert all(line.startswith("verax: ") for line in lines)
    assert not engines
    assert not Path("mine").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ("option.missing",)),
        (["grounding"], ("study.unknown", "grounding-x-sparsity")),
        (["other.yaml"], ("file.unreadable", "other.yaml")),
        (["mine.yaml", "--budget", "5x"], ("option.malformed", "--budget", "5x")),
        (["mine.yaml", "--budget", "25"], ("option.malformed", "--budget", "25")),
        (["mine.yaml", "--budget", "25m!"], ("option.malformed", "--budget", "25m!")),
        (["mine.yaml", "--budget", "0m"], ("option.out-of-range", "--budget", "0m")),
        (["mine.yaml", "--seeds", ","], ("option.empty", "--seeds")),
        (["mine.yaml", "--seeds", "0,x"], ("option.wrong-type", "x")),
        (["mine.yaml", "--exams", "replac"], ("option.unknown-value", "replacement")),
        (["mine.yaml", "--set", "epochs"], ("option.malformed", "--set", "epochs")),
        (["mine.yaml", "--set", "=2"], ("option.malformed", "--set", "=2")),
        (["mine.yaml", "--set", "epoch=2"], ("option.unknown", "epochs")),
        (["mine.yaml", "--set", "epochs=many"], ("option.wrong-type",)),
        (["mine.yaml", "--corpora", "nowhere.csv"], ("file.missing", "nowhere.csv")),
        (["mine.yaml", "--workers", "0"], ("option.out-of-range", "workers")),
        (["mine.yaml", "--engine", "dask"], ("option.unknown-value", "engine")),
        (["mine.yaml", "--out", "full"], ("output.occupied",)),
    ],
)
def test_bad_input_is_told_in_a_line(
    arguments: list[str], expected: tuple[str, ...], study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("full").mkdir()
    Path("full/letter.txt").write_text("dear")
    refusal(capsys, ["run", *arguments], *expected)
    refusal(capsys, ["run", *arguments, "--dry-run"], *expected)
    assert not Path("mine").exists()


@pytest.mark.slow
def test_an_address_needs_the_engine_it_is_for(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, ["run", study, "--address", "auto"], "option.conflict", "address", "engine ray")


@pytest.mark.slow
def test_a_folder_of_another_study_is_left_alone(
    study: str, engines: list[Instant], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", study])
    capsys.readouterr()
    before = Path("mine/resolved.json").read_bytes()
    other = written(STUDY.replace("[0, 1]", "[7]"), "other.yaml")
    for arguments in ([], ["--dry-run"]):
        words = ["run", other, "--out", "mine", *arguments]
        refusal(capsys, words, "output.occupied", "mine", "other")
    assert Path("mine/resolved.json").read_bytes() == before
    assert len(engines) == 1


@pytest.mark.slow
def test_a_folder_of_a_newer_format_is_told_of_in_a_dry_run_too(
    study: str, engines: list[Instant], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", study])
    capsys.readouterr()
    about = json.loads(Path("mine/store.json").read_text())
    Path("mine/store.json").write_text(json.dumps({**about, "format": 99}))
    for arguments in ([], ["--dry-run"]):
        refusal(capsys, ["run", study, *arguments], "result.other-format", "99")


@pytest.mark.slow
def test_flags_stand_in_for_what_the_file_says(study: str, engines: list[Instant]) -> None:
    planted = "planted:documents=40,length=10"
    command = [
        "run",
        study,
        "--out",
        "there",
        "--corpora",
        f"{planted}, planted",
        "--seeds",
        "3, 4",
    ]
    command += ["--exams", "single_token", "--set", "epochs=2", "--set", "dropout-head = 0.25"]
    assert main(command) == 0
    found = list(cells("there").values())
    assert len(found) == 8
    assert {(c["corpus"]["documents"], c["corpus"]["length"]) for c in found} == {
        (40, 10),
        (60, 12),
    }
    assert {c["seed"] for c in found} == {3, 4}
    assert {tuple(c["exams"]) for c in found} == {("single_token",)}
    assert {c["training"]["epochs"] for c in found} == {2}
    assert {c["model"]["dropout_head"] for c in found} == {0.25}
    assert not Path("mine").exists()


def test_hints_by_flag_go_over_those_of_the_file(study: str, engines: list[Instant]) -> None:
    assert main(["run", study, "--workers", "3", "--mps", "--max-tokens", "500"]) == 0
    (engine,) = engines
    assert engine.hardware == Hardware(workers=3, threads=2, mps=True, max_tokens=500)
    assert {job.max_tokens for job in engine.run} == {500}
    assert engine.stopped


@pytest.mark.slow
def test_failed_cells_are_named_and_can_be_tried_again(
    study: str,
    engines: list[Instant],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    end_with(monkeypatch, failing(1))
    lines = printed(capsys, [study, "--set", "epochs=2"], code=1)
    told = "the [bold]loss became nan"
    named = [f"{kind}  seed 1  failed, diverged: {told}" for kind in ("softmax", "sparsemax")]
    assert sorted(line.split("  ", 1)[1] for line in lines if "  failed, " in line) == named
    advice, hint, end = lines[-3:]
    again = "verax run mine.yaml --set epochs=2 --retry-failed"
    assert advice.startswith("2 cells failed (2 diverged): tracebacks are in mine/failed, or ")
    assert advice.endswith(f"to run them again: {again}")
    assert hint == "those that diverged will do so again: change the study"
    assert end.startswith("2 of 4 cells are done, in mine: ")
    assert len(list(Path("mine/failed").iterdir())) == 2
    # not by themselves, and the exit code stays
    lines = printed(capsys, [study, "--set", "epochs=2"], code=1)
    assert lines[0] == "4 cells, 2 done, 2 failed; nothing to run"
    assert f"failed before: softmax  seed 1: {told}" in lines
    assert len(engines) == 1
    end_with(monkeypatch, fine)
    lines = printed(capsys, shlex.split(again)[2:])
    assert len(engines[1].run) == 2
    assert lines[-1].startswith("4 of 4 cells are done, in mine: ")
    assert not list(Path("mine/failed").iterdir())


@pytest.mark.slow
def test_when_time_is_up_it_says_what_is_left(
    study: str, engines: list[Instant], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, [study, "--budget", "0.000001s"])
    go_on = "verax run mine.yaml --budget 0.000001s"
    assert lines[-2] == f"time is up: 4 of 4 cells are left; to go on: {go_on}"
    assert lines[-1].startswith("0 of 4 cells are done")
    assert not engines[0].run
    lines = printed(capsys, [study, "--budget", "2h"])
    assert lines[-1].startswith("4 of 4 cells are done")


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on_as_it_was_asked(
    study: str,
    engines: list[Instant],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stopped(job: Job) -> Event:
        if job.cell.seed == 4:
            signal.raise_signal(signal.SIGTERM)
        return fine(job)

    end_with(monkeypatch, stopped)
    handler = signal.getsignal(signal.SIGTERM)
    given = [study, "--out", "my results", "--seeds", "3,4", "--exams", "single_token"]
    given += ["--corpora", "planted:documents=40,length=10", "--set", "epochs=2"]
    given += ["--set", "metric=macro_f1", "--workers", "1", "--no-mps", "--max-tokens", "900"]
    lines = printed(capsys, given, code=130, errors=1)
    assert signal.getsignal(signal.SIGTERM) == handler
    before, _, command = lines[-1].partition("; to go on: ")
    assert before == "verax: stopped with 1 of 4 cells done"
    end_with(monkeypatch, fine)
    asked = cells("my results")
    lines = printed(capsys, shlex.split(command)[2:])
    assert lines[-1].startswith("4 of 4 cells are done, in my results: ")
    assert [job.cell.key for job in engines[1].run] == [
        key for key in asked if key != engines[0].run[0].cell.key
    ]
    assert engines[1].hardware == engines[0].hardware
