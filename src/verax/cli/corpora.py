"""`verax corpora`: what can be loaded, and what it looks like."""

from __future__ import annotations

import argparse
from typing import Any

from verax.cli.output import print_json
from verax.cli.parsing import add_options, given_options
from verax.cli.terminal import console, say, table
from verax.corpora import (
    CorpusOptions,
    describe,
    known_corpora,
    load_corpus,
    reading_notes,
)
from verax.corpora.corpus import is_saved_corpus
from verax.corpora.describing import words_of
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.files import refuse_foreign
from verax.progress import Progress


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "corpora",
        usage="verax corpora [CORPUS ...] [options]",
        help="list corpora with their sizes, classes, words, sentences and vocabulary",
        description="List what can be loaded: the built-in corpora and the folders of "
        "$VERAX_DATA, or the corpora named.",
    )
    parser.add_argument("names", nargs="*", metavar="CORPUS", help="names or paths (all known)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--save", metavar="DIR", help="also write the one corpus named as Parquet files into DIR"
    )
    add_options(parser, "reading a corpus", CorpusOptions)
    add_options(parser, "the planted corpus", Planted, leave_out=("seed",))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    names = args.names or known_corpora()
    if args.save:
        if len(names) != 1:
            raise VeraxError(
                "--save takes one corpus: name it, as in verax corpora planted --save DIR",
                code="option.missing",
            )
        refuse_foreign(args.save, is_saved_corpus)
    options = given_options(args, CorpusOptions, Planted)
    rows = []
    with Progress() as display:
        for name in names:
            with display.busy(f"loading {name}"):
                corpus = load_corpus(name, **options)
            rows.append((describe(corpus, display.watching(f"tokenizing {name}")), corpus))
            if args.save:
                corpus.save(args.save)
    if args.json:
        content = [{**row, "names": c.classes, "notes": list(c.notes)} for row, c in rows]
        print_json(content)
        return
    columns = [
        "corpus",
        "classes",
        "train",
        "validation",
        "test",
        "words",
        "sentences",
        "vocabulary",
    ]
    console().print(table(columns, [_cells(row) for row, _ in rows]))
    for _, corpus in rows:
        lines = [(line, False) for line in corpus.notes]
        lines += reading_notes(corpus, words_of(corpus), whose="train")
        for line, is_warning in lines:
            warning = "warning: " if is_warning else ""
            say(f"{warning}{corpus.name}: {line}", "bold" if is_warning else "dim")


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["corpus"],
        str(row["classes"]),
        *(f"{row[split]:,}" for split in ("train", "validation", "test")),
        f"{row['words_mean']:.1f} ({row['words_sd']:.1f})",
        f"{row['sentences_mean']:.1f} ({row['sentences_sd']:.1f})",
        f"{row['vocabulary']:,}",
    ]
