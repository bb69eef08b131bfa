"""`verax report` and `verax figures`: what was found as one HTML file, or as charts for a paper."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from verax.cli.parsing import named_folders
from verax.cli.saving import add_overwrite, check_file, keep
from verax.cli.terminal import say
from verax.errors import VeraxError
from verax.files import refuse_unwritable
from verax.report import open_reported, report
from verax.report.figures import FORMATS, charts_in, write_figures

FILE = "report.html"


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "report",
        usage="verax report RUN_OR_STUDY [RUN …] [-o report.html] [--title TEXT]",
        help="show what was found as one HTML page, which needs no network",
        description="Write one HTML file that holds everything: the verdict in words, charts, "
        "tables, and documents to try erasures on. RUN is what verax examine or verax demo wrote; "
        "several are shown side by side. A study shows its configurations over seeds, "
        "and a sweep, adversaries and a comparison what they found.",
    )
    parser.add_argument(
        "places",
        nargs="+",
        metavar="RUN_OR_STUDY",
        help="folder that examine (NAME=FOLDER names it), demo, run, sweep, adversary or compare "
        "wrote",
    )
    parser.add_argument("-o", "--out", default=FILE, metavar="FILE", help=f"where to [{FILE}]")
    add_overwrite(parser)
    parser.add_argument("--title", metavar="TEXT", help="of the page")
    parser.set_defaults(run=run)
    parser = verbs.add_parser(
        "figures",
        usage="verax figures RUN … [--format svg|pdf|png] --out DIR",
        help="write the charts of saved results as files",
        description="Write the charts of the report as files for a paper: of saved verdicts, all "
        "on the same scales; or of one sweep, one study of adversaries, one comparison, or one "
        "study of up to eight cells.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="folder that examine, demo, run, sweep, adversary or compare wrote; "
        "NAME=FOLDER to name a model",
    )
    parser.add_argument("--format", default="svg", help=f"{', '.join(FORMATS)} [svg]")
    parser.add_argument("--out", required=True, metavar="DIR", help="write the files there")
    parser.set_defaults(run=run_figures)


def run(args: argparse.Namespace) -> None:
    out = Path(args.out)
    if out.is_dir():
        raise VeraxError(
            f"cannot write {out}: it is a folder, give a file such as {out / FILE}",
            code="output.wrong-kind",
        )
    check_file(args)
    results, title = open_reported(args.places)
    keep(args, lambda place: report(results, place, args.title or title))
    out = Path(args.out)
    say(f"the report is {out}, {out.stat().st_size / 1e6:.1f} MB")


def run_figures(args: argparse.Namespace) -> None:
    if args.format not in FORMATS:
        raise VeraxError(
            f"unknown format {args.format!r}: choose from {', '.join(FORMATS)}",
            code="output.unknown-format",
        )
    named = dict(pair for pair in named_folders(args.runs) if isinstance(pair, tuple))
    if named and len(named) < len(args.runs):
        raise VeraxError("two results have one name: give each its own", code="option.duplicate")
    if not Path(args.out).is_file():  # which is refused in other words
        refuse_unwritable(Path(args.out) / FILE)
    charts = charts_in(named or args.runs)
    if not charts:
        raise VeraxError(
            "nothing to draw: these results have no table with a chart",
            code="chart.nothing-to-draw",
        )
    paths: list[Path] = []
    keep(args, lambda out: paths.extend(write_figures(charts, out, args.format)))
    for chart, path in zip(charts, paths, strict=True):
        say(f"{path}  {chart.title}")
