"""`verax predict`: what a saved model decides about new texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.loading import open_model
from verax.cli.terminal import console, say, table
from verax.cli.texts import add_texts, check_texts, full_texts, write


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
    if args.out:
        write(frame, Path(args.out))
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
