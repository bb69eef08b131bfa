"""Controls, chosen adversaries, λ and ε of the paper; paper.yaml names these functions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from research.papers.numbers import SeedMean
from research.papers.points import Point, Value
from research.papers.words import ANY_OUTPUT, epsilon_words, lambda_words, value_of

WITHOUT_BASE = ("uniform", "mlp-uniform", "mlp-own")
"""Controls that do not depend on the base: for its other seeds they are the same model again."""


OF_CONTROLS = {
    "base": {"encoder": "bilstm", "projection": "softmax"},
    "uniform": {"encoder": "bilstm", "projection": "uniform"},
    "mlp-uniform": {"encoder": "mlp", "projection": "uniform"},
    "mlp-own": {"encoder": "mlp", "projection": "softmax"},
}
"""Controls that the part `controls` trains as models of their own, five seeds of each."""


def control(point: Point, row: str, column: str) -> SeedMean | None:
    """A number of a control: of the part `controls` where that has it, else beside adversaries.

    Beside adversaries it is over the seeds of the base. If the control does not depend on the base,
    models with the same value count once.
    """
    results, where = point.results, point.where
    if row in OF_CONTROLS:
        models = {**where, **OF_CONTROLS[row], "part": "controls"}
        number = results.find("replacement", "trained", column, **models)
        if number is not None:
            return number
    seeds = results.select(**where)["seed"].tolist()
    if row in WITHOUT_BASE:
        first: dict[float, int] = {}
        for seed in seeds:
            part = results.find("adversaries.controls", row, column, **where, seed=seed)
            if part is not None:
                first.setdefault(part.value, seed)
        seeds = list(first.values())
    return results.find("adversaries.controls", row, column, **where, seed=seeds)


def chosen(point: Point, column: str) -> SeedMean | None:
    """A number of the adversaries of the λ chosen on validation, which may differ by seed."""
    parts = []
    for seed in sorted(set(point.results.select(**point.where)["seed"])):
        where = {**point.where, "seed": seed}
        lam = point.results.find("adversaries.chosen", "chosen", "lambda", **where)
        if lam is not None:
            row = f"lambda={lam.value:g}"
            parts.append(point.results.find("adversaries", row, column, **where))
    known = [part for part in parts if part is not None]
    if not known:
        return None
    values, cells = [p.value for p in known], [key for p in known for key in p.cells]
    return SeedMean.of(values, cells, max(p.n for p in known), (known[0].low, known[0].high))


def lams(point: Point) -> list[Value]:
    """The λ of trained adversaries, from small to large."""
    rows = sorted(point.rows("adversaries/jsd"), key=value_of)
    return [Value(lambda_words(row), {}, {"id": row}) for row in rows]


def ends(point: Point) -> Iterator[Value]:
    """The smallest and the largest λ, if there are two."""
    rows = [value.id for value in lams(point)]
    if len(rows) > 1:
        low, high = rows[0], rows[-1]
        name = f"λ {value_of(low):g} to {value_of(high):g}"
        yield Value(name, {}, {"low": low, "high": high})


def epsilons(point: Point) -> list[Value]:
    """The ε of attention picked document by document, from small to large."""
    rows = (row for row in point.rows("adversary/jsd") if row != ANY_OUTPUT)
    return [Value(epsilon_words(r), {}, {"id": r}) for r in sorted(rows, key=value_of)]


def at_equal_tvd(point: Point) -> SeedMean | None:
    """How far attention gets if picked by document, where outputs move as by chosen adversaries.

    A value per seed: JSD at the adversary's mean TVD, on the line between values of ε. None below
    the smallest ε; above the largest the JSD there, so that the output is freer for adversaries.
    """
    tvd, rows = chosen(point, "tvd"), [value.id for value in epsilons(point)]
    if tvd is None or not rows:
        return None
    values = {}
    for cell, change in zip(tvd.cells, tvd.values, strict=True):
        where = {**point.where, "cell": cell}
        numbers = [
            [point.results.find("adversary", row, column, **where) for row in rows]
            for column in ("change", "jsd")
        ]
        moved, far = ([number.value for number in side if number] for side in numbers)
        if len(moved) == len(far) == len(rows) and change >= moved[0]:
            values[cell] = float(np.interp(change, moved, far))
    return SeedMean.of(list(values.values()), list(values)) if values else None
