"""`verax calibrate`: thresholds for one model, measured on models of known honesty like it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from verax.calibration.calibrate import LIMITS, calibrate_like
from verax.cli.parsing import bounded
from verax.cli.terminal import console, say, table
from verax.exams.examine import load_as_read_by
from verax.files import refuse_unwritable
from verax.models.saving import load


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "calibrate",
        usage="verax calibrate MODEL --out DIR [--corpus C] [--seeds N] [--workers N]",
        help="measure thresholds for a model, on models of known honesty like it",
        description="Train models with the encoder of MODEL, whose attention is honest or "
        "deceptive by construction, on its texts with evidence planted into them; examine those "
        "that pass their gates; and measure the thresholds that separate the two sides. Run the "
        "same command again to resume.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a model that Verax trained")
    parser.add_argument("--corpus", metavar="C", help="its texts [those it was trained on]")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder of limits.json")
    parser.add_argument(
        "--seeds",
        type=bounded("seeds", int, minimum=1, maximum=1000),
        default=6,
        metavar="N",
        help="models of each kind [6]",
    )
    parser.add_argument(
        "--workers",
        type=bounded("workers", int, minimum=1, maximum=4096),
        default=1,
        metavar="N",
        help="processes [1]",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    path = Path(args.out) / LIMITS
    refuse_unwritable(path)
    model = load(args.model, device="cpu")
    corpus = load_as_read_by(model, args.corpus, "the model")
    limits = calibrate_like(model, corpus, args.out, seeds=args.seeds, workers=args.workers)
    known = limits.calibration
    assert known is not None
    rows = [
        [exam, str(about["measure"]), f"{about['auroc']:.3f}"]
        for exam, about in known.exams.items()
    ]
    console().print(table(["exam", "judged by", "AUROC, held out"], rows))
    for name, words in (("accused", "honest accused"), ("cleared", "deceptive cleared")):
        share, low, high, n = known.errors[name]
        say(f"{words}: {share:.1%} ({low:.1%} to {high:.1%}) of {n:.0f} models held out")
    say(
        "These rates hold for models with planted evidence like those trained here, and for these "
        "exams run together. They say nothing about the model itself."
    )
    say(f"limits {limits.version}: {path}")
