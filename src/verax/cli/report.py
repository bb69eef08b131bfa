"""`verax report`: what was found as one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from verax.cli.saving import add_overwrite, refuse_existing
from verax.cli.terminal import say
from verax.errors import VeraxError
from verax.report import open_reported, report

FILE = "report.html"


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "report",
        usage="verax report RUN_OR_STUDY [RUN …] [-o report.html] [--title TEXT]",
        help="show what was found as one HTML page, which needs no network",
        description="Write one HTML file that holds everything: the verdict in words, charts, "
        "tables, and documents to try erasures on. RUN is what verax examine or verax demo wrote; "
        "several are shown side by side. A study shows its configurations over seeds, a paper's "
        "results its claims, and a sweep, adversaries and a comparison what they found.",
    )
    parser.add_argument(
        "places",
        nargs="+",
        metavar="RUN_OR_STUDY",
        help="folder that examine (NAME=FOLDER names it), demo, run, sweep, adversary or compare "
        "wrote, or a paper's results",
    )
    parser.add_argument("-o", "--out", default=FILE, metavar="FILE", help=f"where to [{FILE}]")
    add_overwrite(parser)
    parser.add_argument("--title", metavar="TEXT", help="of the page")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    out = Path(args.out)
    if out.is_dir():
        raise VeraxError(f"cannot write {out}: it is a folder, give a file such as {out / FILE}")
    refuse_existing(args)
    results, title = open_reported(args.places)
    report(results, out, args.title or title)
    say(f"the report is {out}, {out.stat().st_size / 1e6:.1f} MB")
