"""A chart: what it shows, how to read it, and its pictures."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from verax.drawing.apart import CannotDrawError
from verax.drawing.rendering import CONFIG, coloured, drawn, pdf, png
from verax.errors import VeraxWarning, outside_verax


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart of an exam's tables.

    name     unique within a report; used for its file and for ids in its SVG
    exam     the exam whose tables it shows
    title    one line
    reading  how to read it, in a few sentences
    spec     the Vega-Lite specification, with placeholders for colours (see
             `verax.drawing.rendering`)
    """

    name: str
    exam: str
    title: str
    reading: str
    spec: Mapping[str, Any]

    @classmethod
    def from_altair(
        cls, picture: Any, name: str, title: str, reading: str, exam: str = ""
    ) -> Chart:
        """Return the chart of an Altair picture, in the fonts and colours of a report.

        Use the placeholders `verax.report.COLORS` and `verax.report.INK` for colours, so that
        each theme can replace them.

        Args:
            picture: an Altair chart.
            name: of the chart's file.
            title: one line.
            reading: how to read the chart, in a few sentences.
            exam: the exam whose tables it shows.
        """
        # tests validate; here it would be most of the work
        spec = picture.to_dict(validate=False)
        return cls(name, exam, title, reading, {**spec, "config": CONFIG})

    def __repr__(self) -> str:
        return f"Chart({self.name}: {self.title})"

    def svg(self, theme: str = "page") -> str:
        """An `<svg>` element; of theme page with CSS variables for colours, else light or dark."""
        return coloured(self._drawn, theme)

    def png(self, scale: float = 2, theme: str = "light") -> bytes:
        return png(self.svg(theme), scale)

    def pdf(self, theme: str = "light") -> bytes:
        return pdf(self.svg(theme))

    @cached_property
    def _drawn(self) -> str:
        return drawn(self.spec, self.name, self.title, self.reading)


def drawable(charts: Iterable[Chart]) -> tuple[list[Chart], str]:
    """Charts, and a note that says why there are none where they cannot be drawn here.

    Each is drawn now, and keeps its picture: nothing of a page is lost by one that fails.
    """
    listed = list(charts)
    try:
        for chart in listed:
            chart.svg()
    except CannotDrawError as error:
        text = str(error)
        warnings.warn(f"without charts: {text}", VeraxWarning, outside_verax())
        return [], f"{text[:1].upper()}{text[1:]}."
    return listed, ""


def made(name: str, exam: str, title: str, reading: str, picture: Any) -> Chart:
    """Return the chart of an Altair picture."""
    return Chart.from_altair(picture, name, title, reading, exam)
