"""Scripts by which a shell completes commands, flags and their values.

A script holds all that it offers, so that completing starts no Python. Verax's own commands are
kept in `commands.json`: reading that takes no torch, building the parser does.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from verax.errors import VeraxError, nearest

COMMANDS = Path(__file__).with_name("commands.json")
"""The commands without those options that other packages add; `make completion` writes it."""


class Flag(NamedTuple):
    """A flag by all its names, whether a value follows, and which values are known."""

    names: Sequence[str]
    takes_value: bool
    values: Sequence[str]


class Command(NamedTuple):
    """The flags of a command, and the commands inside it."""

    flags: Sequence[Flag]
    commands: Sequence[str]


Tree = Mapping[str, Command]
"""Every command by its words, the one without words first."""

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


def script(shell: str, tree: Tree) -> str:
    """The script for a shell.

    Args:
        shell: bash, zsh or fish.
        tree: the commands.
    """
    makers: dict[str, Callable[[Tree], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
    if shell not in makers:
        raise VeraxError(
            f"unknown shell {shell!r}: {nearest(shell, makers)}", code="option.unknown-value"
        )
    return makers[shell](tree)


def kept_script(arguments: Sequence[str]) -> str | None:
    """What `verax completion` prints, without importing the commands.

    Args:
        arguments: those after `completion`.

    Returns:
        The script; None where another package adds options, or where this is no such call.
    """
    is_added_to = any(group.startswith("verax.") for group in entry_points().groups)
    if len(arguments) != 1 or arguments[0] not in ("bash", "zsh", "fish") or is_added_to:
        return None
    return script(arguments[0], kept_commands())


def kept_commands() -> Tree:
    """The commands of `commands.json`."""
    content = json.loads(COMMANDS.read_text(encoding="utf-8"))
    return {
        name: Command([Flag(*flag) for flag in flags], commands)
        for name, (flags, commands) in content.items()
    }


def text_of(tree: Tree) -> str:
    """The text of `commands.json`, a line for each command."""
    lines = (f"{json.dumps(name)}: {json.dumps(command)}" for name, command in tree.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def bash(tree: Tree) -> str:
    """The script for bash."""
    cases, choices, nested = [], [], []
    for name, command in tree.items():
        flags = " ".join(flag for flags in command.flags for flag in flags.names)
        inner = " ".join(command.commands)
        cases.append(f"        {name!r}) flags={flags!r}; commands={inner!r};;")
        nested += [name] if inner and name else []
        for flag in command.flags:
            if flag.values:
                patterns = "|".join(f"{name}:{word}" for word in flag.names)
                values = " ".join(flag.values)
                choices.append(f"        {shlex.quote(patterns)}) values={values!r};;")
    choices = [line.replace("|", "'|'") for line in choices]
    return _BASH.format(
        nested="|".join(nested) or "''", cases="\n".join(cases), choices="\n".join(choices)
    )


def zsh(tree: Tree) -> str:
    """The script for zsh."""
    return _ZSH + bash(tree)


def fish(tree: Tree) -> str:
    """The script for fish."""
    lines = []
    for name, command in tree.items():
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in name.split())
        if command.commands:
            among = f"not __fish_seen_subcommand_from {' '.join(command.commands)}"
            when = f"{seen}; and {among}" if seen else "__fish_use_subcommand"
            for word in command.commands:
                lines.append(f"complete -c verax -f -n {shlex.quote(when)} -a {word}")
        for flag in command.flags:
            when = seen or "__fish_use_subcommand"
            for word in flag.names:
                kind = "-l" if word.startswith("--") else "-s"
                line = f"complete -c verax -n {shlex.quote(when)} {kind} {word.lstrip('-')}"
                line += " -r" if flag.takes_value else ""
                line += f" -f -a {shlex.quote(' '.join(flag.values))}" if flag.values else ""
                lines.append(line)
    return _FISH + "\n".join(lines) + "\n"
