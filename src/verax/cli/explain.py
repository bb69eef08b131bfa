"""`verax explain`: a saved model's decision about a text, and each word's part in it."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table
from rich.text import Text

from verax.cli.loading import open_model
from verax.cli.parsing import bounded
from verax.cli.predict import add_redact, add_texts, check_texts, full_texts, write
from verax.cli.saving import keep
from verax.cli.terminal import console, has_colour, printable, say, shade
from verax.corpora.redacting import patterns_of
from verax.drawing.palette import legend
from verax.errors import VeraxError
from verax.importance import IMPORTANCES, find_importance, known_names, names_of
from verax.importance.explanation import BY, BY_KIND, has_sign
from verax.importance.gradients import on_vectors
from verax.models.kinds import POOLED, TRANSFORMER
from verax.options import SEED, check
from verax.report import report
from verax.report.explanation_page import unaffected
from verax.report.notebook import beside_words, decision, targets
from verax.studies.engines.engine import count

PAGE = ".html"
MOST_DECISIONS = 10
"""Texts whose decision is printed when their words go to a file."""
_DECIMALS = 4, 12
"""Least and most decimals of a column of scores."""


def _on_inputs(kind: str = POOLED) -> dict[str, str]:
    """Name → what a score is; an installed package is not imported for it."""
    importances = {name: find_importance(name, kind) for name in known_names("inputs", kind)}
    names = {name: one.about for name, one in importances.items() if one is not None}
    return names | dict.fromkeys(IMPORTANCES.to_import, "of an installed package")


def _listed(names: dict[str, str]) -> str:
    return "; ".join(f"{name} ({about})" for name, about in names.items())


def add(verbs: Any) -> None:
    names = _on_inputs()
    parser = verbs.add_parser(
        "explain",
        usage='verax explain MODEL "some text" [--by NAME,…] [--target CLASS] [--out FILE]',
        help="show what each word had to do with a decision",
        description="The decision about texts given as arguments, in a file, or one per line on "
        "standard input, and the words in colour by one or more importances: blue words support "
        "the decision, or the class that --target names, orange ones oppose it. A score below 0 "
        "opposes; an importance without a sign is blue throughout.",
        epilog=f"importances: {_listed(names)}; those of Transformers: "
        + _listed(_on_inputs(TRANSFORMER)),
    )
    add_texts(parser, "texts to explain", PAGE)
    parser.add_argument(
        "--by",
        metavar="NAME,…",
        help=f"which importances, of {', '.join(names)} [of {','.join(BY)} what the model has]",
    )
    parser.add_argument(
        "--target",
        metavar="CLASS",
        help="explain this class, by name or number [the class decided for]",
    )
    add_redact(parser)
    parser.add_argument(
        "--seed", type=bounded("seed", int, **SEED), default=0, metavar="N", help="of `random` [0]"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    check_texts(args, PAGE)
    if args.by is not None and not names_of(args.by, "inputs", None):
        raise VeraxError(
            f"--by names no importance: choose from {', '.join(_on_inputs())}", code="option.empty"
        )
    seed = check("seed", args.seed, int, SEED)
    patterns_of(args.redact)
    model = open_model(args)
    usual = on_vectors(BY_KIND[model.kind], model) if model.kind == POOLED else BY_KIND[model.kind]
    names = names_of(list(usual) if args.by is None else args.by, "inputs", model.kind)
    texts, rows = full_texts(args, model, "explain")
    frame = model.explain(
        *(texts, names),
        target=args.target,
        redact=args.redact,
        seed=seed,
        max_tokens=args.max_tokens,
        progress=True,
    )
    frame["text"] = rows[frame["text"].to_numpy()]
    if args.out:
        is_page = args.out.endswith(PAGE)
        keep(args, lambda out: report(frame, out) if is_page else write(frame, Path(out)))
        for number, words in list(frame.groupby("text", sort=False))[:MOST_DECISIONS]:
            say(f"text {number}: {decision(words)}")
        if len(rows) > MOST_DECISIONS:
            say(f"… and {len(rows) - MOST_DECISIONS:,} more")
        say(f"{count(len(rows), 'text')} explained in {args.out}")
        return
    for number, (_, words) in enumerate(frame.groupby("text", sort=False)):
        if number:
            console().print()
        _print(words, names)
    if has_colour(console()):
        _print_legend(frame, names)
    if args.target is not None and unaffected(names):
        say(f"\n{unaffected(names)}", "dim")


def _print(words: pd.DataFrame, names: list[str]) -> None:
    screen = console()
    screen.print(Text(printable(decision(words)), style="bold"))
    # the same scale down a column, so that a word's colours can be compared with its neighbours'
    strongest = {name: words[name].abs().max() or 1.0 for name in names}
    width = max(len(name) for name in names)
    for name in names if has_colour(screen) else ():
        line = Text(f"{name:{width}}  ", style="dim")
        for place, (word, value) in enumerate(zip(words["word"], words[name], strict=True)):
            line.append(" " if place else "", style="not dim")
            line.append(printable(word), style=shade(value / strongest[name]))
        screen.print(line)
    made = Table(box=None, pad_edge=False, header_style="bold")
    made.add_column("word")
    for name in names:
        made.add_column(name, justify="right", no_wrap=True)
    decimals = {name: _decimals(strongest[name]) for name in names}
    for row in words.to_dict("records"):
        cells = [
            Text(f"{row[n]:z.{decimals[n]}f}", style=shade(row[n] / strongest[n])) for n in names
        ]
        made.add_row(Text(printable(row["word"])), *cells)
    screen.print()
    screen.print(made)
    if note := beside_words(words):
        screen.print(Text(note, style="dim"))


def _print_legend(frame: pd.DataFrame, names: list[str]) -> None:
    """What the colours mean, for importances with a sign and for those without."""
    console().print()
    signed = {name: has_sign(name, frame[name]) for name in names}
    for has in (True, False):
        some = [name for name in names if signed[name] is has]
        if not some:
            continue
        line = Text(f"{', '.join(some)}: ", style="dim")
        meanings = legend(has, targets(frame)).values()
        for strength, meaning in zip((1.0, -1.0), meanings, strict=False):
            line.append("" if strength > 0 else " · ", style="not dim")
            line.append(printable(meaning), style=shade(strength))
        console().print(line)


def _decimals(strongest: float) -> int:
    """Decimals of a column: four, or as many as give its strongest score two digits."""
    least, most = _DECIMALS
    if not 0 < strongest < 1:
        return least
    return min(most, max(least, 1 - math.floor(math.log10(strongest))))
