"""Where cells are kept once they are done, on any filesystem."""

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
