"""`verax examine`: put a saved model through exams."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.loading import (
    MODEL,
    add_corpus_options,
    add_model_options,
    named_corpus,
    open_model,
    say_notes,
    say_overlap,
)
from verax.cli.output import print_json
from verax.cli.parsing import add_exam_options, add_reading, bounded, given_exam_options, parts_of
from verax.cli.predict import add_redact, records
from verax.cli.saving import add_overwrite, check_out, keep, say_saved
from verax.cli.terminal import console, say, table
from verax.corpora.corpus import ALL, SPLITS, Corpus
from verax.corpora.describing import MANY_UNKNOWN, unknown_warning
from verax.corpora.loading import is_built_in
from verax.corpora.redacting import patterns_of
from verax.errors import ExitCode, VeraxError
from verax.exams.examine import check_split, examine, load_to_examine
from verax.exams.judgement.headline import time_lines
from verax.exams.judgement.limits import NEWEST, load_limits, versions
from verax.exams.judgement.row import AGAINST
from verax.exams.planning import plan
from verax.exams.registry import EXAMS, chosen_exams, default_exams, divide_options, find_table
from verax.exams.titles import column_title, row_title, table_title
from verax.exams.verdict import Verdict
from verax.options import SEED, names
from verax.studies.engines.engine import count

FAILED = ExitCode.FINDING
"""Exit code of --fail-on; bad input is 2."""
GALLERY, CURVES = 50, 3
"""Documents that a report shows, and those of which it draws every token, unless told otherwise."""


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "examine",
        usage="verax examine MODEL [--corpus C] [--split S] [--exams NAME,…] [--out DIR]",
        help="put a saved model through exams",
        description="Put a saved model through exams on one split of a corpus: the one it was "
        "trained on, unless another is named. Prints the judgement; --full every "
        "number, and --out keeps them.",
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    parser.add_argument("--corpus", metavar="C", help="name or path of a corpus [the model's own]")
    parser.add_argument(
        "--split",
        help=f"{', '.join(SPLITS)} or {ALL} [test; {ALL} of a file without splits]",
    )
    parser.add_argument(
        "--exams",
        metavar="NAME,…",
        help=f"which exams: {', '.join(EXAMS)} [all but deletion, sufficiency and plausibility, "
        "and those that do not apply]",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help=f"write tables, manifest and report.html there, with --curves {CURVES} unless it says "
        "otherwise",
    )
    add_overwrite(parser)
    parser.add_argument(
        "--gallery",
        type=bounded("gallery", int, minimum=0),
        metavar="N",
        help=f"documents to keep with their text, for the report [{GALLERY} with --out of a corpus "
        "that comes with Verax, else 0]",
    )
    add_redact(parser)
    parser.add_argument(
        "--full",
        action="store_true",
        help="print every table with 95%% intervals, too; with --json every number",
    )
    parser.add_argument("--json", action="store_true", help="print the judgement as JSON")
    parser.add_argument(
        "--limits",
        metavar="VERSION",
        help=f"limits of the judgement: a version ({', '.join(versions())}), or a JSON file of "
        f"your own [{NEWEST}]",
    )
    parser.add_argument(
        "--fail-on",
        choices=(AGAINST,),
        help=f"end with exit code {FAILED} if an exam contradicts the attention, or if there is no "
        "verdict; needs --limits",
    )
    parser.add_argument(
        "--max-seconds",
        type=float,
        metavar="S",
        help="a limit of time: what it does not allow is left out, long documents first, and said",
    )
    add_examining(parser)
    parser.set_defaults(run=run)


def add_examining(parser: argparse.ArgumentParser) -> None:
    """How documents are read, drawn and examined: flags of every command that examines."""
    parser.add_argument(
        "--sample",
        type=bounded("sample", int, minimum=1),
        metavar="N",
        help="examine N documents of the split, drawn by --seed",
    )
    parser.add_argument(
        "--seed",
        type=bounded("seed", int, **SEED),
        default=0,
        metavar="N",
        help="of what is random [0]",
    )
    add_reading(parser)
    add_model_options(parser)
    add_corpus_options(parser)
    add_exam_options(parser, EXAMS)


def run(args: argparse.Namespace) -> int | None:
    if args.fail_on and not args.limits:
        raise VeraxError(
            f"--fail-on without --limits: name the version it goes by, as in --limits {NEWEST}, so "
            "that a newer Verax does not change what fails",
            code="option.missing",
        )
    check_out(args, Verdict.owns)
    if args.split:
        check_split(args.split, also=(ALL,))
    patterns_of(args.redact)
    limits = load_limits(args.limits)
    chosen = None if args.exams is None else chosen_exams(parts_of(args.exams))
    model = open_model(args)
    planned = plan(model, default_exams(model.kind) if chosen is None else chosen)
    taken = {one.name: one.exam for one in planned if one.exam is not None}
    load_it = partial(load_to_examine, model, split=args.split)
    named = named_corpus(args, load_it)
    corpus = load_it(None) if named is None else named
    options = given_exam_options(args, taken)
    single = taken.get("single_token")
    if args.out and single is not None and "curves" in names(single.options_class):
        of_exam = options.get("single_token", {})
        if "curves" not in options and "curves" not in of_exam:
            options["single_token"] = {**of_exam, "curves": CURVES}
    verdict = examine(
        model,
        corpus,
        exams=chosen,
        split=args.split,
        seed=args.seed,
        sample=args.sample,
        gallery=_gallery(args, corpus) if args.gallery is None else args.gallery,
        redact=args.redact,
        max_tokens=args.max_tokens,
        max_seconds=args.max_seconds,
        limits=limits,
        progress=True,
        exam_options=divide_options(taken, options, classes=taken),
    )
    keep(args, lambda out: verdict.save(out, overwrite=args.overwrite))
    if args.json:
        content = dict(verdict.judgement.to_json())
        if args.full:
            content["summary"] = records(verdict.summary())
        print_json(content, allow_nan=False)
    else:
        say_notes(named)
        trained_on = model.record.get("corpus", {}).get("fingerprint")
        _show(verdict, corpus if corpus.fingerprint == trained_on else None, args.full, args.out)
    if args.out and args.gallery is None and not is_built_in(corpus):
        say(
            f"· texts of your own are not kept: --gallery {GALLERY} shows documents in the report",
            stderr=args.json,
        )
    if redacted := verdict.manifest.get("redacted"):
        found = count(redacted["documents"], "document")
        say(f"--redact: words covered in {found}", "dim", stderr=args.json)
    if args.out:
        say_saved(verdict, args.out, stderr=args.json)
    if args.fail_on and (verdict.judgement.withheld or not verdict.judgement.judged):
        say(f"--fail-on {args.fail_on}: without a verdict the check fails", "bold", stderr=True)
        return FAILED
    return FAILED if args.fail_on and verdict.judgement.speaks(args.fail_on) else None


def _gallery(args: argparse.Namespace, corpus: Corpus) -> int:
    """How many documents are kept with their text, unless told: none of the user's own."""
    return GALLERY if args.out and is_built_in(corpus) else 0


