"""Ways to spoil saved files, each with what may differ once the file is read again."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

DEEP = 100_000
_NAN, _INFINITE, _HUGE, _DEEP, _TWICE, _LONG = "@nan", "@inf", "@huge", "@deep", "@twice", "@long"
"""What JSON of Python's own cannot write; put into the text afterwards."""
_RAW = {
    f'"{_NAN}"': "NaN",
    f'"{_INFINITE}"': "-Infinity",
    f'"{_HUGE}"': "9" * 4301,
    f'"{_DEEP}"': "[" * DEEP + "]" * DEEP,
}
NASTY = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**63,
        -(2**63),
        10**30,
        0.5,
        -0.5,
        1e308,
        -1e308,
        1e-320,
    ),
    *(
        "",
        " ",
        "x",
        "nan",
        "\x00",
        "a\nb",
        "\ud800",
        "../../etc/passwd",
        "<script>",
        "=1+1",
        "é" * 300,
    ),
    *(
        [],
        {},
        [None],
        ["x"],
        [[]],
        [1, "x"],
        {"x": 1},
        {"": None},
        [0] * 50,
        _NAN,
        _INFINITE,
        _HUGE,
    ),
)


@dataclass(frozen=True)
class Change:
    """What was spoilt: `nonsense` where no reader may accept it, `where` what it may change."""

    what: str
    where: str
    nonsense: bool


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    yield at
    if isinstance(value, dict):
        for key, part in value.items():
            yield from paths(part, (*at, key))
    if isinstance(value, list):
        for number, part in enumerate(value):
            yield from paths(part, (*at, number))


