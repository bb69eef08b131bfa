"""`verax calibrate`: models known to be honest and to deceive, and limits measured on them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from verax.calibration.analysis import Calibrated
from verax.calibration.calibrate import LIMITS, calibrate, calibrate_like, write_limits
from verax.calibration.changes import changed_verdicts
from verax.calibration.page import write_page
from verax.cli.parsing import bounded
from verax.cli.terminal import console, say, table
from verax.errors import VeraxError
from verax.exams.examine import load_as_read_by
from verax.exams.judgement.limits import LimitSet
from verax.files import refuse_unwritable
from verax.models.kinds import POOLED
from verax.models.saving import load


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "calibrate",
        usage="verax calibrate OUT [--like MODEL [--corpus C]] [--workers N] [--page FILE]",
        help="measure limits on models known to be honest and to deceive",
        description="Train models whose attention is honest or deceptive by construction, put "
        "those that pass their gates through the exams, and measure from where on a number speaks "
        "for an attention or against it. An interrupted calibration goes on where it stopped.",
    )
    parser.add_argument("out", metavar="OUT", help="folder of the results, and of limits.json")
    parser.add_argument("--like", metavar="MODEL", help="folder of a model: calibrate for it alone")
    parser.add_argument("--corpus", metavar="C", help="texts for --like [those it was trained on]")
    parser.add_argument(
        "--seeds",
        type=bounded("seeds", int, minimum=1, maximum=1000),
        metavar="N",
        help="seeds a kind [3; 6 with --like]",
    )
    parser.add_argument(
        "--workers",
        type=bounded("workers", int, minimum=1, maximum=4096),
        default=1,
        metavar="N",
        help="processes [1]",
    )
    parser.add_argument(
        "--seconds", type=bounded("seconds", float, minimum=0), help="begin no model after so many"
    )
    parser.add_argument("--small", action="store_true", help="a few models with little effort")
    parser.add_argument(
        "--reviews", metavar="FOLDER", help="texts of imdb_reviews, if not installed"
    )
    parser.add_argument("--no-reviews", action="store_true", help="without texts of reviews")
    parser.add_argument("--no-berts", action="store_true", help="without BERTs of Hugging Face")
    parser.add_argument(
        "--no-models", action="store_true", help="make no model: limits of what OUT holds already"
    )
    parser.add_argument("--version", default="mine", metavar="NAME", help="name of limits [mine]")
    parser.add_argument("--limits", metavar="FILE", help="write limits there [OUT/limits.json]")
    parser.add_argument(
        "--page", metavar="FILE", help="write a page in Markdown, figures beside it"
    )
    parser.add_argument(
        "--changes", nargs="+", metavar="RESULTS", help="how these results' verdicts change"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    console()
    out, path = Path(args.out), Path(args.limits or Path(args.out) / LIMITS)
    for place in (out / LIMITS, path, *([] if args.page is None else [args.page])):
        refuse_unwritable(place)
    if args.like is not None:
        if args.page is not None:
            raise VeraxError(
                "--page with --like: the page is of kinds held out, leave it out",
                code="option.conflict",
            )
        model = load(args.like, device="cpu")
        corpus = load_as_read_by(model, args.corpus, "the model")
        seeds = args.seeds or 6
        limits = calibrate_like(model, corpus, out, seeds=seeds, workers=args.workers, said=say)
    else:
        if args.corpus is not None:
            raise VeraxError(
                "--corpus without --like: name the model that limits are for", code="option.missing"
            )
        if not args.no_models:
            calibrate(
                out,
                seeds=args.seeds or 3,
                small=args.small,
                reviews=args.reviews or not args.no_reviews,
                berts=not args.no_berts,
                workers=args.workers,
                seconds=args.seconds,
                said=say,
            )
        limits = write_limits(out, path, args.version)
    if args.page is not None:
        write_page(Calibrated.load(out), limits, args.page, args.changes or ())
    _show(limits, path)
    if args.page is not None:
        say(f"page: {args.page}")
    elif args.changes:
        frame = changed_verdicts(args.changes, limits)
        rows = [[str(value) for value in row] for row in frame.itertuples(index=False)]
        console().print(table(list(frame.columns), rows))


def _show(limits: LimitSet, path: Path) -> None:
    for kind, one in {POOLED: limits, **limits.by_kind}.items():
        known = one.calibration
        assert known is not None
        rows = [
            [exam, str(about["measure"]), f"{about['auroc']:.3f}"]
            for exam, about in known.exams.items()
        ]
        title = f"{kind} models"
        console().print(table(["exam", "judged by", "AUROC, held out"], rows, title=title))
        for name, words in (("accused", "honest accused"), ("cleared", "deceptive cleared")):
            share, low, high, n = known.errors[name]
            say(f"{words}: {share:.1%} ({low:.1%} to {high:.1%}) of {n:.0f} models held out")
    say(f"limits {limits.version}: {path}")
