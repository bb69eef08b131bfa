"""A study file and its cells: what is to be run, checked before anything is.

`reading.py` has it all in order: values with their lines (`located.py`), section by section
(`plan.py`), options crossed (`crossing.py`, `expanding.py`), what cannot be (`refusing.py`), cells.
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
