"""Charts of what was saved, as files for a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from verax.drawing.names import MOST_CHARTED
from verax.errors import VeraxError, nearest
from verax.exams.verdict import Verdict
from verax.files import refuse_unwritable, write_files
from verax.opening import open_shown
from verax.report.charts import Chart, charts_of, charts_of_other
from verax.studies import StudyResults

FORMATS = ("svg", "pdf", "png")


def charts_in(runs: Sequence[str | Path] | Mapping[str, str | Path]) -> list[Chart]:
    """Return the charts of saved results: of several verdicts, or of a study, a sweep, ….

    Args:
        runs: folders, or a mapping of model names to folders. Without names, models are named
            after their folders.
    """
    named = dict(runs) if isinstance(runs, Mapping) else _by_folder(runs)
    if not named:
        raise VeraxError(
            "nothing to draw: give the folder of saved results", code="chart.nothing-to-draw"
        )
    verdicts: dict[str, Verdict] = {}
    for name, run in named.items():
        result = open_shown(run)
        if isinstance(result, Verdict):
            verdicts[name] = result
        elif len(named) > 1:
            raise VeraxError(
                f"{run} is not a saved verdict: several can be drawn of verdicts only",
                code="result.wrong-kind",
            )
        elif isinstance(result, StudyResults):
            verdicts = study_verdicts(result)
        elif isinstance(result, Mapping):
            verdicts = dict(result)
        else:
            return charts_of_other(result)
    return charts_of(verdicts)


def write_figures(charts: Iterable[Chart], folder: str | Path, kind: str = "svg") -> list[Path]:
    """Write each chart to a file named after it, in colours for white paper; return the paths."""
    if kind not in FORMATS:
        raise VeraxError(
            f"unknown format {kind!r}: {nearest(kind, FORMATS)}", code="output.unknown-format"
        )
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise VeraxError(
            f"cannot write {folder}: it is a file, give a folder", code="output.wrong-kind"
        )
    refuse_unwritable(target / "figure")
    files = {f"{chart.name}.{kind}": _file(chart, kind) for chart in charts}
    write_files(target, files)
    return [target / name for name in files]


def study_verdicts(study: StudyResults) -> dict[str, Verdict]:
    """The verdicts of a study's finished cells, named by what tells them apart."""
    if not study.done:
        raise VeraxError(
            f"study {study.name} has no finished cell: run it", code="result.unfinished"
        )
    if len(study.done) > MOST_CHARTED:
        raise VeraxError(
            f"study {study.name} has {len(study.done):,} finished cells, and a chart has room for "
            f"{MOST_CHARTED}: save verdicts of some, open_study(…).verdicts(corpus=…), and draw "
            "these",
            code="chart.too-many",
        )
    cells = study.cells.set_index("cell").loc[study.done]
    varying = [c for c in study.table("summary").columns if c in cells and cells[c].nunique() > 1]
    rows = cells.index.to_series()
    if varying:
        shown = {c: [v if isinstance(v, str) else f"{c} {v}" for v in cells[c]] for c in varying}
        rows = pd.DataFrame(shown, index=cells.index).agg(", ".join, axis=1)
    names = rows.where(~rows.duplicated(keep=False), rows + " " + rows.index)
    return {str(name): study.verdict(str(key)) for key, name in names.items()}


def _by_folder(runs: Sequence[str | Path]) -> dict[str, str | Path]:
    """Name → folder; the name is the last part of the path, or the whole where two end alike."""
    names = [Path(run).name or str(run) for run in runs]
    alike = {name for name in names if names.count(name) > 1}
    by_name: dict[str, str | Path] = {}
    for name, run in zip(names, runs, strict=True):
        by_name[str(run) if name in alike else name] = run
    if len(by_name) < len(runs):
        raise VeraxError("a folder is given twice: give each once", code="option.duplicate")
    return by_name


def _file(chart: Chart, kind: str) -> bytes:
    if kind == "svg":
        return chart.svg("light").encode()
    return chart.pdf() if kind == "pdf" else chart.png()
