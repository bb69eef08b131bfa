"""Corpora that a command loads, and the flags by which it does."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from verax.cli.parsing import add_options, given_options
from verax.cli.terminal import say
from verax.corpora import Corpus, CorpusOptions, load_corpus
from verax.corpora.corpus import SPLITS
from verax.corpora.describing import overlap_notes
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.progress import Progress


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """Flags of how --corpus is read; the tokeniser is the model's."""
    add_options(parser, "reading --corpus", CorpusOptions, leave_out=("tokeniser", "lowercase"))
    add_options(parser, "a planted --corpus", Planted, leave_out=("seed",))


def load_shown(name: str, **options: Any) -> Corpus:
    """`load_corpus`, with a spinner while it takes: some corpora are gigabytes."""
    with Progress() as display, display.busy(f"loading {name}"):
        return load_corpus(name, **options)


def named_corpus(args: argparse.Namespace, load: Callable[..., Corpus]) -> Corpus | None:
    """The corpus that --corpus names, by `load(name, **options)`; None where it names none."""
    options = given_options(args, CorpusOptions, Planted)
    options.pop("seed", None)  # the exams'; a planted corpus's is part of its name
    if args.corpus:
        with Progress() as display, display.busy(f"loading {args.corpus}"):
            return load(args.corpus, **options)
    if options:
        flags = ", ".join("--" + name.replace("_", "-") for name in options)
        raise VeraxError(f"{flags} without --corpus: the model's own is read as in training")
    return None


def say_overlap(corpus: Corpus, split: str) -> None:
    """How many documents of the split are in train, too, if there are some."""
    if split not in SPLITS[1:]:
        return
    with Progress() as display:
        for name, documents in corpus.splits.items():
            documents.tokenise(display.watching(f"tokenising {name}"))
    for note in overlap_notes(corpus, [split]):
        say(str(note), "bold" if note.is_warning else "dim")


def say_notes(corpus: Corpus | None) -> None:
    """What a reader of a corpus might not expect, a line each."""
    for note in () if corpus is None else corpus.notes:
        say(note, "dim")
