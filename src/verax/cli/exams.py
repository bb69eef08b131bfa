"""`verax exams`: which exams there are; of one, what it asks, its options, numbers and limits."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from verax.cli.terminal import console, say, table
from verax.exams.exam import Exam
from verax.exams.judgement.judgement import SET_BY_HAND
from verax.exams.judgement.limits import load_limits
from verax.exams.planning import variant, variants_of, why_not_kind
from verax.exams.registry import EXAMS, chosen_exams, measure_ids
from verax.exams.titles import exam_title
from verax.models.kinds import KINDS

_BETTER = {"higher": "↑", "lower": "↓", "": ""}


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "exams",
        usage="verax exams [NAME …] [--limits VERSION | --ids]",
        help="list the exams, or describe one: its question, options, numbers and limits",
        description="List all exams, or describe the named ones: question, options, the ids of "
        "their numbers, and the limits by which they support or contradict attention. --ids lists "
        "ids alone, one a line, for use in scripts.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="exams to describe [list all]")
    parser.add_argument(
        "--ids",
        action="store_true",
        help="list the ids of all numbers with unit and title, separated by tabs; * is a row that "
        "depends on options or data",
    )
    parser.add_argument("--limits", metavar="VERSION", help="limits to show: a version, or a file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    screen = console()
    if args.ids:
        ids = measure_ids(*chosen_exams(args.names) if args.names else ())
        for row in ids[["id", "unit", "title"]].itertuples(index=False):
            print(*row, sep="\t")
        return
    limits = load_limits(args.limits)
    if not args.names:
        width = max(map(len, EXAMS)) + 2
        for name, exam in EXAMS.items():
            say(f"{name:<{width}}{exam.question}")
        say("\nverax exams NAME tells more of one", "dim")
        return
    for name in chosen_exams(args.names):
        exam = EXAMS[name]
        say(f"{exam_title(name)}: {exam.question}", "bold")
        say(exam.explanation)
        for kind in KINDS:
            say(f"  {kind:<12} {_on(name, kind)}", "dim")
        told: set[str] = set()
        for cls in variants_of(name):
            only = ", ".join(kind for kind in KINDS if variant(name, kind) is cls)
            for field in dataclasses.fields(cls.options_class):
                flag = f"--{field.name.replace('_', '-')}"
                where = "" if cls is exam else f"{only} models: "
                if field.name not in told:
                    say(f"  {flag:<20} {where}{field.metadata['help']} [{field.default}]")
                told.add(field.name)
        for one in exam.summary_tables:
            say(f"\n{one.id}: {one.title}", "italic")
            columns = ["row" if one.counts else "column", "", "unit", "better"]
            rows = [[m.id, m.title, m.unit, _BETTER[m.better]] for m in one.measures]
            screen.print(table(columns, rows))
        values = limits.of(name, exam.limits)
        words = ", ".join(f"{limit} {value:g}" for limit, value in values.items())
        mark = "" if limits.is_measured(name) or not words else f" {SET_BY_HAND}"
        say(f"\nlimits {limits.version}: {words or 'none: it is not judged'}{mark}\n")


def _on(name: str, kind: str) -> str:
    """What an exam promises of models of a kind, or why it is not for them."""
    cls = variant(name, kind)
    if cls is None:
        return f"not applicable: {why_not_kind(name, kind)}"
    if cls.needs_own:
        return "where importances of one's own are given (importances=… in Python)"
    if cls.promise.__doc__ == Exam.promise.__doc__:
        return "exact"
    said = (cls.promise.__doc__ or "as the plan of a model says").strip().splitlines()[0]
    return said[:1].lower() + said[1:].rstrip(".")
