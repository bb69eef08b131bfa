"""Run parts of several papers as one queue on one machine, for a limited time, and pack results.

    python scripts/run_papers.py --store ~/store --vectors ~/vectors --seconds 540 --out packed

Cells go by priority, then by seed, then the longest first. Workers are shared by all papers, and
corpora are read once for all calls. Strengths of Tutek & Šnajder's models are chosen by their rules
as soon as `selection` is done, and models that need them follow. No cell begins that is not
expected to end in time; after --seconds what still runs is ended, and all that is finished is
packed. The same command goes on where the last one ended.

OUT has packed.tar.0, packed.tar.1, … (`cat packed.tar.* | tar x` makes PAPER/PART and
PAPER/probes/PART of them), strengths.json and log.txt.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pickle
import shutil
import signal
import sys
import tarfile
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

from verax.corpora.corpus import Corpus
from verax.papers.packing import pack_paper
from verax.papers.paper import Paper, laid
from verax.papers.probing import PROBES
from verax.papers.registry import paper
from verax.papers.results import Missing, PaperResults
from verax.papers.tutek_snajder_2020.functions import chosen_strengths
from verax.studies.engines import engine as engines
from verax.studies.engines.local import LocalEngine
from verax.studies.engines.machine import commit
from verax.studies.grid.cell import Cell
from verax.studies.grid.reading import read_study
from verax.studies.grid.study import Hardware, Study
from verax.studies.running.outlook import work_of
from verax.studies.running.run import with_hardware
from verax.studies.running.runner import Runner, Waiting, run_all
from verax.studies.running.watching import Watcher
from verax.studies.store.store import UNCOMMITTED, Store

FULL = "full"
TUTEK = "tutek-snajder-2020"
GLOVE = "glove-100d.txt.gz"
PIECE = 15 * 2**20
KEPT_CORPORA = 8
"""Corpora that a worker keeps: cells of many corpora alternate."""


@dataclass(frozen=True)
class Wanted:
    """Parts that are to be run.

    parts    names, or patterns
    each     seconds that a cell may take, before any has ended
    vectors  the file of word vectors
    """

    priority: int
    paper: str
    scale: str
    parts: str
    each: float
    vectors: str = GLOVE


def _read(path: Path) -> list[Wanted]:
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Wanted(**row) for row in rows]


@dataclass(eq=False)
class Log(Watcher):
    """Writes a line for each cell that ends, and counts seconds by part."""

    path: Path
    began: float = field(default_factory=time.monotonic)
    labels: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    failed: int = 0

    def write(self, line: str) -> None:
        text = f"{time.monotonic() - self.began:6.0f}  {line}"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def say(self, line: str) -> None:
        self.write(line)
        print(f"{time.monotonic() - self.began:6.0f}  {line}", flush=True)

    def finishes(self, key: str, facts: Mapping[str, Any]) -> None:
        took = float(facts.get("seconds", {}).get("total") or 0.0)
        self.seconds.setdefault(self.parts[key], []).append(took)
        self.write(f"{took:6.1f} s  {self.parts[key]}  {self.labels[key]}")

    def fails(self, key: str, record: Mapping[str, Any]) -> None:
        self.failed += 1
        say = self.say if self.failed <= 10 else self.write
        say(f"failed  {self.parts[key]}  {self.labels[key]}: {str(record.get('error'))[:300]}")
        self.write(str(record.get("traceback")))

    def gives_up(self, key: str, why: str) -> None:
        self.write(f"again  {self.parts[key]}  {self.labels[key]}: {why[:200]}")

    def expected(self, part: str, guess: float) -> float:
        """Seconds that a cell of a part may take: a little more than any that ended."""
        known = self.seconds.get(part)
        return 1.15 * max(known) if known else guess


class Queue:
    """What waits, and what is known of its cells."""

    def __init__(self, args: argparse.Namespace, log: Log, wanted: list[Wanted]) -> None:
        self.args, self.log, self.wanted = args, log, wanted
        self.deadline = time.monotonic() + args.seconds
        self.loaded: dict[str, Corpus] = {}
        self.hardware: dict[str, Any] = {"workers": args.workers, "device": args.device}
        self.hardware["mps"] = args.mps
        self.rank: dict[Runner, tuple[int, float]] = {}
        self.names: dict[Runner, str] = {}
        self.turns: dict[Runner, dict[int, int]] = {}
        self.selection: Runner | None = None
        self.strengths: dict[str, Any] | None = None
        self.held: Waiting = []

    def sources(self) -> Iterable[tuple[Wanted, str, dict[str, Any]]]:
        """Each wanted part, as a study's file would hold it."""
        for one in self.wanted:
            studies = self.paper(one.paper).studies(one.scale)
            for part, source in studies.items():
                if any(fnmatch(part, pattern) for pattern in one.parts.split()):
                    yield one, part, _tiny(source) if self.args.tiny else source

    def paper(self, name: str) -> Paper:
        """A paper, with the strengths that were chosen here in place of those of its file."""
        found = paper(name)
        if name != TUTEK or self.strengths is None:
            return found
        own = replace(found)
        vars(own)["_studies"] = {**found._studies, "strengths": self.strengths}
        return own

    def needs_strengths(self, one: Wanted, part: str) -> bool:
        if one.paper != TUTEK or part == "selection":
            return False
        parts = paper(TUTEK)._studies["parts" if one.scale == FULL else PROBES]
        return _names_a_rule(parts[part]["models"], paper(TUTEK)._studies["strengths"])

    def load(self) -> None:
        """Read and tokenise every corpus once, several at a time; later calls find them."""
        cache = Path(self.args.store) / f"corpora{'-tiny' if self.args.tiny else ''}.pickle"
        read: set[str] = set()
        if cache.exists():
            read, self.loaded = pickle.loads(cache.read_bytes())  # noqa: S301  our own
        corpora: dict[str, dict[str, Any]] = {}
        for _, _, source in self.sources():
            for name, options in source["corpora"].items():
                corpora.setdefault(json.dumps([name, options], sort_keys=True), {name: options})
        new = {key: section for key, section in corpora.items() if key not in read}
        if new:
            with ProcessPoolExecutor(min(len(new), self.args.loaders)) as pool:
                for one in pool.map(_load, new.values()):
                    self.loaded |= pickle.loads(one)  # noqa: S301
            read |= set(new)
            cache.write_bytes(pickle.dumps((read, self.loaded), pickle.HIGHEST_PROTOCOL))
        self.log.say(f"{len(corpora)} corpora, {len(new)} of them read anew")

    def runners(self, with_strengths: bool) -> Waiting:
        """Cells of the parts that do, or do not, need strengths, which are left to run."""
        waiting: Waiting = []
        for one, part, source in self.sources():
            if self.needs_strengths(one, part) != with_strengths:
                continue
            name = f"{one.paper}/{one.scale}/{part}"
            vectors = str(Path(self.args.vectors) / one.vectors)
            named = "vectors" in (source.get("training") or {})
            changed = {} if named else {"vectors": vectors}
            study = read_study(source, changed=changed, loaded=self.loaded)
            study = with_hardware(study, self.hardware)
            if self.args.tiny:
                study = _few(study, 200 if part == "selection" else 2)
            folder = Path(self.args.store) / one.paper / one.scale / part
            store = Store.create(folder, study.name, study.text, study.resolved(), None)
            left = self.deadline - time.monotonic()
            runner = Runner(study, store, self.log, budget=max(left, 0.001), retry_failed=True)
            self.rank[runner], self.names[runner] = (one.priority, one.each), name
            seeds = dict.fromkeys(cell.seed for cell in study.cells)
            self.turns[runner] = {seed: turn for turn, seed in enumerate(seeds)}
            for key, label in study.labels.items():
                self.log.labels[key], self.log.parts[key] = label, name
            for key in sorted(store.keys()):
                took = store.manifest(key).get("seconds", {}).get("total")
                self.log.seconds.setdefault(name, []).append(float(took or 0.0))
            if (one.paper, part) == (TUTEK, "selection"):
                self.selection = runner
            waiting += [(runner, cell) for cell in runner.pending()]
        return waiting

    def choose(self) -> bool:
        """Choose strengths once all of the selection is done; whether they were chosen now."""
        if self.selection is None or self.strengths is not None:
            return False
        ran = self.selection.ran
        if self.selection.in_flight or ran.finished < ran.cells:
            return False
        found = paper(TUTEK)
        results = PaperResults.open(self.selection.store.folder.shown)
        assert found.grid is not None
        self.strengths = chosen_strengths(results, found.grid)
        text = json.dumps(self.strengths, indent=1)
        (Path(self.args.store) / "strengths.json").write_text(text, encoding="utf-8")
        self.log.say(f"strengths: {json.dumps(self.strengths)}")
        return True

    def position(self, waiting: tuple[Runner, Cell]) -> tuple[int, int, float]:
        runner, cell = waiting
        return (
            self.rank[runner][0],
            self.turns[runner][cell.seed],
            -work_of(cell, runner.study.corpora),
        )

    def revise(self, waiting: Waiting) -> Waiting:
        """What waits from now on: with what strengths decide, without what would end too late."""
        if self.choose():
            waiting = sorted([*waiting, *self.runners(True)], key=self.position)
        left = self.deadline - time.monotonic()
        expected = {r: self.log.expected(self.names[r], self.rank[r][1]) for r, _ in waiting}
        late = [one for one in waiting if expected[one[0]] > left]
        if late:
            self.held += late
            waiting = [one for one in waiting if expected[one[0]] <= left]
        return waiting


