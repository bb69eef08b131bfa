"""The studies of a folder, read together; a study's name is PAPER.PART."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from verax import StudyResults, VeraxError, open_study

POINTS = "delta_js_points"
"""The table of points of scatter plots, which `research.papers.packing` thins."""
CORPORA = "corpora.csv"
"""The file of sizes, lengths and vocabularies, which `research.papers.describing` writes."""
DESCRIBED_BY = ("fingerprint", "tokeniser", "min_df", "max_vocabulary")
"""Columns of cells that decide what a row of it describes."""
KEPT = ("single_token_tokens",)
"""Tables of single documents that figures draw, packed for the parts in `Paper.kept`."""
Frames = dict[str, pd.DataFrame]


def read_points(path: Path) -> pd.DataFrame:
    """The points of single documents that a paper's results keep beside its studies."""
    try:
        return pd.read_parquet(path, columns=["cell", "id", "delta_alpha", "delta_js"])
    except (OSError, ValueError) as error:
        raise VeraxError(
            f"cannot read {path}: {error}; pack the results again", code="result.damaged"
        ) from error


def is_study(folder: Path) -> bool:
    """Whether a folder is a study, packed or not."""
    return any((folder / name).exists() for name in ("cells.parquet", "store.json"))


def studies_in(folder: Path) -> list[Path]:
    """The studies right below a folder, or the folder itself if it is one."""
    if is_study(folder):
        return [folder]
    return [path for path in sorted(folder.glob("*/")) if is_study(path)]


def finished_in(folder: Path) -> Iterator[tuple[StudyResults, str]]:
    """Every finished cell of the studies in a folder: its study, and its key."""
    for path in studies_in(folder):
        study = open_study(path, every=True)
        yield from ((study, key) for key in study.done)


def paper_of(name: str) -> str:
    """The paper that a study's name begins with; empty if it names none.

    >>> paper_of("tutek-snajder-2020.layers")
    'tutek-snajder-2020'
    """
    return name.rpartition(".")[0]


def part_of(name: str) -> str:
    """The part of a paper that a study's name ends in.

    >>> part_of("tutek-snajder-2020.layers")
    'layers'
    """
    return name.rpartition(".")[2]


def read_studies(
    folder: Path, columns: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame, Frames, dict[str, int], dict[str, str]] | None:
    """The parts of a `PaperResults`, in its order; None if no cell of the folder is finished.

    `columns` are those of the summary.
    """
    cells, summaries = [], []
    planned: dict[str, set[str]] = {}
    questions: dict[str, str] = {}
    tables: dict[str, list[pd.DataFrame]] = {}
    for path in studies_in(folder):
        study = open_study(path, every=True)
        part, table = part_of(study.name), study.cells
        planned.setdefault(part, set()).update(table["cell"])
        questions.setdefault(part, study.question or "")
        if "status" not in table or not (table["status"] == "done").any():
            continue
        done = table[table["status"] == "done"].drop(columns=["status", "error"])
        cells.append(done.assign(part=part))
        summaries.append(study.summary([])[columns])
        for name in KEPT:
            if name in study.tables:
                rows, earlier = study.table(name, []), tables.setdefault(name, [])
                known = {key for other in earlier for key in other["cell"].unique()}
                if known & set(rows["cell"].unique()):
                    rows = rows[~rows["cell"].isin(known)]
                earlier.append(rows)
    if (folder / f"{POINTS}.parquet").exists():
        tables[POINTS] = [read_points(folder / f"{POINTS}.parquet")]
    if (folder / CORPORA).exists():
        tables[CORPORA] = [pd.read_csv(folder / CORPORA, dtype={"fingerprint": str})]
    if not cells:
        return None
    finished = {key for frame in cells for key in frame["cell"]}
    unfinished = {p: len(keys - finished) for p, keys in planned.items() if keys - finished}
    known_columns = [frame.dropna(axis="columns", how="all") for frame in cells]
    return (
        _together(known_columns).drop_duplicates(["cell", "part"]),
        _together(summaries),
        {name: _together(parts) for name, parts in tables.items()},
        unfinished,
        questions,
    )


def _together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames below each other, categories as plain objects."""
    plain = []
    for frame in frames:
        text = {str(c): "object" for c in frame if isinstance(frame[c].dtype, pd.CategoricalDtype)}
        plain.append(frame.astype(text))
    return pd.concat(plain, ignore_index=True)
