"""`verax adversary`: how far attention can move while decisions stay."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.loading import load_shown
from verax.cli.parsing import add_options, given_options
from verax.cli.terminal import console, table
from verax.corpora import CorpusOptions
from verax.corpora.corpus import SPLITS
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.exams.examine import reading_options
from verax.files import refuse_foreign
from verax.models import load
from verax.options import hints, parse
from verax.studies import Adversaries, run_adversaries
from verax.studies.adversaries import LAMS
from verax.studies.adversaries.adversaries import is_only_adversaries
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
    parser.add_argument("--out", metavar="DIR", help="write tables there, models to DIR.models")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 [auto]")
    standing = ", ".join(f"{n} {v}" for n, v in DEFAULTS.items() if n in ("epochs", "patience"))
    add_options(parser, f"training adversaries: {standing}, else as the base", _AS_THE_BASE)
    # the tokeniser is the base's
    add_options(parser, "reading --corpus", CorpusOptions, leave_out=("tokeniser", "lowercase"))
    add_options(parser, "a planted --corpus", Planted, leave_out=("seed",))
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    lams = [parse("lams", part, float) for part in _parts("lams", given.lams)]
    seeds = [parse("seeds", part, int) for part in _parts("seeds", given.seeds)]
    again = [parse("retrain", part, int) for part in _split(given.retrain)]
    if given.out:
        refuse_foreign(given.out, is_only_adversaries)
    base = load(given.model, device=given.device)
    for_corpus = given_options(given, CorpusOptions, Planted)
    if for_corpus and not given.corpus:
        flags = ", ".join("--" + name.replace("_", "-") for name in for_corpus)
        raise VeraxError(f"{flags} without --corpus: the model's own is read as in training")
    corpus = None
    if given.corpus:
        corpus = load_shown(given.corpus, **reading_options(base), **for_corpus)
    found = run_adversaries(
        base,
        corpus,
        lams,
        seeds,
        others=_split(given.others),
        retrain=again,
        controls=not given.no_controls,
        split=given.split,
        device=given.device,
        progress=True,
        keep=f"{Path(given.out)}.models" if given.out else None,
        done=_done,
        **given_options(given, TrainingOptions),
    )
    screen = console()
    for note in corpus.notes if corpus is not None else ():
        screen.print(note, style="dim", markup=False)
    show(found)
    if given.out:
        found.save(given.out)
        screen.print(f"\nsaved in {given.out}", markup=False)


def _done(row: Mapping[str, Any]) -> None:
    """A line for each model."""
    name = row["name"] if row["lam"] is None else f"λ {row['lam']:g}"
    seed = "" if row["seed"] is None else f", seed {row['seed']}"
    beside = "" if row["name"] == "base" else f", JSD {row['jsd']:.3f}, TVD {row['tvd']:.3f}"
    console().print(
        f"{name}{seed}: validation F1 {_percent(row['f1'])}{beside}", style="dim", markup=False
    )


def show(found: Adversaries) -> None:
    """The base's scores, the curve, the yardstick in words, the controls."""
    screen = console()
    controls = found.controls()
    score = "F1" if len(found.manifest["classes"]) == 2 else "macro F1"
    base = controls.iloc[0]
    screen.print(
        f"\nthe base: {score} {_percent(base['f1'])}, accuracy {_percent(base['accuracy'])} "
        f"on {found.split}, {base['n']:,} documents",
        markup=False,
    )
    points = found.points()
    rows = [
        [
            f"{row['lam']:g}{' *' if row['chosen'] else ''}",
            *(f"{row[name]:.3f}" for name in ("jsd", "tvd")),
            *(_percent(row[name]) for name in ("same", "accuracy", "f1")),
            *(f"{row[f'validation_{name}']:.3f}" for name in ("jsd", "tvd")),
            _percent(row["validation_f1"]),
        ]
        for row in points.to_dict(orient="records")
    ]
    heads = ["λ", "JSD", "TVD", "same", "accuracy", score]
    heads += [f"validation {name}" for name in ("JSD", "TVD", score)]
    screen.print(
        "\nadversaries: attention (JSD, at most 0.693) and outputs (TVD) from the base's, "
        "decisions that are the same (* chosen on validation)",
        style="italic",
        markup=False,
    )
    screen.print(table(heads, rows))
    for line in [_chosen(found, score), *_yardstick(found)]:
        screen.print(f"\n{line}", markup=False)
    if len(controls) > 1:
        _show_controls(controls, score)
    screen.print(
        f"\n95% intervals, over {points['over'].iloc[0]}, are in adversaries.points() and "
        "points.parquet",
        style="dim",
        markup=False,
    )


def _chosen(found: Adversaries, score: str) -> str:
    chosen = found.chosen()
    near = f"within {100 * found.manifest['tolerance']:g} point of the base's"
    numbers = f"({_percent(chosen.f1)}, the base {_percent(chosen.base_f1)})"
    if chosen.within:
        return f"λ {chosen.lam:g}: the furthest attention with validation {score} {near} {numbers}"
    return f"λ {chosen.lam:g}: the best validation {score} {numbers}, for none is {near}"


def _yardstick(found: Adversaries) -> list[str]:
    yard: dict[Any, Any] = found.yardstick().set_index("measure").loc["jsd"].to_dict()
    if yard["models"] == 0:
        return [
            "no yardstick: --retrain 1,2,… or --others tells how far attention moves when only the "
            "seed does, against which every JSD above is to be read"
        ]
    many = yard["models"] > 1
    ends = "" if pd.isna(yard["low"]) else f" [{yard['low']:.3f}, {yard['high']:.3f}]"
    lines = [
        f"yardstick: {yard['models']} model{'s' if many else ''} that differ{'' if many else 's'} "
        f"from the base only by seed: JSD {yard['mean']:.3f}{ends}, over {yard['over']}"
    ]
    lam = found.chosen().lam
    against: dict[Any, Any] = found.against_yardstick().set_index("lam").loc[lam].to_dict()
    lines.append(
        f"λ {lam:g} against it: JSD {against['difference']:+.3f} [{against['low']:+.3f}, "
        f"{against['high']:+.3f}], document by document; beyond it on {against['beyond']:.0%} of "
        "documents"
    )
    return lines


def _show_controls(controls: pd.DataFrame, score: str) -> None:
    screen = console()
    rows = [
        [
            row["name"],
            *(_percent(row[name]) for name in ("f1", "accuracy")),
            *("–" if pd.isna(row[name]) else f"{row[name]:.3f}" for name in ("jsd", "tvd")),
        ]
        for row in controls.to_dict(orient="records")
        if not row["note"]
    ]
    screen.print(
        "\ncontrols: uniform attention, and models that see each word by itself (mlp)",
        style="italic",
        markup=False,
    )
    screen.print(table(["", score, "accuracy", "JSD", "TVD"], rows))
    for name, note in controls.loc[controls["note"] != "", ["name", "note"]].to_numpy():
        screen.print(f"not there: {name}; {note}", style="dim", markup=False)


def _percent(value: float) -> str:
    return "–" if pd.isna(value) else f"{100 * value:.1f}"


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parts(name: str, text: str) -> list[str]:
    parts = _split(text)
    if not parts:
        raise VeraxError(f"{name} is an empty list: give numbers with commas between them")
    return parts