def _names_a_rule(section: Any, rules: Mapping[str, Any]) -> bool:
    if isinstance(section, Mapping):
        return any(
            (name == "strength" and value in rules)
            if isinstance(value, str)
            else _names_a_rule(value, rules)
            for name, value in section.items()
        )
    return isinstance(section, list) and any(_names_a_rule(value, rules) for value in section)


def _load(corpora: dict[str, Any]) -> bytes:
    """Corpora as `read_study` keeps them, tokenised and pickled."""
    loaded: dict[str, Corpus] = {}
    models = {"encoder": "none"}
    read_study(
        {"name": "load", "corpora": corpora, "models": models, "exams": ["replacement"]},
        loaded=loaded,
    )
    for corpus in loaded.values():
        for documents in corpus.splits.values():
            documents.tokenise(iter)
    return pickle.dumps(loaded)


def _tiny(source: dict[str, Any]) -> dict[str, Any]:
    """A study of few documents and one epoch."""
    corpora = {name: {**options, "limit": 48} for name, options in source["corpora"].items()}
    small = laid(source, {"corpora": corpora, "training": {"epochs": 1, "select_from": 1}})
    for model in small["models"]:
        model.pop("epochs", None)
        for item in model["encoder"] if isinstance(model["encoder"], list) else []:
            if isinstance(item, dict):
                for options in item.values():
                    options.pop("epochs", None)
    small["sample"] = 8
    small["seeds"] = source["seeds"][:1]
    if small.get("adversaries"):
        small["adversaries"] = {**small["adversaries"], "lams": [0, 1], "epochs": 1}
    return small


