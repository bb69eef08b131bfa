"""Schemas of the files of a store, and of what a packed study keeps of them."""

from __future__ import annotations

from typing import Any

from verax.exams.described import MANIFEST as VERDICT
from verax.schema import (
    CHECKSUMS,
    COUNT,
    SchemaError,
    checked_json,
    either,
    flag,
    listed,
    mapping,
    maybe,
    number,
    plain,
    record,
    text,
    whole,
)
from verax.studies.function_cell import check_cell

UNCOMMITTED = "-dirty"
"""The end of a cell's commit where the package's files differed from it."""
FACTS = record(
    {},
    {
        "versions": mapping(text),
        "commit": maybe(text),
        "device": maybe(text),
        "gpu": maybe(text),
        "platform": maybe(text),
        "threads": maybe(COUNT),
        "seconds": maybe(either("seconds", number(0), mapping(number(0)))),
        "seed": whole(0, 2**32 - 1),
        "test": mapping(maybe(number())),
        "strength_chosen": maybe(number()),
        "model_of": maybe(text),
        "started": maybe(text),
        "finished": maybe(text),
        "max_tokens": maybe(COUNT),
        "halved": flag,
    },
)
"""What a cell's manifest says of how it was made."""
MANIFEST = record({"cell": text, "files": CHECKSUMS}, {"left_out": listed(text), "sha256": text})
"""The schema of a cell's manifest, beside its facts."""
STORE = record({"format": whole(1), "name": text}, {"verax": text})
"""The schema of `store.json`."""
_RESOLVED = record(
    {"name": text, "cells": mapping(mapping(plain))},
    {"question": maybe(text), "hardware": mapping(plain), "weights": flag},
)
FAILURE = record(
    {},
    {
        "cell": text,
        "reason": text,
        "error": maybe(text),
        "code": maybe(text),
        "traceback": maybe(text),
    },
)
"""The schema of a failed cell's record."""


def resolved(value: Any, where: str) -> None:
    """The kind of `resolved.json`: a study, and every one of its cells by its key."""
    _RESOLVED(value, where)
    for key, cell in value["cells"].items():
        check_cell(cell, f"{where}: cells.{key}", key)


def read_verdict(data: bytes | str, where: str = "verdict.json") -> dict[str, Any]:
    """The manifest of a cell's verdict; `SchemaError` where it is none."""
    return dict(checked_json(data, VERDICT, where))


_SHAPES = listed(record({"shape": text, "columns": mapping(text)}))
ABOUT = record(
    {"packed": whole(1), "store": STORE, "study": text, "resolved": resolved, "shapes": _SHAPES}
)
"""The schema of a packed study's metadata."""
TABLES = mapping(listed(COUNT, 2, 2))
"""Table → how many rows a cell has of it, and which shape."""
OTHERS = mapping(text)
LEFT_OUT = listed(text)


def facts(value: Any, where: str) -> None:
    """The kind of a cell's facts, as a pack keeps them."""
    FACTS(value, where)
    for name in ("files", "cell"):
        if name in value:
            raise SchemaError(f"{where} has {name!r}, which is no fact")
