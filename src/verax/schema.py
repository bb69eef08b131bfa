"""What the files that Verax writes may hold: declared once, checked by writer and reader.

A `Kind` is a function of a value and of where it stands. It raises `SchemaError` where the value is
not of the kind. Kinds are put together to the schema of a file:

>>> kind = record({"name": text, "seeds": listed(whole(0))}, {"note": maybe(text)})
>>> kind({"name": "a", "seeds": [0, 1]}, "study.json")
>>> kind({"name": "a", "seeds": [0, -1]}, "study.json")
Traceback (most recent call last):
verax.schema.SchemaError: study.json: seeds[1] is -1: expected a whole number from 0

`parse_json` reads JSON as strictly: no key twice, no NaN, no number beyond 64 bits.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from verax.errors import VeraxWarning, outside_verax

Kind = Callable[[Any, str], None]
"""Raises `SchemaError` where a value, which stands at a place, is not of the kind."""
_LARGEST = 2**63 - 1
_SHOWN = 60
"""Characters of a value that a message shows."""


class SchemaError(ValueError):
    """A value that is not of the kind its place asks for; one line, without what to do."""


def wrong(value: Any, where: str, expected: str) -> SchemaError:
    """The error about a value, with where it stands and what was expected."""
    try:
        shown = repr(value)
    except ValueError:  # a whole number of thousands of digits
        shown = "a number of thousands of digits"
    shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
    return SchemaError(f"{where} is {shown}: expected {expected}")


def text(value: Any, where: str) -> None:
    """Text without NUL, which neither names of files nor terminals can hold."""
    if not isinstance(value, str):
        raise wrong(value, where, "text")
    if "\0" in value:
        raise wrong(value, where, "text without NUL")


def any_text(value: Any, where: str) -> None:
    """Any text."""
    if not isinstance(value, str):
        raise wrong(value, where, "text")


def unknown(value: Any, where: str) -> None:
    """Nothing: for names that a record does not know."""
    raise SchemaError(f"{where} is not known here")


def flag(value: Any, where: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise wrong(value, where, "true or false")


def whole(least: int = -_LARGEST, most: int = _LARGEST) -> Kind:
    """A whole number between two."""
    words = "a whole number" if least == -_LARGEST else f"a whole number from {least}"
    words += "" if most == _LARGEST else f" to {most}"

    def check(value: Any, where: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise wrong(value, where, words)

    return check


def number(least: float = -math.inf, most: float = math.inf) -> Kind:
    """A finite number between two."""
    words = "a number" if math.isinf(least) else f"a number from {least:g}"
    words += "" if math.isinf(most) else f" to {most:g}"

    def check(value: Any, where: str) -> None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not least <= value <= most:
            raise wrong(value, where, words)

    return check


COUNT = whole(0)


def maybe(kind: Kind) -> Kind:
    """A value of a kind, or none."""

    def check(value: Any, where: str) -> None:
        if value is not None:
            kind(value, where)

    return check


def choice(values: Collection[Any]) -> Kind:
    """One of some values."""

    def check(value: Any, where: str) -> None:
        if not any(type(value) is type(one) and value == one for one in values):
            raise wrong(value, where, " or ".join(map(repr, values)))

    return check


def listed(kind: Kind, least: int = 0, most: int | None = None, *, once: bool = False) -> Kind:
    """A list of values of a kind, of some length; with `once`, no value twice."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list | tuple):
            raise wrong(value, where, "a list")
        if len(value) < least or (most is not None and len(value) > most):
            words = str(least) if most == least else f"{least} or more"
            raise SchemaError(f"{where} has {len(value):,} values: expected {words}")
        for place, part in enumerate(value):
            kind(part, f"{where}[{place}]")
        if once and len(set(value)) < len(value):
            twice = next(part for place, part in enumerate(value) if part in value[:place])
            raise SchemaError(f"{where} has {twice!r:.60} twice")

    return check


def mapping(kind: Kind) -> Kind:
    """Names, each with a value of a kind."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise wrong(value, where, "names and values")
        for name, part in value.items():
            text(name, f"a name in {where}")
            kind(part, _inside(where, name))

    return check


def plain(value: Any, where: str) -> None:
    """Any value of JSON: none, true, false, finite numbers, text, lists and mappings of these."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        text(value, where)
    elif isinstance(value, int):
        whole()(value, where)
    elif isinstance(value, float):
        number()(value, where)
    elif isinstance(value, list | tuple):
        listed(plain)(value, where)
    else:
        mapping(plain)(value, where)


