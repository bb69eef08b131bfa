"""`verax unpack`: a study again, from its packed files."""

from __future__ import annotations

import argparse
from typing import Any

from verax.cli.pack import show
from verax.studies.store import unpack


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "unpack",
        usage="verax unpack PACKED --out STUDY",
        help="make a study of packed files again",
        description="Make the folder of a study from its packed files, with the same tables. "
        "verax run goes on with it where it was.",
    )
    parser.add_argument("packed", metavar="PACKED", help="folder or URL of a packed study")
    parser.add_argument("--out", required=True, metavar="STUDY", help="a new folder, or a URL")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    show(unpack(given.packed, given.out, progress=True), given.out, "unpacked")
