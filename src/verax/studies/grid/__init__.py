"""A study file and its cells: what is to be run, checked before anything is."""

from verax.studies.grid.cell import Cell
from verax.studies.grid.reading import read_study, shipped_studies
from verax.studies.grid.study import Hardware, Study

__all__ = [
    "Cell",
    "Hardware",
    "Study",
    "read_study",
    "shipped_studies",
]
