"""Claims as data: what is compared, over which corpora and models, and how many have to agree.

docs/papers.md has the format. `compare` makes the comparisons of a part of a claim. Their verdict
is by the rules of `research.papers.verdicts`, and by no others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from research.papers.claims import Claim, Comparisons, Finding
from research.papers.comparing import PaperComparison, above, below, larger
from research.papers.numbers import SeedMean
from research.papers.points import CORPUS, Grid, Point, refuse_unknown
from research.papers.quoting import quoted, tallied
from research.papers.results import PaperResults
from research.papers.verdicts import Part
from verax import VeraxError

ONLY = "it"
"""The name in templates of the comparisons of a claim without parts."""
CAUSES = ("corpus", "training", "test", "genuine")
_KINDS = {"above", "below", "b", "alike"}
_OF_PART = {"name", "over", "number", "a", "label", "tag", "need", "tally", "given", *_KINDS}
_OF_PART |= {"each", "optional"}
_OF_CLAIM = {"id", "text", "short", "where", "rank", "corpora", "part", "parts", "reported"}
_OF_CLAIM |= {"needs", "theirs", "quoted", "ours", "cause", "note", *_OF_PART}


def claims_of(
    grid: Grid, data: Iterable[Mapping[str, Any]], shared: Mapping[str, Any]
) -> list[Claim]:
    """The claims of a paper's file, numbered from 1 or by `id`; `shared` is what all have."""
    claims: list[Claim] = []
    for claim in data:
        id = claim.get("id", claims[-1].id + 1 if claims else 1)
        refuse_unknown(f"claim {id} of {grid.package}", claim, _OF_CLAIM)
        for name, part in {**claim.get("parts", {}), **claim.get("reported", {})}.items():
            refuse_unknown(f"part {name} of claim {id} of {grid.package}", part, _OF_PART)
        for part in claim.get("parts", {ONLY: {}}).values():
            if not _KINDS & {*shared, *claim, *part}:
                raise VeraxError(
                    f"claim {id} compares with nothing: give above, below or b",
                    code="option.conflict",
                )
        refuse_unknown(f"the cause of claim {id} of {grid.package}", claim.get("cause", {}), CAUSES)
        judged = partial(judge, grid, {**shared, **claim})
        words = {n: claim[n] for n in ("short", "rank", "corpora", "note", "cause") if n in claim}
        claims.append(Claim(id, claim["text"], claim["where"], judged, **words))
    return claims


def judge(grid: Grid, claim: Mapping[str, Any], results: PaperResults) -> Finding:
    """What results say of a claim."""
    start = grid.start(results, claim.get("part"))
    plain = {key: value for key, value in claim.items() if key not in ("parts", "reported")}
    parts, reported = claim.get("parts", {ONLY: {}}), claim.get("reported", {})
    merged = {name: _merged(plain, part) for name, part in {**parts, **reported}.items()}
    compared = {name: compare(start, part) for name, part in merged.items()}
    if not any(compared[name] for name in parts):
        return Finding(why=claim.get("needs", "no finished cell has what this compares"))
    made = {name: _parts(start, name, part, compared[name]) for name, part in merged.items()}
    kept = [n for n in parts if compared[n] or not merged[n].get("optional")]
    judged = [part for name in kept for part in made[name]]
    tally = next((part.tally for part in judged if part.tally is not None), None)
    values: dict[str, Any] = {**grid.criteria, **compared}
    values["tally"] = "" if tally is None else f"{tally[0]} of {tally[1]}"
    if "quoted" in claim:
        corpora = {c.corpus for part in judged for c in part.comparisons}
        values["quoted"] = quoted(grid, claim["quoted"], corpora)
    first = next(iter(parts))
    return Finding(
        judged,
        [part for name in reported if compared[name] for part in made[name]],
        str(claim.get("theirs", "{tally}")).format_map(values),
        str(claim.get("ours", f"{{{first}.tally}}")).format_map(values),
    )


def _merged(claim: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """A part with what the claim says; what it is compared with is the part's if it has any."""
    other = {key for key in _KINDS if key in claim} if _KINDS & part.keys() else set()
    return {**{key: value for key, value in claim.items() if key not in other}, **part}


def _parts(start: Point, key: str, part: Mapping[str, Any], every: Comparisons) -> list[Part]:
    """The parts that a part is: one for each value of the axis `each`."""
    criterion = start.grid.criterion
    need = criterion(part.get("need", 1))
    tally = tallied(start.grid, part["tally"]) if "tally" in part else None
    sense = ""
    if "b" not in part:
        kind = "below" if "below" in part else "above"
        sense = f"{kind} {criterion(part[kind]):g}"
    elif "alike" in part:
        sense = f"within {criterion(part['alike']):g}"
    elif by := criterion(part["b"].get("by", 0)):
        sense = f"more than {by:g} above" if by > 0 else f"at most {-by:g} below"
    if "each" not in part:
        name = part.get("name", "" if key == ONLY else key)
        return [Part(name, every, need, tally, sense)]
    values = start.choose(part["each"], part["over"][part["each"]])
    return [Part(str(v.name), every[str(v.name)], need, tally, sense) for v in values]


def compare(start: Point, part: Mapping[str, Any]) -> Comparisons:
    """The comparisons of a part of a claim, point by point."""
    comparisons = Comparisons()
    for point in start.over(part["over"]):
        label = ", ".join(point.text(part[key]) for key in ("label", "tag") if key in part)
        compared = _compared(point, part, label)
        if compared is not None:
            names = {axis: str(value.name) for axis, value in point.values.items()}
            comparisons.append(replace(compared, values=names))
    return comparisons


def _compared(point: Point, part: Mapping[str, Any], label: str) -> PaperComparison | None:
    """The comparison at a point; None if a number is missing."""
    criterion, a = point.grid.criterion, _side(point, part, "a")
    if a is not None and "below" in part:
        return below(label, a, criterion(part["below"]))
    if a is not None and "above" in part:
        return above(label, a, criterion(part["above"]))
    b = _side(point, part, "b")
    if a is None or b is None:
        return None
    if "given" in part and max(abs(a.value), abs(b.value)) < criterion(part["given"]):
        # too small for the two to differ: it neither goes the claim's way nor is clear
        return PaperComparison(label, 0.0, math.nan, math.nan, a, b)
    if "alike" in part:
        a, b = sorted((a, b), key=lambda number: number.value)
        return larger(label, a, b, -criterion(part["alike"]))
    return larger(label, a, b, criterion(part["b"].get("by", 0)))


def _side(point: Point, part: Mapping[str, Any], side: str) -> SeedMean | None:
    """The first or the second number of a comparison at a point."""
    changes = dict(part.get(side) or {})
    changes.pop("by", None)
    source = changes.pop("number", part.get("number"))
    there = point.but(changes)
    return None if there is None else there.number(source)


@dataclass(frozen=True)
class Aside:
    """Why no verdict goes by a corpus: the reason, and in which of its models it is so."""

    reason: str
    detail: str


def set_aside(grid: Grid, rule: Mapping[str, Any], results: PaperResults) -> dict[str, Aside]:
    """Corpus → why it is set aside, of those where the rule is true of most; none by no rule."""
    reasons = {}
    for corpus in results.corpora() if rule else ():
        part = {**rule, "over": {CORPUS: corpus, **rule["over"]}}
        found = compare(grid.start(results, rule.get("part")), part)
        if 2 * sum(c.is_for for c in found) > len(found):
            reasons[corpus] = Aside(rule["reason"], f"{rule['detail']} in {found.tally} models")
    return reasons