def record(
    required: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None, others: Kind = plain
) -> Kind:
    """A mapping in which each name has a kind of its own.

    Args:
        required: names that must be there.
        optional: names that may be there.
        others: the kind of any other name.
    """
    known = {**required, **(optional or {})}

    def check(value: Any, where: str) -> None:
        if not isinstance(value, Mapping):
            raise wrong(value, where, "names and values")
        for name in required:
            if name not in value:
                raise SchemaError(f"{where} has no {name!r}")
        for name, part in value.items():
            text(name, f"a name in {where}")
            known.get(name, others)(part, _inside(where, name))

    return check


def _inside(where: str, name: str) -> str:
    """The place of a name: `manifest.json: corpus.seed`."""
    return f"{where}: {name}" if ": " not in where else f"{where}.{name}"


def both(one: Kind, other: Kind) -> Kind:
    """What is of two kinds at once."""

    def check(value: Any, where: str) -> None:
        one(value, where)
        other(value, where)

    return check


def either(words: str, *kinds: Kind) -> Kind:
    """What is of one of some kinds; `words` say which."""

    def check(value: Any, where: str) -> None:
        for kind in kinds:
            try:
                return kind(value, where)
            except SchemaError:
                continue
        raise wrong(value, where, words)

    return check


RECORDS: dict[str, Kind] = {}
"""Kinds by name, for files that keep what a room above declares."""


def declared(name: str) -> Kind:
    """The kind of that name in `RECORDS`, asked for when a value is there; else plain values."""
    return lambda value, where: RECORDS.get(name, mapping(plain))(value, where)


WHOLE, NUMBER, TEXT, FLAG, LISTS = "whole numbers", "numbers", "text", "true or false", "lists"
"""Kinds of columns. Numbers may be missing, and none is infinite."""
SURE = "numbers, none of them missing"
OR_NONE = " or nothing"
"""Ends the kind of a column whose values may be missing."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    required  name → kind
    others    kinds that other columns may be of
    key       columns whose values together come once
    least     rows there are at least
    """

    required: Mapping[str, str]
    others: Collection[str] = (TEXT, TEXT + OR_NONE, WHOLE, NUMBER, FLAG)
    key: Sequence[str] = ()
    least: int = 0

    @classmethod
    def of(cls, key: Sequence[str] = (), least: int = 0, **kinds: str) -> Columns:
        """From kinds, each with the names of its columns, and blanks between these.

        >>> Columns.of(text="name", whole="n low_n").required
        {'name': 'text', 'n': 'whole numbers', 'low_n': 'whole numbers'}
        """
        named = {"whole": WHOLE, "number": NUMBER, "sure": SURE, "text": TEXT, "flag": FLAG}
        named |= {"maybe_text": TEXT + OR_NONE, "maybe_whole": WHOLE + OR_NONE}
        required = {name: named[kind] for kind, names in kinds.items() for name in names.split()}
        return cls(required, key=key, least=least)

    def check(self, table: pd.DataFrame, where: str) -> None:
        """Raise `SchemaError` where a table is another."""
        names = [str(name) for name in table.columns]
        if len(set(names)) < len(names):
            raise SchemaError(f"{where} has a column twice")
        for name, kind in self.required.items():
            if name not in names:
                raise SchemaError(f"{where} has no column {name!r}")
            _check_column(table[name], (kind,), f"{where}: column {name!r}")
        for name in names:
            if name not in self.required:
                _check_column(table[name], self.others, f"{where}: column {name!r}")
        if len(table) < self.least:
            raise SchemaError(f"{where} has {len(table):,} rows: expected {self.least} or more")
        if self.key and table.duplicated([n for n in self.key if n in names]).any():
            raise SchemaError(f"{where} has a row twice")


def _check_column(column: pd.Series, kinds: Collection[str], where: str) -> None:
    if not any(is_of_kind(column, kind) for kind in kinds):
        raise SchemaError(f"{where} is not of {' or '.join(kinds)}")


