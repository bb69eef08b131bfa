"""Claims as data: what is compared, over which corpora and models, and how many have to agree.

docs/papers.md has the format. `compare` makes the comparisons of a part of a claim, `judge` their
verdict: by the rules of `verax.papers.comparing`, and by no others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from verax.errors import VeraxError
from verax.papers.claims import Claim, Comparisons, Finding, all_of, by_comparisons
from verax.papers.comparing import Label, above, below, larger
from verax.papers.numbers import SeedMean
from verax.papers.points import CORPUS, Grid, Point, Value, refuse_unknown
from verax.papers.results import Missing, PaperResults

ONLY = "it"
"""The name in `why` of the comparisons of a claim without parts."""
_KINDS = {"above", "below", "b", "alike"}
_IF = re.compile(r"\[\[(no )?([^:]+?):(.*?)\]\]", re.DOTALL)
_OF_PART = {"name", "over", "number", "a", "label", "tag", "need", "needs", *_KINDS}
_OF_PART |= {"each", "optional", "counted"}
_OF_CLAIM = {"text", "where", "part", "parts", "reported", "numbers", "lacking", *_OF_PART}
_OF_CLAIM |= {"why", "ending", "words", "each_of"}


def claims_of(
    grid: Grid, data: Iterable[Mapping[str, Any]], shared: Mapping[str, Any]
) -> list[Claim]:
    """The claims of a paper's file, numbered from 1; `shared` is what all of them have."""
    claims = []
    for id, claim in enumerate(data, 1):
        refuse_unknown(f"claim {id} of {grid.package}", claim, _OF_CLAIM)
        for name, part in {**claim.get("parts", {}), **claim.get("reported", {})}.items():
            refuse_unknown(f"part {name} of claim {id} of {grid.package}", part, _OF_PART)
            if name in grid.criteria:
                raise VeraxError(f"part {name} of claim {id} is named as a criterion: rename it")
        for part in claim.get("parts", {ONLY: {}}).values():
            if not _KINDS & {*shared, *claim, *part}:
                raise VeraxError(f"claim {id} compares with nothing: give above, below or b")
        judged = partial(judge, grid, {**shared, **claim})
        claims.append(Claim(id, claim["text"], claim["where"], judged))
    return claims


def judge(grid: Grid, claim: Mapping[str, Any], results: PaperResults) -> Finding:
    """What results say of a claim."""
    start = grid.start(results, claim.get("part"))
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
