"""Where cells are kept once they are done, on any filesystem."""

from verax.studies.store.locks import CellLock
from verax.studies.store.packing import pack
from verax.studies.store.places import Place, place
from verax.studies.store.results import StudyResults, open_study
from verax.studies.store.store import Store
from verax.studies.store.unpacking import unpack

__all__ = [
    "CellLock",
    "Place",
    "Store",
    "StudyResults",
    "open_study",
    "pack",
    "place",
    "unpack",
]
