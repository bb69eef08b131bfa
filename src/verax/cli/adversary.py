"""`verax adversary`: how far attention can move while decisions stay."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verax.cli.loading import add_corpus_options, named_corpus, say_notes
from verax.cli.parsing import add_options, bounded, given_options, listed, parts_of
from verax.cli.saving import add_overwrite, check_out, keep, say_saved
from verax.cli.terminal import console, say, table
from verax.corpora import load_corpus
from verax.corpora.corpus import SPLITS
from verax.options import hints, parse
from verax.report import adversary_text as words
from verax.studies import Adversaries, run_adversaries
from verax.studies.adversary_scores import LAMS, MEASURES, control_title, model_entry
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
        "validation. With --out, an interrupted run resumes where it stopped.",
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
    parser.add_argument(
        "--workers",
        type=bounded("workers", int, minimum=1, maximum=4096),
        metavar="N",
        help="models trained at once, each in a worker process [one, in this process]",
    )
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
    corpus = named_corpus(args, load_corpus)
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
        engine="local" if args.workers else "here",
        workers=args.workers,
        device=args.device,
        progress=True,
        keep=f"{Path(args.out)}.models" if args.out else None,
        **given_options(args, TrainingOptions),
    )
    keep(args, lambda out: adversaries.save(out, overwrite=args.overwrite))
    say_notes(corpus)
    show(adversaries)
    if args.out:
        say_saved(adversaries, args.out)


def show(adversaries: Adversaries) -> None:
    """The base's scores, the curve beside other seeds, what chose λ, the controls."""
    controls = adversaries.controls()
    score = words.score_name(len(adversaries.manifest["classes"]))
    base = controls.iloc[0]
    scores = f"{score} {words.percent(base['f1'])}, accuracy {words.percent(base['accuracy'])}"
    say(f"\nthe base: {scores} on {adversaries.split}, {base['n']:,} documents")
    screen, points = console(), adversaries.points()
    curve, validation = [], []
    heads = ["λ", "JSD", "TVD", "same decisions", "accuracy", score]
    for row in points.to_dict(orient="records"):
        lam = f"{row['lam']:g}{' *' if row['chosen'] else ''}"
        curve.append([lam, *_cells(row, *MEASURES)])
        on_validation = {name: row[f"validation_{name}"] for name in MEASURES}
        validation.append([lam, *_cells(on_validation, *MEASURES)])
    curve_heads = heads
    if adversaries.has_yardstick:
        curve_heads = [*heads, "beyond seeds"]
        beyond = adversaries.against_yardstick()["difference"]
        curve = [[*row, words.number(more, "+")] for row, more in zip(curve, beyond, strict=True)]
        yard = adversaries.yardstick().set_index("measure")["mean"]
        curve.append(["other seeds", *_cells(yard.to_dict(), *MEASURES), ""])
    what = "attention (JSD, at most 0.693) and outputs (TVD) from the base's"
    say(f"\non {adversaries.split}: {what}", "italic")
    screen.print(table(curve_heads, curve))
    if adversaries.one_item:
        say(words.one_item_words(adversaries), "dim")
    say("\non validation, which chooses λ (*)", "italic")
    screen.print(table(heads, validation))
    for line in [words.chosen_words(adversaries), *words.yardstick_words(adversaries)]:
        say(f"\n{line}")
    if len(controls) > 1:
        what = "uniform attention, and models that see each word by itself (mlp)"
        say(f"\ncontrols: {what}", "italic")
        rows = [
            [control_title(row["name"]), *_cells(row, "f1", "accuracy", "jsd", "tvd")]
            for row in controls[controls["note"] == ""].to_dict(orient="records")
        ]
        screen.print(table(["", score, "accuracy", "JSD", "TVD"], rows))
        for row in controls[controls["note"] != ""].to_dict(orient="records"):
            say(f"left out: {control_title(row['name'])}; {row['note']}", "dim")
    intervals = f"95% intervals, {words.over(points['over'].iloc[0])}"
    say(f"\n{intervals}, are in adversaries.points() and points.parquet", "dim")


def _cells(row: Mapping[Any, Any], *measures: str) -> list[str]:
    return [(words.number if m in ("jsd", "tvd") else words.percent)(row[m]) for m in measures]
