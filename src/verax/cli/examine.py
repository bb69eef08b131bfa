"""`verax examine`: put a saved model on the witness stand."""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

from verax.cli.loading import load_shown
from verax.cli.parsing import add_options, add_reading, given_options
from verax.cli.saving import save
from verax.cli.terminal import console, table
from verax.corpora import CorpusOptions
from verax.corpora.corpus import SPLITS
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.exams.examine import EXAMS, chosen_exams, examine, reading_options
from verax.exams.verdict import Verdict
from verax.files import refuse_foreign
from verax.models import load
from verax.options import names
from verax.report.tables import TITLES

GALLERY, CURVES = 50, 3
"""Documents that a report shows, and those of which it draws every token, unless told otherwise."""


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "examine",
        usage="verax examine MODEL [--corpus C] [--split test] [--exams NAME,…] [--out DIR]",
        help="put a saved model through exams",
        description="Put a saved model through exams on one split of a corpus: the one it was "
        "trained on, unless another is named. Prints the summary; --out keeps every number.",
    )
    parser.add_argument("model", metavar="MODEL", help="folder of a saved model")
    parser.add_argument("--corpus", metavar="C", help="name or path of a corpus [the model's own]")
    parser.add_argument("--split", default="test", help=f"{', '.join(SPLITS)} [test]")
    parser.add_argument(
        "--exams",
        default=",".join(EXAMS),
        metavar="NAME,…",
        help=f"which exams: {', '.join(EXAMS)} [all]",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help=f"write tables, manifest and report.html there, with --curves {CURVES} unless it says "
        "otherwise",
    )
    parser.add_argument(
        "--gallery",
        type=int,
        metavar="N",
        help=f"documents to keep with their text, for the report [{GALLERY} with --out, else 0]",
    )
    add_examining(parser)
    parser.set_defaults(run=run)


def add_examining(parser: argparse.ArgumentParser) -> None:
    """How documents are read, drawn and examined: flags of every command that examines."""
    parser.add_argument(
        "--sample", type=int, metavar="N", help="examine N documents of the split, drawn by --seed"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is random [0]")
    add_reading(parser)
    for name, exam in EXAMS.items():
        add_options(parser, f"exam {name}", exam.options_class)
    # the tokeniser is the model's
    add_options(parser, "reading --corpus", CorpusOptions, leave_out=("tokeniser", "lowercase"))
    add_options(parser, "a planted --corpus", Planted, leave_out=("seed",))


def run(given: argparse.Namespace) -> None:
    if given.out:
        refuse_foreign(given.out, Verdict.owns)
    chosen = chosen_exams(name.strip() for name in given.exams.split(",") if name.strip())
    model = load(given.model, device=given.device)
    for_corpus = given_options(given, CorpusOptions, Planted)
    for_corpus.pop("seed", None)  # the exams'; a planted corpus's is part of its name
    if for_corpus and not given.corpus:
        flags = ", ".join("--" + name.replace("_", "-") for name in for_corpus)
        raise VeraxError(f"{flags} without --corpus: the model's own is read as in training")
    corpus = None
    if given.corpus:
        corpus = load_shown(given.corpus, **reading_options(model), **for_corpus)
    valid = names(*(EXAMS[name].options_class for name in chosen))
    options = {name: vars(given)[name] for name in valid if name in vars(given)}
    if given.out and "curves" in valid:
        options.setdefault("curves", CURVES)
    verdict = examine(
        model,
        corpus,
        exams=chosen,
        split=given.split,
        seed=given.seed,
        sample=given.sample,
        gallery=(GALLERY if given.out else 0) if given.gallery is None else given.gallery,
        max_tokens=given.max_tokens,
        progress=True,
        **options,
    )
    if corpus is not None:
        for note in corpus.notes:
            console().print(note, style="dim", markup=False)
    show(verdict)
    if given.out:
        save(verdict, given.out)


def show(verdict: Verdict) -> None:
    """The summary as tables a person can read."""
    screen = console()
    summary = verdict.summary()
    shown = list(dict.fromkeys(summary["table"]))
    if "dispersion_documents" in shown and "agreement_documents" in shown:
        shown.remove("agreement_documents")  # the other says the same, and more
    for name in shown:
        rows = summary[summary["table"] == name]
        counts = rows.groupby("column")["value"].max()
        # nothing left out for a reason needs no column to say so
        columns = [
            column
            for column in dict.fromkeys(rows["column"])
            if not (column.startswith(("out: ", "items out: ")) and counts[column] == 0)
        ]
        small = {c for c in columns if rows[rows["column"] == c]["value"].abs().max() < 0.1}
        cells = {(r.row, r.column): _cell(r, r.column in small) for r in rows.itertuples()}
        lines = [
            [row, *(cells.get((row, column), "") for column in columns)]
            for row in dict.fromkeys(rows["row"])
        ]
        screen.print(f"\n{TITLES.get(name, name)}", markup=False, style="italic")
        screen.print(table(["", *columns], lines))
    screen.print(
        "\n95% intervals, over documents, are in verdict.summary() and summary.parquet",
        style="dim",
        markup=False,
    )


def _cell(row: Any, small: bool) -> str:
    if pd.isna(row.value):
        return "–"
    if row.unit == "count":
        return f"{row.value:,.0f}"
    if row.unit == "percent":
        return f"{row.value:.1f}%"
    if row.unit == "points":
        return f"{row.value:+.1f}"
    return f"{row.value:.2g}" if small else f"{row.value:.3f}"
