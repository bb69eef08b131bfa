"""Tables from CSV, TSV, JSONL and Parquet files, alone or as a folder of splits."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import CLASSES, SPLITS, is_saved_corpus
from verax.corpora.splitting import ALIASES
from verax.errors import VeraxError, VeraxWarning, outside_verax
from verax.options import check_path
from verax.schema import SchemaError, checked_json, listed, text

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
_SEPARATORS = ",;\t|"
_HEADER = re.compile(r'(?: *[\r\n])*((?:(?<![^,;\t|\r\n])"(?:[^"]|"")*"|[^\r\n])*)')
"""The first line that is not blank; names in quotes may hold line ends."""
_HEADER_SIZE = 1 << 20
_MARKED = {"utf-8": "utf-8-sig", "utf8": "utf-8-sig"}
"""The codec that leaves out a byte order mark."""


_NO_TABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(NotImplementedError, RecursionError),
)
"""What pandas and pyarrow raise of a file that is no table, or whose notes are not theirs."""


class EncodingError(VeraxError):
    """A file that is not in the encoding it was read with."""

    code = "file.wrong-encoding"


def read_table(
    path: Path,
    encoding: str = "utf-8",
    *,
    columns: Collection[str] = (),
    may_be_empty: bool = False,
) -> pd.DataFrame:
    """Return the rows of one file.

    Cells of CSV and TSV files are text as it stands ("NA" is a word). TSV files are separated by
    tabs, CSV files by the one of , ; tab and | that splits the header into most columns. A header
    without the separator names one column, and separators in its rows are text. A byte order mark
    is left out.

    Args:
        path: the file.
        encoding: of CSV, TSV and JSONL files.
        columns: names of columns, of which a header has some. A CSV or TSV file that cannot be
            read and has none of them in its first line is reported as one without a header.
        may_be_empty: whether a table without rows is no error.
    """
    check_path("the file", path)
    if not path.exists():
        raise VeraxError(
            f"no such file: {path}; give a {_kinds()} file, or a folder of splits",
            code="file.missing",
        )
    if path.stat().st_size == 0:
        raise VeraxError(
            f"{path} is empty: expected a header and at least one row", code="file.empty"
        )
    if path.suffix.lower() not in _READERS:
        raise VeraxError(f"cannot read {path}: expected a {_kinds()} file", code="file.unreadable")
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise VeraxError(
            f"unknown encoding {encoding!r:.60}: give utf-8, latin-1 or cp1252",
            code="option.unknown-value",
        ) from None
    try:
        known = _MARKED.get(encoding, encoding)
        table: pd.DataFrame = _READERS[path.suffix.lower()](path, known, columns)
    except UnicodeDecodeError as error:
        if path.suffix.lower() == ".parquet":
            raise VeraxError(
                f"cannot read {path}: its notes are not UTF-8 text", code="file.malformed"
            ) from error
        expected = "UTF-8" if encoding == "utf-8" else encoding
        raise EncodingError(
            f"{path} is not {expected} (byte {error.object[error.start]:#04x}): name its encoding "
            "with encoding='latin-1' or --encoding latin-1, or convert it with "
            "iconv -f latin1 -t utf-8"
        ) from error
    except pd.errors.EmptyDataError as error:
        raise VeraxError(
            f"{path} is empty: expected a header and at least one row", code="file.empty"
        ) from error
    except pd.errors.ParserError as error:
        problem = _first_line(error).rpartition("C error: ")[2]
        raise VeraxError(
            f"cannot read {path}: {problem}; check its quotes", code="file.malformed"
        ) from error
    except UnicodeError as error:  # UTF-16 without its mark
        raise EncodingError(
            f"{path} is not {encoding}: name its encoding with encoding='latin-1' or --encoding "
            "latin-1"
        ) from error
    except VeraxError:
        raise
    except _NO_TABLE as error:
        raise VeraxError(
            f"cannot read {path}: {_first_line(error)}", code="file.unreadable"
        ) from error
    if len(table) == 0 and not may_be_empty:
        raise VeraxError(f"{path} has no rows: expected at least one document", code="file.empty")
    return table


def read_folder(
    folder: Path, encoding: str = "utf-8", columns: Collection[str] = ()
) -> dict[str, pd.DataFrame]:
    """The splits a folder holds as `train`, `validation` (or `valid`, `val`, `dev`) and `test`."""
    tables: dict[str, pd.DataFrame] = {}
    is_saved = is_saved_corpus(folder)
    for split in SPLITS:
        stems = [alias for alias, meant in ALIASES.items() if meant == split]
        paths = [folder / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES]
        paths = [path for path in paths if path.exists()]
        if len(paths) > 1:
            both = " and ".join(path.name for path in paths)
            raise VeraxError(
                f"{folder} has {both} for the {split} split: keep one of them",
                code="corpus.wrong-splits",
            )
        if paths:
            tables[split] = read_table(paths[0], encoding, columns=columns, may_be_empty=is_saved)
    if "train" not in tables:
        raise VeraxError(
            f"{folder} holds no train file: expected train with {_kinds()}",
            code="corpus.wrong-splits",
        )
    # a saved corpus that was not cut has its documents in one split
    return {split: table for split, table in tables.items() if len(table)} if is_saved else tables


def class_order(folder: Path) -> list[str] | None:
    """The order of the classes, where a saved corpus remembers it."""
    path = folder / CLASSES
    if not path.is_file():
        return None
    try:
        order = checked_json(path.read_bytes(), listed(text, once=True), CLASSES)
    except OSError as error:
        raise VeraxError(
            f"cannot read {path}: {_first_line(error)}", code="file.unreadable"
        ) from error
    except SchemaError as error:
        raise VeraxError(
            f"{path} is not a list of class names ({error}): mend or remove it",
            code="file.malformed",
        ) from error
    return list(order)


def is_corpus_folder(folder: Path) -> bool:
    return any((folder / f"train{suffix}").is_file() for suffix in SUFFIXES)


def _read_separated(path: Path, encoding: str, columns: Collection[str]) -> pd.DataFrame:
    with path.open(encoding=encoding, newline="") as lines:
        match = _HEADER.match(lines.read(_HEADER_SIZE))
    header = re.sub(r'"[^"]*"', "", match[1]) if match else ""
    separator = "\t" if path.suffix.lower() == ".tsv" else max(_SEPARATORS, key=header.count)
    if separator not in header:
        separator = _unused_character(path, encoding)
    how: dict[str, Any] = {"sep": separator, "dtype": str, "encoding": encoding}
    how |= {"keep_default_na": False, "na_filter": False}
    names = pd.read_csv(path, header=None, nrows=1, **how).iloc[0]
    no_header = ""
    if columns and not {*names} & {*columns}:
        no_header = (
            f"{path} seems to have no header: write the names of its columns into a first line "
            f"({', '.join(columns)})"
        )
    try:
        table = pd.read_csv(path, **how)
    except pd.errors.ParserError as error:
        if no_header:
            raise VeraxError(no_header, code="file.no-header") from error
        raise
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes a cell too many for an index
        if no_header:
            raise VeraxError(no_header, code="file.no-header")
        raise VeraxError(
            f"{path} has more cells in a row than its header names: put quotes around text that "
            "holds the separator",
            code="file.malformed",
        )
    for name in names[names.duplicated() & (names != "")].unique():
        warnings.warn(
            f"{path} has two columns {name!r}: the first is read; rename the other",
            VeraxWarning,
            outside_verax(),
        )
    return table


def _unused_character(path: Path, encoding: str) -> str:
    """A control character that the file does not have: cells parted by it are whole lines."""
    with path.open(encoding=encoding, newline="") as lines:
        used = set().union(*lines)
    unused = (chr(code) for code in range(0x1F, 0x0D, -1) if chr(code) not in used)
    return next(unused, "\x1f")


def _read_jsonl(path: Path, encoding: str, columns: Collection[str]) -> pd.DataFrame:
    rows = []
    with path.open(encoding=encoding) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise VeraxError(
                    f"{path} line {number} is not JSON: {error.msg}", code="file.malformed"
                ) from error
            except RecursionError:
                raise VeraxError(
                    f"{path} line {number} has lists nested too deep", code="file.malformed"
                ) from None
            except ValueError:
                raise VeraxError(
                    f"{path} line {number} has a number of thousands of digits: put it in quotes",
                    code="file.malformed",
                ) from None
            if not isinstance(row, dict):
                raise VeraxError(
                    f"{path} line {number} is not a JSON object with named fields",
                    code="file.malformed",
                )
            if "\\ud" in line.lower() and not _is_unicode(row):
                raise VeraxError(
                    f"{path} line {number} holds half a character (a lone surrogate)",
                    code="text.invalid-unicode",
                )
            rows.append(row)
    return pd.DataFrame(rows)


def _is_unicode(row: dict[str, Any]) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_READERS: dict[str, Callable[[Path, str, Collection[str]], pd.DataFrame]] = {
    ".csv": _read_separated,
    ".tsv": _read_separated,
    ".jsonl": _read_jsonl,
    ".parquet": lambda path, encoding, columns: pd.read_parquet(path),
}


def _kinds() -> str:
    return ", ".join(SUFFIXES[:-1]) + f" or {SUFFIXES[-1]}"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
