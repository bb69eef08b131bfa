"""The chart of an exhibit, with what its caption says."""

from __future__ import annotations

from typing import Any

from verax.drawing.chart import Chart, made
from verax.report.charts.paper_frames import Shown, called


def drawn(shown: Shown, about: str, reading: str, picture: Any, several: bool) -> Chart:
    """A chart of it; where there are `several`, `about` says which this is.

    All have the name of the exhibit, until they are numbered.
    """
    title = f"{called(shown.name)}: {about}" if several and about else shown.title
    if len(shown.corpora) == 1:
        reading += f" On {shown.corpora[0]}."
    return made(shown.name, shown.name, title, reading, picture)
