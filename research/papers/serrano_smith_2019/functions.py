"""Numbers by Δα, of flips and of orders, and axes of the paper; paper.yaml names them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from research.papers.folders import POINTS
from research.papers.numbers import SeedMean, combined, difference, percent
from research.papers.points import Point, Value

DATASETS = ("Yahoo Answers", "IMDB", "Amazon", "Yelp")
ALL_DRAWS = "random@all"
TENTHS = tuple(f"{k / 10:.1f}-{(k + 1) / 10:.1f}" for k in range(10))
FEWEST = 10
"""Documents that a tenth of Δα needs for its median to count."""
RANKINGS = ("random", "attention", "gradient", "product")
CASES = ("both", "top_only", "random_only", "neither")
"""Columns of the contingency table; the first two are those in which the top item flips."""


def models(point: Point) -> Iterator[Value]:
    """The six architectures: HAN attends to sentences, FLAN to words."""
    for other in point.over({"family": None, "encoder": None}):
        family, encoder = other.values["family"], other.values["encoder"]
        yield Value(f"{family}{encoder}", {**family.where, **encoder.where})


def datasets(point: Point) -> Iterator[Value]:
    """The paper's datasets, measured (and named as here) or not, then our other corpora."""
    ours = {value.published: value.name for value in point.choose("corpus") if value.published}
    names = [(ours.get(dataset, ""), dataset) for dataset in DATASETS]
    names += [(value.name, "") for value in point.choose("corpus") if not value.published]
    for name, dataset in names:
        yield Value(name, {"corpus": name}, {"published": dataset})


def tenths(point: Point) -> Iterator[Value]:
    """Tenths of Δα, named by their middles."""
    for place, row in enumerate(TENTHS):
        yield Value(round(0.1 * place + 0.05, 2), {}, {"id": row})


def orders(point: Point, table: str) -> Iterator[Value]:
    """Rankings, and what else the results have of a table; the studies draw five at random."""
    for row in dict.fromkeys([*RANKINGS, *point.rows(f"{table}/median")]):
        yield Value("random (5 draws)" if row == ALL_DRAWS else row, {}, {"id": row})


def documents(point: Point) -> Iterator[Value]:
    """Points of single documents, thinned, of the model's first seed that has them."""
    points = point.results.kept(POINTS, **point.where)
    for row in sorted(points, key=lambda row: (row["delta_alpha"], row["id"])):
        number = SeedMean.of([float(row["delta_js"])], [str(row["cell"])], 1)
        yield Value(row["id"], {}, {"delta_alpha": row["delta_alpha"], "number": number})


def delta_js(point: Point) -> SeedMean:
    """ΔJS of one document."""
    number: SeedMean = point.values["document"].number
    return number


def largest(point: Point) -> Iterator[Value]:
    """The order with the largest median fraction of all corpora, at its corpus."""
    everywhere = [
        (number.value, other)
        for other in point.over({"corpus": None, "ranking": None})
        if (number := other.number("erasure.fraction/{ranking}/median")) is not None
    ]
    _, most = max(everywhere, key=lambda pair: pair[0], default=(0.0, None))
    if most is not None and most.values["corpus"].name == point.values["corpus"].name:
        yield most.values["ranking"]


def accuracy(point: Point) -> SeedMean | None:
    """Accuracy on the test split, in percent."""
    share = point.number("fact test_accuracy")
    number = point.number("erasure.documents/accuracy/value")
    if share is None:
        return number
    # of one seed, the documents examined give the interval that the whole test lacks
    return number if share.seeds == 1 and number else share.scaled(100.0)


def at_small(point: Point, most: str) -> SeedMean | None:
    """Percent of negative ΔJS at Δα below a bound."""
    known = _by_tenth(point, "erasure.negative_delta_js", "negative")
    if not any(number.value for number in known.values()):
        return None
    small = TENTHS[: round(10 * point.grid.criterion(most))]
    return percent([known[row] for row in small if row in known], list(known.values()))


def among(point: Point, low: str, high: str, column: str) -> SeedMean | None:
    """The mean over tenths of Δα with enough documents, from one to before another."""
    return _over_tenths(point, _filled(point, TENTHS[int(low) : int(high)]), column)


