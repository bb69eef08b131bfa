"""The `verax` command, and `python -m verax`."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as in verax/__init__.py: Ctrl-C is to be handled soon
if TYPE_CHECKING:
    from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
EARLY = "verax: stopped before anything was begun\n"


def main() -> int:
    """Run a command; --version, completion and an early interruption need no torch."""
    _on_signals(_stop_early)
    try:
        _open_closed()
        code = _without_commands(sys.argv[1:])
        if code is None and not _is_somewhere():
            sys.stderr.write("verax: the working folder does not exist any more: go to another\n")
            code = 2
        if code is None:
            from verax.cli import main as run

            _on_signals(_stop)
            code = run()
        return code
    except KeyboardInterrupt:
        _on_signals(signal.SIG_IGN)
        sys.stderr.write(EARLY)
        return 130
    except Exception as error:  # before a command is there to catch it: a package does not import
        from verax.last_resort import last_resort

        return last_resort(error)
    finally:
        _on_signals(signal.SIG_IGN)  # it has ended: only Python itself is left to do so


def _on_signals(handler: Any) -> None:
    """Handle Ctrl-C and a request to end, unless they are ignored, as by nohup."""
    for number in SIGNALS:
        if handler == signal.SIG_IGN or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _stop_early(number: int, frame: Any) -> None:
    """End at once: packages that are being imported may turn an exception into a crash."""
    try:
        os.write(2, EARLY.encode())
    finally:
        os._exit(130)


def _stop(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _without_commands(words: list[str]) -> int | None:
    """The exit code of what needs no torch; None for all else."""
    from verax.version import __version__

    if words == ["--version"]:
        return _print(f"verax {__version__}\n")
    if words[:1] == ["completion"]:
        from verax.completion import kept_script

        text = kept_script(words[1:])
        if text is not None:
            return _print(text)
    return None


def _print(text: str) -> int:
    """Print, and give the exit code: 74 where standard output cannot be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        print(f"verax: cannot write to standard output: {error.strerror}", file=sys.stderr)  # noqa: T201
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 74
    else:
        return 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _is_somewhere() -> bool:
    """Whether the working folder exists: without one torch ends the process."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _open_closed() -> None:
    """Open standard streams that are closed to nowhere, or the next file would be taken for one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


if __name__ == "__main__":
    sys.exit(main())