def at_path(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def spoil_json(
    rng: random.Random, file: Path, stays: Callable[[str], bool] = lambda path: False
) -> Change:
    """Change one place of a JSON file.

    Args:
        rng: what to change, and how.
        file: it is rewritten.
        stays: whether any kind of value may stand at a path.
    """
    value = json.loads(file.read_text(encoding="utf-8"))
    after, change = spoil_value(rng, value, stays)
    file.write_bytes(dumped(after, change.what))
    return change


def dumped(value: Any, what: str = "") -> bytes:
    """JSON, with what Python's writer refuses."""
    text = json.dumps(value, ensure_ascii=False)
    for mark, raw in _RAW.items():
        text = text.replace(mark, raw)
    if what.startswith("twice"):
        first = text.find('": ')
        begin = text.find('"')
        if text.startswith("{") and 0 <= begin < first:
            text = "{" + text[begin : first + 3] + "null, " + text[1:]
    return text.encode("utf-8", "surrogatepass")


def spoil_value(
    rng: random.Random, value: Any, stays: Callable[[str], bool] = lambda path: False
) -> tuple[Any, Change]:
    """A JSON value with one place changed, and what was."""
    value = copy.deepcopy(value)
    every = list(paths(value))
    depths: dict[int, list[tuple[Any, ...]]] = {}
    for path in every:
        depths.setdefault(min(len(path), 3), []).append(path)
    path = rng.choice(depths[rng.choice(sorted(depths))])  # as many near the top as far from it
    before = at_path(value, path)
    shown = "/".join(map(str, path))
    how = rng.choice(("put", "put", "put", "drop", "add", "deep", "twice", "longer"))
    if how == "twice" and isinstance(value, dict) and value:
        return value, Change("twice: first key", "", nonsense=True)
    if how == "deep":
        return _put(value, path, _DEEP), Change(f"deep at {shown}", shown, nonsense=True)
    if how == "drop" and path:
        inside = at_path(value, path[:-1])
        del inside[path[-1]]
        where = "/".join(map(str, path[:-1])) if isinstance(inside, list) else shown
        return value, Change(f"drop {shown}", where, nonsense=False)
    if how == "add" and isinstance(before, dict):
        before[rng.choice(("", "x", "__class__", "\x00", "é"))] = copy.deepcopy(rng.choice(NASTY))
        return value, Change(f"add to {shown}", shown, nonsense=False)
    if how == "longer" and isinstance(before, list) and before:
        before.insert(rng.randrange(len(before) + 1), copy.deepcopy(rng.choice(before)))
        return value, Change(f"longer {shown}", shown, nonsense=False)
    after = copy.deepcopy(rng.choice(NASTY))
    nonsense = not stays(shown) and is_nonsense(before, after)
    return _put(value, path, after), Change(f"{shown} := {after!r:.60}", shown, nonsense)


def _put(value: Any, path: tuple[Any, ...], after: Any) -> Any:
    if not path:
        return after
    at_path(value, path[:-1])[path[-1]] = after
    return value


def is_nonsense(before: Any, after: Any) -> bool:
    """Whether no reader may take `after` where `before` stood: another kind, or no number.

    None may come to stand for something, and something for None.
    """
    if after in (_NAN, _INFINITE, _HUGE) and isinstance(after, str):
        return True
    if before is None or after is None:
        return False
    if isinstance(before, dict) and "lines" in before and type(after) in (int, float):
        return False  # a limit is lines or a number
    if isinstance(before, bool) or isinstance(after, bool):
        return type(before) is not type(after)
    if isinstance(before, int) and isinstance(after, float):
        return not after.is_integer()
    if isinstance(before, int | float) and isinstance(after, int | float):
        return isinstance(before, int) and before >= 0 and after < 0
    if isinstance(before, str) and isinstance(after, str):
        return "\ud800" in after or (before != "" and "\x00" in after)
    return type(before) is not type(after)


def spoil_bytes(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Bytes with some flipped, cut off, doubled or put in."""
    how = rng.choice(("flip", "flip", "cut", "begin", "zero", "insert", "double", "nothing"))
    at = rng.randrange(max(1, len(data)))
    if how == "flip" and data:
        spoilt = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 20))):
            place = rng.randrange(max(1, len(spoilt)))
            spoilt[place : place + 1] = bytes([spoilt[place] ^ (1 << rng.randrange(8))])
        return bytes(spoilt), f"flip near {at}"
    if how == "cut":
        return data[:at], f"cut at {at}"
    if how == "begin":
        return data[at:], f"begin at {at}"
    if how == "zero":
        return data[:at] + bytes(min(64, len(data) - at)) + data[at + 64 :], f"zero at {at}"
    if how == "insert":
        return data[:at] + rng.randbytes(rng.choice((1, 8, 64))) + data[at:], f"insert at {at}"
    if how == "double":
        return data + data, "double"
    return b"", "nothing left"


_OF_TABLES = (
    *("drop", "rename", "kind", "kind", "null", "infinite", "huge", "negative", "empty", "twice"),
    *("shuffle", "lists", "bare", "extra", "category"),
)


def spoil_table(rng: random.Random, file: Path) -> Change:
    """Change one column, or the rows, of a Parquet file of pandas; the file itself stays whole."""
    frame = pd.read_parquet(file)
    column = rng.choice(list(frame.columns)) if len(frame.columns) else ""
    how = rng.choice(_OF_TABLES)
    where = f"table/{file.stem}"
    number = column != "" and frame[column].dtype.kind in "iuf"
    nonsense = False
    if how == "drop" and column:
        frame, nonsense = frame.drop(columns=column), True
    elif how == "rename" and column:
        frame, nonsense = frame.rename(columns={column: f"{column} "}), True
    elif how == "kind" and column:
        if number:
            frame[column] = [f"x{v}" for v in frame[column]]
        else:
            frame[column] = np.arange(len(frame), dtype=np.float64)
        nonsense = len(frame) > 0
    elif how == "null" and column:
        frame[column] = frame[column].astype(object)
        frame.loc[frame.index[: max(1, len(frame) // 2)], column] = None
    elif how in ("infinite", "huge", "negative") and number:
        extreme = {"infinite": math.inf, "huge": 1e300, "negative": -5.0}[how]
        kept = frame[column].astype("float64")
        kept.iloc[: max(1, len(frame) // 3)] = extreme
        frame[column] = kept
    elif how == "empty":
        frame = frame.iloc[:0]
    elif how == "twice":
        frame = pd.concat([frame, frame.iloc[: rng.randrange(1, 9)]], ignore_index=True)
    elif how == "shuffle":
        frame = frame.sample(frac=1, random_state=rng.randrange(1 << 30)).reset_index(drop=True)
    elif how == "lists" and column:
        frame[column] = pd.Series([[1, 2]] * len(frame), dtype=object)
        nonsense = len(frame) > 0
    elif how == "bare":
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        parquet.write_table(table, file)
        return Change(f"{file.stem}: bare", where, nonsense=False)
    elif how == "extra":
        frame["extra"] = "x"
    elif how == "category" and column:
        frame[column] = frame[column].astype("category")
    frame.to_parquet(file, index=False)
    return Change(f"{file.stem}: {how} {column}", where, nonsense)


def sign(folder: Path) -> None:
    """Make checksums in a saved result's manifest those of its files, as a forger would."""
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8"))
    listed = manifest.get("files") if isinstance(manifest, dict) else None
    for name in list(listed) if isinstance(listed, dict) else []:
        data = (folder / name).read_bytes() if (folder / name).is_file() else b""
        listed[name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    file.write_text(json.dumps(manifest), encoding="utf-8")


def unexpected(before: dict[str, Any], after: dict[str, Any], change: Change) -> str | None:
    """What is other than it was and was not changed, or nonsense that was taken, in words."""
    differing = [p for p in before.keys() | after.keys() if not _same(before, after, p)]
    # a list is one value, whichever part of it was changed
    inside = [
        p for p in differing if p.startswith(change.where) or change.where.startswith(f"{p}/")
    ]
    other = set(differing) - set(inside)
    if other:
        return f"{change.what}: {sorted(other)[:5]} differ too"
    if change.nonsense and differing:
        return f"{change.what}: accepted, {sorted(differing)[:3]} differ"
    return None


def _same(before: dict[str, Any], after: dict[str, Any], path: str) -> bool:
    if path not in before or path not in after:
        return False
    return bool(before[path] == after[path] and type(before[path]) is type(after[path]))
