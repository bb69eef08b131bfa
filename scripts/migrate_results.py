"""Give packed studies of format 1 the names that Verax has now.

    python scripts/migrate_results.py FOLDER [FOLDER …] [--dry-run]

Every packed study below a folder is replaced, all at once, by one of the present format: exams,
options, tables and numbers have their ids, cells the keys of the present rule, and nothing names
the machine that ran them. So are a paper's points, and tables of benchmarks (`loose_tables`). No
value changes. FOLDER/cell_keys.csv says which key a cell had before: old, new.

A label that no rule knows is an error, and nothing is written. What is migrated already is left.
Stores that were never packed are not read: run them anew, or pack them with the Verax that made
them.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from format_1 import Format1, Migrated, is_format_1
from loose_tables import migrated_table
from old_tables import UnknownLabelError
from verax.errors import VeraxError
from verax.files import replace_folder
from verax.papers.folders import POINTS
from verax.progress import Progress
from verax.studies.store.folders import storage_folder
from verax.studies.store.packed import FIRST, is_only_packed
from verax.studies.store.packing import Packing

KEYS = "cell_keys.csv"


def migrate(folder: Path, dry_run: bool = False) -> list[str]:
    """Migrate what is below a folder; returns what was changed, a line each."""
    studies = [path.parent for path in sorted(folder.rglob(FIRST))]
    old = [path for path in studies if is_format_1(path)]
    # all is read, and every label looked up, before the first file is written
    migrated = {path: Migrated(Format1(storage_folder(path))) for path in old}
    for study in migrated.values():
        study.check()
    keys = _known_keys(folder)
    for study in migrated.values():
        keys |= study.keys
    loose = {
        path: table
        for path in sorted(folder.rglob("*.parquet"))
        if path.parent not in studies and (table := _loose(path, keys)) is not None
    }
    said = [f"{path}: {len(study.keys):,} cells" for path, study in migrated.items()]
    said += [f"{path}: {len(table):,} rows" for path, table in loose.items()]
    if dry_run or not said:
        return said
    if migrated:
        _write_keys(folder / KEYS, keys)
    for path, study in migrated.items():
        _replace(path, study)
    for path, table in loose.items():
        _write_table(path, table)
    return said


def _replace(path: Path, study: Migrated) -> None:
    packing = Packing(study, None, weights=True)
    with Progress(False) as display:
        replace_folder(path, lambda target: packing.write(target, display), owned=is_only_packed)


def _loose(path: Path, keys: Mapping[str, str]) -> pd.DataFrame | None:
    """A table that is of no packed study, with ids; None where nothing is to be changed."""
    table = pd.read_parquet(path)
    if path.stem == POINTS:
        return _moved_points(table, keys)
    try:
        return migrated_table(path.stem, table)
    except UnknownLabelError as error:
        raise VeraxError(f"{path}: {error}") from None


def _moved_points(points: pd.DataFrame, keys: Mapping[str, str]) -> pd.DataFrame | None:
    if not points["cell"].isin(list(keys)).any():
        return None
    moved = points.assign(cell=[keys.get(key, key) for key in points["cell"]])
    return moved.sort_values(["cell", "id"], ignore_index=True)


def _write_table(path: Path, table: pd.DataFrame) -> None:
    scratch = path.with_suffix(".part")
    table.to_parquet(scratch, index=False, compression="zstd")
    os.replace(scratch, path)


def _known_keys(folder: Path) -> dict[str, str]:
    """Keys that an earlier run has given."""
    path = folder / KEYS
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["old"]: row["new"] for row in csv.DictReader(file)}


def _write_keys(path: Path, keys: Mapping[str, str]) -> None:
    scratch = path.with_suffix(".part")
    with scratch.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["old", "new"])
        writer.writerows(sorted(keys.items()))
    os.replace(scratch, path)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--dry-run", action="store_true", help="say what would change, and stop")
    given = parser.parse_args()
    for folder in given.folders:
        try:
            said = migrate(folder, given.dry_run)
        except VeraxError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        verb = "would change" if given.dry_run else "changed"
        for line in said:
            print(f"{verb} {line}")
        if not said:
            print(f"{folder}: nothing to migrate")
    return 0


if __name__ == "__main__":
    sys.exit(main())
