"""`verax adversary`: how far attention can move while decisions stay."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.loading import add_corpus_options, named_corpus, say_notes
from verax.cli.parsing import add_options, given_options, listed, parts_of
from verax.cli.saving import add_overwrite, check_out, save
from verax.cli.terminal import console, say, table
from verax.corpora import load_corpus
from verax.corpora.corpus import SPLITS
from verax.options import hints, parse
from verax.report.adversary_text import (
    chosen_words,
    number,
    one_item_words,
    over,
    percent,
    score_name,
    yardstick_words,
)
from verax.studies import Adversaries, run_adversaries
from verax.studies.adversaries import LAMS
from verax.studies.adversaries.making import control_title
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


def begin(row: Mapping[str, Any]) -> None:
    """A line before each model that is trained."""
    words = f"training {_name(row)} ({row['number']} of {row['total']})"
    say(words, "dim")


def done(row: Mapping[str, Any]) -> None:
    """A line for each model."""
    beside = "" if row["name"] == "base" else f", JSD {number(row['jsd'])}, TVD {row['tvd']:.3f}"
    say(
        f"{_name(row)}: validation {score_name(row['classes'])} {percent(row['f1'])}{beside}", "dim"
    )


def _name(row: Mapping[str, Any]) -> str:
    name = control_title(row["name"]) if row["lam"] is None else f"λ {row['lam']:g}"
    return name if row["seed"] is None else f"{name}, seed {row['seed']}"


def show(adversaries: Adversaries) -> None:
    """The base's scores, the curve beside other seeds, what chose λ, the controls."""
    console()
    controls = adversaries.controls()
    score = score_name(len(adversaries.manifest["classes"]))
    base = controls.iloc[0]
    say(
        f"\nthe base: {score} {percent(base['f1'])}, accuracy {percent(base['accuracy'])} "
        f"on {adversaries.split}, {base['n']:,} documents"
    )
    points = adversaries.points()
    _show_curve(adversaries, points, score)
    if adversaries.one_item:
        say(one_item_words(adversaries), "dim")
    _show_validation(points, score)
    for line in [chosen_words(adversaries), *yardstick_words(adversaries)]:
        say(f"\n{line}")
    if len(controls) > 1:
        _show_controls(controls, score)
    say(
        f"\n95% intervals, {over(points['over'].iloc[0])}, are in adversaries.points() and "
        "points.parquet",
        "dim",
    )


def _show_curve(adversaries: Adversaries, points: pd.DataFrame, score: str) -> None:
    yard: dict[Any, Any] = adversaries.yardstick().set_index("measure")["mean"].to_dict()
    beyond: dict[Any, Any] = (
        adversaries.against_yardstick().set_index("lam")["difference"].to_dict()
    )
    heads = ["λ", "JSD", "TVD", "same decisions", "accuracy", score]
    rows = []
    for row in points.to_dict(orient="records"):
        cells = [f"{row['lam']:g}{' *' if row['chosen'] else ''}", *_cells(row)]
        rows.append([*cells, number(beyond[row["lam"]], "+")])
    if adversaries.has_yardstick:
        heads.append("beyond seeds")
        rows.append(["other seeds", *_cells(yard), ""])
    else:
        rows = [row[:-1] for row in rows]
    screen = console()
    say(
        f"\non {adversaries.split}: attention (JSD, at most 0.693) and outputs (TVD) from the "
        "base's",
        "italic",
    )
    screen.print(table(heads, rows))


def _show_validation(points: pd.DataFrame, score: str) -> None:
    rows = [
        [
            f"{row['lam']:g}{' *' if row['chosen'] else ''}",
            *_cells({str(name).removeprefix("validation_"): value for name, value in row.items()}),
        ]
        for row in points.filter(regex="^(lam|chosen|validation_.*)$").to_dict(orient="records")
    ]
    screen = console()
    say("\non validation, which chooses λ (*)", "italic")
    screen.print(table(["λ", "JSD", "TVD", "same decisions", "accuracy", score], rows))


def _cells(row: Mapping[Any, Any]) -> list[str]:
    apart = [number(row[name]) for name in ("jsd", "tvd")]
    return apart + [percent(row[name]) for name in ("same", "accuracy", "f1")]


def _show_controls(controls: pd.DataFrame, score: str) -> None:
    screen = console()
    rows = [
        [
            control_title(row["name"]),
            *(percent(row[name]) for name in ("f1", "accuracy")),
            *(number(row[name]) for name in ("jsd", "tvd")),
        ]
        for row in controls.to_dict(orient="records")
        if not row["note"]
    ]
    say("\ncontrols: uniform attention, and models that see each word by itself (mlp)", "italic")
    screen.print(table(["", score, "accuracy", "JSD", "TVD"], rows))
    for name, note in controls.loc[controls["note"] != "", ["name", "note"]].to_numpy():
        say(f"left out: {control_title(str(name))}; {note}", "dim")
