"""`verax pack`: a study as a few files to send or keep."""

from __future__ import annotations

import argparse
from typing import Any

from verax.cli.terminal import console, printable, table
from verax.studies.store import StudyResults, open_study, pack
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


def run(given: argparse.Namespace) -> None:
    tables = None
    if given.tables is not None:
        tables = [name.strip() for name in given.tables.split(",") if name.strip()]
    found = pack(given.study, given.out, tables=tables, weights=given.weights, progress=True)
    sizes = storage_folder(given.out).sizes()
    screen = console()
    screen.print(table(["file", "MB"], [[n, f"{s / 1e6:,.2f}"] for n, s in sorted(sizes.items())]))
    show(found, given.out, "packed")
    mention_others(given.study)


def show(found: StudyResults, out: str, what: str) -> None:
    """What was written, in a line."""
    said = [f"{number:,} {status}" for status, number in found.counts.items()]
    cells = f"{sum(found.counts.values()):,} cells ({', '.join(said)})"
    tables = found.left_out if len(found.left_out) < 4 else [f"{len(found.left_out)} tables"]
    without = f", without {', '.join(tables)}" if tables else ""
    line = f"{what} {found.name}: {cells}{without}, in {out}"
    console().print(printable(line), markup=False)


def mention_others(study: str) -> None:
    """Cells that are in the folder and not in the pack."""
    others = open_study(study).others
    if others:
        console().print(
            f"{others:,} more cells in {printable(study)} are of other seeds or options than its "
            "last run's, and not packed",
            markup=False,
        )
