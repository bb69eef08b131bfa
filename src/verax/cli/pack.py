"""`verax pack`: a study as a few files to send or keep."""

from __future__ import annotations

import argparse
from typing import Any

from verax.cli.parsing import parts_of
from verax.cli.terminal import console, say, table
from verax.studies.store import pack
from verax.studies.store.archive import open_source
from verax.studies.store.folders import storage_folder


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "pack",
        usage="verax pack STUDY --out DIR [--tables NAME,…] [--weights]",
        help="write a study as one Parquet file per table",
        description="Write a study as one Parquet file per table, every row with its cell's key, "
        "to send or to keep. verax opens the files as they are. To continue the study, copy them "
        "to the folder packed of a new folder, and run the study there.",
    )
    parser.add_argument("study", metavar="STUDY", help="folder or URL of a study")
    parser.add_argument("--out", required=True, metavar="DIR", help="write the files there")
    parser.add_argument(
        "--tables", metavar="NAME,…", help="only these, such as summary,history [all]"
    )
    parser.add_argument("--weights", action="store_true", help="pack models too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    tables = None if args.tables is None else parts_of(args.tables)
    results = pack(args.study, args.out, tables=tables, weights=args.weights, progress=True)
    sizes = storage_folder(args.out).sizes()
    rows = [[name, f"{size / 1e6:,.2f}"] for name, size in sorted(sizes.items())]
    console().print(table(["file", "MB"], rows))
    statuses = [f"{number:,} {status}" for status, number in results.counts.items()]
    cells = f"{sum(results.counts.values()):,} cells ({', '.join(statuses)})"
    left = results.left_out if len(results.left_out) < 4 else [f"{len(results.left_out)} tables"]
    without = f", without {', '.join(left)}" if left else ""
    say(f"packed {results.name}: {cells}{without}, in {args.out}")
    if others := len(open_source(storage_folder(args.study)).states) - sum(results.counts.values()):
        say(
            f"{others:,} more cells in {args.study} are of other seeds or options than its last "
            "run's, and not packed"
        )
