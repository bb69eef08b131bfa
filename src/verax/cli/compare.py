"""`verax compare`: saved models side by side, over all exams."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from verax.cli.examine import FAILED, add_examining
from verax.cli.loading import named_corpus, open_outside, refuse_flags, say_notes
from verax.cli.parsing import given_exam_options, named_folders, parts_of
from verax.cli.saving import add_overwrite, check_out, keep, say_saved
from verax.cli.terminal import console, printable, say, table
from verax.corpora import load_corpus
from verax.corpora.corpus import SPLITS
from verax.errors import VeraxError
from verax.exams.agreement.judging import ZEROS
from verax.exams.erasure.judging import FEWER
from verax.exams.judgement.limits import NEWEST, load_limits, versions
from verax.exams.measures import PERCENT, POINTS
from verax.exams.registry import EXAMS, chosen_exams
from verax.exams.single_token import token_curves
from verax.exams.titles import comparison_title, measure_title
from verax.exams.verdict import Verdict
from verax.models import AttentionClassifier, load
from verax.models.kinds import POOLED
from verax.report import compared
from verax.report.compared import mark
from verax.studies import Comparison, compare
from verax.studies.comparison.differences import NOTHING, OTHER_ITEMS, WORSE
from verax.studies.comparison.grouping import Groups, grouped
from verax.studies.comparison.phrasing import headlines, only_lines


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
    parser.add_argument(
        "--limits",
        metavar="VERSION",
        help=f"limits of all judgements: a version ({', '.join(versions())}), or a JSON file of "
        f"your own [{NEWEST}; of verdicts, their own]",
    )
    parser.add_argument(
        "--fail-on",
        choices=(WORSE,),
        help=f"end with exit code {FAILED} if a model is surely worse than the first in a measure "
        "that has a better side; needs --limits",
    )
    add_examining(parser)
    add_overwrite(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int | None:
    if args.fail_on and not args.limits:
        raise VeraxError(
            f"--fail-on without --limits: name the version that all are judged by, as in --limits "
            f"{NEWEST}",
            code="option.missing",
        )
    check_out(args, Comparison.owns)
    limits = None if args.limits is None else load_limits(args.limits)
    exams = None
    if args.exams is not None:
        exams = chosen_exams(parts_of(args.exams))
    groups = grouped(_models(args))
    corpus = named_corpus(args, load_corpus)
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
        limits=limits,
        **given_exam_options(args, exams or list(EXAMS)),
    )
    comparison = replace(comparison, curves=curves)
    keep(args, lambda out: comparison.save(out, overwrite=args.overwrite))
    say_notes(corpus)
    show(comparison, screen)
    if curves is not None:
        show_curves(curves, screen)
    if args.out:
        say_saved(comparison, args.out)
    return _outcome(comparison) if args.fail_on else None


def _outcome(comparison: Comparison) -> int | None:
    """The exit code of --fail-on worse, after a line for each measure that fails."""
    worse = comparison.worse()
    for row in worse.itertuples():
        say(f"worse than {row.reference}: {row.group}, {measure_title(str(row.measure))}", "bold")
    return FAILED if len(worse) else None


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


def _curves(text: str, groups: Groups, device: str) -> pd.DataFrame:
    """What each token says alone to each group's first model."""
    if not text.strip():
        raise VeraxError("--text has no words: give a text with some", code="text.empty")
    models: dict[str, AttentionClassifier] = {}
    for name, (first, *_) in groups.items():
        source: Any = first.source
        if first.verdict is not None:
            raise VeraxError(
                f"--text needs models, and {first.name} is a verdict: leave it out",
                code="option.not-applicable",
            )
        if first.kind != POOLED:
            raise VeraxError(
                f"--text shows what each word says alone; in {first.name} none does: leave it out",
                code="option.not-applicable",
            )
        models[name] = load(source, device=device) if isinstance(source, Path) else source
    return token_curves(models, text)


_LONGEST = 18
"""A longer name gets a letter as its column's head."""


def show(comparison: Comparison, screen: Any) -> None:
    """Groups, a table per exam, and what differences are over."""
    rows = comparison.table()
    heads = heads_of(comparison.groups)
    for line in _legend(comparison, heads):
        screen.print(line, markup=False)
    for exam in dict.fromkeys(rows["exam"]):
        shown = compared.shown_rows(rows[rows["exam"] == exam])
        if shown.empty:
            continue
        screen.print(f"\n{comparison_title(str(exam))}", markup=False, style="italic")
        for made in _tables(shown, comparison, heads, screen.width):
            screen.print(made)
        for line in compared.left_out(comparison, set(shown["measure"]), heads):
            screen.print(line, style="dim", markup=False)
    screen.print()
    for line in _footnotes(rows, comparison, heads):
        screen.print(line, style="dim", markup=False)


def heads_of(groups: Sequence[str]) -> dict[str, str]:
    """Name → what stands over its column: the name, or a letter where one is long."""
    if max(map(len, groups)) <= _LONGEST:
        return {name: printable(name) for name in groups}
    return {name: chr(ord("A") + n) if n < 26 else f"#{n + 1}" for n, name in enumerate(groups)}


