"""`verax run`: every cell of a study, whatever happens on the way."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from verax.cli.parsing import FLAG, add_options, given_options, listed
from verax.cli.saving import write_page
from verax.cli.terminal import printable, say
from verax.errors import ExitCode, VeraxError
from verax.options import parse
from verax.plugin_files import imported_plugins
from verax.progress import duration
from verax.studies.engines.engine import DIVERGED, count
from verax.studies.grid import read_study, shipped_studies
from verax.studies.grid.study import Hardware, Study
from verax.studies.running.outlook import Outlook, estimate, outlook
from verax.studies.running.run import run as run_cells
from verax.studies.running.run import with_hardware
from verax.studies.running.watching import Bars, Ran, one_line
from verax.studies.store import StudyResults, open_study
from verax.studies.store.store import DONE, FAILED

_MOST_SHOWN = 200
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def add(verbs: Any) -> None:
    parser = verbs.add_parser(
        "run",
        usage="verax run STUDY [--out DIR] [--dry-run] [--budget 25m] [options]",
        help="run a study: corpora × models × seeds × exams",
        description="Run every cell of a study that is not done yet: train a model, put it through "
        "the exams, keep the tables. Stop it whenever you like; the same command goes on. STUDY is "
        f"a YAML file, or one that comes with Verax: {', '.join(shipped_studies())}.",
    )
    parser.add_argument("study", nargs="?", metavar="STUDY", help="file or name of a study")
    parser.add_argument("--out", metavar="DIR", help="where results go, a URL too [its name]")
    add_running(parser)
    parser.add_argument("--corpora", metavar="NAME,…", help="in place of the study's")
    parser.add_argument("--exams", metavar="NAME,…", help="in place of the study's")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="changed",
        metavar="NAME=VALUE",
        help="an option of all models, over the study's own; can be given several times",
    )
    add_options(parser, "where it runs (over the study's own hints)", Hardware)
    parser.set_defaults(run=run)


def add_running(parser: argparse.ArgumentParser) -> None:
    """The flags of every command that runs cells."""
    parser.add_argument("--dry-run", action="store_true", help="show the cells and an estimate")
    parser.add_argument("--budget", metavar="TIME", help="begin no cell after 90s, 25m, 2h, 1h30m")
    parser.add_argument("--retry-failed", action="store_true", help="run failed cells again")
    parser.add_argument("--seeds", metavar="N,…", help="in place of the study's")


def run(args: argparse.Namespace) -> int:
    if args.study is None:
        raise VeraxError(
            f"no study given: verax run STUDY, a YAML file or {' or '.join(shipped_studies())}",
            code="option.missing",
        )
    budget = None if args.budget is None else seconds(args.budget)
    bars = Bars({}, lambda line: print(printable(line), flush=True))
    try:
        with ended_politely():
            study = _read(args)
            out = args.out or study.name
            if args.dry_run:
                show(study, outlook(study, out), args.retry_failed)
                return 0
            bars.labels = {key: printable(label) for key, label in study.labels.items()}
            with bars:
                ran = run_cells(study, out, None, budget, args.retry_failed, bars, progress=True)
    except KeyboardInterrupt:
        how = f"with {bars.ended} of {bars.total} cells done" if bars.total else "before it began"
        raise KeyboardInterrupt(f"stopped {how}; to go on: {again(args)}") from None
    except VeraxError as error:
        if not bars.total:  # nothing was begun
            raise
        raise VeraxError(
            f"{error}; finished cells are kept, to go on: {again(args)}", code=error.code
        ) from error
    for key in set(ran.failed) - bars.shown_failures:
        bars.says(f"failed before: {study.labels[key]}: {one_line(ran.failed[key].get('error'))}")
    return report(ran, out, args)


def _read(args: argparse.Namespace) -> Study:
    study = read_study(
        args.study,
        corpora=_corpora(args.corpora),
        seeds=seed_list(args.seeds),
        exams=parts("--exams", args.exams),
        changed=dict(_pair(text) for text in args.changed),
        progress=True,
    )
    for corpus in study.corpora.values():
        for note in corpus.notes:
            say(f"{corpus.name}: {note}", "dim")
    for note in study.notes:
        say(note, "dim")
    return with_hardware(study, given_options(args, Hardware))


def report(ran: Ran, out: str, args: argparse.Namespace) -> int:
    """What became of the run, in a few lines; the exit code, 1 where cells failed."""
    if ran.failed:
        reasons = Counter(str(record.get("reason")) for record in ran.failed.values())
        why = ", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items()))
        say(
            f"{count(len(ran.failed), 'cell')} failed ({why}): tracebacks are in {out}/failed, or "
            f"open_study({out!r}).failures; to run them again: {again(args, '--retry-failed')}",
            "bold",
        )
    if DIVERGED in {record.get("reason") for record in ran.failed.values()}:
        say("those that diverged will do so again: change the study")
    if ran.beside:
        say(
            f"{count(ran.beside, 'cell')} more in {out}, of other seeds or options than this "
            "run's: kept, and shown by open_study(…, every=True)"
        )
    if ran.left:
        say(f"time is up: {ran.left} of {ran.cells} cells are left; to go on: {again(args)}")
    say(
        f"{ran.finished} of {ran.cells} cells are done, in {out}: "
        f"verax.open_study({out!r}).summary() has their numbers"
    )

    def examined() -> StudyResults | None:
        results = open_study(out)
        return results if "summary" in results.tables else None

    if ran.finished and "://" not in out:
        write_page(examined, out)
    return ExitCode.FAILED if ran.failed else ExitCode.DONE


def show(study: Study, plan: Outlook, retry_failed: bool) -> None:
    """The cells, what each would come to, and how long it may take."""
    if study.question:
        say(one_line(study.question), "italic")
    for number, cell in enumerate(study.cells):
        if number == _MOST_SHOWN:
            say(f"… and {len(study.cells) - number} more")
            break
        state = plan.states.get(cell.key, "to do")
        say(f"{cell.key}  {state:7}  {study.labels[cell.key]}")
    left_out = {DONE} if retry_failed else {DONE, FAILED}
    not_run = [key for key, state in plan.states.items() if state in left_out]
    guess = estimate(study, plan.finished, not_run, plan.workers)
    time = "no estimate yet: no cell has finished"
    if guess.seconds is not None:
        basis = f"estimated from {count(guess.measured, 'cell')} that finished"
        time = f"about {duration(guess.seconds)} ({basis})"
    say(f"{count(len(study.cells), 'cell')}, {guess.cells} to run on {plan.where}: {time}")


def again(args: argparse.Namespace, *more: str) -> str:
    """The command that goes on with this run."""
    words = ["verax", "run", args.study]
    for file in imported_plugins():
        words += [FLAG, os.path.relpath(file.path)]
    for name in ("out", "budget", "corpora", "seeds", "exams"):
        if getattr(args, name) is not None:
            words += [f"--{name}", getattr(args, name)]
    for pair in args.changed:
        words += ["--set", pair]
    for name, value in given_options(args, Hardware).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", str(value)]
    if args.retry_failed and "--retry-failed" not in more:
        words.append("--retry-failed")
    return " ".join(shlex.quote(word) for word in [*words, *more])


def seconds(text: str) -> float:
    """A time written as 90s, 25m, 2h or 1h30m.

    >>> seconds("1h30m")
    5400.0
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text.strip().lower())
    if not parts or "".join(n + u for n, u in parts) != text.strip().lower():
        raise VeraxError(
            f"--budget is {text!r}: expected a time such as 90s, 25m, 2h or 1h30m",
            code="option.malformed",
        )
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if total <= 0:
        raise VeraxError(f"--budget is {text!r}: it must be above 0", code="option.out-of-range")
    return total


@contextmanager
def ended_politely() -> Iterator[None]:
    """A request to end, as schedulers send it, is treated as Ctrl-C."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def parts(flag: str, text: str | None) -> list[str] | None:
    return None if text is None else listed(flag, text)


def _corpora(text: str | None) -> list[str] | None:
    """Names with commas between them; `planted:classes=3,length=40` is one."""
    names: list[str] = []
    for part in parts("--corpora", text) or []:
        goes_on = bool(names) and ":" in names[-1] and re.fullmatch(r"\w+=[\w.]+", part)
        names[-1:] = [f"{names[-1]},{part}"] if goes_on else [*names[-1:], part]
    return names or None


def seed_list(text: str | None) -> list[int] | None:
    seeds = parts("--seeds", text)
    return None if seeds is None else [parse("seeds", part, int) for part in seeds]


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise VeraxError(
            f"--set is {text!r}: expected NAME=VALUE, such as epochs=2", code="option.malformed"
        )
    return name.strip().replace("-", "_"), value.strip()
