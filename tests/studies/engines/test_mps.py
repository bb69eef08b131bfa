"""MPS is found, started and stopped, whatever becomes of the process that asked for it.

`nvidia-cuda-mps-control` is played by a script that keeps its daemon's state in the pipe folder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import pytest
from running import children, soon

from support.errors import raises
from verax.studies import Hardware, LocalEngine
from verax.studies.engines import local, mps

FAKE = """#!/bin/sh
pipe="${CUDA_MPS_PIPE_DIRECTORY:-$PLAYED/default}"
if [ "$1" = -d ]; then
    echo "start $pipe" >>"$PLAYED/log"
    [ -e "$PLAYED/broken" ] || touch "$pipe/control"
    exit 0
fi
read -r word
echo "$word $pipe" >>"$PLAYED/log"
[ -e "$pipe/control" ] || { echo "Cannot find MPS control daemon process"; exit 1; }
[ "$word" != quit ] || rm "$pipe/control"
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with the command; what it was told is in `log`."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "nvidia-cuda-mps-control"
    command.write_text(FAKE)
    command.chmod(0o755)
    (tmp_path / "default").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setenv("PLAYED", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    return tmp_path


def words(played: Path) -> list[str]:
    return [line.split()[0] for line in (played / "log").read_text().splitlines()]


def test_a_service_that_runs_is_found(played: Path) -> None:
    assert not mps.running()
    (played / "default" / "control").touch()
    assert mps.running()


def test_without_the_command_none_runs_and_none_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sh", "cat", "rm"):
        found = subprocess.run(["which", name], capture_output=True, text=True).stdout.strip()
        (tmp_path / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    before = children()
    assert not mps.running()
    with raises("engine.unavailable"):
        mps.MPS.start()
    assert children() <= before


def test_a_service_of_our_own_is_apart_and_leaves_nothing(played: Path) -> None:
    service = mps.MPS.start()
    pipe = Path(service.environment["CUDA_MPS_PIPE_DIRECTORY"])
    log = Path(service.environment["CUDA_MPS_LOG_DIRECTORY"])
    assert (pipe / "control").exists()
    assert log.is_dir()
    assert pipe != played / "default"
    assert mps.running({**os.environ, **service.environment})
    assert not mps.running()
    service.stop()
    assert words(played)[-1] == "quit"
    assert not pipe.parent.exists()
    assert list((played / "temporary").iterdir()) == []
    service.stop()


def test_a_service_that_does_not_start_is_told(played: Path) -> None:
    (played / "broken").touch()
    with raises("engine.unavailable"):
        mps.MPS.start()
    assert list((played / "temporary").iterdir()) == []


@pytest.mark.slow
def test_a_service_ends_with_its_runner_however_that_ends(played: Path) -> None:
    ready, say = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and forks
        runner = os.fork()
    if runner == 0:
        try:
            os.setsid()
            mps.MPS.start()
            os.write(say, b".")
            time.sleep(600)
        finally:
            os._exit(1)
    try:
        os.close(say)
        assert os.read(ready, 1) == b"."
        (folder,) = (played / "temporary").iterdir()
        assert (folder / "pipe" / "control").exists()
        for number in (signal.SIGINT, signal.SIGTERM):  # as a terminal and a shell send them
            for pid in children(runner):
                os.kill(pid, number)
        assert (folder / "pipe" / "control").exists()
    finally:
        os.kill(runner, signal.SIGKILL)
        os.waitpid(runner, 0)
        os.close(ready)
    assert soon(lambda: not folder.exists(), 10)
    assert words(played)[-1] == "quit"


@pytest.fixture
def with_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "gpus", lambda device: ["cuda:0"])
    monkeypatch.setattr(local, "gpu_name", lambda: None)
    monkeypatch.setattr(local, "cores", lambda: 40)


@pytest.mark.usefixtures("with_a_gpu")
def test_an_engine_starts_it_when_asked_and_stops_it(played: Path) -> None:
    engine = LocalEngine(Hardware(mps=True))
    assert engine.describe() == "12 cells on each of 1 GPU, MPS on"
    assert len(list((played / "temporary").iterdir())) == 1
    engine.stop()
    assert list((played / "temporary").iterdir()) == []
    assert words(played)[-1] == "quit"


@pytest.mark.usefixtures("with_a_gpu")
def test_an_engine_uses_what_runs_and_starts_nothing_unasked(played: Path) -> None:
    engine = LocalEngine(Hardware())
    assert engine.describe() == "1 cell on each of 1 GPU"
    engine.stop()
    (played / "default" / "control").touch()
    for asked in (False, True):
        engine = LocalEngine(Hardware(mps=asked))
        assert engine.describe() == "12 cells on each of 1 GPU, MPS on"
        engine.stop()
    assert "start" not in words(played)
    assert "quit" not in words(played)
    assert (played / "default" / "control").exists()


@pytest.mark.usefixtures("with_a_gpu")
def test_an_engine_goes_on_without_it_and_says_so(played: Path) -> None:
    (played / "broken").touch()
    engine = LocalEngine(Hardware(mps=True, cells_per_gpu=2))
    said = engine.describe()
    assert "2 cells on each of 1 GPU, without MPS" in said
    assert "MPS did not start" in said
    assert "\n" not in said
    engine.stop()


def test_a_service_that_is_not_there_is_not_found_whatever_the_exit_code(played: Path) -> None:
    command = played / "bin" / "nvidia-cuda-mps-control"
    command.write_text(FAKE.replace("exit 1", "exit 0"))
    assert not mps.running()


@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 1), (5, 4), (64, 12)])
def test_cells_that_share_a_gpu_leave_a_core_to_the_runner(
    cores: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "cores", lambda: cores)
    assert local._number_of_workers(Hardware(), 1, with_mps=True) == expected
    assert local._number_of_workers(Hardware(), 1, with_mps=False) == 1
    assert local._number_of_workers(Hardware(cells_per_gpu=3), 1, with_mps=True) == 3
    assert local._number_of_workers(Hardware(cells_per_gpu=3, workers=2), 1, with_mps=True) == 2