def _show(verdict: Verdict, trained_on: Corpus | None, full: bool, out: str | None) -> None:
    """The judgement in ten lines, the answer last; then, if `full`, every table.

    `trained_on` is the corpus, if the model was trained on its train.
    """
    screen = console()
    manifest = verdict.manifest
    documents, split = manifest["documents"], manifest["split"]
    corpus = Path(str(manifest["corpus"].get("corpus", "a corpus"))).name
    sizes = [f"{n:,} {name}" for name, n in manifest.get("splits", {}).items() if n]
    where = f"{split} ({', '.join(sizes)})" if len(sizes) > 1 else split
    say(f"{documents:,} documents of {corpus}, {where}", "italic")
    for line in time_lines(manifest):
        say(line, "bold")
    if manifest["unknown_words"] > MANY_UNKNOWN:
        say(str(unknown_warning(manifest["unknown_words"], split)), "bold")
    if trained_on is not None:
        say_overlap(trained_on, split)
    *lines, answer = verdict.judgement.lines()
    for line in lines:
        screen.print(line, markup=False, soft_wrap=True)
    if not full:
        say(f"· --full prints every number{'' if out else ', --out DIR writes a report'}")
    screen.print(answer, style="bold", markup=False, soft_wrap=True)
    if full:
        show_tables(verdict)


def show_tables(verdict: Verdict) -> None:
    """The summary as tables a person can read."""
    screen = console()
    summary = verdict.summary()
    shown = list(dict.fromkeys(summary["table"]))
    if {"dispersion.documents", "agreement.documents"} <= set(shown):
        shown.remove("agreement.documents")  # the other says the same, and more
    classes = verdict.manifest.get("classes") or ()
    for name in shown:
        rows = summary[summary["table"] == name]
        known = find_table(name)
        measures = {c: known and known.measure("", c) for c in dict.fromkeys(rows["column"])}
        largest = rows.groupby("column", observed=True)["value"].agg(lambda v: v.abs().max())
        # but those that count what was left out for a reason, where nothing was
        columns = [c for c, m in measures.items() if not (m and m.excluded and largest[c] == 0)]
        small = {c for c in columns if largest[c] < 0.1}
        cells = {(r.row, r.column): _cell(r, r.column in small) for r in rows.itertuples()}
        lines = [
            [row_title(name, row, classes), *(cells.get((row, column), "") for column in columns)]
            for row in dict.fromkeys(rows["row"])
        ]
        say(f"\n{table_title(name)}", "italic")
        heads = [column_title(name, column) for column in columns]
        screen.print(table(["", *heads], lines))
    say("\nbrackets hold 95% intervals; --out DIR writes all numbers to summary.parquet", "dim")


def _cell(row: Any, small: bool) -> str:
    """A number and, where it has one, its interval in brackets, with as many decimals."""
    if pd.isna(row.value):
        return "–"
    forms = {"count": ",.0f", "percent": ".1f", "points": "+.1f"}
    form = forms.get(row.unit, ".2g" if small else ".3f")
    text = f"{row.value:{form}}{'%' if row.unit == 'percent' else ''}"
    if pd.isna(row.low) or pd.isna(row.high):
        return text
    return f"{text} [{row.low:{form}}, {row.high:{form}}]"