def _legend(comparison: Comparison, heads: dict[str, str]) -> Iterator[str]:
    yield ""
    for name, models in comparison.manifest["groups"].items():
        seeds = [str(model["seed"]) for model in models if model["seed"] is not None]
        details = f", seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}" if seeds else ""
        picked = [f"{m['chosen']:g}" for m in models if m.get("chosen") is not None]
        details += f", strength {', '.join(picked)} chosen" if picked else ""
        letter = "" if heads[name] == printable(name) else f"{heads[name]}: "
        count = f"{len(models)} model{'s' if len(models) > 1 else ''}"
        what = " (the reference)" if name == comparison.reference else ""
        yield f"{letter}{printable(name)}{what}: {count}{details}"
        for which, headline in headlines(comparison, name):
            seed = f"{printable(which.removeprefix(', '))}: " if which else ""
            yield f"  {seed}{headline}"


def _tables(
    rows: pd.DataFrame, comparison: Comparison, heads: dict[str, str], width: int
) -> list[Any]:
    """As few tables as there is room for: side by side as many groups as there can be."""
    others = comparison.groups[1:]
    made: list[Any] = []
    for step in range(len(others), 0, -1):
        made, needed = [], 0
        for start in range(0, len(others), step):
            part = others[start : start + step]
            columns = ["", heads[comparison.reference]]
            for group in part:
                columns += [heads[group], "difference", ""]
            lines = [*_lines(rows, part)]
            made.append(table(columns, lines))
            # with labels wrapped between words, and all else as it is
            longest = max(len(word) for line in lines for word in line[0].split())
            rest = [max(map(len, cells)) for cells in zip(columns, *lines, strict=True)][1:]
            needed = max(needed, longest + sum(2 + n for n in rest))
        if needed <= width:
            break
    return made


def _lines(rows: pd.DataFrame, groups: Sequence[str]) -> Iterator[list[str]]:
    for measure, of_measure in rows.groupby("measure", sort=False):
        every: dict[str, Any] = {str(row.group): row for row in of_measure.itertuples()}
        shown = [every[name] for name in groups if name in every]
        one = next(iter(every.values()))
        digits = _digits([one.reference_value, *(row.value for row in every.values())], one.unit)
        label = compared.direction(shown) + measure_title(str(measure))
        if any(compared.is_of_common_documents(row) for row in shown):
            label += " †"
        cells = [label, _value(one.reference_value, one.unit, digits)]
        for name in groups:
            row = every.get(name)
            if row is None:  # such as F1 of a model with more classes, which has a macro F1
                cells += ["–", "–", ""]
            else:
                value = _value(row.value, row.unit, digits)
                cells += [value, _difference(row, digits), mark(row)]
        yield cells


def _digits(numbers: Sequence[float], unit: str) -> int:
    if unit in (PERCENT, POINTS):
        return 1
    largest = max((abs(n) for n in numbers if not math.isnan(n)), default=1.0)
    return 1 if largest >= 10 else 3 if largest >= 0.1 else 4 if largest >= 0.001 else 6


def _value(value: float, unit: str, digits: int) -> str:
    if math.isnan(value):
        return "–"
    sign, mark = "+" if unit == POINTS else "", "%" if unit == PERCENT else ""
    return f"{round(value, digits) + 0.0:{sign}.{digits}f}{mark}"  # no minus in front of a zero


def _difference(row: Any, digits: int) -> str:
    text = _value(row.difference, POINTS, digits)
    return text if math.isnan(row.low) else f"{text} ±{(row.high - row.low) / 2:.{digits}f}"


def _footnotes(rows: pd.DataFrame, comparison: Comparison, heads: dict[str, str]) -> Iterator[str]:
    for kind, text in compared.interval_words(rows, "it says").items():
        groups = [heads[n] for n in dict.fromkeys(rows.loc[rows["over"] == kind, "group"])]
        which = "" if len(groups) == len(comparison.groups) - 1 else f" of {', '.join(groups)}"
        reference = heads[comparison.reference]
        yield f"differences{which} from {reference}, ± half the 95% interval {text}"
    if (rows["over"] == NOTHING).any():
        yield "information has no interval with one model: it takes two seeds or more of each"
    if any(compared.is_of_common_documents(row) for row in rows.itertuples()):
        yield f"† the {compared.COMMON}"
    judged = int(rows["holm"].notna().groupby(rows["group"]).sum().max())
    yield compared.marks_words(f" (m = {judged})")
    if (rows["note"] == FEWER).any():
        yield "items without weight need not go, by arithmetic: optimal is judged instead"
    if (rows["note"] == ZEROS).any():
        yield "items without weight tie by arithmetic: agreement is judged on the support"
    yield from only_lines(comparison)
    attended = {
        name: models[0]["attended"] for name, models in comparison.manifest["groups"].items()
    }
    if (rows["note"] == OTHER_ITEMS).any():
        items = ", ".join(f"{what} in {heads[name]}" for name, what in attended.items())
        yield f"items are {items}: what is of items is not judged across"


def show_curves(curves: pd.DataFrame, screen: Any) -> None:
    """A row per token, a column per group: what it says alone, and in the end all of them."""
    by_group = dict(list(curves.groupby("model", sort=False, observed=True)))
    first = next(iter(by_group.values()))
    columns = [first["text"], *(rows["p"].map("{:.3f}".format) for rows in by_group.values())]
    rows = [list(cells) for cells in zip(*columns, strict=False)]
    whole = [f"{rows['confidence'].iloc[0]:.3f}" for rows in by_group.values()]
    what = f"probability of {first['class'].iloc[0]}, had attention been on this token alone"
    say(f"\n{what}", "italic")
    heads = heads_of([str(name) for name in by_group])
    screen.print(table(["", *heads.values()], [*rows, ["whole text", *whole]]))
