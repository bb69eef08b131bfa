"""Where cells are kept once they are done, on any filesystem.

`cells.py` writes and checks cells, `store.py` is a study's folder, `packing.py` makes a few files
of it, which `packed.py` reads, and `results.py` opens either as tables.
"""

from verax.studies.store.folders import CellLock, StorageFolder, storage_folder
from verax.studies.store.packing import pack, unpack
from verax.studies.store.results import StudyResults, open_study
from verax.studies.store.store import Store

__all__ = [
    "CellLock",
    "StorageFolder",
    "Store",
    "StudyResults",
    "open_study",
    "pack",
    "storage_folder",
    "unpack",
]
