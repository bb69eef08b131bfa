"""A study file and its cells: what is to be run, checked before anything is.

A file becomes plain data with a table of lines (`source.py`), is checked section by section
(`parse.py`) and expanded to cells (`expand.py`). All problems are raised together.
"""

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
