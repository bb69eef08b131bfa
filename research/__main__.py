"""The command `python -m research`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from verax.errors import VeraxError

COMMANDS: dict[str, tuple[str, str]] = {
    "papers": ("research.papers.command", "run published papers again, and judge their claims"),
    "mimic": ("research.papers.mimic", "make the clinical corpora of the papers from MIMIC-III"),
    "audit": ("research.audits.run", "train and examine real models, and write a page about them"),
    "calibrate": (
        "research.calibration.run",
        "measure the shipped thresholds, and write their page",
    ),
}
"""Command → the module whose `main` runs it, and what it does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 2 for bad input, as `verax` does."""
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if name not in COMMANDS:
        print("usage: python -m research COMMAND …\n")
        for command, (_, does) in COMMANDS.items():
            print(f"  {command:<12} {does}")
        return 0 if name in ("", "-h", "--help") else 2
    try:
        return int(import_module(COMMANDS[name][0]).main(rest[:-1], f"python -m research {name}"))
    except VeraxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
