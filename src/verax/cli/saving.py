"""Results as a command leaves them: saved, with a page beside them, never over earlier ones."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from verax.cli.output import UNWRITTEN, unprinted
from verax.cli.terminal import printable, say
from verax.errors import OccupiedError, VeraxError, WriteError
from verax.files import refuse_foreign, refuse_unwritable, write_elsewhere
from verax.results import REPORT, Result, Shown

BESIDE = ("candidates", "models", "points")
"""Endings of folders beside --out, in which a command keeps what it can go on with."""
_AT_ONCE = ("train", "examine", "compare", "sweep", "adversary", "demo", "predict", "explain")
"""Commands whose --out is there as a whole, or not at all."""
_WITH_PAGE = ("examine", "compare", "sweep", "adversary", "demo")
"""Those that add a page to it in the end."""

Stamp = tuple[int, int] | None


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """--overwrite, for what --out would replace."""
    parser.add_argument(
        "--overwrite", action="store_true", help="replace what --out holds of an earlier run"
    )


def check_out(args: argparse.Namespace, owned: Callable[[Path], bool]) -> None:
    """Refuse a folder that cannot be written to, before the work.

    Args:
        args: the command's arguments, with `out` and `overwrite`.
        owned: whether a folder holds an earlier result of this command, and nothing else.
    """
    if args.out:
        args.before = stamps(args)  # a config file may name it
        refuse_foreign(args.out, owned, args.overwrite)


def check_file(args: argparse.Namespace) -> None:
    """Refuse a file that cannot be written, before the work, or exists without --overwrite."""
    if args.out and Path(args.out).exists() and not args.overwrite:
        raise VeraxError(
            f"cannot write {args.out}: it exists; give another file, or --overwrite to replace it",
            code="output.occupied",
        )
    if args.out:
        refuse_unwritable(args.out)


def stamps(args: argparse.Namespace) -> dict[Path, Stamp]:
    """What --out names, and what stands beside it, as they are now; None where there is nothing."""
    out = getattr(args, "out", None)
    if not isinstance(out, str) or "://" in out:
        return {}
    paths = [Path(out), *(Path(f"{Path(out)}.{ending}") for ending in BESIDE)]
    return {path: _stamp(path, deep=number > 0) for number, path in enumerate(paths)}


def _stamp(path: Path, deep: bool) -> Stamp:
    """What changes when a folder is replaced, or, if `deep`, when a file is written in it."""
    if not path.exists():
        return None
    inside = path.rglob("*") if deep else ()
    return path.stat().st_ino, max(one.stat().st_mtime_ns for one in (path, *inside))


def left_on_disk(args: argparse.Namespace) -> str:
    """What an interrupted command left on disk, in words.

    Args:
        args: the command's arguments, and in `before` the `stamps` as it began.
    """
    before: dict[Path, Stamp] = getattr(args, "before", {})
    if not before:
        return "nothing was written"
    out, *beside = before
    now = _stamp(out, deep=False)
    if now is None:
        words = f"nothing was written to {out}"
    elif now == before[out]:
        words = f"{out} is as it was before"
    elif args.verb not in _AT_ONCE:
        words = f"{out} holds what was written so far"
    elif args.verb not in _WITH_PAGE or (out / REPORT).exists():
        words = f"{out} is complete"
    else:
        words = f"{out} is saved, without {REPORT}: verax report {shlex.quote(str(out))} makes it"
    for path in beside:
        if _stamp(path, deep=True) not in (None, before[path]):
            words += f"; {path} keeps what was finished, with which the same command goes on"
    return words


def keep(args: argparse.Namespace, write: Callable[[str], None]) -> None:
    """Write what was made to --out, before anything is printed about it.

    Where that cannot be written, it goes to a new folder elsewhere: a line says so, `args.out` is
    that place from then on, and the exit code will be `UNWRITTEN`. That is also where somebody else
    has written to --out since `check_out`.

    Args:
        args: the command's arguments; nothing is done where `out` is not given.
        write: writes a file or folder of the name that it is given.
    """
    if not args.out:
        return
    try:
        write(args.out)
    except (WriteError, OccupiedError) as error:
        name = Path(args.out).absolute().name
        place = write_elsewhere(name, lambda path: write(str(path)), error)
        print(f"verax: {printable(str(error))}; it is in {printable(str(place))}", file=sys.stderr)
        args.out, args.elsewhere = str(place), True


def ended(args: argparse.Namespace, code: int) -> int:
    """The exit code of a command that came to its end, with a line where it was not printed."""
    why = unprinted()
    if why is not None:
        words = f"cannot write to standard output: {why}; {left_on_disk(args)}"
        print(f"verax: {printable(words)}", file=sys.stderr)
    return code or (UNWRITTEN if why is not None or getattr(args, "elsewhere", False) else 0)


def say_saved(result: Result, out: str, stderr: bool = False) -> None:
    """Say where a saved result is, and write its page beside it."""
    say(f"\nsaved in {out}", stderr=stderr)
    write_page(result, out, stderr)


def write_page(
    result: Shown | Callable[[], Shown | None], out: str | Path, stderr: bool = False
) -> None:
    """Write `report.html` into a folder of results, and say where it is.

    A page that cannot be made is one line, no error: the results are there, and the exit code is
    theirs.

    Args:
        result: what the page shows, or a function that opens it, and gives None where there is
            nothing to show.
        out: the folder.
        stderr: whether standard output is for something else.
    """
    target = Path(out) / REPORT
    try:
        shown = result() if callable(result) else result
        if shown is None:
            return
        shown.report(target)
        line = f"to look at: {target}"
    except VeraxError as error:
        again = f"verax report {shlex.quote(str(out))}"
        line = f"no report: {' '.join(str(error).split())}; to try again: {again}"
    say(line, stderr=stderr)
