"""`verax pack` and `verax unpack`: a study as a few files to send or keep, and back."""

from __future__ import annotations

import argparse
from typing import Any

from verax.cli.parsing import parts_of
from verax.cli.terminal import console, say, table
from verax.studies.store import StudyResults, open_study, pack, unpack
from verax.studies.store.folders import storage_folder


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "pack",
        usage="verax pack STUDY --out DIR [--tables NAME,…] [--weights]",
        help="write a study as a few Parquet files",
        description="Write a study as a few Parquet files, every row with its cell's key: what "
        "travels, and what is kept as results. verax unpack makes a study of them again.",
    )
    parser.add_argument("study", metavar="STUDY", help="folder or URL of a study")
    parser.add_argument("--out", required=True, metavar="DIR", help="write the files there")
    parser.add_argument(
        "--tables", metavar="NAME,…", help="only these, such as summary,history [all]"
    )
    parser.add_argument("--weights", action="store_true", help="pack models too")
    parser.set_defaults(run=run)
    parser = verbs.add_parser(
        "unpack",
        usage="verax unpack PACKED --out STUDY",
        help="make a study of packed files again",
        description="Make the folder of a study from its packed files, with the same tables. "
        "verax run goes on with it where it was.",
    )
    parser.add_argument("packed", metavar="PACKED", help="folder or URL of a packed study")
    parser.add_argument("--out", required=True, metavar="STUDY", help="a new folder, or a URL")
    parser.set_defaults(run=run_unpack)


def run(args: argparse.Namespace) -> None:
    tables = None if args.tables is None else parts_of(args.tables)
    results = pack(args.study, args.out, tables=tables, weights=args.weights, progress=True)
    sizes = storage_folder(args.out).sizes()
    rows = [[name, f"{size / 1e6:,.2f}"] for name, size in sorted(sizes.items())]
    console().print(table(["file", "MB"], rows))
    show(results, args.out, "packed")
    if others := open_study(args.study).others:
        say(
            f"{others:,} more cells in {args.study} are of other seeds or options than its last "
            "run's, and not packed"
        )


def run_unpack(args: argparse.Namespace) -> None:
    show(unpack(args.packed, args.out, progress=True), args.out, "unpacked")


def show(results: StudyResults, out: str, what: str) -> None:
    """What was written, in a line."""
    statuses = [f"{number:,} {status}" for status, number in results.counts.items()]
    cells = f"{sum(results.counts.values()):,} cells ({', '.join(statuses)})"
    tables = results.left_out if len(results.left_out) < 4 else [f"{len(results.left_out)} tables"]
    without = f", without {', '.join(tables)}" if tables else ""
    say(f"{what} {results.name}: {cells}{without}, in {out}")
