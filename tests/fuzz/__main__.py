"""`python -m fuzz`: seeded inputs of every class, a table of what they came to.

Exit code 1 where any failed; the input of each, and what was raised, is in the folder --out.
"""

from __future__ import annotations

import argparse
import functools
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import verax.cli
from fuzz.classes import CLASSES
from fuzz.harness import KINDS, Outcome, Plan, Tally, run
from fuzz.samples import make_samples
from support.internals import COMMIT, build_parser, chart

_OFFLINE = "HF_HUB_OFFLINE"


def plan_of(inputs: int) -> Plan:
    """Classes and numbers of so many cases, in the shares of the classes, one after the other."""
    counts = {name: max(1, inputs * share // 100) for name, (_, share) in CLASSES.items()}
    pairs = [(n / counts[name], name, n) for name in counts for n in range(counts[name])]
    return [(name, number) for _, name, number in sorted(pairs)]


@contextmanager
def quickened(put: Callable[[object, str, object], None] = setattr) -> Iterator[None]:
    """Within it, what is the same for every case is made once: the parser; pictures are empty.

    No network is asked for names that no file has.
    """
    put(verax.cli, "build_parser", functools.cache(build_parser))
    put(chart, "drawn", _empty)
    before = os.environ.get(_OFFLINE)
    os.environ[_OFFLINE] = "1"
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        os.environ.pop(_OFFLINE)
        if before is not None:
            os.environ[_OFFLINE] = before


def _empty(spec: object, name: str, title: str, text: str) -> str:
    return f'<svg class="chart" role="img" width="8" height="8"><title>{name}</title></svg>'


def table_of(tallies: Mapping[str, Tally]) -> str:
    """Class, tries, how many were refused, and failures by kind."""
    heads = ["class", "tries", "refused", *KINDS]
    rows = [
        [name, str(tally.tries), str(tally.refused), *(str(tally.failures[kind]) for kind in KINDS)]
        for name, tally in tallies.items()
    ]
    every = [sum(int(row[n]) for row in rows) for n in range(1, len(heads))]
    rows.append(["all", *map(str, every)])
    widths = [max(len(row[n]) for row in [heads, *rows]) for n in range(len(heads))]
    lines = [
        "  ".join(cell.ljust(w) if n == 0 else cell.rjust(w) for n, (cell, w) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in [heads, *rows])
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--classes", help="only these, with commas between them")
    parser.add_argument("--only", help="one case, as CLASS:NUMBER")
    parser.add_argument("--out", type=Path, default=Path(".fuzz"), help="gets inputs that failed")
    args = parser.parse_args()
    started = time.monotonic()
    plan = plan_of(args.inputs)
    if args.only:
        name, _, number = args.only.partition(":")
        plan = [(name, int(number))]
    elif args.classes:
        plan = [case for case in plan if case[0] in args.classes.split(",")]
    shutil.rmtree(args.out, ignore_errors=True)
    args.out.mkdir(parents=True)
    tallies = {name: Tally() for name in CLASSES if any(name == case[0] for case in plan)}
    with tempfile.TemporaryDirectory(prefix="verax-fuzz-") as folder:
        with patch(COMMIT, lambda: None):  # cells of a changed checkout cannot be packed
            samples = make_samples(Path(folder))
        makers = {name: maker for name, (maker, _) in CLASSES.items()}
        with quickened():
            cases = run(plan, makers, samples, args.seed, args.workers, args.out)
            with suppress(KeyboardInterrupt):  # what was done until then is shown
                for done, outcome in enumerate(cases, 1):
                    note(outcome, tallies[outcome.label], verbose=bool(args.only))
                    if done % 1000 == 0:
                        print(
                            f"{done:,} of {len(plan):,} inputs, {time.monotonic() - started:.0f} s"
                        )
                        sys.stdout.flush()
    print(table_of(tallies))
    failed = sum(sum(tally.failures.values()) for tally in tallies.values())
    tries = sum(tally.tries for tally in tallies.values())
    slow = "  ".join(
        f"{name} {tally.seconds / max(1, tally.tries):.2f}" for name, tally in tallies.items()
    )
    print(f"seconds a case: {slow}")
    print(
        f"{tries:,} inputs, seed {args.seed}, {time.monotonic() - started:.0f} s: {failed} failed"
    )
    return 1 if failed else 0


def note(outcome: Outcome, tally: Tally, verbose: bool = False) -> None:
    """Count an outcome, and print it where it is a failure."""
    tally.tries += 1
    tally.seconds += outcome.seconds
    tally.refused += outcome.refused
    if outcome.kind is not None:
        tally.failures[outcome.kind] += 1
        last = outcome.text.strip().splitlines()[-1:] or [""]
        shown = f"{outcome.kind}: {outcome.label}:{outcome.number} {outcome.what}: {last[0]}"
        print(shown.encode("utf-8", "backslashreplace").decode()[:300], flush=True)
    if verbose:
        print(outcome.text.encode("utf-8", "backslashreplace").decode())


if __name__ == "__main__":
    sys.exit(main())
