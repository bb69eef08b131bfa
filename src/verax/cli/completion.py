"""`verax completion`: a script by which a shell completes commands, flags and their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from verax.cli.parsing import Parser
from verax.completion import COMMANDS, Command, Flag, fish, script, text_of
from verax.files import write_text

__all__ = ("add", "commands_of", "fish", "keep", "run")


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "completion",
        usage="verax completion {bash, zsh, fish}",
        help="print a script that completes commands and flags in a shell",
        description="Print a script for bash, zsh or fish. Its first line says where it goes.",
    )
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    print(script(args.shell, _tree()), end="")


def keep() -> None:
    """Write the commands of this Verax into `commands.json`."""
    write_text(COMMANDS, text_of(_tree()))


def _tree() -> dict[str, Command]:
    from verax.cli import build_parser  # which imports this module

    return dict(commands_of(build_parser()))


def commands_of(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, Command]]:
    """Every command by its words, the one without words first."""
    actions = parser._subparsers_actions() if isinstance(parser, Parser) else []
    inner = {word: one for action in actions for word, one in action.choices.items()}
    shown = [a for a in parser._actions if a.option_strings and a.help != argparse.SUPPRESS]
    flags = [Flag(list(a.option_strings), a.nargs != 0, _values(a)) for a in shown]
    yield name, Command(flags, list(inner))
    for words, one in inner.items():
        yield from commands_of(one, f"{name} {words}".strip())


def _values(action: argparse.Action) -> list[str]:
    """What may stand after a flag, where that is known."""
    return list(map(str, action.choices or getattr(action, "values", None) or ()))
