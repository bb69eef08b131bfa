"""Results as a command leaves them: saved, with a page to look at beside them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from verax.cli.terminal import console, printable
from verax.errors import VeraxError
from verax.results import REPORT, Result, Shown


def save(result: Result, out: str) -> None:
    """Save a result, write its page beside it, and say where both are."""
    result.save(out)
    say_saved(result, out)


def say_saved(result: Result, out: str, stderr: bool = False) -> None:
    """Say where a saved result is, and write its page beside it."""
    console(stderr).print("\n" + printable(f"saved in {out}"), markup=False)
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
    console(stderr).print(printable(line), markup=False)
