"""`verax adversary`: how far attention can move while decisions stay."""

from __future__ import annotations

import argparse
import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

from verax.cli.adversary_text import begin, done, show
from verax.cli.loading import add_corpus_options, named_corpus, say_notes
from verax.cli.parsing import add_options, given_options, listed, parts_of
from verax.cli.saving import add_overwrite, check_out, save
from verax.cli.terminal import say
from verax.corpora import load_corpus
from verax.corpora.corpus import SPLITS
from verax.options import hints, parse
from verax.studies import Adversaries, run_adversaries
from verax.studies.adversaries import LAMS
from verax.studies.adversaries.variance import model_entry
from verax.training import TrainingOptions
from verax.training.adversary import DEFAULTS

_NOT_ITS_OWN = ("class_weight", "strengths", "min_df", "max_vocabulary")
"""Labels have no say, and vocabulary is the base's."""

_AS_THE_BASE = dataclasses.make_dataclass(
    "AsTheBase",
    [
        (
            f.name,
            hints(TrainingOptions)[f.name],
            dataclasses.field(default=None, metadata=f.metadata),
        )
        for f in dataclasses.fields(TrainingOptions)
        if f.name not in _NOT_ITS_OWN
    ],
)
"""Training options without defaults: those are the base's, or an adversary's."""


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "adversary",
        usage="verax adversary MODEL [--lams 0,0.1,1] [--seeds 1,2] [--retrain 1,2] [--out DIR]",
        help="train models that decide as a saved one does and attend elsewhere",
        description="Train adversaries of a saved model, the base, for every λ and seed: they are "
        "to decide as the base does (TVD) and attend elsewhere (JSD), with weight λ on the latter. "
        "Beside them: how far attention moves when only the seed does (--others, --retrain), and "
        "models with uniform attention or under the attention of another. λ is chosen on "
        "validation. An interrupted study with --out goes on where it stopped.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model, the base")
    parser.add_argument("--corpus", metavar="C", help="name or path of a corpus [the base's own]")
    parser.add_argument(
        "--lams",
        default=",".join(f"{lam:g}" for lam in LAMS),
        metavar="λ,…",
        help="weights of JSD [%(default)s]",
    )
    parser.add_argument(
        "--seeds", default="1", metavar="N,…", help="seeds of adversaries and controls [1]"
    )
    parser.add_argument(
        "--others",
        default="",
        metavar="DIR,…",
        help="saved models that differ from the base only by seed",
    )
    parser.add_argument(
        "--retrain", default="", metavar="N,…", help="seeds with which to train such models"
    )
    parser.add_argument("--no-controls", action="store_true", help="train adversaries alone")
    parser.add_argument("--split", default="test", help=f"{', '.join(SPLITS)} [test]")
    parser.add_argument(
        "--out", metavar="DIR", help="write tables and report.html there, models to DIR.models"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    standing = ", ".join(f"{n} {v}" for n, v in DEFAULTS.items() if n in ("epochs", "patience"))
    add_options(parser, f"training adversaries: {standing}, else as the base", _AS_THE_BASE)
    add_corpus_options(parser)
    add_overwrite(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    lams = [parse("lams", part, float) for part in listed("--lams", args.lams, "numbers")]
    seeds = [parse("seeds", part, int) for part in listed("--seeds", args.seeds, "numbers")]
    again = [parse("retrain", part, int) for part in parts_of(args.retrain)]
    check_out(args, Adversaries.owns)
    base = model_entry(args.model, "the base")
    corpus = named_corpus(args, partial(load_corpus, **base.reading))
    if base.seed in seeds:
        say(
            f"note: seed {base.seed} is the base's, so that what it trains begins where the base "
            "began",
            "dim",
        )
    adversaries = run_adversaries(
        args.model,
        corpus,
        lams,
        seeds,
        others=parts_of(args.others),
        retrain=again,
        controls=not args.no_controls,
        split=args.split,
        device=args.device,
        progress=True,
        keep=f"{Path(args.out)}.models" if args.out else None,
        begin=begin,
        done=done,
        **given_options(args, TrainingOptions),
    )
    say_notes(corpus)
    show(adversaries)
    if args.out:
        save(adversaries, args)
