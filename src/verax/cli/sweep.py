"""`verax sweep`: train and examine a model for every λ of sparsegen."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.loading import load_shown, say_notes
from verax.cli.parsing import add_options, bounded, given_options, listed
from verax.cli.saving import add_overwrite, check_out, keep, say_saved
from verax.cli.terminal import console, say, table
from verax.corpora import CorpusOptions
from verax.corpora.corpus import SPLITS
from verax.corpora.planted import Planted
from verax.exams.agreement.exam import AgreementOptions
from verax.exams.agreement.measures import AGREEMENT, ITSELF, ON_SUPPORT
from verax.exams.dispersion.exam import DispersionOptions
from verax.exams.dispersion.measures import ENTROPY
from verax.exams.registry import find_place
from verax.exams.titles import measure_title
from verax.models import ModelOptions
from verax.options import parse
from verax.studies import LAMS, Sweep, run_sweep
from verax.studies.sweep import ACCURACY, SUPPORT_SHARE
from verax.training import TrainingOptions


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "sweep",
        usage="verax sweep CORPUS [--lams -10,-1,0,0.5] [--seeds 0,1,2] [--out DIR] [options]",
        help="train and examine a model for every λ of sparsegen",
        description="Train a sparsegen model for every λ and seed, put each through the agreement "
        "and dispersion exams, and show how entropy and agreement move with λ, accuracy and "
        "support beside them. Larger λ is sparser. An interrupted sweep with --out goes on where "
        "it stopped.",
    )
    parser.add_argument("corpus", metavar="CORPUS", help="name or path of a corpus")
    parser.add_argument(
        "--lams",
        default=",".join(f"{lam:g}" for lam in LAMS),
        metavar="λ,…",
        help="values of λ, below 1 [%(default)s]",
    )
    parser.add_argument("--seeds", default="0", metavar="N,…", help="seeds of training [0]")
    parser.add_argument("--split", default="test", help=f"{', '.join(SPLITS)} [test]")
    parser.add_argument(
        "--sample",
        type=bounded("sample", int, minimum=1),
        metavar="N",
        help="examine N documents of the split",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="write tables and report.html there, each λ's to the study DIR.points",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    parser.add_argument(
        "--workers",
        type=bounded("workers", int, minimum=1, maximum=4096),
        metavar="N",
        help="models trained at once, each in a worker process [one, in this process]",
    )
    add_options(parser, "reading the corpus", CorpusOptions)
    add_options(parser, "the model", ModelOptions, leave_out=("projection", "lam"))
    add_options(parser, "training", TrainingOptions)
    add_options(parser, "exam agreement", AgreementOptions)
    add_options(parser, "exam dispersion", DispersionOptions)
    add_options(parser, "the planted corpus", Planted, leave_out=("seed",))
    add_overwrite(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    lams = [parse("lams", part, float) for part in listed("--lams", args.lams, "numbers")]
    seeds = [parse("seeds", part, int) for part in listed("--seeds", args.seeds, "numbers")]
    check_out(args, Sweep.owns)
    corpus = load_shown(args.corpus, **given_options(args, CorpusOptions, Planted))

    sweep = run_sweep(
        corpus,
        lams,
        seeds,
        split=args.split,
        sample=args.sample,
        engine="local" if args.workers else "here",
        workers=args.workers,
        device=args.device,
        progress=True,
        keep=f"{Path(args.out)}.points" if args.out else None,
        **given_options(args, ModelOptions, TrainingOptions, AgreementOptions, DispersionOptions),
    )
    keep(args, lambda out: sweep.save(out, overwrite=args.overwrite))
    say_notes(corpus)
    show(sweep)
    if args.out:
        say_saved(sweep, args.out)


def _moves(measure: str) -> bool:
    """Whether a measure is an entropy or a rank agreement, and not attention with itself."""
    place = find_place(measure)
    return (
        place is not None
        and place.table in (ENTROPY, AGREEMENT, ON_SUPPORT)
        and place.row != ITSELF
    )


def show(sweep: Sweep) -> None:
    """Points as one table, λ by measure, then correlations."""
    screen = console()
    points = sweep.points()
    moving = [m for m in dict.fromkeys(points["measure"]) if _moves(str(m))]
    chosen = [m for m in (ACCURACY, SUPPORT_SHARE) if m in set(points["measure"])] + moving
    lams = sorted(set(points["lam"]))
    means = points.pivot(index="measure", columns="lam", values="mean").loc[chosen, lams]
    say("\nmeans at each λ, larger being sparser", "italic")
    screen.print(table(["", *(f"{lam:g}" for lam in lams)], _rows(means)))
    columns = ["tau", "spearman", "pearson", "pooled_tau", "support_tau"]
    moves = sweep.correlations().set_index("measure").loc[moving, columns]
    say("\ncorrelation with λ", "italic")
    heads = ["", "τ-b", "Spearman", "Pearson", "pooled τ-b", "τ-b with support"]
    screen.print(table(heads, _rows(moves)))
    over = points["over"].iloc[0]
    say(f"\nsd and 95% intervals, over {over}, are in sweep.points() and points.parquet", "dim")


def _rows(numbers: pd.DataFrame) -> list[list[str]]:
    """A row a measure, by its title."""
    return [
        [measure_title(str(row.name)), *("–" if pd.isna(v) else f"{v:.3f}" for v in row)]
        for _, row in numbers.iterrows()
    ]
