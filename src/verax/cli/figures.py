"""`verax figures`: the charts of saved results as files for a paper."""

from __future__ import annotations

import argparse
from typing import Any

from verax.cli.parsing import named_folders
from verax.cli.terminal import console, say
from verax.errors import VeraxError
from verax.report.figures import FORMATS, charts_in, write_figures


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "figures",
        usage="verax figures RUN … [--format svg|pdf|png] --out DIR",
        help="write the charts of saved results as files",
        description="Write the charts of the report as files for a paper: of saved verdicts, all "
        "on the same scales; or of one sweep, one study of adversaries, one comparison, one study "
        "of up to eight cells, or a paper's results.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="folder that examine, demo, run, sweep, adversary or compare wrote, or a paper's "
        "results; NAME=FOLDER to name a model",
    )
    parser.add_argument("--format", default="svg", help=f"{', '.join(FORMATS)} [svg]")
    parser.add_argument("--out", required=True, metavar="DIR", help="write the files there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    if args.format not in FORMATS:
        raise VeraxError(f"unknown format {args.format!r}: choose from {', '.join(FORMATS)}")
    charts = charts_in(_named(args.runs))
    if not charts:
        raise VeraxError("nothing to draw: these results have no table with a chart")
    paths = write_figures(charts, args.out, args.format)
    console()
    for chart, path in zip(charts, paths, strict=True):
        say(f"{path}  {chart.title}")


def _named(runs: list[str]) -> list[str] | dict[str, str]:
    """Folders as they are, or by name where all are named."""
    folders = named_folders(runs)
    named = dict(pair for pair in folders if isinstance(pair, tuple))
    if named and len(named) < len(runs):
        raise VeraxError("two results have one name: give each its own")
    return named or runs
