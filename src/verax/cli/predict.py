"""`verax predict`: what a saved model decides about new texts; and how commands take texts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from verax.cli.loading import MODEL, add_model_options, open_model
from verax.cli.parsing import add_reading
from verax.cli.saving import add_overwrite, check_file, keep
from verax.cli.terminal import console, say, table
from verax.corpora.files import read_table
from verax.errors import VeraxError, nearest
from verax.files import new_file
from verax.options import check
from verax.spreadsheets import to_csv


def _write_lines(frame: pd.DataFrame, stream: IO[bytes]) -> None:
    """A JSON object a row, with every digit; NaN is null."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in records(frame))
    stream.write("".join(lines).encode())


_WRITERS: dict[str, Callable[[pd.DataFrame, IO[bytes]], Any]] = {
    ".csv": lambda frame, stream: stream.write(to_csv(frame).encode()),
    ".jsonl": _write_lines,
    ".parquet": lambda frame, stream: frame.to_parquet(stream, index=False),
}


def add_texts(parser: argparse.ArgumentParser, what: str, *also: str) -> None:
    """MODEL TEXT … [--file F] [--text-column C] [--out F], and how to read.

    Args:
        parser: of the command.
        what: what the texts are for.
        also: endings of files that the command writes, beside those of tables.
    """
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("texts", nargs="*", metavar="TEXT", help=what)
    parser.add_argument("--file", metavar="FILE", help="CSV, TSV, JSONL or Parquet file of texts")
    parser.add_argument(
        "--text-column", default="text", metavar="NAME", help="its column of texts [text]"
    )
    parser.add_argument(
        "--encoding", default="utf-8", metavar="NAME", help="its encoding, such as latin-1 [utf-8]"
    )
    endings = ", ".join([*_WRITERS, *also])
    parser.add_argument("--out", metavar="FILE", help=f"write a file: {endings}")
    add_overwrite(parser)
    add_reading(parser)
    add_model_options(parser)


def add_redact(parser: argparse.ArgumentParser) -> None:
    """--redact PATTERN, as often as there are patterns."""
    parser.add_argument(
        "--redact",
        action="append",
        default=[],
        metavar="PATTERN",
        help="cover words in which this regular expression is found, wherever texts are kept or "
        "shown; may be given several times",
    )


def check_texts(args: argparse.Namespace, *also: str) -> None:
    """Refuse what can be refused before a model is loaded."""
    if args.out and Path(args.out).suffix not in (*_WRITERS, *also):
        raise VeraxError(
            f"cannot write {args.out}: end it in {', '.join([*_WRITERS, *also])}",
            code="output.unknown-format",
        )
    check_file(args)
    check("max_tokens", args.max_tokens, int, {"minimum": 1})


def full_texts(args: argparse.Namespace, model: Any, to: str) -> tuple[list[str], np.ndarray]:
    """The texts that have words, and where each stood among those given."""
    texts = _texts(args)
    full = np.array([bool(text.strip()) for text in texts], dtype=bool)
    kept = [text for text, has_words in zip(texts, full, strict=True) if has_words]
    if not kept:
        raise VeraxError(
            f"no text to {to}: give texts as arguments, with --file, or on stdin",
            code="text.missing",
        )
    if not full.all():
        empty = int((~full).sum())
        print(f"{empty:,} empty text{'' if empty == 1 else 's'} left out", file=sys.stderr)
    return kept, np.flatnonzero(full)


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table at once, or not at all."""
    try:
        with new_file(path) as stream:
            _WRITERS[path.suffix](frame, stream)
    except UnicodeEncodeError as error:
        raise VeraxError(
            f"cannot write {path}: a text is not UTF-8, convert it first",
            code="text.invalid-unicode",
        ) from error


def records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Rows as JSON has them: None for NaN."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _texts(args: argparse.Namespace) -> list[str]:
    if args.texts and args.file:
        raise VeraxError("give texts as arguments or with --file, not both", code="option.conflict")
    if args.texts:
        return list(args.texts)
    if args.file is None:
        try:
            given = () if sys.stdin is None or sys.stdin.isatty() else sys.stdin
            return [line.removesuffix("\n") for line in given]
        except UnicodeDecodeError as error:
            raise VeraxError(
                "standard input is not UTF-8 text: convert it first", code="file.wrong-encoding"
            ) from error
    frame = read_table(Path(args.file), args.encoding)
    column = args.text_column
    if column not in frame.columns:
        columns = [str(c) for c in frame.columns]
        raise VeraxError(
            f"{args.file} has no column {column!r} ({nearest(column, columns)}); "
            "name it with --text-column",
            code="corpus.missing-column",
        )
    if frame[column].isna().any():
        row = int(np.flatnonzero(frame[column].isna().to_numpy())[0])
        raise VeraxError(
            f"{args.file} row {row} has null text: fill or remove it", code="corpus.null-value"
        )
    return [str(text) for text in frame[column]]


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "predict",
        help="label new texts with a saved model",
        description="Label texts given as arguments, in a file, or one per line on standard input.",
    )
    add_texts(parser, "texts to label")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    check_texts(args)
    model = open_model(args)
    texts, rows = full_texts(args, model, "label")
    frame = model.predict(texts, args.max_tokens, progress=True)
    frame.insert(0, "row", rows)
    keep(args, lambda out: write(frame, Path(out)))
    if args.out:
        say(f"{len(frame):,} texts labelled in {args.out}")
    else:
        _print(frame, texts)


def _print(frame: pd.DataFrame, texts: list[str]) -> None:
    shares = [c for c in frame.columns if c.startswith("p_")]
    rows = [
        [
            text if len(text) <= 60 else text[:59] + "…",
            row.label,
            *(f"{row[c]:.4f}" for c in shares),
        ]
        for text, (_, row) in zip(texts, frame.iterrows(), strict=True)
    ]
    console().print(table(["text", "label", *shares], rows))
