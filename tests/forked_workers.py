"""Workers that are forks of their runner, where how an interpreter starts is not what is tested.

A fork has imported everything: it is at work at once rather than after seconds. The code it runs,
its files, environment, signals and end are those of a worker that was started.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from support.internals import worker

NAME = "verax-worker"
"""What a fork is called: its command line is that of its runner."""


class Fork(subprocess.Popen[bytes]):
    """A process that is forked; its command is Python code after `-c`, and arguments."""

    def _execute_child(self, args: list[str], *settings: Any) -> None:
        self.args: list[str] = args
        code, arguments = args[args.index("-c") + 1], args[args.index("-c") + 2 :]
        pass_fds, env, pipes = settings[3], settings[5], settings[9:15]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and forks
            self.pid = os.fork()
        if self.pid:
            self._child_created = True
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
            return
        status = 1
        try:
            _take(pass_fds, pipes[3], env)
            sys.argv = ["-c", *arguments]
            exec(code, {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)


def _take(pass_fds: tuple[int, ...], output: int, env: dict[str, str]) -> None:
    """What a started process has: these files and no other, this environment, no handler."""
    Path("/proc/self/comm").write_text(NAME)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number not in pass_fds:
            with contextlib.suppress(OSError):  # the list's own
                os.close(number)
    sys.stdout, sys.stderr = (open(n, "w", buffering=1, closefd=False) for n in (1, 2))  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def forked_workers(started: int = 0) -> Iterator[None]:
    """Workers are forks, but for the first so many, which are started as ever.

    With a GPU all are started: a process that has trained there has no fork that can train.
    """
    left = math.inf if torch.cuda.is_available() else started

    def popen(*args: Any, **settings: Any) -> subprocess.Popen[bytes]:
        nonlocal left
        left -= 1
        return (Fork if left < 0 else subprocess.Popen)(*args, **settings)

    names = {**vars(subprocess), "Popen": popen}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "subprocess", types.SimpleNamespace(**names))
        yield
