"""One command per verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from verax.cli import adversary, compare, corpora, demo, examine, explain, predict, sweep, train
from verax.cli.parsing import Parser
from verax.cli.terminal import printable
from verax.errors import VeraxError, VeraxErrors
from verax.version import __version__

COMMANDS = (demo, corpora, train, examine, compare, predict, explain, sweep, adversary)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, 2 for bad input, 130 when interrupted."""
    parser = Parser(prog="verax", description="Puts attention on the witness stand.")
    parser.add_argument("--version", action="version", version=f"verax {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", parser_class=Parser)
    for command in COMMANDS:
        command.add(verbs)
    try:
        given = parser.parse(sys.argv[1:] if arguments is None else list(arguments))
        if given.verb is None:
            parser.print_help()
            return 0
        given.run(given)
    except VeraxError as error:
        # names from a user's file may hold line breaks and worse
        for problem in error.problems if isinstance(error, VeraxErrors) else [str(error)]:
            print(f"verax: {printable(' '.join(problem.splitlines()))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("verax: stopped; what was finished is kept, nothing is half-written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader has gone (`verax corpora | head`); keep Python from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
