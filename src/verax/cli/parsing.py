"""Flags made from the option dataclasses, and errors of one line."""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, is_utf8, near, nearest
from verax.exams.exam import Exam
from verax.exams.planning import variants_of
from verax.exams.registry import EXAMS
from verax.options import check, hints, kind_of, parse
from verax.plugin_files import import_file
from verax.studies.grid.source import Problems, read_json, read_yaml


class Parser(argparse.ArgumentParser):
    """argparse, with bad input as a `VeraxError` and the nearest valid name for a mistyped one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)
        # so that --lam -1e3 is a number, not an option, and --lams -3,0 a list
        number = r"(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
        self._negative_number_matcher = re.compile(rf"^-{number}(,-?{number})*$")

    def error(self, message: str, code: str = "command.usage") -> NoReturn:
        raise VeraxError(f"{message} (see {self.prog} --help)", code=code)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except _RefusedError as refused:
            self.error(str(refused), code=refused.code)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """argparse's check of choices, in words of ours."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        is_command = isinstance(action, argparse._SubParsersAction)
        what = "unknown command" if is_command else f"{action.option_strings[0]} is"
        self.error(f"{what} {value!r}: {nearest(str(value), choices)}", code="option.unknown-value")

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        args, unknown = self.parse_known_args(arguments)
        if unknown:
            parser = self
            for action in self._subparsers_actions():
                parser = action.choices.get(getattr(args, "verb", None) or "", self)
            # argparse takes a list of arguments for empty when options stand in front of it
            rest = [a for a in parser._actions if a.nargs == "*" and not vars(args).get(a.dest)]
            if rest and not any(u.startswith("-") for u in unknown):
                setattr(args, rest[0].dest, unknown)
                return args
            flag = next((u for u in unknown if u.startswith("-")), unknown[0])
            if not flag.startswith("-"):
                parser.error(f"unexpected argument {flag!r}")
            valid = [s for a in parser._actions for s in a.option_strings]
            meant = near(flag.split("=", 1)[0], valid)
            advice = f"did you mean {meant!r}?" if meant else "see --help for the options there are"
            parser.error(f"unknown option {flag!r}: {advice}", code="option.unknown")
        return args

    def _subparsers_actions(self) -> list[Any]:
        return [a for a in self._actions if isinstance(a, argparse._SubParsersAction)]


class _RefusedError(Exception):
    """A value of a flag that is not valid; argparse replaces the message of a `ValueError`."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


_SHOWN = ("text", "texts")
"""Arguments that are shown as they are, whatever they hold."""


def refuse_bytes(args: argparse.Namespace) -> None:
    """Refuse names and values that are not UTF-8: what is made of them could not be saved."""
    for name, value in vars(args).items():
        words = value if isinstance(value, list) else [value]
        for word in () if name in _SHOWN else words:
            if isinstance(word, str) and not is_utf8(word):
                raise VeraxError(
                    f"{word!r} is not UTF-8: rename the file, or convert the text",
                    code="text.invalid-unicode",
                )


def add_options(
    parser: argparse.ArgumentParser, title: str, cls: type, leave_out: Sequence[str] = ()
) -> None:
    """A flag for every field of an option dataclass; a flag not given leaves no trace."""
    _add_flags(parser.add_argument_group(title), cls, leave_out=leave_out)


def add_exam_options(parser: argparse.ArgumentParser, exams: Mapping[str, type[Exam]]) -> None:
    """Flags for the options of exams: `--draws`, and `--erasure.draws` for that exam's alone.

    The first is there unless the command has a flag of that name; it stands for whichever of the
    exams taken has the option.
    """
    flags: set[str] = set()
    for name, exam in exams.items():
        group = parser.add_argument_group(f"exam {name}")
        fields: list[str] = []
        for cls in (c.options_class for c in [exam, *variants_of(name)]):
            new = [f.name for f in dataclasses.fields(cls) if f.name not in fields]
            taken = [o for o in new if _flag(o) in parser._option_string_actions]
            flags.update(option for option in new if option not in taken)
            _add_flags(group, cls, leave_out=[*fields, *taken])
            _add_flags(group, cls, leave_out=fields, under=name, shown=taken)
            fields += new
    parser.set_defaults(exam_flags=flags)


def given_exam_options(args: argparse.Namespace, exams: Iterable[str]) -> dict[str, Any]:
    """The options of these exams that a user gave, as keywords of `examine`."""
    values = vars(args)
    options: dict[str, Any] = {}
    for exam in exams:
        classes = [EXAMS[exam], *variants_of(exam)]
        for option in {f.name: f for c in classes for f in dataclasses.fields(c.options_class)}:
            if option in values and option in args.exam_flags:
                options[option] = values[option]
            if f"{exam}.{option}" in values:
                options.setdefault(exam, {})[option] = values[f"{exam}.{option}"]
    return options


def _flag(option: str, under: str | None = None) -> str:
    return "--" + (f"{under}." if under else "") + option.replace("_", "-")


def _add_flags(
    group: Any,
    cls: type,
    leave_out: Sequence[str] = (),
    under: str | None = None,
    shown: Sequence[str] | None = None,
) -> None:
    """Flags of a dataclass, under an exam's name or plain; help tells of those that are `shown`."""
    annotations = hints(cls)
    for field in dataclasses.fields(cls):
        if field.name in leave_out:
            continue
        flag = _flag(field.name, under)
        kind, optional = kind_of(annotations[field.name])
        text = field.metadata["help"].replace("%", "%%")
        if field.default is not None:
            text += f" [{field.default}]"
        settings: dict[str, Any] = {"default": argparse.SUPPRESS, "help": text}
        settings["dest"] = field.name if under is None else f"{under}.{field.name}"
        if shown is not None and field.name not in shown:
            settings["help"] = argparse.SUPPRESS
        if kind is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **settings)
            continue
        choices = field.metadata["choices"]
        also = field.metadata["also"]
        settings["metavar"] = "{" + ",".join(choices) + "}" if choices else _METAVARS[kind]
        flags = [flag] if under else [flag, *_ALIASES.get(flag, ())]
        bounds = {**field.metadata, "choices": None}
        reader = _reader(field.name, kind, optional, also, bounds)
        action = group.add_argument(*flags, type=reader, **settings)
        action.values = choices and list(choices)  # for completion; `parse` checks them


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Where a saved model reads texts, and how many at once."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    parser.add_argument(
        "--max-tokens",
        type=bounded("max_tokens", int, minimum=1),
        default=MAX_TOKENS,
        metavar="N",
        help=f"padded tokens held at once [{MAX_TOKENS}]",
    )


