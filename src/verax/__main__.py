"""The `verax` command, and `python -m verax`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> int:
    """Run a command; --version, completion and an early interruption need no torch."""
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        raise KeyboardInterrupt

    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as a shell does for what goes on alone
            signal.signal(number, stop)
    when = " before anything was begun"
    try:
        _open_closed()
        code = _without_commands(sys.argv[1:])
        if code is None:
            from verax.cli import main as run

            when = ""
            code = run()
        return code
    except BaseException as error:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        # packages may turn an interruption of their import into another error
        if not stopped and not isinstance(error, KeyboardInterrupt):
            raise
        print(f"verax: stopped{when}", file=sys.stderr)  # noqa: T201
        return 130
    finally:
        for number in SIGNALS:  # it has ended: only Python itself is left to do so
            signal.signal(number, signal.SIG_IGN)


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
