"""`verax exams`: which exams there are; of one, what it asks, its options, numbers and limits."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from verax.cli.terminal import console, say, table
from verax.exams.judgement.limits import load_limits
from verax.exams.registry import EXAMS, chosen_exams
from verax.exams.titles import exam_title

_BETTER = {"higher": "↑", "lower": "↓", "": ""}


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "exams",
        usage="verax exams [NAME …] [--limits VERSION]",
        help="list the exams, or tell what one asks, its options, numbers and limits",
        description="List the exams there are. With names, tell of each what it asks and how, its "
        "options, the ids of its numbers, and the limits by which it speaks for or against "
        "attention.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="exams to tell of [a list of all]")
    parser.add_argument("--limits", metavar="VERSION", help="limits to show: a version, or a file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    screen = console()
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
        for field in dataclasses.fields(exam.options_class):
            flag = f"--{field.name.replace('_', '-')}"
            line = f"  {flag:<20} {field.metadata['help']} [{field.default}]"
            say(line)
        for one in exam.summary_tables:
            say(f"\n{one.id}: {one.title}", "italic")
            columns = ["row" if one.counts else "column", "", "unit", "better"]
            rows = [[m.id, m.title, m.unit, _BETTER[m.better]] for m in one.measures]
            screen.print(table(columns, rows))
        values = limits.of(name, exam.limits)
        words = ", ".join(f"{limit} {value:g}" for limit, value in values.items())
        say(f"\nlimits {limits.version}: {words or 'none: it is not judged'}\n")
