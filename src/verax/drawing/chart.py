"""A chart: what it shows, how to read it, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from verax.drawing.rendering import CONFIG, coloured, drawn, pdf, png


@dataclass(frozen=True, eq=False)
class Chart:
    """A picture of an exam's tables.

    name     of its file, and of ids in its SVG: no other chart of a report has it
    exam     whose tables it shows
    title    what is seen, in a line
    reading  how to read it, in a few sentences
    spec     Vega-Lite, with placeholders for colours (see `verax.drawing.rendering`)
    """

    name: str
    exam: str
    title: str
    reading: str
    spec: Mapping[str, Any]

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


def made(name: str, exam: str, title: str, reading: str, picture: Any) -> Chart:
    """The chart of an Altair picture."""
    # tests validate; here it would be most of the work
    spec = picture.to_dict(validate=False)
    return Chart(name, exam, title, reading, {**spec, "config": CONFIG})
