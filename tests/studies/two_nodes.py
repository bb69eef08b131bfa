"""A Ray cluster of two nodes on this machine, started as a user would, and taken down for good."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from running import soon

STARTING = 120
"""Seconds: two busy cores take their time."""

_SETTINGS = {
    # one of the environment, so that Ray leaves the home folder alone
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": uuid.uuid4().hex * 2,
    # by default workers give way to all else on a busy machine, and get nothing
    "RAY_worker_niceness": "0",
    # a node that is gone is missed in seconds, not in half a minute
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "4",
}
for _name, _value in _SETTINGS.items():
    os.environ.setdefault(_name, _value)

# Ray looks at its settings when it is imported, and keeps to them: tests take it from here.
import ray  # noqa: E402

__all__ = ["TwoNodes", "kill_session", "members", "ray", "title"]


class TwoNodes:
    """Two nodes of one CPU each; each is a session, so that its processes can be told apart."""

    def __init__(self) -> None:
        # a short path: sockets lie below it, and theirs may have a hundred characters
        self._folder = Path(tempfile.mkdtemp(prefix="vx", dir="/tmp"))
        self._sessions: list[int] = []
        try:
            self._start("--head", "--port=0", f"--temp-dir={self._folder}", "--include-dashboard=0")
            self.address = (self._folder / "ray_current_cluster").read_text().strip()
            self.add_node()
        except BaseException:
            self.stop()
            raise

    def add_node(self) -> None:
        own = f"--node-ip-address=127.0.0.{1 + len(self._sessions)}"
        self._start(f"--address={self.address}", own)

    @property
    def missing(self) -> bool:
        """Whether the second node was killed."""
        return len(self._sessions) < 2

    def kill_node(self) -> None:
        """The last one, all its processes, as a machine that loses power."""
        kill_session(self._sessions.pop())

    def processes(self, name: str) -> list[int]:
        """The processes of all nodes whose title starts with a name, such as `ray::RayWorker`."""
        there = [pid for session in self._sessions for pid in members(session)]
        return [pid for pid in there if title(pid).startswith(name)]

    def stop(self) -> None:
        while self._sessions:
            kill_session(self._sessions.pop())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, *options: str) -> None:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "ray.scripts.scripts", "start", *options),
                *("--num-cpus=1", "--num-gpus=0", "--object-store-memory=100000000"),
                *("--disable-usage-stats", "--no-monitor", "--include-log-monitor=false"),
            ],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._sessions.append(process.pid)
        try:
            said, _ = process.communicate(timeout=STARTING)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 0, said


def members(session: int) -> list[int]:
    """The processes of a session that run, without those that ended and wait to be collected."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, number = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it ended just now
            continue
        if int(number) == session and state not in "ZX":
            found.append(int(folder.name))
    return found


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    except OSError:
        return ""


def kill_session(session: int) -> None:
    def gone() -> bool:
        there = members(session)
        for pid in there:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return not there

    assert soon(gone), f"session {session} cannot be killed"
