"""Claims as data: what is compared, over which corpora and models, and how many have to agree.

    - text: In a BiLSTM, attention orders words only weakly as gradients do.
      where: Table 2
      over: {corpus: , attention: , encoder: bilstm}     axes, see `points`
      number: agreement/inputs:attention:gradient/tau    a number of each point
      below: weak                                        or above; or b, as here:
      b: {encoder: mlp, number: …, by: 0.05}             less than the first, by so much or more
      need: generally                                    the share that has to be so; 1 by default
      label: "{corpus}, {attention}"                     of a comparison; `tag` is added to it
      needs: agreement with gradients of a BiLSTM        what is missing if there is no comparison
      why: the mean τ is {it.span:.2f}; it is below {weak:g} in {it.tally} models

`a` changes the point of the first number as `b` does that of the second. `alike: 5` is a test of
equivalence. A claim of several `parts`, by name, holds if all do. What a part does not say is as in
the claim. Parts that are `reported` have no say in the verdict. Of a part,

    each: AXIS        makes a part of each value
    optional: true    it has no say if nothing is compared
    counted: true     its number alone decides: where the paper itself has models that go the other
                      way, one that does so by far would outweigh the others

In `why`, a name (`it`, without parts) stands for comparisons, with the properties of `Comparisons`,
and a word of `criteria` for its number. `[[NAME: text]]` is there if that part has comparisons,
`[[no NAME: text]]` if not. `each_of: AXIS` writes it for each value, whose name is @. `words` is
a function that gives further values. A claim unlike any other names a function: `judge: NAME`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from verax.papers.claims import Claim, Comparisons, Finding, all_of, by_comparisons
from verax.papers.comparing import Label, above, below, larger
from verax.papers.numbers import SeedMean
from verax.papers.points import CORPUS, Grid, Point, Value
from verax.papers.results import Missing, PaperResults

ONLY = "it"
"""The name in `why` of the comparisons of a claim without parts."""
_KINDS = {"above", "below", "b", "alike"}
_IF = re.compile(r"\[\[(no )?([^:]+?):(.*?)\]\]", re.DOTALL)


def claims_of(
    grid: Grid, data: Iterable[Mapping[str, Any]], shared: Mapping[str, Any]
) -> list[Claim]:
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
    plain = {key: value for key, value in claim.items() if key not in ("parts", "reported")}
    parts = claim.get("parts", {ONLY: {}})
    merged = {name: _merged(plain, p) for name, p in {**parts, **claim.get("reported", {})}.items()}
    compared = {name: compare(start, part) for name, part in merged.items()}
    judged = {n: merged[n] for n in parts if compared[n] or not merged[n].get("optional")}
    every = Comparisons(c for name in judged for c in compared[name])
    known = {c.corpus for c in every}
    lacking = ", ".join(theirs for ours, theirs in grid.published.items() if ours not in known)
    values = {**grid.criteria, **compared, "every": every}
    values["without"] = f"; without {lacking}" if lacking else ""
    for part, comparisons in [(claim, every), *((parts[n], compared[n]) for n in judged)]:
        if "needs" in part and not comparisons:
            raise Missing(claim.get("lacking", "{}").format(in_words(part["needs"], values)))
    if "words" in claim:
        values |= grid.function(claim["words"])(start, compared)
    each = start.choose(claim["each_of"]) if "each_of" in claim else [Value("")]
    why = " ".join(claim["why"].replace("@", str(value.name)) for value in each)
    why = in_words(why + claim.get("ending", ""), values)
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


def _merged(claim: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """A part with what the claim says; what it is compared with is the part's if it has any."""
    other = {key for key in _KINDS if key in claim} if _KINDS & part.keys() else set()
    return {**{key: value for key, value in claim.items() if key not in other}, **part}


def in_words(template: str, values: Mapping[str, Any]) -> str:
    """A template with values, and without the texts of parts that have no comparison."""

    def kept(match: re.Match[str]) -> str:
        lacking, name, text = match.groups()
        has = f"{{{name}.tally}}".format_map(values) != "0 of 0"
        return str(text) if has != bool(lacking) else ""

    return " ".join(_IF.sub(kept, template).format_map(values).split())


def compare(start: Point, part: Mapping[str, Any]) -> Comparisons:
    """The comparisons of a part of a claim, point by point."""
    criterion = start.grid.criterion
    comparisons = Comparisons()
    for point in start.over(part["over"]):
        names = {axis: str(value.name) for axis, value in point.values.items()}
        text = ", ".join(point.text(part[key]) for key in ("label", "tag") if key in part)
        label = Label(text, names.get(CORPUS, ""), names)
        a = _side(point, part, "a")
        if a is None:
            continue
        if "b" not in part:
            compare_with = below if "below" in part else above
            bound = criterion(part.get("below", part.get("above", 0)))
            comparisons.append(compare_with(label, a, bound))
        elif (b := _side(point, part, "b")) is not None:
            by = criterion(part["b"].get("by", 0))
            if "alike" in part:
                a, b = sorted((a, b), key=lambda number: number.value)
                by = -criterion(part["alike"])
            comparisons.append(larger(label, a, b, by))
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
