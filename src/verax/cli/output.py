"""Standard output and standard error that do not end a command, and signals while it ends.

What a command prints is about its work, and the work is worth more. So a reader who has gone, a
full disk or a locale without λ stops no command: it is told at the end, by a line and the exit
code, where something was not printed.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from verax.errors import ExitCode

UNWRITTEN = ExitCode.NOT_WRITTEN
"""Exit code where output could not be written, or was written elsewhere than asked for."""


class Guarded:
    """A text stream that keeps its first error instead of raising it, and drops what follows.

    Signs that its encoding lacks are written as question marks.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(encodable(text, self._stream.encoding)))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, act: Callable[[], Any]) -> None:
        if self.error is not None:
            return
        try:
            act()
        except (OSError, ValueError) as error:  # a ValueError says that it is closed
            self.error = error
            with suppress(OSError, ValueError):
                # what it still holds goes nowhere, or Python would complain as it ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def encodable(text: str, encoding: str | None) -> str:
    """Text with a question mark for every sign that an encoding lacks.

    >>> encodable("λ = 1 ± 2", "ascii")
    '? = 1 ? 2'
    """
    name = encoding or "utf-8"
    return text.encode(name, "replace").decode(name)


def print_json(content: Any, indent: int = 2, allow_nan: bool = True) -> None:
    """Print JSON, with escapes where the encoding of standard output lacks a sign."""
    text = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=allow_nan)
    if encodable(text, getattr(sys.stdout, "encoding", None)) != text:
        text = json.dumps(content, indent=indent, allow_nan=allow_nan)
    print(text)


def unprinted() -> str | None:
    """Why standard output could not be written, in words; a reader who has gone is no reason."""
    sys.stdout.flush()
    error = getattr(sys.stdout, "error", None)
    if error is None or isinstance(error, BrokenPipeError):
        return None
    return getattr(error, "strerror", None) or str(error)


def with_guarded_output(main: Callable[..., int]) -> Callable[..., int]:
    """A command whose standard output and standard error are guarded while it runs."""

    @functools.wraps(main)
    def run(*arguments: Any) -> int:
        before = sys.stdout, sys.stderr
        with open(os.devnull, "w", encoding="utf-8") as nowhere:  # in place of one that is closed
            sys.stdout, sys.stderr = (Guarded(nowhere if s is None else s) for s in before)
            try:
                return main(*arguments)
            except SystemExit as ended:  # --help and --version, which argparse prints
                why = None if ended.code else unprinted()
                if why is None:
                    raise
                print(f"verax: cannot write to standard output: {why}", file=sys.stderr)
                return UNWRITTEN
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                sys.stdout, sys.stderr = before

    return run


@contextmanager
def undisturbed() -> Iterator[None]:
    """Within it, Ctrl-C and a request to end have no effect: what was stopped is stopping."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