def _few(study: Study, cells: int) -> Study:
    return replace(study, cells=study.cells[:cells])


class TimeUp(Exception):  # noqa: N818  no fault
    """The time is up: what runs is ended."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queue", default=str(Path(__file__).with_name("queue.yaml")), type=str)
    parser.add_argument("--store", required=True, help="where studies are kept between calls")
    parser.add_argument("--vectors", required=True, help="the folder of files of word vectors")
    parser.add_argument("--out", required=True, help="where packed results go")
    parser.add_argument("--seconds", type=float, required=True, help="until results are packed")
    parser.add_argument("--workers", type=int, default=15)
    parser.add_argument("--loaders", type=int, default=8, help="corpora that are read at once")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--mps", action="store_true")
    parser.add_argument(
        "--tiny", action="store_true", help="few documents, one epoch, two cells a part"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what is left, and what it may take"
    )
    args = parser.parse_args()
    if str(commit()).endswith(UNCOMMITTED):
        parser.error("the package has uncommitted changes, so that nothing could be packed")
    out, store = Path(args.out), Path(args.store)
    out.mkdir(parents=True, exist_ok=True)
    store.mkdir(parents=True, exist_ok=True)
    engines.KEPT_CORPORA = KEPT_CORPORA
    log = Log(out / "log.txt")
    queue = Queue(args, log, _read(Path(args.queue)))
    queue.load()
    waiting = sorted(queue.runners(False), key=queue.position)
    if queue.choose():
        waiting = sorted([*waiting, *queue.runners(True)], key=queue.position)
    costs: dict[str, list[float]] = {}
    for runner, _ in waiting:
        name = queue.names[runner]
        costs.setdefault(name, []).append(log.expected(name, queue.rank[runner][1]))
    total = sum(sum(costs[name]) for name in costs)
    log.say(f"{len(waiting)} cells wait, about {total:,.0f} s of a process")
    if args.dry_run:
        for name, each in sorted(costs.items(), key=lambda pair: -sum(pair[1])):
            log.say(f"{name}: {len(each)} cells, {sum(each):,.0f} s")
        return 0

    def end(*_: object) -> None:
        raise TimeUp

    signal.signal(signal.SIGALRM, end)
    engine = LocalEngine(Hardware(**queue.hardware))
    try:
        log.say(engine.describe())
        signal.setitimer(signal.ITIMER_REAL, max(queue.deadline - time.monotonic(), 1.0))
        run_all(engine, waiting, queue.revise)
    except TimeUp:
        log.say("the time is up")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        engine.stop()
    pack(store, out, log)
    for runner, name in queue.names.items():
        done = len(runner.store.keys())
        took = log.seconds.get(name, [])
        mean = f", {sum(took) / len(took):.0f} s each" if took else ""
        log.say(f"{name}: {done} of {len(runner.study.cells)}{mean}")
    return 1 if log.failed else 0


def pack(store: Path, out: Path, log: Log) -> None:
    """Pack what is finished, as a tar in pieces."""
    packed = store / "packed"
    shutil.rmtree(packed, ignore_errors=True)
    for folder in sorted(store.glob("*/*/")):
        name, scale = folder.parent.name, folder.name
        if scale not in (FULL, PROBES):
            continue
        target = packed / name if scale == FULL else packed / name / PROBES
        try:
            pack_paper(paper(name), folder, target)
        except Missing:
            continue
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        if packed.exists():
            tar.add(packed, arcname=".")
    for old in out.glob("packed.tar.*"):
        old.unlink()
    whole = data.getvalue()
    for number in range(0, max(len(whole), 1), PIECE):
        (out / f"packed.tar.{number // PIECE}").write_bytes(whole[number : number + PIECE])
    if (store / "strengths.json").exists():
        shutil.copy(store / "strengths.json", out / "strengths.json")
    log.say(f"packed: {len(whole) / 2**20:.1f} MiB")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