def bounded(name: str, kind: type, **bounds: float) -> Any:
    """The `type` of a flag that is a number within bounds; see `verax.options.check`."""

    def read(text: str) -> Any:
        try:
            return check(name, parse(name, text, kind), kind, bounds)
        except VeraxError as error:
            flag = _flag(name)
            words = str(error).replace(f"option {name!r}", flag, 1)
            raise _RefusedError(words, error.code) from None

    return read


def given_options(args: argparse.Namespace, *classes: type) -> dict[str, Any]:
    """The options a user gave, by field name."""
    values = vars(args)
    return {
        f.name: values[f.name] for c in classes for f in dataclasses.fields(c) if f.name in values
    }


def parts_of(text: str) -> list[str]:
    """Parts of a text with commas between them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def listed(flag: str, text: str | None, expected: str = "names") -> list[str]:
    """Parts of a text with commas between them; an error where there is none."""
    parts = parts_of(text or "")
    if not parts:
        raise VeraxError(
            f"{flag} is an empty list: give {expected} with commas between them",
            code="option.empty",
        )
    return parts


def named_folders(texts: Sequence[str]) -> list[str] | list[tuple[str, str]]:
    """Folders as they are, or (name, folder) where all are written NAME=FOLDER."""
    named = ["=" in text and not Path(text).exists() for text in texts]
    if not any(named):
        return list(texts)
    if not all(named):
        plain = texts[named.index(False)]
        raise VeraxError(
            f"{plain} has no name, others have: name all, as in mine={plain}, or none",
            code="option.malformed",
        )
    pairs = (text.partition("=") for text in texts)
    return [(name.strip(), folder) for name, _, folder in pairs]


def read_config(path: str) -> dict[str, Any]:
    """A YAML or JSON file of options: the same names as in Python, flat."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise VeraxError(
                f"config {path} is not UTF-8 text", code="file.wrong-encoding"
            ) from error
        reason = getattr(error, "strerror", None) or "its name cannot be one of a file"
        raise VeraxError(
            f"cannot read config {path:.200}: {reason}", code="file.unreadable"
        ) from error
    problems = Problems(f"config {path}")
    read = read_json if path.endswith(".json") else read_yaml
    content = read(text.removeprefix("\ufeff"), problems, "a config")
    problems.refuse()
    if not isinstance(content, dict):
        raise VeraxError(
            f"config {path} must be names and values, such as encoder: conv", code="file.malformed"
        )
    values: dict[str, Any] = {}
    for name, value in content.items():
        option = name.replace("-", "_")
        if option in values:
            problems.add(
                f"option {option!r:.60} is given already, written otherwise",
                (name,),
                code="option.duplicate",
            )
        values[option] = value
    problems.refuse()
    return values


_ALIASES = {"--lr": ("--learning-rate",)}
_METAVARS = {int: "N", float: "X", str: "TEXT", dict: "OLD=NEW,…"}


def _reader(
    name: str, kind: Any, optional: bool, also: Sequence[str], bounds: Mapping[str, Any]
) -> Any:
    def read(text: str) -> Any:
        if optional and text.lower() == "none":
            return None
        if text in also:
            return text
        try:
            value = parse(name, text, kind)
            # also where the command has no use for it
            return check(name, value, kind, bounds) if kind in (int, float) else value
        except VeraxError as error:
            others = "".join(f" or {word!r}" for word in also)
            raise _RefusedError(f"{error}{others}", error.code) from None

    return read


FLAG = "--plugin"


def import_plugins(arguments: Sequence[str]) -> list[str]:
    """Import the files that `--plugin` names, and return the arguments without them.

    Exams add flags, so that this comes before flags are read.
    """
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*rest, word, *words]
        if word == FLAG or word.startswith(f"{FLAG}="):
            path = word.partition("=")[2] or next(words, "")
            if not path:
                raise VeraxError(
                    f"{FLAG} names no file: give one, as in {FLAG} my_exam.py",
                    code="option.missing",
                )
            import_file(path)
        else:
            rest.append(word)
    return rest
