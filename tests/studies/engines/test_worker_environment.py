"""A worker's libraries are told their threads before they are loaded."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from support.internals import worker


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_are_set_for_every_library(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str] = {}
    real = subprocess.Popen

    def start(command: list[str], *, env: dict[str, str], **settings: Any) -> subprocess.Popen[Any]:
        given.update(env)
        return real(["true"], env=env, **settings)

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("KEPT", "as it was")
    worker.end([worker.WorkerProcess("cpu", threads, {"GIVEN": "too"})])
    for library in ("OMP", "MKL", "OPENBLAS", "NUMEXPR"):
        assert given[f"{library}_NUM_THREADS"] == str(threads)
    assert (given["KEPT"], given["GIVEN"]) == ("as it was", "too")
