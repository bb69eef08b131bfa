"""`run_study`: from a study file to its tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.options import build, check
from verax.progress import Display, is_watched
from verax.studies.engines.engine import Engine
from verax.studies.engines.local import HereEngine, LocalEngine
from verax.studies.engines.machine import gpus
from verax.studies.grid.cell import Cell
from verax.studies.grid.reading import read_study
from verax.studies.grid.study import Hardware, Study
from verax.studies.running.outlook import work_of
from verax.studies.running.runner import Runner, Waiting, run_all
from verax.studies.running.watching import Bars, Ran, Watcher
from verax.studies.store.results import StudyResults, open_study
from verax.studies.store.store import Store

HERE = "here"
"""The engine that runs cells in this process."""


def run_study(
    study: Study | str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    *,
    filesystem: Any = None,
    budget: float | None = None,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    progress: bool | None = None,
    corpora: Iterable[Any] | None = None,
    seeds: Iterable[int] | None = None,
    exams: Iterable[Any] | None = None,
    changed: Mapping[str, Any] | None = None,
    **hardware: Any,
) -> StudyResults:
    """Run what is not done yet of a study, and open its results.

    Args:
        study: a file, the name of a study that comes with Verax, a mapping as a file would hold
            it, or what `read_study` returned.
        folder: where results go; without it, a folder of the study's name.
        filesystem: the fsspec filesystem that the folder is on; without it, this machine's.
        budget: seconds after which no cell is begun.
        retry_failed: whether cells that failed are run again.
        watcher: is called as the run goes on, in place of the bars.
        progress: show how far it got; None shows it on a terminal and in a notebook.
        corpora, seeds, exams: take the place of the study's.
        changed: options laid over those of all models.
        hardware: fields of `Hardware`, over the study's own.

    Returns:
        The results of all cells that are done.

    >>> import tempfile, verax
    >>> study = {
    ...     "name": "two-seeds",
    ...     "corpora": {"planted": {"documents": 120}},
    ...     "models": {"encoder": "none"},
    ...     "training": {"epochs": 1},
    ...     "seeds": [0, 1],
    ...     "exams": ["replacement"],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = verax.run_study(study, folder, workers=1)
    ...     results.cells["status"].tolist()
    ['done', 'done']
    """
    progress = is_watched() if progress is None else progress
    if not isinstance(study, Study):
        study = read_study(
            study, corpora=corpora, seeds=seeds, exams=exams, changed=changed, progress=progress
        )
    elif any(setting is not None for setting in (corpora, seeds, exams, changed)):
        raise VeraxError(
            "this study is read already: give corpora, seeds, exams to verax.studies.read_study",
            code="option.conflict",
        )
    study = with_hardware(study, hardware)
    folder = study.name if folder is None else folder
    run(study, folder, filesystem, budget, retry_failed, watcher, progress)
    return open_study(folder, filesystem=filesystem)


def hardware_of(engine: str, **fields: Any) -> tuple[Hardware, bool]:
    """Hardware options, checked, and whether cells run in this process (engine "here")."""
    here = engine == HERE
    return build(Hardware, {"engine": "local" if here else engine, **fields}), here


def run_studies(
    studies: Iterable[tuple[Study | str | Path | Mapping[str, Any], str | Path]],
    *,
    order: Callable[[Study, Cell], Any] | None = None,
    filesystem: Any = None,
    budget: float | None = None,
    retry_failed: bool = False,
    progress: bool | None = None,
    **hardware: Any,
) -> list[StudyResults]:
    """Run several studies side by side, each into its own folder.

    The studies share the workers, so that none of these is idle while the last cells of a study
    finish. Cells that are done already are not run again.

    Args:
        studies: pairs of a study, as `run_study` takes it, and its folder.
        order: sort key of a study's cell; cells with small keys start first. By default the
            cells with the most work do.
        filesystem: the fsspec filesystem that the folders are on; by default the local one.
        budget: seconds after which no cell is started.
        retry_failed: whether to run failed cells again.
        progress: whether to show progress; None shows it on a terminal and in a notebook.
        hardware: fields of `Hardware`, which override those of the studies.

    Returns:
        The results of each study.

    >>> import tempfile, verax
    >>> study = {
    ...     "corpora": {"planted": {"documents": 120}},
    ...     "training": {"epochs": 1},
    ...     "exams": ["replacement"],
    ... }
    >>> encoders = ["none", "mlp"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = verax.run_studies(
    ...         [({**study, "models": {"encoder": e}}, f"{folder}/{e}") for e in encoders],
    ...         order=lambda study, cell: cell.seed,
    ...         workers=1,
    ...     )
    ...     [study.counts for study in results]
    [{'done': 1}, {'done': 1}]
    """
    progress = is_watched() if progress is None else progress
    loaded: dict[str, Corpus] = {}
    read = [
        (
            study
            if isinstance(study, Study)
            else read_study(study, loaded=loaded, progress=progress),
            folder,
        )
        for study, folder in studies
    ]
    chosen = [(with_hardware(study, hardware), folder) for study, folder in read]
    run_several(
        chosen, filesystem, budget, retry_failed=retry_failed, progress=progress, order=order
    )
    return [open_study(folder, filesystem=filesystem) for _, folder in chosen]


def with_hardware(study: Study, fields: Mapping[str, Any]) -> Study:
    """The study with these fields of its hardware changed."""
    checked = build(Hardware, fields)
    changed = {name: getattr(checked, name) for name in fields}
    return replace(study, hardware=replace(study.hardware, **changed))


def run(
    study: Study,
    folder: str | Path,
    filesystem: Any = None,
    budget: float | None = None,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    progress: bool | Display = False,
) -> Ran:
    """Run what is left of a study; `run_study` without the opening of results."""
    return run_several([(study, folder)], filesystem, budget, retry_failed, watcher, progress)[0]


def run_several(
    studies: Sequence[tuple[Study, str | Path]],
    filesystem: Any = None,
    budget: float | None = None,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    progress: bool | Display = False,
    order: Callable[[Study, Cell], Any] | None = None,
) -> list[Ran]:
    """Run what is left of several studies side by side, each into its own folder.

    They share the workers, so that none waits for the last cells of a study before the next. Where
    they run is what the first of them says. `progress` shows corpora being tokenized, and bars
    where there is no watcher.
    """
    if watcher is None:
        labels = {key: label for study, _ in studies for key, label in study.labels.items()}
        with watching(labels, progress is True) as shown_as:
            return run_several(studies, filesystem, budget, retry_failed, shown_as, progress, order)
    budget = None if budget is None else check("budget", budget, float, {"above": 0})
    hardware = studies[0][0].hardware
    refuse_hardware(hardware)
    runners = []
    for study, folder in studies:
        store = Store.create(folder, study.name, study.text, study.resolved(), filesystem)
        runners.append(Runner(study, store, watcher, budget=budget, retry_failed=retry_failed))
    waiting: list[tuple[Runner, Any]] = [(r, cell) for r in runners for cell in r.pending()]
    all_ran = [runner.ran for runner in runners]
    each = [(ran.cells, ran.kept, len(ran.failed)) for ran in all_ran]
    counts = [sum(numbers) for numbers in zip(*each, strict=True)]
    if not waiting:
        watcher.begins("nothing to run", *counts)
        return all_ran
    engine = make_engine(hardware)
    for_gpus = hardware.mps or hardware.cells_per_gpu is not None
    if for_gpus and hardware.engine == "local" and not gpus(hardware.device):
        watcher.says("no GPU here: mps and cells_per_gpu have no effect in this run")
    try:
        watcher.begins(engine.describe(), *counts)
        waiting = in_order(waiting, seed_by_seed=budget is not None)
        if order is not None:
            waiting.sort(key=lambda pair: order(_study(pair[0]), pair[1]))
        run_all(engine, waiting)
    finally:
        engine.stop()
    return all_ran


@contextmanager
def watching(labels: Mapping[str, str], progress: bool | None) -> Iterator[Watcher]:
    """A watcher that draws bars, or one that shows nothing.

    Args:
        labels: names of cells by key.
        progress: whether to draw; None draws on a terminal and in a notebook.
    """
    if is_watched() if progress is None else progress:
        with Bars(labels, lambda line: print(line, file=sys.stderr, flush=True)) as bars:  # noqa: T201
            yield bars
    else:
        yield Watcher()


def run_cells(
    runner: Runner, *, here: bool, revise: Callable[[Waiting], Waiting] | None = None
) -> None:
    """Run what is left of one study or grid.

    Args:
        runner: the runner.
        here: whether cells run in this process, whatever the hardware options say.
        revise: see `run_all`; called first if nothing is left.
    """
    waiting: Waiting = [(runner, cell) for cell in runner.pending()]
    if not waiting and revise is not None:
        waiting = revise(waiting)
    hardware, watcher, ran = runner.study.hardware, runner.watcher, runner.ran
    counts = (ran.cells, ran.kept, len(ran.failed))
    if not waiting:
        watcher.begins("nothing to run", *counts)
        return
    engine = HereEngine(hardware.device, watcher.progresses) if here else make_engine(hardware)
    try:
        watcher.begins(engine.describe(), *counts)
        run_all(engine, waiting, revise)
    finally:
        engine.stop()


def make_engine(hardware: Hardware) -> Engine:
    """The engine that the hardware options name; none of its workers has started."""
    if hardware.engine == "ray":
        from verax.studies.engines.ray_engine import RayEngine

        return RayEngine(hardware)
    return LocalEngine(hardware)


def refuse_hardware(hardware: Hardware) -> None:
    """An error where this machine lacks what the options name, before anything is written."""
    if hardware.engine == "ray":
        from verax.studies.engines.ray_cluster import import_ray

        import_ray(alone=hardware.address is None)
        return
    if hardware.address is not None:
        raise VeraxError(
            "address is of a Ray cluster: add engine ray, or leave it out", code="option.conflict"
        )
    gpus(hardware.device)


def in_order(
    waiting: Sequence[tuple[Runner, Cell]], seed_by_seed: bool
) -> list[tuple[Runner, Cell]]:
    """The cells with the most work first, so that no long one is left for the end.

    `seed_by_seed` begins all cells of a study's first seed before any of its second. A run that a
    budget ends then has every configuration once, rather than some of them often.
    """
    turns: dict[Runner, dict[int, int]] = {}
    for runner in dict.fromkeys(runner for runner, _ in waiting):
        seeds = dict.fromkeys(cell.seed for cell in _study(runner).cells)
        turns[runner] = {seed: turn if seed_by_seed else 0 for turn, seed in enumerate(seeds)}

    def position(runner_and_cell: tuple[Runner, Cell]) -> tuple[int, float]:
        runner, cell = runner_and_cell
        return turns[runner][cell.seed], -work_of(cell, _study(runner).corpora)

    return sorted(waiting, key=position)


def _study(runner: Runner) -> Study:
    assert isinstance(runner.study, Study)
    return runner.study
