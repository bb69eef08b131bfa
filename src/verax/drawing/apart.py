"""Charts drawn by a child process, where memory is limited.

The renderer is a JavaScript engine, which reserves tens of gigabytes of address space and ends its
process where it does not get them. In a child it ends the child alone.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verax.errors import VeraxError

_COMMAND = (sys.executable, "-P", str(Path(__file__).with_name("child.py")))


class CannotDrawError(VeraxError):
    """The renderer has ended: no chart can be drawn here."""

    code = "device.out-of-memory"


def is_limited() -> bool:
    """Whether the address space of this process has a limit (`ulimit -v`)."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


class Renderer:
    """The functions of `vl_convert` that charts need, in a child process.

    Args:
        command: what the child runs.
    """

    def __init__(self, command: Sequence[str] = _COMMAND) -> None:
        self._command = list(command)
        self._child: subprocess.Popen[str] | None = None
        self._owner = 0
        self._has_ended = False

    def vegalite_to_svg(self, spec: Mapping[str, Any]) -> str:
        return self._ask("vegalite_to_svg", spec)

    def svg_to_png(self, svg: str, scale: float) -> bytes:
        return base64.b64decode(self._ask("svg_to_png", svg, scale=scale))

    def svg_to_pdf(self, svg: str) -> bytes:
        return base64.b64decode(self._ask("svg_to_pdf", svg))

    def _ask(self, function: str, *given: Any, **named: Any) -> str:
        child = self._running()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps([function, given, named]) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self._has_ended = True
            self.close()
            raise self._error()
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        made: str = answer["made"]
        return made

    def _running(self) -> subprocess.Popen[str]:
        if self._owner != os.getpid():  # a fork has no child of its own yet
            self._child, self._owner, self._has_ended = None, os.getpid(), False
        if self._has_ended:
            raise self._error()
        if self._child is None:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        return self._child

    def _error(self) -> CannotDrawError:
        return CannotDrawError(
            "charts cannot be drawn within the limit of address space (ulimit -v): raise it to "
            "80 GB or more, or draw them elsewhere with verax report"
        )

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None and self._owner == os.getpid():
            self._child.communicate()
            self._child = None
