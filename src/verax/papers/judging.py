"""Claims as data: what is compared, over which corpora and models, and how many have to agree.

    - text: In a BiLSTM, attention orders words only weakly as gradients do.
      where: Table 2
      over: {corpus: , attention: , encoder: bilstm}     axes, see `points`
      number: agreement/inputs:attention:gradient/tau    a number of each point
      below: weak                                        or above; or b, as here:
      b: {encoder: mlp, number: …, by: 0.05}             less than the first, by so much or more
      need: generally                                    the share that has to be so; 1 by default
      label: "{corpus}, {attention}"                     of a comparison
      needs: agreement with gradients of a BiLSTM        what is missing if there is no comparison
      why: the mean τ is {it.span:.2f}; it is below {weak:g} in {it.tally} models

`a` changes the point of the first number as `b` does that of the second. `alike: 5` is a test of
equivalence. A claim of several `parts`, by name, holds if all do; what a part does not say is as in
the claim. Of a part, `each: AXIS` makes a part of each value; `reported` has no say in the verdict;
`optional` has none if nothing is compared; `counted` decides by number alone: where the paper itself
has models that go the other way, one that does so by far would outweigh the others. In `why`,
`[[NAME: text]]` is there if that part has comparisons, `[[no NAME: text]]` if not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from verax.papers.claims import Claim, Comparisons, Finding, all_of, by_comparisons
from verax.papers.comparing import Label
from verax.papers.numbers import SeedMean
from verax.papers.points import CORPUS, Grid, Point
from verax.papers.results import Missing, PaperResults

ONLY = "it"
"""The name in `why` of the comparisons of a claim without parts."""
_IF = re.compile(r"\[\[(no )?([^:]+?):(.*?)\]\]", re.DOTALL)


def claims_of(grid: Grid, data: Iterable[Mapping[str, Any]], shared: Mapping[str, Any]) -> list[Claim]:
    """The claims of a paper's file, numbered from 1; `shared` is what all of them have."""
    return [
        Claim(id, claim["text"], claim["where"], partial(judge, grid, {**shared, **claim}))
        for id, claim in enumerate(data, 1)
    ]


def judge(grid: Grid, claim: Mapping[str, Any], results: PaperResults) -> Finding:
    """What results say of a claim."""
    start = grid.start(results, claim.get("part"))
    if "judge" in claim:
        finding = grid.function(claim["judge"])(start)
        assert isinstance(finding, Finding)
        return finding
    parts = {name: {**claim, **part} for name, part in (claim.get("parts") or {ONLY: {}}).items()}
    compared = {name: compare(start, part) for name, part in parts.items()}
    judged = {
        name: part
        for name, part in parts.items()
        if not part.get("reported") and (compared[name] or not part.get("optional"))
    }
    every = Comparisons(c for name in judged for c in compared[name])
    for part, comparisons in [(claim, every), *((claim["parts"][n], compared[n]) for n in judged if n != ONLY)]:
        if "needs" in part and not comparisons:
            raise Missing(claim.get("lacking", "{}").format(part["needs"]))
    values = {**grid.criteria, **compared, "every": every}
    if "words" in claim:
        values |= grid.function(claim["words"])(compared)
    why = in_words(claim["why"] + claim.get("ending", ""), values)
    if ONLY in compared:
        numbers = {
            point.text(label): number
            for point in start.over(claim["over"])
            for label, source in claim.get("numbers", {}).items()
            if (number := point.number(source)) is not None
        }
        return by_comparisons(compared[ONLY], why, grid.criterion(claim.get("need", 1)), numbers)
    weighed = []
    for name, part in judged.items():
        need = grid.criterion(part.get("need", 1))
        if "each" in part:
            for value in start.choose(part["each"], part["over"][part["each"]]):
                weighed.append((str(value.name), compared[name][str(value.name)], need))
        else:
            weighed.append((part.get("name", name), compared[name], need))
    return all_of(weighed, why)


def in_words(template: str, values: Mapping[str, Any]) -> str:
    """A template with values, and without the texts of parts that have no comparison."""

    def kept(match: re.Match[str]) -> str:
        lacking, name, text = match.groups()
        has = f"{{{name}.tally}}".format_map(values) != "0 of 0"
        return str(text) if has != bool(lacking) else ""

    return _IF.sub(kept, template).format_map(values)


def compare(start: Point, part: Mapping[str, Any]) -> Comparisons:
    """The comparisons of a part of a claim, point by point."""
    criterion = start.grid.criterion
    comparisons = Comparisons()
    for point in start.over(part["over"]):
        names = {axis: str(value.name) for axis, value in point.values.items()}
        label = Label(point.text(part["label"]), names.get(CORPUS, ""), names)
        a = _side(point, part, "a")
        if "b" not in part:
            side = "above" if "above" in part else "below"
            getattr(comparisons, side)(label, a, criterion(part[side]))
            continue
        b, by = _side(point, part, "b"), criterion(part["b"].get("by", 0))
        if "alike" in part and a is not None and b is not None:
            a, b = sorted((a, b), key=lambda number: number.value)
            by = -criterion(part["alike"])
        comparisons.larger(label, a, b, by)
    if part.get("counted"):
        return Comparisons(replace(comparison, p=math.nan) for comparison in comparisons)
    return comparisons


def _side(point: Point, part: Mapping[str, Any], side: str) -> SeedMean | None:
    """The first or the second number of a comparison at a point."""
    changes = dict(part.get(side) or {})
    changes.pop("by", None)
    source = changes.pop("number", part.get("number"))
    there = point.but(changes)
    return None if there is None else there.number(source)
