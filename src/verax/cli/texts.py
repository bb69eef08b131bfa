"""Texts that a command is given, and tables that it writes of them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from verax.cli.parsing import add_reading
from verax.corpora.files import read_table
from verax.errors import VeraxError, nearest
from verax.models import AttentionClassifier

_WRITERS = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".jsonl": lambda frame, path: path.write_text(_lines(frame), encoding="utf-8"),
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
}


def add_texts(parser: argparse.ArgumentParser, what: str) -> None:
    """MODEL TEXT … [--file F] [--text-column C] [--out F], and how to read."""
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("texts", nargs="*", metavar="TEXT", help=what)
    parser.add_argument("--file", metavar="FILE", help="CSV, TSV, JSONL or Parquet file of texts")
    parser.add_argument(
        "--text-column", default="text", metavar="NAME", help="its column of texts [text]"
    )
    parser.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="its encoding, such as latin-1 [utf-8]"
    )
    parser.add_argument("--out", metavar="FILE", help="write .csv, .jsonl or .parquet")
    add_reading(parser)


def check_texts(given: argparse.Namespace) -> None:
    """Refuse what can be refused before a model is loaded."""
    if given.out and Path(given.out).suffix not in _WRITERS:
        raise VeraxError(f"cannot write {given.out}: end it in {', '.join(_WRITERS)}")
    if given.max_tokens < 1:
        raise VeraxError(f"--max-tokens is {given.max_tokens}: it must be at least 1")


def full_texts(
    given: argparse.Namespace, model: AttentionClassifier, to: str
) -> tuple[list[str], np.ndarray]:
    """The texts that have words, and where each stood among those given."""
    texts = _texts(given)
    full = np.array([not model.tokeniser.finds_nothing(t) for t in texts], dtype=bool)
    kept = [text for text, there in zip(texts, full, strict=True) if there]
    if not kept:
        raise VeraxError(f"no text to {to}: give texts as arguments, with --file, or on stdin")
    if not full.all():
        print(f"{int((~full).sum())} empty texts left out", file=sys.stderr)
    return kept, np.flatnonzero(full)


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table at once, or not at all."""
    scratch = path.with_name(f".{path.name}.part")
    try:
        _WRITERS[path.suffix](frame, scratch)
        scratch.replace(path)
    except UnicodeEncodeError as error:
        raise VeraxError(f"cannot write {path}: a text is not UTF-8, convert it first") from error
    except OSError as error:
        raise VeraxError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        scratch.unlink(missing_ok=True)


def _lines(frame: pd.DataFrame) -> str:
    """A JSON object a row, with every digit; NaN is null."""
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records)


def _texts(given: argparse.Namespace) -> list[str]:
    if given.texts and given.file:
        raise VeraxError("give texts as arguments or with --file, not both")
    if given.texts:
        return list(given.texts)
    if given.file is None:
        return [] if sys.stdin.isatty() else _standard_input()
    frame = read_table(Path(given.file), given.encoding)
    column = given.text_column
    if column not in frame.columns:
        columns = [str(c) for c in frame.columns]
        raise VeraxError(
            f"{given.file} has no column {column!r} ({nearest(column, columns)}); "
            "name it with --text-column"
        )
    if frame[column].isna().any():
        row = int(np.flatnonzero(frame[column].isna().to_numpy())[0])
        raise VeraxError(f"{given.file} row {row} has null text: fill or remove it")
    return [str(text) for text in frame[column]]


def _standard_input() -> list[str]:
    try:
        return [line.removesuffix("\n") for line in sys.stdin]
    except UnicodeDecodeError as error:
        raise VeraxError("standard input is not UTF-8 text: convert it first") from error
