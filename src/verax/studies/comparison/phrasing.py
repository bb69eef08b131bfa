"""A comparison in a few lines, as `print` shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import interval, numeral
from verax.exams.measures import PERCENT, POINTS
from verax.exams.titles import exam_title, measure_title
from verax.studies.comparison.comparison import Comparison
from verax.studies.comparison.differences import BETTER, UNCLEAR, WORSE


def lines_of(comparison: Comparison) -> Iterator[str]:
    """Each model's headline; for each group how often it is better, and a line a measure."""
    for group in comparison.groups:
        for which, headline in headlines(comparison, group):
            yield f"{group}{which}: {headline}"
    table = comparison.table()
    table = table[table["shown"]]
    for group in comparison.groups[1:]:
        counts = Counter(comparison.tally(group)["judged"])
        judged = ", ".join(f"{counts[word]} {word}" for word in (BETTER, WORSE, UNCLEAR))
        yield f"{group} against {comparison.reference}: {judged}"
        rows = [_cells(row) for row in table[table["group"] == group].itertuples()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
            yield f"  {'  '.join(cells)}".rstrip()
    yield from only_lines(comparison)
    yield "(reference → group, difference with its 95% interval, judged after Holm's correction)"


def headlines(comparison: Comparison, group: str) -> list[tuple[str, str]]:
    """Whether the attention of a group can be trusted, and whether it has learnt anything.

    Args:
        comparison: the comparison.
        group: the group.

    Returns:
        Which seeds, empty where all say the same, and their headline.
    """
    models = [model for model in comparison.manifest["groups"][group] if model.get("headline")]
    by_headline: dict[str, list[str]] = {}
    for model in models:
        name = model["model"] if model["seed"] is None else f"seed {model['seed']}"
        by_headline.setdefault(model["headline"], []).append(str(name))
    if len(by_headline) == 1:
        return [("", headline) for headline in by_headline]
    return [(f", {', '.join(names)}", headline) for headline, names in by_headline.items()]


def only_lines(comparison: Comparison) -> Iterator[str]:
    """Which exams have numbers of one group alone, a line a group."""
    for group, exams in comparison.only().items():
        named = ", ".join(exam_title(exam) for exam in exams)
        yield f"only {group} has some numbers of these exams: {named}"


def _cells(row: Any) -> tuple[str, str, str, str]:
    values = [Number(value, unit=row.unit) for value in (row.reference_value, row.value)]
    unit = POINTS if row.unit == PERCENT else row.unit
    difference = Number(row.difference, row.low, row.high, unit=unit)
    sign, between = "+" if row.difference > 0 else "", interval(difference)
    signed = sign + numeral(difference).removeprefix(sign)
    return (
        f"{exam_title(row.exam)}, {measure_title(row.measure)}",
        " → ".join(map(numeral, values)),
        f"{signed} ({between})" if between else signed,
        row.judged,
    )
