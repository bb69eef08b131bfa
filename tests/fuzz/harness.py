"""Runs cases in forked processes, each case within limits of time and memory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import verax.cli
from verax.errors import VeraxError

SECONDS = 10
"""A case that takes longer hangs; of its own time, whatever else the machine does."""
GRACE = 110
"""Seconds more, by the clock, after which a process that only waits is killed."""
MEMORY = 3 << 30
"""Bytes of address space that a case may take beside what the process has."""
TRACEBACK, HANG, MEMORY_OUT, CRASH, WARNING, NONSENSE, WORDS = KINDS = (
    *("traceback", "hang", "memory", "crash", "warning", "nonsense", "words"),
)
"""Failures: an exception or exit code 70; no end; no memory; the process died; a warning of a
library; an input accepted that means nothing; an error that is not one line of Verax."""
LAST_RESORT = 70

Act = Callable[[], str | None]
"""Does what a case is about: None, or in words what nonsense was accepted. Bad input raises
`VeraxError`."""
Maker = Callable[[random.Random, Any, Path], tuple[str, Act]]
"""Makes a case of (random, samples, an empty folder): what it is, and its act."""


class Failure(Exception):  # noqa: N818 (it is what a case comes to)
    """A case that failed, by kind."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind, self.text = kind, text


class _Late(BaseException):
    """Raised in a case that takes too long; no `except Exception` catches it."""


@dataclass
class Outcome:
    """What one case came to: `kind` is None where nothing failed."""

    label: str
    number: int
    kind: str | None
    what: str
    text: str = ""
    refused: bool = False
    seconds: float = 0.0


@dataclass
class Tally:
    """Outcomes of one class."""

    tries: int = 0
    refused: int = 0
    seconds: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)


_COMMANDS_REFUSED: list[bool] = []


def command(arguments: Sequence[str]) -> int:
    """The exit code of a command, run here; `Failure` where it is not as promised.

    Promised are exit codes 0 to 3, on a 2 one or more lines that begin with `verax: `, and no
    warning of a library.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = verax.cli.main(list(arguments))
        except SystemExit as stop:  # --help and --version
            code = int(stop.code or 0) if isinstance(stop.code, int | None) else 1
    text = err.getvalue()
    if code == LAST_RESORT:
        raise Failure(TRACEBACK, text)
    if "Warning:" in text:
        raise Failure(WARNING, text)
    if code not in (0, 1, 2, 3):
        raise Failure(WORDS, f"exit code {code}: {text}")
    if code == 2:
        _COMMANDS_REFUSED.append(True)
        lines = text.strip().splitlines()
        notes = ("verax: ", "running ")
        if not lines or not any(line.startswith("verax: ") for line in lines):
            raise Failure(WORDS, f"exit code 2 and no line: {text!r}")
        if any(not line.startswith(notes) for line in lines):
            raise Failure(WORDS, text)
    return code


def attempt(label: str, number: int, seed: int, make: Maker, samples: Any, folder: Path) -> Outcome:
    """One case, made from its seed, and what it came to."""
    rng = random.Random(f"{seed}:{label}:{number}")
    what, refused, started = "", False, time.monotonic()
    _COMMANDS_REFUSED.clear()

    def late(*_: Any) -> None:
        raise _Late

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    kind: str | None = None
    text = ""
    try:
        what, act = make(rng, samples, folder)
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("default")
            try:
                nonsense = act()
            except VeraxError as error:
                refused, nonsense = True, _words(error)
                kind = WORDS if nonsense else None
            if nonsense:
                kind, text = kind or NONSENSE, nonsense
        stray = [w for w in raised if w.category.__module__.partition(".")[0] != "verax"]
        if kind is None and stray:
            kind, text = WARNING, str(stray[0].message)
    except Failure as failure:
        kind, text = failure.kind, failure.text
    except _Late:
        kind, text = HANG, traceback.format_exc()
    except MemoryError:
        kind, text = MEMORY_OUT, traceback.format_exc()
    except Exception as error:
        kind = MEMORY_OUT if "can't allocate memory" in str(error) else TRACEBACK
        text = traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    refused = refused or bool(_COMMANDS_REFUSED)
    return Outcome(label, number, kind, what, text, refused, time.monotonic() - started)


def _words(error: VeraxError) -> str | None:
    """What is wrong with an error's words, if something is: a user reads a line, not a dump."""
    text = str(error)
    if not text.strip():
        return "an error without words"
    if len(text) > 20_000:
        return f"an error of {len(text)} characters"
    return None


