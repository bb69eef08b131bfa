"""Tables from files: CSV, TSV, JSONL and Parquet, alone or as a folder of splits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from verax.corpora.corpus import CLASSES, SPLITS
from verax.errors import VeraxError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
_ALIASES = {"validation": ("validation", "valid", "val", "dev"), "train": ("train",)}


def read_table(path: Path) -> pd.DataFrame:
    """The rows of one file. Text cells of CSV and TSV are kept as they stand ("NA" is a word)."""
    if not path.exists():
        raise VeraxError(f"no such file: {path}; give a {_kinds()} file, or a folder of splits")
    if path.stat().st_size == 0:
        raise VeraxError(f"{path} is empty: expected a header and at least one row")
    try:
        table: pd.DataFrame = _READERS[path.suffix.lower()](path)
    except KeyError:
        raise VeraxError(f"cannot read {path}: expected a {_kinds()} file") from None
    except UnicodeDecodeError as error:
        raise VeraxError(
            f"{path} is not UTF-8 (byte {error.object[error.start]:#04x}): "
            "convert it first, for example with iconv -f latin1 -t utf-8"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise VeraxError(f"{path} is empty: expected a header and at least one row") from error
    except pd.errors.ParserError as error:
        raise VeraxError(f"cannot read {path}: {_first_line(error)}; check its quotes") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise VeraxError(f"cannot read {path}: {_first_line(error)}") from error
    if len(table) == 0:
        raise VeraxError(f"{path} has no rows: expected at least one document")
    return table


def read_folder(folder: Path) -> dict[str, pd.DataFrame]:
    """The splits a folder holds as `train`, `validation` (or `valid`, `val`, `dev`) and `test`."""
    found: dict[str, pd.DataFrame] = {}
    for split in SPLITS:
        stems = _ALIASES.get(split, (split,))
        paths = [folder / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES]
        there = [path for path in paths if path.exists()]
        if len(there) > 1:
            both = " and ".join(path.name for path in there)
            raise VeraxError(f"{folder} has {both} for the {split} split: keep one of them")
        if there:
            found[split] = read_table(there[0])
    if "train" not in found:
        raise VeraxError(f"{folder} holds no train file: expected train with {_kinds()}")
    return found


def class_order(folder: Path) -> list[str] | None:
    """The order of the classes, where a saved corpus remembers it."""
    path = folder / CLASSES
    if not path.is_file():
        return None
    try:
        order = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VeraxError(f"cannot read {path}: {_first_line(error)}") from error
    if not isinstance(order, list) or not all(isinstance(label, str) for label in order):
        raise VeraxError(f"{path} is not a list of class names: mend or remove it")
    return order


def is_corpus_folder(folder: Path) -> bool:
    return any((folder / f"train{suffix}").is_file() for suffix in SUFFIXES)


def _read_csv(path: Path, separator: str = ",") -> pd.DataFrame:
    table = pd.read_csv(
        path, sep=separator, dtype=str, keep_default_na=False, na_filter=False, encoding="utf-8-sig"
    )
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes a cell too many for an index
        raise VeraxError(
            f"{path} has more cells in a row than its header names: put quotes around text that "
            "holds the separator"
        )
    return table


def _read_tsv(path: Path) -> pd.DataFrame:
    return _read_csv(path, "\t")


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = []
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise VeraxError(f"{path} line {number} is not JSON: {error.msg}") from error
            if not isinstance(row, dict):
                raise VeraxError(f"{path} line {number} is not a JSON object with named fields")
            if "\\ud" in line.lower() and not _is_unicode(row):
                raise VeraxError(f"{path} line {number} holds half a character (a lone surrogate)")
            rows.append(row)
    return pd.DataFrame(rows)


def _is_unicode(row: dict[str, Any]) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".parquet": pd.read_parquet,
}


def _kinds() -> str:
    return ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
