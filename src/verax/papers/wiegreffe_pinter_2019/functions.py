"""Controls, chosen adversaries, λ and ε of the paper; paper.yaml names these functions."""

from __future__ import annotations

from collections.abc import Iterator

from verax.exams.adversary.measures import ANY_OUTPUT, epsilon_of
from verax.papers.numbers import SeedMean
from verax.papers.points import Point, Value
from verax.papers.words import epsilon_words, lambda_words
from verax.studies.adversaries.measures import lambda_of, lambda_row

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
            row = lambda_row(lam.value)
            parts.append(point.results.find("adversaries", row, column, **where))
    known = [part for part in parts if part is not None]
    if not known:
        return None
    values, cells = [p.value for p in known], [key for p in known for key in p.cells]
    return SeedMean.of(values, cells, max(p.n for p in known), (known[0].low, known[0].high))


def lams(point: Point) -> list[Value]:
    """The λ of trained adversaries, from small to large."""
    rows = sorted(point.rows("adversaries/jsd"), key=lambda_of)
    return [Value(lambda_words(row), {}, {"id": row}) for row in rows]


def ends(point: Point) -> Iterator[Value]:
    """The smallest and the largest λ, if there are two."""
    rows = [value.id for value in lams(point)]
    if len(rows) > 1:
        low, high = rows[0], rows[-1]
        name = f"λ {lambda_of(low):g} to {lambda_of(high):g}"
        yield Value(name, {}, {"low": low, "high": high})


def epsilons(point: Point) -> list[Value]:
    """The ε of attention picked document by document, from small to large."""
    rows = (row for row in point.rows("adversary/jsd") if row != ANY_OUTPUT)
    return [Value(epsilon_words(r), {}, {"id": r}) for r in sorted(rows, key=epsilon_of)]


def tolerance(point: Point) -> Iterator[Value]:
    """The largest ε that is not above the mean TVD of chosen adversaries, or the smallest of all.

    For two classes TVD is |Δp|. So the output is freer for the adversaries.
    """
    change, rows = chosen(point, "tvd"), [value.id for value in epsilons(point)]
    if change is not None and rows:
        row = max(
            (r for r in rows if epsilon_of(r) <= change.value), key=epsilon_of, default=rows[0]
        )
        yield Value(f"ε {epsilon_of(row):g}", {}, {"id": row})