Plan = Sequence[tuple[str, int]]
"""Classes and numbers of the cases to run."""


def run(
    plan: Plan,
    makers: Mapping[str, Maker],
    samples: Any,
    seed: int,
    workers: int = 2,
    keep: Path | None = None,
) -> Iterator[Outcome]:
    """Outcomes of all cases of a plan, in whatever order they end.

    Args:
        plan: which cases.
        makers: class → how its cases are made.
        samples: what makers take.
        seed: of everything.
        workers: processes at a time.
        keep: folder that gets the files of cases that failed, and what was raised.
    """
    parts = [list(plan[start::workers]) for start in range(workers)]
    running = [_Worker(part, makers, samples, seed, keep) for part in parts if part]
    try:
        while running:
            ready, _, _ = select.select([worker.pipe for worker in running], [], [], 1.0)
            for worker in list(running):
                yield from worker.outcomes(worker.pipe in ready)
                if worker.done:
                    running.remove(worker)
    finally:
        for worker in running:
            worker.kill()


class _Worker:
    """A forked process that runs cases one after the other; a new one where it dies."""

    def __init__(
        self, part: Plan, makers: Mapping[str, Maker], samples: Any, seed: int, keep: Path | None
    ) -> None:
        self._rest, self._makers, self._samples = list(part), makers, samples
        self._seed, self._keep = seed, keep
        self.done = False
        self._start()

    def _start(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        reading, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(reading)
            code = 1
            try:
                _work(self._rest, self._makers, self._samples, self._seed, self._keep, writing)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        self.pipe = reading
        self._buffer, self._heard = b"", time.monotonic()

    def outcomes(self, ready: bool) -> Iterator[Outcome]:
        """What was finished since the last call."""
        if ready:
            data = os.read(self.pipe, 1 << 16)
            if not data:
                yield from self._ended()
                return
            self._heard = time.monotonic()
            *lines, self._buffer = (self._buffer + data).split(b"\n")
            for line in lines:
                self._rest.pop(0)
                yield Outcome(**json.loads(line))
        elif time.monotonic() - self._heard > SECONDS + GRACE:
            os.kill(self._process, signal.SIGKILL)
            yield from self._ended(hung=True)

    def _ended(self, hung: bool = False) -> Iterator[Outcome]:
        os.close(self.pipe)
        _, status = os.waitpid(self._process, 0)
        if self._rest:
            label, number = self._rest.pop(0)
            text = "killed" if hung else f"the process died: {status}"
            yield Outcome(label, number, HANG if hung else CRASH, "", text)
        if self._rest:
            self._start()
        else:
            self.done = True

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self.pipe)


def _work(
    part: Plan,
    makers: Mapping[str, Maker],
    samples: Any,
    seed: int,
    keep: Path | None,
    pipe: int,
) -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for label, number in part:
        folder = Path(tempfile.mkdtemp(prefix="verax-fuzz-"))
        outcome = attempt(label, number, seed, makers[label], samples, folder)
        if outcome.kind is not None and keep is not None:
            _keep(outcome, folder, keep, seed)
        shutil.rmtree(folder, ignore_errors=True)
        os.write(pipe, json.dumps({**vars(outcome), "text": outcome.text[-8000:]}).encode() + b"\n")


def _keep(outcome: Outcome, folder: Path, keep: Path, seed: int) -> None:
    """The input of a case that failed, with what was raised and how to run it again."""
    target = keep / f"{outcome.kind}-{outcome.label}-{outcome.number}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target / "input", symlinks=True)
    again = f"python -m fuzz --seed {seed} --only {outcome.label}:{outcome.number}"
    about = f"{outcome.what}\n\nto run it again: {again}\n\n{outcome.text}\n"
    (target / "failure.txt").write_text(about, encoding="utf-8", errors="backslashreplace")
