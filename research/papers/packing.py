"""`pack_paper`: the results of a paper's studies as a few files, small enough to keep.

    PART/cells.parquet, summary.parquet, history.parquet
    PART/single_token_tokens.parquet     of the parts in `Paper.kept`
    delta_js_points.parquet    for the scatter plots, of parts with the erasure exam

They hold no text: tables have numbers of documents and positions of words.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from research.papers.page import UNCOMMITTED
from research.papers.paper import Paper, refuse_others
from research.papers.results import KEPT, POINTS, PaperResults, is_study, part_of, read_points
from verax import StudyResults, VeraxError, open_study
from verax.files import write_table
from verax.studies import pack

_ALWAYS = ("summary", "history")
_SOURCE = "erasure_single"
BIN = 0.005
"""The width in Δα of a bin of scatter points."""
MOST = 10
"""Points that are kept of a bin."""
_SEED = 5
"""Serrano & Smith's own seed for drawing points."""


def pack_paper(
    paper: Paper, folder: str | Path, out: str | Path, progress: bool = False
) -> PaperResults:
    """Pack every study of a paper that has a finished cell.

    Studies that `out` holds and `folder` does not stay, so that parts can come from several runs.
    Tables of single documents are packed for the parts in `paper.kept` alone.

    Args:
        paper: the paper that the studies are of.
        folder: what `run_paper` wrote: a folder per study.
        out: the folder to pack into, with a folder per study.
        progress: whether to show a progress bar.

    Returns:
        All results in `out`.

    Raises:
        VeraxError: `folder` holds no study, one of the two holds a study of another paper, or a
            cell ran with uncommitted changes.
    """
    folder, out = Path(folder), Path(out)
    studies = [path for path in sorted(folder.glob("*/")) if is_study(path)]
    if not studies:
        raise VeraxError(
            f"{folder} holds no study: give the folder that python -m research papers run wrote",
            code="result.missing",
        )
    for place in (folder, out):
        refuse_others(paper, place)
    points = []
    opened = {path: study for path in studies if (study := open_study(path)).done}
    for path, study in opened.items():
        for key in study.done:  # before anything is packed
            if str(study.facts(key).get("commit")).endswith(UNCOMMITTED):
                raise VeraxError(
                    f"cannot pack {path}: cell {key} ran with uncommitted changes; commit them "
                    "and run the study in a new folder",
                    code="study.uncommitted",
                )
    for path, study in opened.items():
        kept = KEPT if part_of(study.name) in paper.kept else ()
        tables = [name for name in study.tables if name in (*_ALWAYS, *kept)]
        pack(path, out / path.name, tables=tables, progress=progress)
        points += list(_points(study))
    if points:
        _write_points(pd.concat(points, ignore_index=True), out / f"{POINTS}.parquet")
    return PaperResults.open(out)


def _points(study: StudyResults) -> Iterator[pd.DataFrame]:
    """The thinned points of each cell of a study."""
    if _SOURCE not in study.tables:
        return
    # cells that were packed before without that table are not in it
    for key, single in study.table(_SOURCE, []).groupby("cell", sort=False, observed=True):
        points = delta_js_points(single)
        yield points.assign(cell=key)[["cell", "id", "delta_alpha", "delta_js"]]


def _write_points(points: pd.DataFrame, path: Path) -> None:
    """Write points to a file, beside those that it has of other cells."""
    if path.exists():
        earlier = read_points(path)
        earlier = earlier[~earlier["cell"].isin(set(points["cell"]))]
        points = pd.concat([earlier, points], ignore_index=True)
    points = points.sort_values(["cell", "id"], ignore_index=True)
    for name in ("delta_alpha", "delta_js"):
        points[name] = points[name].astype("float32")
    write_table(path, points, index=False, compression="zstd")


def delta_js_points(single: pd.DataFrame) -> pd.DataFrame:
    """ΔJS against Δα of one cell, thinned to at most `MOST` random points per `BIN` of Δα.

    The rule is Serrano & Smith's. Their code also drops the largest ΔJS; here it stays if it is
    drawn. `single` is the cell's table `erasure_single`. Columns: id, delta_alpha, delta_js.
    """
    chosen = single[(single["top"] == "attention") & (single["rule"] == "paper")]
    points = chosen.pivot(index="id", columns="measure", values="value")
    points = points[["delta_alpha", "delta_js"]].dropna().reset_index()
    points.columns.name = None
    order = np.random.Generator(np.random.PCG64([_SEED, len(points)])).permutation(len(points))
    shuffled = points.iloc[order]
    bins = np.floor(shuffled["delta_alpha"] / BIN)
    kept = shuffled[shuffled.groupby(bins).cumcount() < MOST]
    return kept.sort_values("id").reset_index(drop=True)
