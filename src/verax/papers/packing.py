"""`pack_paper`: what a paper's studies found, as a few files that can be kept beside the code.

    PART/cells.parquet, summary.parquet, history.parquet [, instances.parquet]
    delta_js_points.parquet    of parts that erase, for the scatter plots

No document is in them: tables have numbers of documents and positions of words, never text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from verax.errors import VeraxError
from verax.papers.belonging import refuse_others
from verax.papers.paper import Paper
from verax.papers.points import POINTS, delta_js_points
from verax.papers.results import KEPT, PaperResults, is_study, studies_in
from verax.studies.store import StudyResults, open_study, pack

_ALWAYS = ("summary", "history")
_SOURCE = "erasure_single"


def pack_paper(
    paper: Paper, folder: str | Path, out: str | Path, progress: bool = False
) -> PaperResults:
    """Pack every study below `folder` that has a finished cell into `out`, a folder each.

    What is in `out` already and not in `folder` stays, so that parts can come from several runs.
    Studies of other papers, or of none, are refused in both.
    """
    folder, out = Path(folder), Path(out)
    studies = [path for path in sorted(folder.glob("*/")) if is_study(path)]
    if not studies:
        raise VeraxError(f"{folder} holds no study: give the folder that verax papers run wrote")
    for place in (folder, out):
        refuse_others(paper, place)
    points = []
    for path in studies:
        found = open_study(path)
        if not found.done:
            continue
        tables = [name for name in found.tables if name in (*_ALWAYS, *KEPT)]
        pack(path, out / path.name, tables=tables, progress=progress)
        points += list(_points(found))
    if points:
        _write_points(pd.concat(points, ignore_index=True), out / f"{POINTS}.parquet")
    return PaperResults.open(out)


def finished_in(folder: str | Path) -> set[str]:
    """Keys of the finished cells of all studies right below a folder; none where it is not."""
    return {key for path in studies_in(Path(folder)) for key in open_study(path, every=True).done}


def _points(found: StudyResults) -> Iterator[pd.DataFrame]:
    if _SOURCE not in found.tables:
        return
    # cells that were packed before without that table are not in it
    for key, own in found.table(_SOURCE, []).groupby("cell", sort=False, observed=True):
        points = delta_js_points(own)
        yield points.assign(cell=key)[["cell", "id", "delta_alpha", "delta_js"]]


def _write_points(points: pd.DataFrame, path: Path) -> None:
    """All points; those of other cells that are there already are kept."""
    if path.exists():
        there = pd.read_parquet(path)
        there = there[~there["cell"].isin(set(points["cell"]))]
        points = pd.concat([there, points], ignore_index=True)
    points = points.sort_values(["cell", "id"], ignore_index=True)
    for name in ("delta_alpha", "delta_js"):
        points[name] = points[name].astype("float32")
    scratch = path.with_suffix(".part")
    points.to_parquet(scratch, index=False, compression="zstd")
    os.replace(scratch, path)
