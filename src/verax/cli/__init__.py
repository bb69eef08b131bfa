"""One command per verb."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from verax.cli import (
    adversary,
    calibrate,
    compare,
    completion,
    corpora,
    demo,
    examine,
    exams,
    explain,
    pack,
    predict,
    report,
    run,
    sweep,
    train,
)
from verax.cli.output import undisturbed, with_guarded_output
from verax.cli.parsing import Parser, import_plugins, refuse_bytes
from verax.cli.saving import ended, left_on_disk, stamps
from verax.cli.terminal import noted_warnings, printable
from verax.device import OUT_OF_MEMORY, is_out_of_memory
from verax.errors import ExitCode, VeraxError, VeraxErrors, no_exit
from verax.last_resort import last_resort
from verax.version import __version__

__all__ = ["main"]

COMMANDS = (
    *(demo, corpora, train, exams, examine, compare, predict, explain),
    *(run, pack, sweep, adversary, calibrate, report, completion),
)


@with_guarded_output
def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    `verax.errors.ExitCode` lists them.
    """
    args = argparse.Namespace(before={})
    try:
        words = import_plugins(sys.argv[1:] if arguments is None else list(arguments))
        parser = build_parser()  # options of exams are flags: an installed package may not import
        args = parser.parse(words)
        if args.verb is None:
            parser.print_help()
            return ended(args, 0)
        refuse_bytes(args)
        args.before = stamps(args)
        with noted_warnings():
            return ended(args, _run(args))
    except VeraxError as error:
        return refuse(error)
    except KeyboardInterrupt as stopped:
        with undisturbed():
            # a command that can say how to go on does
            words_of_it = stopped.args[0] if stopped.args else f"stopped; {left_on_disk(args)}"
            print(f"verax: {printable(words_of_it)}", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except Exception as error:
        if is_out_of_memory(error):
            return refuse(VeraxError(OUT_OF_MEMORY, code="device.out-of-memory"))
        return last_resort(error, getattr(args, "verb", None))


def _run(args: argparse.Namespace) -> int:
    """Run a command; code of the user's that calls `sys.exit()` has not finished it."""
    with no_exit():
        return int(args.run(args) or 0)


def refuse(error: VeraxError) -> int:
    """Print what is wrong, a line for each problem; returns the exit code."""
    for problem in error.problems if isinstance(error, VeraxErrors) else [error]:
        # names from a user's file may hold line breaks and worse
        print(f"verax: {printable(' '.join(str(problem).splitlines()))}", file=sys.stderr)
    return ExitCode.BAD_INPUT


def build_parser() -> Parser:
    """The parser of all commands; importing it takes torch along."""
    parser = Parser(
        prog="verax",
        description="Tells whether a text classifier's attention explains its decisions.",
    )
    parser.add_argument("--version", action="version", version=f"verax {__version__}")
    parser.add_argument(
        "--plugin",
        metavar="FILE.py",
        help="import a file first, such as one with an exam of your own; anywhere on the line",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", parser_class=Parser)
    for command in COMMANDS:
        command.add(verbs)
    return parser
