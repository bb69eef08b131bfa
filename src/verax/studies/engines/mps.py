"""NVIDIA's Multi-Process Service: without it, processes that share a GPU take turns on it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verax.errors import VeraxError

CONTROL = "nvidia-cuda-mps-control"
_SECONDS = 30

# Reads until the process that started it is gone, however it went; then quits the service.
_KEEPER = f'trap "" INT TERM HUP; cat >/dev/null; echo quit | {CONTROL}; rm -rf "$0"'


def running(environment: Mapping[str, str] | None = None) -> bool:
    """Whether MPS runs, as processes with this environment (by default ours) would find it."""
    try:
        answer = subprocess.run(
            [CONTROL],
            input="get_server_list\n",
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.returncode == 0 and "Cannot find" not in answer.stdout + answer.stderr


@dataclass(frozen=True)
class MPS:
    """A service for this process alone.

    `environment` is what its clients need; `stop` ends it, as does the end of this process.
    """

    environment: Mapping[str, str]
    _keeper: subprocess.Popen[bytes]

    @classmethod
    def start(cls) -> MPS:
        """Start the service; an error in one line where that cannot be."""
        # its sockets are in there, and the path of a socket has 107 bytes at most
        folder = tempfile.mkdtemp(prefix="verax-mps-")
        folders = {
            "CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe",
            "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log",
        }
        environment = {**os.environ, **folders}
        for path in folders.values():
            os.mkdir(path)
        # first what ends the service, then the service: there is no moment without
        keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        service, why = cls(folders, keeper), f"MPS did not start: see what {CONTROL} -d says"
        # no pipes: a daemon that keeps its end would be waited for
        nothing: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        try:
            subprocess.run([CONTROL, "-d"], timeout=_SECONDS, env=environment, **nothing)
            if running(environment):
                return service
        except FileNotFoundError:
            tools = "install NVIDIA's driver tools"
            why = f"MPS cannot be started, there is no {CONTROL} here: {tools}"
        except (OSError, subprocess.SubprocessError) as error:
            why = f"MPS cannot be started: {error}"
        service.stop()
        raise VeraxError(why, code="engine.unavailable")

    def stop(self) -> None:
        """End the service; may be called twice."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        try:
            self._keeper.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
