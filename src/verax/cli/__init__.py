"""One command per verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from verax.cli import (
    adversary,
    compare,
    corpora,
    demo,
    examine,
    exams,
    explain,
    figures,
    pack,
    papers,
    predict,
    report,
    run,
    sweep,
    train,
    unpack,
)
from verax.cli.parsing import Parser
from verax.cli.terminal import noted_warnings, printable
from verax.errors import VeraxError, VeraxErrors
from verax.version import __version__

COMMANDS = (
    *(demo, corpora, train, exams, examine, compare, predict, explain),
    *(run, pack, unpack, sweep, adversary, papers, report, figures),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0, or what the command returns (1 where part of a study failed, 3 where --fail-on says so); 2
    for bad input; 130 when interrupted.
    """
    try:
        parser = _parser()  # options of exams are flags: a package that has one may fail to import
        given = parser.parse(sys.argv[1:] if arguments is None else list(arguments))
        if given.verb is None:
            parser.print_help()
            return 0
        with noted_warnings():
            return int(given.run(given) or 0)
    except VeraxError as error:
        # names from a user's file may hold line breaks and worse
        for problem in error.problems if isinstance(error, VeraxErrors) else [str(error)]:
            print(f"verax: {printable(' '.join(problem.splitlines()))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stopped:
        # a command that can say how to go on does
        kept = "stopped; what was finished is kept, nothing is half-written"
        print(f"verax: {stopped.args[0] if stopped.args else kept}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader has gone (`verax corpora | head`); keep Python from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> Parser:
    parser = Parser(prog="verax", description="Puts attention on the witness stand.")
    parser.add_argument("--version", action="version", version=f"verax {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", parser_class=Parser)
    for command in COMMANDS:
        command.add(verbs)
    return parser