def is_of_kind(column: pd.Series, kind: str) -> bool:
    """Whether a column has values of a kind alone; a column without any is of each kind."""
    if kind.endswith(OR_NONE):
        column, kind = column.dropna(), kind.removesuffix(OR_NONE)
    if not len(column):
        return True
    values: Any = column
    if isinstance(column.dtype, pd.CategoricalDtype):
        if kind == TEXT and column.isna().any():
            return False
        values = pd.Series(column.cat.categories)
    dtype = values.dtype
    if kind == FLAG:
        return bool(dtype.kind == "b")
    if kind == WHOLE:
        return bool(dtype.kind in "iu" and not values.isna().any())
    if kind == SURE:
        return bool(dtype.kind in "iuf" and not values.isna().any() and not _infinite(values))
    if kind == NUMBER:
        if dtype.kind == "O":
            return bool(values.isna().all())
        return bool(dtype.kind in "iuf" and not _infinite(values))
    if kind == LISTS:
        return all(isinstance(one, list) or hasattr(one, "__array__") for one in values)
    if dtype.kind not in "OUT" and not pd.api.types.is_string_dtype(dtype):
        return False
    kinds = pd.api.types.infer_dtype(values, skipna=False)
    return bool(kinds in ("string", "empty") and not values.isna().any())


def _infinite(values: pd.Series) -> bool:
    if values.dtype.kind != "f":
        return False
    return bool(values.abs().max() == math.inf)


CHECKSUMS = mapping(record({"size": COUNT, "sha256": text}))
"""The kind of checksums by name of file."""


def checksum_of(data: bytes) -> dict[str, Any]:
    """Size and SHA-256 of a file, as JSON keeps them."""
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def check_sums(files: Mapping[str, bytes], sums: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `SchemaError` where a file has other contents than were written.

    Args:
        files: name → contents.
        sums: name → checksum.
    """
    for name, data in files.items():
        if name not in sums:
            raise SchemaError(f"{name} has no checksum")
        if dict(sums[name]) != checksum_of(data):
            raise SchemaError(f"{name} has other contents than were written")


def parse_json(data: str | bytes) -> Any:
    """The value of a JSON text; `ValueError` says what it has that JSON has not, or what repeats.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    verax.schema.SchemaError: it has the name 'a' twice
    """
    try:
        written = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(
            written,
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_of_64_bits,
        )
        if "\\ud" in written.lower():
            # half a character: no file and no terminal takes it
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise SchemaError("its lists and mappings are nested too deep") from None
    except UnicodeEncodeError:
        raise SchemaError("it holds half a character (a lone surrogate)") from None
    except UnicodeDecodeError:
        raise SchemaError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise SchemaError(f"it is not JSON: {error.msg} in line {error.lineno}") from None
    return value


_OF_TABLES = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(NotImplementedError, RecursionError, MemoryError),
)
"""What pandas and pyarrow raise of a file that is no table, or whose notes are not theirs."""


def read_parquet(data: bytes, where: str) -> pd.DataFrame:
    """A table of a Parquet file's bytes; `SchemaError` where it is none."""
    try:
        return pd.read_parquet(io.BytesIO(data))
    except _OF_TABLES as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise SchemaError(f"{where} is no table: {first:.200}") from error


def checked_json(data: str | bytes, kind: Kind, where: str) -> Any:
    """The value of a JSON text, which is of a kind; `SchemaError` names the place."""
    try:
        value = parse_json(data)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None
    kind(value, where)
    return value


def warn_unless(kind: Kind, value: Any, where: str) -> None:
    """Warn of what is being written and cannot be read again; what is finished is kept."""
    try:
        kind(value, where)
    except SchemaError as error:
        warnings.warn(f"saved, and may not open again: {error}", VeraxWarning, outside_verax())


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise SchemaError(f"it has the name {twice!r:.60} twice")
    return value


def _no_constant(name: str) -> Any:
    raise SchemaError(f"it holds {name}, which is no number")


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise SchemaError(f"it holds the number {written:.40}, which is too large")
    return value


def _of_64_bits(written: str) -> int:
    value = int(written) if len(written) <= 20 else _LARGEST + 1
    if not -_LARGEST - 1 <= value <= _LARGEST:
        raise SchemaError(f"it holds the number {written:.40}, which is beyond 64 bits")
    return value
