"""Charts of what was saved, as files for a paper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from verax.errors import VeraxError, nearest
from verax.exams.verdict import MANIFEST, Verdict, load_verdict
from verax.models.saving import is_model_folder
from verax.report.charts import Chart, charts_of
from verax.report.rendering import require_altair
from verax.studies.adversaries.adversaries import MANIFEST as ADVERSARIES
from verax.studies.adversaries.adversaries import load_adversaries
from verax.studies.store import StudyResults, open_study
from verax.studies.sweep import MANIFEST as SWEEP
from verax.studies.sweep import Sweep

FORMATS = ("svg", "pdf", "png")
MOST = 8
"""Models on one chart."""


def charts_in(runs: Sequence[str | Path] | Mapping[str, str | Path]) -> list[Chart]:
    """The charts of saved results: of verdicts together, of a sweep, of adversaries, of a study.

    `runs` are folders, or folders by the names that models shall have on the charts; without names
    they are called as their folders are.
    """
    named = dict(runs) if isinstance(runs, Mapping) else _by_folder(runs)
    if not named:
        raise VeraxError("nothing to draw: give the folder of a saved verdict, sweep or study")
    verdicts: dict[str, Verdict] = {}
    others: list[Chart] = []
    for name, run in named.items():
        path = Path(run)
        if (path / MANIFEST).is_file() and not is_model_folder(path):
            verdicts[name] = load_verdict(path)
        elif len(named) > 1:
            raise VeraxError(f"{run} is not a saved verdict: several can be drawn of verdicts only")
        elif (path / SWEEP).is_file():
            others += charts_of_sweep(load_sweep(path))
        elif (path / ADVERSARIES).is_file():
            require_altair()
            from verax.report.charts import adversaries

            others += adversaries.charts(load_adversaries(path))
        elif is_model_folder(path):
            raise VeraxError(f"{run} is a model: examine it, and draw the verdict")
        else:
            verdicts |= study_verdicts(_study(run))
    return [*(charts_of(verdicts) if verdicts else ()), *others]


def charts_of_sweep(sweep: Sweep) -> list[Chart]:
    """Curves along λ."""
    require_altair()
    from verax.report.charts import sweep as drawn

    return list(drawn.charts(sweep))


def write_figures(charts: Iterable[Chart], folder: str | Path, kind: str = "svg") -> list[Path]:
    """Write each chart as a file of its name, in the colours of white paper; gives the paths."""
    if kind not in FORMATS:
        raise VeraxError(f"unknown format {kind!r}: {nearest(kind, FORMATS)}")
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise VeraxError(f"cannot write {folder}: it is a file, give a folder")
    paths = []
    for chart in charts:
        made = _file(chart, kind)
        path = target / f"{chart.name}.{kind}"
        try:
            target.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made)
        except OSError as error:
            raise VeraxError(f"cannot write {path}: {error.strerror}") from error
        paths.append(path)
    return paths


def load_sweep(folder: str | Path) -> Sweep:
    """The sweep saved in `folder`."""
    path = Path(folder)
    try:
        manifest = json.loads((path / SWEEP).read_text(encoding="utf-8"))
        return Sweep(pd.read_parquet(path / "instances.parquet"), manifest)
    except (OSError, ValueError) as error:
        raise VeraxError(f"cannot read {folder}: {error}") from error


def study_verdicts(study: StudyResults) -> dict[str, Verdict]:
    """The verdicts of a study's finished cells, named by what tells them apart."""
    if not study.done:
        raise VeraxError(f"study {study.name} has no finished cell: run it")
    if len(study.done) > MOST:
        raise VeraxError(
            f"study {study.name} has {len(study.done):,} finished cells, and a chart has room for "
            f"{MOST}: save verdicts of some, open_study(…).verdicts(corpus=…), and draw these"
        )
    cells = study.cells.set_index("cell").loc[study.done]
    told = [c for c in study.table("summary").columns if c in cells and cells[c].nunique() > 1]
    rows = cells.index.to_series()
    if told:
        shown = {c: [v if isinstance(v, str) else f"{c} {v}" for v in cells[c]] for c in told}
        rows = pd.DataFrame(shown, index=cells.index).agg(", ".join, axis=1)
    names = rows.where(~rows.duplicated(keep=False), rows + " " + rows.index)
    return {str(name): study.verdict(str(key)) for key, name in names.items()}


def _study(run: str | Path) -> StudyResults:
    try:
        return open_study(run)
    except VeraxError as error:
        raise VeraxError(
            f"nothing to draw in {run}: expected a saved verdict, sweep, adversaries or study "
            f"({error})"
        ) from error


def _by_folder(runs: Sequence[str | Path]) -> dict[str, str | Path]:
    """The last part of each path, or the whole where two end alike."""
    names = [Path(run).name or str(run) for run in runs]
    alike = {name for name in names if names.count(name) > 1}
    found: dict[str, str | Path] = {}
    for name, run in zip(names, runs, strict=True):
        found[str(run) if name in alike else name] = run
    if len(found) < len(runs):
        raise VeraxError("a folder is given twice: give each once")
    return found


def _file(chart: Chart, kind: str) -> bytes:
    if kind == "svg":
        return chart.svg("light").encode()
    return chart.pdf() if kind == "pdf" else chart.png()
