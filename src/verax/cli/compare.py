"""`verax compare`: saved models side by side, over all exams."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.compared import show, show_curves
from verax.cli.examine import add_examining
from verax.cli.loading import named_corpus, say_notes
from verax.cli.models import open_outside, refuse_flags
from verax.cli.parsing import given_exam_options, named_folders, parts_of
from verax.cli.saving import add_overwrite, check_out, save
from verax.cli.terminal import console, say
from verax.corpora import load_corpus
from verax.corpora.corpus import SPLITS
from verax.errors import VeraxError
from verax.exams.registry import EXAMS, chosen_exams
from verax.exams.single_token import token_curves
from verax.exams.verdict import Verdict
from verax.models import AttentionClassifier, load
from verax.models.kinds import POOLED
from verax.studies import Comparison, compare
from verax.studies.comparison.grouping import Groups, grouped


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "compare",
        usage="verax compare MODEL MODEL … [--corpus C] [--split test] [--exams NAME,…] "
        "[--out DIR] [options]",
        help="put saved models side by side, over all exams",
        description="Put saved models through the same exams on the same documents, and show how "
        "each differs from the first, how surely, and which way is better. Models that differ in "
        "nothing but the seed are taken for one. --out keeps every number.",
    )
    parser.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="folder of a saved model or verdict, hf:FOLDER or FILE.py:FUNCTION; or "
        "NAME=FOLDER,FOLDER,… to name seeds of one",
    )
    parser.add_argument("--corpus", metavar="C", help="name or path of a corpus [the models' own]")
    parser.add_argument("--split", default="test", help=f"{', '.join(SPLITS)} [test]")
    parser.add_argument(
        "--exams", metavar="NAME,…", help=f"which exams: {', '.join(EXAMS)} [all there are]"
    )
    parser.add_argument("--out", metavar="DIR", help="write every table and report.html there")
    parser.add_argument(
        "--text", metavar="TEXT", help="also show what each token of this text says alone"
    )
    add_examining(parser)
    add_overwrite(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    check_out(args, Comparison.owns)
    exams = None
    if args.exams is not None:
        exams = chosen_exams(parts_of(args.exams))
    groups = grouped(_models(args))
    corpus = named_corpus(args, partial(load_corpus, **_reading(groups)))
    curves = None if args.text is None else _curves(args.text, groups, args.device)
    screen = console()

    def done(group: str, model: str, verdict: Verdict) -> None:
        right = verdict.judgement.accuracy
        accuracy = "" if right is None else f", accuracy {right.value:.1f}%"
        documents = verdict.manifest.get("documents", 0)
        say(f"{group}: {model}, {documents:,} documents{accuracy}", "dim")

    comparison = compare(
        groups,
        corpus,
        exams,
        args.split,
        sample=args.sample,
        seed=args.seed,
        device=args.device,
        max_tokens=args.max_tokens,
        progress=True,
        done=done,
        **given_exam_options(args, exams or list(EXAMS)),
    )
    say_notes(corpus)
    show(comparison, screen)
    if curves is not None:
        show_curves(curves, screen)
    if args.out:
        save(replace(comparison, curves=curves), args)


def _models(args: argparse.Namespace) -> Any:
    """Folders as they are, and models that were not saved here; by name where names are given."""
    refuse_flags(args, args.models)
    folders = named_folders(args.models)
    groups: dict[str, list[Any]] = {}
    for pair in folders:
        if isinstance(pair, str):
            return open_outside(args, args.models)
        groups.setdefault(pair[0], []).extend(open_outside(args, parts_of(pair[1])))
    return groups


def _reading(groups: Groups) -> Mapping[str, Any]:
    """How a corpus is to be read so that the models that are yet to be examined can read it."""
    entries = [entry for group in groups.values() for entry in group]
    waiting = [entry for entry in entries if entry.verdict is None]
    return (waiting or entries)[0].reading


def _curves(text: str, groups: Groups, device: str) -> pd.DataFrame:
    """What each token says alone to each group's first model."""
    models: dict[str, AttentionClassifier] = {}
    for name, (first, *_) in groups.items():
        source: Any = first.source
        if first.verdict is not None:
            raise VeraxError(f"--text needs models, and {first.name} is a verdict: leave it out")
        if first.kind != POOLED:
            raise VeraxError(
                f"--text shows what each word says alone; in {first.name} none does: leave it out"
            )
        models[name] = load(source, device=device) if isinstance(source, Path) else source
        if models[name].tokeniser.finds_nothing(text):
            raise VeraxError("--text has no words: give a text with some")
    return token_curves(models, text)
