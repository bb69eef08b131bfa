"""A chart of another package's exam."""

from __future__ import annotations

from collections.abc import Iterator

from support.internals import Models
from verax.drawing.chart import made
from verax.drawing.forms import means
from verax.report import Chart


def charts(models: Models) -> Iterator[Chart]:
    """The mean share of the weight, with its interval."""
    numbers = models.numbers("opening", "opening").assign(panel="")
    if len(numbers):
        picture = means(numbers, models, "share of the weight", (0, 1))
        yield made("opening-share", "opening", "Attention on the opening", "As it says.", picture)
