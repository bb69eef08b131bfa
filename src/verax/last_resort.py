"""What is left to do about an error that nobody foresaw: one line, and a file to send.

The file names functions and lines of code. It leaves out every message and value, because these may
quote a user's texts, and the folders of a user's own files.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from pathlib import Path

from verax.errors import ExitCode
from verax.version import __version__

CODE = ExitCode.INTERNAL
"""Exit code of an error inside the program (EX_SOFTWARE of sysexits)."""
DEBUG = "VERAX_DEBUG"
"""Environment variable; set, it shows the traceback instead."""
_DEEPEST = 40
"""Frames of a traceback that are kept: the last ones."""


def last_resort(error: Exception, verb: str | None = None) -> int:
    """Print one line about an unforeseen error, keep its traceback in a file, return the exit code.

    Args:
        error: what was raised.
        verb: the command that was run.
    """
    if os.environ.get(DEBUG):
        raise error
    where = _last_place(error)
    kept = _keep(traceback_of(error, verb))
    file = "its traceback could not be written"
    if kept is not None:
        file = f"send {kept}, which holds no text of yours, to the authors of Verax"
    line = f"verax: an error in Verax itself ({type(error).__name__}{where}): {file}; "
    line += f"{DEBUG}=1 shows all of it"
    print(line, file=sys.stderr)  # noqa: T201
    return CODE


def traceback_of(error: BaseException, verb: str | None = None) -> str:
    """A traceback without messages, values and folders."""
    lines = [f"verax {__version__}, Python {sys.version.split()[0]}, {sys.platform}"]
    lines += [f"command: {verb or 'none'}"]
    chain: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in chain:
        chain.append(one)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    for raised in reversed(chain):
        lines.append("")
        for frame in traceback.extract_tb(raised.__traceback__)[-_DEEPEST:]:
            lines.append(f"  {_shown(frame.filename)}:{frame.lineno} in {frame.name}")
        lines.append(f"{type(raised).__module__}.{type(raised).__qualname__} (message left out)")
    return "\n".join(lines) + "\n"


def _last_place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _shown(frame.filename).startswith("verax/")]
    return f" in {_shown(own[-1].filename)} line {own[-1].lineno}" if own else ""


def _shown(file: str) -> str:
    """A file of a package from the package on; any other by its own name."""
    parts = Path(file).parts
    for name in ("site-packages", "src"):
        if name in parts:
            return "/".join(parts[len(parts) - parts[::-1].index(name) :])
    return Path(file).name


def _keep(text: str) -> str | None:
    """Write a file that only its owner can read; its path, or None where none can be written."""
    try:
        handle, path = tempfile.mkstemp(prefix="verax-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError:
        return None
    return path
