"""`verax compare`: saved models side by side, over all exams."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.compared import show, show_curves
from verax.cli.examine import add_examining
from verax.cli.loading import load_shown
from verax.cli.parsing import given_exam_options, given_options
from verax.cli.saving import add_overwrite, check_out, save
from verax.cli.terminal import console
from verax.corpora import CorpusOptions
from verax.corpora.corpus import SPLITS, Corpus
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.exams.registry import EXAMS, chosen_exams
from verax.exams.single_token import token_curves
from verax.exams.verdict import Verdict
from verax.models import AttentionClassifier, load
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
        help="folder of a saved model or verdict; or NAME=FOLDER,FOLDER,… to name seeds of one",
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


def run(given: argparse.Namespace) -> None:
    check_out(given, Comparison.owns)
    exams = None
    if given.exams is not None:
        exams = chosen_exams(name.strip() for name in given.exams.split(",") if name.strip())
    groups = grouped(_models(given.models))
    corpus = _corpus(given, groups)
    curves = None if given.text is None else _curves(given.text, groups, given.device)
    screen = console()

    def done(group: str, model: str, verdict: Verdict) -> None:
        right = verdict.judgement.accuracy
        accuracy = "" if right is None else f", accuracy {right.value:.1f}%"
        documents = verdict.manifest.get("documents", 0)
        screen.print(
            f"{group}: {model}, {documents:,} documents{accuracy}", style="dim", markup=False
        )

    found = compare(
        groups,
        corpus,
        exams,
        given.split,
        sample=given.sample,
        seed=given.seed,
        device=given.device,
        max_tokens=given.max_tokens,
        progress=True,
        done=done,
        **given_exam_options(given, exams or list(EXAMS)),
    )
    for note in () if corpus is None else corpus.notes:
        screen.print(note, style="dim", markup=False)
    show(found, screen)
    if curves is not None:
        show_curves(curves, screen)
    if given.out:
        save(replace(found, curves=curves), given)


def _models(given: Sequence[str]) -> Any:
    """Folders as they are, or by name where names are given."""
    named = ["=" in text and not Path(text).exists() for text in given]
    if not any(named):
        return list(given)
    if not all(named):
        plain = given[named.index(False)]
        raise VeraxError(f"{plain} has no name, others have: name all, as in mine={plain}, or none")
    found: dict[str, list[str]] = {}
    for text in given:
        name, _, folders = text.partition("=")
        parts = [part.strip() for part in folders.split(",") if part.strip()]
        found.setdefault(name.strip(), []).extend(parts)
    return found


def _corpus(given: argparse.Namespace, groups: Groups) -> Corpus | None:
    for_corpus = given_options(given, CorpusOptions, Planted)
    for_corpus.pop("seed", None)  # the exams'; a planted corpus's is part of its name
    if not given.corpus:
        if for_corpus:
            flags = ", ".join("--" + name.replace("_", "-") for name in for_corpus)
            raise VeraxError(f"{flags} without --corpus: the models' own is read as in training")
        return None
    entries = [entry for group in groups.values() for entry in group]
    waiting = [entry for entry in entries if entry.verdict is None]
    return load_shown(given.corpus, **(waiting or entries)[0].reading, **for_corpus)


def _curves(text: str, groups: Groups, device: str) -> pd.DataFrame:
    """What each token says alone to each group's first model."""
    models: dict[str, AttentionClassifier] = {}
    for name, (first, *_) in groups.items():
        if not isinstance(first.given, Path):
            raise VeraxError(f"--text needs models, and {first.name} is a verdict: leave it out")
        models[name] = load(first.given, device=device)
        if models[name].tokeniser.finds_nothing(text):
            raise VeraxError("--text has no words: give a text with some")
    return token_curves(models, text)
