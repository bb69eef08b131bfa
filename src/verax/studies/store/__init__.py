"""Where cells are kept once they are done, on any filesystem.

`store.py` writes and checks cells, `archive.py` packs them into one Parquet file per table and
reads packs, and `results.py` opens either as tables.
"""

from verax.studies.store.archive import pack
from verax.studies.store.folders import CellLock, StorageFolder, storage_folder
from verax.studies.store.results import GridResults, StudyResults, open_grid, open_study
from verax.studies.store.store import Store

__all__ = [
    "CellLock",
    "GridResults",
    "StorageFolder",
    "Store",
    "StudyResults",
    "open_grid",
    "open_study",
    "pack",
    "storage_folder",
]