def rise(point: Point, low: str, high: str, later: str, end: str) -> SeedMean | None:
    """The rise of the median ΔJS from some tenths to later ones."""
    a, b = among(point, low, high, "median"), among(point, later, end, "median")
    return None if a is None or b is None else combined([(1.0, b), (-1.0, a)])


def early(point: Point, encoder: str, other: str) -> SeedMean | None:
    """The median ΔJS of an encoder at Δα 0.1 to 0.5, tenths that another's model has, too."""
    one, second = point.over({"encoder": encoder})[0], point.over({"encoder": other})[0]
    return _over_tenths(one, _filled(one, _filled(second, TENTHS[1:5])), "median")


def _filled(point: Point, rows: Sequence[str]) -> list[str]:
    counts = _by_tenth(point, "erasure.delta_js_by_alpha", "documents")
    return [row for row in rows if row in counts and counts[row].value >= FEWEST]


def _over_tenths(point: Point, rows: Sequence[str], column: str) -> SeedMean | None:
    numbers = _by_tenth(point, "erasure.delta_js_by_alpha", column)
    known = [numbers[row] for row in rows if row in numbers]
    return combined([(1 / len(known), number) for number in known]) if known else None


def _by_tenth(point: Point, table: str, column: str) -> dict[str, SeedMean]:
    """Tenth of Δα → its number, of those that have one."""
    numbers = {row: point.number(f"{table}/{row}/{column}") for row in TENTHS}
    return {row: number for row, number in numbers.items() if number is not None}


def flips(point: Point, top: str) -> SeedMean | None:
    """Percent of decisions that flip with the top item, with or without the random one."""
    counts = _counts(point, top)
    return None if counts is None else percent(counts[:2], counts)


def by_random(point: Point, times: str = "") -> SeedMean | None:
    """Of the documents that one erasure alone flips, the percentage that the random item flips."""
    counts = _counts(point, "attention")
    if counts is None or not counts[1].value + counts[2].value > 0:
        return None
    share = percent(counts[2:3], counts[1:3])
    return combined([(float(times), share)]) if times else share


def _counts(point: Point, top: str) -> list[SeedMean] | None:
    """The number of documents of each case."""
    shares = [point.number(f"erasure.contingency/{top}/{case}") for case in CASES]
    known = [number.scaled(number.n / 100) for number in shares if number is not None]
    return known if len(known) == len(CASES) else None


def shorter(point: Point, first: str, second: str, column: str) -> SeedMean | None:
    """Of the documents where two orders differ, the percentage in a column, fewer or more."""
    numbers = {c: point.number(f"erasure.pairs/{first}:{second}/{c}") for c in ("fewer", "more")}
    known = {name: number for name, number in numbers.items() if number is not None}
    if len(known) < len(numbers):
        return None
    share = percent([known[column]], list(known.values()))
    return None if math.isnan(share.value) else share


def medians(point: Point, *rankings: str) -> SeedMean | None:
    """The median fraction, averaged over orders; None unless all have one."""
    sources = " ".join(f"erasure.fraction/{name}/median" for name in rankings or RANKINGS)
    return point.number(f"mean {sources}")


def drop(point: Point, family: str) -> SeedMean | None:
    """How far the median fraction of a convolution is below that of a recurrent model."""
    numbers = []
    for encoder in ("rnn", "conv"):
        model = point.but({"family": family, "encoder": encoder})
        numbers.append(None if model is None else medians(model))
    rnn, conv = numbers
    return None if rnn is None or conv is None else difference(rnn, conv)


def size(point: Point, times: str, *source: str) -> SeedMean | None:
    """A number without its sign, times a factor."""
    number = point.number(" ".join(source))
    if number is None:
        return None
    return number.scaled(math.copysign(float(times), number.value))


def flat(point: Point) -> SeedMean | None:
    """Percent of documents whose top and random item differ by less than 0.1 in weight."""
    known = _by_tenth(point, "erasure.delta_js_by_alpha", "documents")
    return percent([known[TENTHS[0]]], list(known.values())) if TENTHS[0] in known else None
