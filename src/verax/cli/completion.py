"""`verax completion`: a script by which a shell completes commands, flags and their values.

The script holds all that it offers, so that completing starts no Python.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import Any

from verax.cli.parsing import Parser
from verax.errors import VeraxError, nearest

_BASH = """\
# bash completion for verax: save as ~/.local/share/bash-completion/completions/verax
_verax() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" flags="" values="" commands=""
    case "$command" in
        {nested}) (( COMP_CWORD > 2 )) && command="$command ${{COMP_WORDS[2]}}";;
    esac
    (( COMP_CWORD == 1 )) && command=""
    case "$command" in
{cases}
    esac
    case "$command:$before" in
{choices}
    esac
    if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$current"))
    elif [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current"))
    elif [[ -n $commands ]]; then COMPREPLY=($(compgen -W "$commands" -- "$current"))
    else compopt -o default 2>/dev/null; COMPREPLY=(); fi
}}
complete -F _verax verax
"""
_ZSH = """\
# zsh completion for verax: source it from ~/.zshrc
autoload -Uz compinit bashcompinit && compinit && bashcompinit
"""
_FISH = "# fish completion for verax: save as ~/.config/fish/completions/verax.fish\n"


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
    from verax.cli import build_parser  # which imports this module

    makers = {"bash": bash, "zsh": lambda tree: _ZSH + bash(tree), "fish": fish}
    if args.shell not in makers:
        raise VeraxError(f"unknown shell {args.shell!r}: {nearest(args.shell, makers)}")
    print(makers[args.shell](dict(commands_of(build_parser()))), end="")


def commands_of(
    parser: argparse.ArgumentParser, name: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command by its words, the one without words first."""
    yield name, parser
    for words, inner in _inner(parser).items():
        yield from commands_of(inner, f"{name} {words}".strip())


def bash(tree: dict[str, argparse.ArgumentParser]) -> str:
    """The script for bash."""
    cases, choices, nested = [], [], []
    for name, parser in tree.items():
        flags = " ".join(flag for action in _shown(parser) for flag in action.option_strings)
        inner = " ".join(_inner(parser))
        cases.append(f"        {name!r}) flags={flags!r}; commands={inner!r};;")
        nested += [name] if inner and name else []
        for action in _shown(parser):
            values = _values(action)
            if values:
                patterns = "|".join(f"{name}:{flag}" for flag in action.option_strings)
                choices.append(f"        {shlex.quote(patterns)}) values={' '.join(values)!r};;")
    choices = [line.replace("|", "'|'") for line in choices]
    return _BASH.format(nested="|".join(nested), cases="\n".join(cases), choices="\n".join(choices))


def fish(tree: dict[str, argparse.ArgumentParser]) -> str:
    """The script for fish."""
    lines = []
    for name, parser in tree.items():
        words = name.split()
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words)
        inner = _inner(parser)
        if inner:
            among = f"not __fish_seen_subcommand_from {' '.join(inner)}"
            when = f"{seen}; and {among}" if seen else "__fish_use_subcommand"
            for word in inner:
                lines.append(f"complete -c verax -f -n {shlex.quote(when)} -a {word}")
        for action in _shown(parser):
            when = seen or "__fish_use_subcommand"
            for flag in action.option_strings:
                kind = "-l" if flag.startswith("--") else "-s"
                line = f"complete -c verax -n {shlex.quote(when)} {kind} {flag.lstrip('-')}"
                line += "" if action.nargs == 0 else " -r"
                values = _values(action)
                line += f" -f -a {shlex.quote(' '.join(values))}" if values else ""
                lines.append(line)
    return _FISH + "\n".join(lines) + "\n"


def _inner(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    actions = parser._subparsers_actions() if isinstance(parser, Parser) else []
    return {name: inner for action in actions for name, inner in action.choices.items()}


def _shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The flags that help shows."""
    return [a for a in parser._actions if a.option_strings and a.help != argparse.SUPPRESS]


def _values(action: argparse.Action) -> list[str]:
    """What may stand after a flag, where that is known."""
    return list(map(str, action.choices or getattr(action, "values", None) or ()))
