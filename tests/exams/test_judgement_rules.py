"""When an exam may speak: arbitrary summaries of one model, and of several seeds of one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import inf, nan

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_up_summaries import cell, summary, survives
from support.internals import COLUMNS, numbers_over_seeds
from support.internals import OVER_DOCUMENTS as DOCUMENTS
from support.internals import OVER_SEEDS as SEEDS
from verax.exams import judge as judge_model
from verax.exams import load_limits
from verax.exams.authoring import AGAINST, FOR, OPEN, Judged, ModelSummary, Number

Interval = tuple[float, float, float]
"""A value, and the ends of its interval; NaN where there is none."""
Numbers = Mapping[str, Interval]
"""Name of a number, as in PLACES → the number."""

EPSILON = "epsilon=0.05"
PLACES = {
    "part": ("erasure", "erasure.excess", "attention", "optimal_in_part", "percent"),
    "beyond": ("erasure", "erasure.excess", "attention", "beyond_random", "points"),
    "tau": ("agreement", "agreement", "inputs:attention:leave-one-out", "tau", "number"),
    "survival": ("replacement", "replacement", "uniform", "survival", "percent"),
    "alone": ("single_token", "single_token", "correct", "mean_probability", "number"),
    "together": ("single_token", "single_token", "correct", "confidence", "number"),
    "jsd": ("adversary", "adversary", EPSILON, "jsd", "number"),
    "cost": ("adversary", "adversary", EPSILON, "constraint_cost", "number"),
    "kept": ("adversary", "adversary", EPSILON, "decisions_kept", "percent"),
    "sure": ("adversary", "adversary.documents", "confidence", "value", "number"),
}
LATTICE = {
    "part": (0.0, 30.0, 50.0, 65.0, 80.0, 90.0, 100.0),
    "beyond": (-40.0, -1.0, 0.0, 1.0, 40.0),
    "tau": (-1.0, 0.1, 0.3, 0.45, 0.6, 0.8, 1.0),
    "survival": (0.0, 60.0, 80.0, 90.0, 95.0, 98.0, 100.0),
    "alone": (0.0, 0.5, 0.55, 0.5 + 0.1, 0.7, 0.9 - 0.1, 0.95 - 0.1, 0.9, 1.0),
    "together": (0.5, 0.5 + 0.25, 0.8, 0.9, 0.95, 1.0),
    "jsd": (0.1, 0.4),
    "cost": (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.6),
    "kept": (0.0, 80.0, 90.0, 95.0, 100.0),
    "sure": (0.5, 0.5 + 0.25, 0.8, 0.9, 1.0),
}
"""Values that numbers take: limits, and some between them."""
CHANCE = 0.5
SPEAKS = (FOR, AGAINST)
ROUNDING = 1e-9
"""Seeds that differ by less agree."""
HAND = load_limits("2026-11")
LIMITS = HAND.limits


KINDS = ("both", "both", "both", "none", "one", "missing")


def intervals(name: str, missing: bool) -> st.SearchStrategy[Interval]:
    """A number of a name: with an interval around it, without, or without a value."""
    places = st.sampled_from(LATTICE[name]) | st.floats(LATTICE[name][0], LATTICE[name][-1])

    def made(drawn: tuple[tuple[float, float, float], str]) -> Interval:
        (low, value, high), kind = sorted(drawn[0]), drawn[1]
        if kind == "missing" and missing:
            return nan, nan, nan
        if kind == "none":
            return value, nan, nan
        return (value, low, nan) if kind == "one" else (value, low, high)

    return st.tuples(st.tuples(places, places, places), st.sampled_from(KINDS)).map(made)


# built once: to build a strategy costs more than to draw from it
ALL_NUMBERS, WITH_VALUES = (
    st.fixed_dictionaries({name: intervals(name, missing) for name in PLACES})
    for missing in (True, False)
)


def frame_of(numbers: Numbers) -> pd.DataFrame:
    return summary(*(cell(*PLACES[name][:4], *n, PLACES[name][4]) for name, n in numbers.items()))


def judge(numbers: Numbers) -> dict[str, Judged]:
    """Exam → its row."""
    return rows_of(ModelSummary("", frame_of(numbers), {"classes": ["no", "yes"]}))


def rows_of(model: ModelSummary) -> dict[str, Judged]:
    return {row.exam: row for row in judge_model(model, HAND).rows}


def is_above(number: Interval, limit: float) -> bool:
    """By its lower end, strictly, and only where it has both ends."""
    return not math.isnan(number[2]) and number[1] > limit


def is_below(number: Interval, limit: float) -> bool:
    return not math.isnan(number[1]) and number[2] < limit


def expected(n: Numbers) -> dict[str, str]:
    """The rules as cards print them."""
    own = LIMITS["erasure"]
    verdicts = {"erasure": OPEN, "single_token": OPEN, "adversary": OPEN}
    if is_below(n["beyond"], 0) or is_below(n["part"], own["against_below"]):
        verdicts["erasure"] = AGAINST
    elif is_above(n["part"], own["for_above"]) and is_above(n["beyond"], 0):
        verdicts["erasure"] = FOR
    verdicts["agreement"] = _between(n["tau"], "agreement", FOR, AGAINST)
    own = LIMITS["replacement"]
    verdicts["replacement"] = OPEN
    if is_below(n["survival"], own["for_below"]):
        verdicts["replacement"] = FOR
    elif is_above(n["survival"], own["against_above"]):
        verdicts["replacement"] = AGAINST
    own = LIMITS["single_token"]
    if is_above(n["together"], CHANCE + own["sure_above_chance_plus"]):
        if is_above(n["alone"], n["together"][2] - own["against_within"]):
            verdicts["single_token"] = AGAINST
        elif is_below(n["alone"], CHANCE + own["for_below_chance_plus"]):
            verdicts["single_token"] = FOR
    own = LIMITS["adversary"]
    same = is_above(n["kept"], own["decisions_kept_above"])
    if same and is_above(n["sure"], CHANCE + own["sure_above_chance_plus"]):
        verdicts["adversary"] = _between(n["cost"], "adversary", FOR, AGAINST)
    return verdicts


def _between(number: Interval, exam: str, high: str, low: str) -> str:
    if is_above(number, LIMITS[exam]["for_above"]):
        return high
    return low if is_below(number, LIMITS[exam]["against_below"]) else OPEN


@pytest.mark.slow
@given(ALL_NUMBERS)
@settings(max_examples=200)
def test_an_exam_speaks_by_its_printed_rule_and_never_without_an_interval(n: Numbers) -> None:
    rules = expected(n)
    for exam, row in judge(n).items():
        assert row.verdict == rules[exam], (exam, row.number)
        if row.verdict in SPEAKS and exam != "erasure":
            assert row.number.has_interval
            assert row.number.over == DOCUMENTS


TOUCHING = {
    "part": ("erasure", (50.0, 80.0)),
    "tau": ("agreement", (0.3, 0.6)),
    "survival": ("replacement", (80.0, 95.0)),
    "alone": ("single_token", (0.5 + 0.1, 0.95 - 0.1)),
    "cost": ("adversary", (0.05, 0.2)),
}
SETTLED: Numbers = {
    "beyond": (20.0, 10.0, 30.0),
    "together": (0.93, 0.91, 0.95),
    "jsd": (0.5, 0.4, 0.6),
    "kept": (97.0, 95.0, 98.0),
    "sure": (0.9, 0.85, 0.95),
}
"""All that an exam asks for beside the number that it judges."""


@pytest.mark.slow
@given(st.data(), st.sampled_from(sorted(TOUCHING)))
def test_an_interval_that_touches_a_limit_leaves_it_open(data: st.DataObject, name: str) -> None:
    exam, (lower, upper) = TOUCHING[name]
    least, most = LATTICE[name][0], LATTICE[name][-1]
    # below the lower limit or above the upper one, but for the end that touches it
    beyond = data.draw(st.booleans())
    other = data.draw(st.floats(upper, most) if beyond else st.floats(least, lower))
    low, high = (upper, other) if beyond else (other, lower)
    value = data.draw(st.floats(low, high))
    assert judge({**SETTLED, name: (value, low, high)})[exam].verdict == OPEN
    # a hair further, and it speaks
    low = math.nextafter(low, inf) if beyond else low
    high = high if beyond else math.nextafter(high, -inf)
    if low <= high:
        assert judge({**SETTLED, name: (low, low, high)})[exam].verdict in SPEAKS


@pytest.mark.parametrize(
    ("name", "exam", "touching"),
    [
        ("beyond", "erasure", (20.0, 0.0, 30.0)),
        ("beyond", "erasure", (-20.0, -30.0, 0.0)),
        ("together", "single_token", (0.93, 0.75, 0.95)),
        ("kept", "adversary", (97.0, 90.0, 98.0)),
        ("sure", "adversary", (0.9, 0.75, 0.95)),
    ],
)
def test_nor_may_what_an_exam_asks_for_beside_it(name: str, exam: str, touching: Interval) -> None:
    beyond = {"part": (90.0, 85.0, 95.0), "alone": (0.9, 0.88, 0.92), "cost": (0.3, 0.25, 0.4)}
    assert judge({**SETTLED, **beyond})[exam].verdict in SPEAKS
    assert judge({**SETTLED, **beyond, name: touching})[exam].verdict == OPEN


AMOUNTS = st.tuples(*[st.sampled_from((0.0, 1e-9, 0.05, 0.3, 5.0, 30.0, inf))] * 2)


@pytest.mark.slow
@given(WITH_VALUES, st.lists(AMOUNTS, min_size=len(PLACES), max_size=len(PLACES)))
@settings(max_examples=120)
def test_a_wider_interval_never_makes_an_exam_speak(
    n: Numbers, amounts: list[tuple[float, float]]
) -> None:
    wider = {}
    for (name, (value, low, high)), (down, up) in zip(n.items(), amounts, strict=True):
        wide = (value, low - down, high + up)
        # as wide as can be is no interval
        wider[name] = (value, nan, nan) if math.isinf(down + up) else wide
    before, after = judge(n), judge(wider)
    assert before.keys() == after.keys()
    for exam, row in before.items():
        assert after[exam].verdict in {row.verdict, OPEN}, exam


def over_seeds(models: Sequence[Sequence[Numbers]]) -> list[ModelSummary]:
    """Seeds of several models, as a study has them; together, since that is as fast as one."""
    parts = [
        frame_of(n).assign(seed=seed, model=f"m{place}")
        for place, seeds in enumerate(models)
        for seed, n in enumerate(seeds)
    ]
    whole = numbers_over_seeds(pd.concat(parts, ignore_index=True), "model")
    summaries = []
    for place in range(len(models)):
        numbers = whole[whole["model"] == f"m{place}"]
        manifest = {"classes": ["no", "yes"], "seeds": int(numbers["seeds"].max())}
        summaries.append(ModelSummary("m", numbers[[*COLUMNS, "over"]], manifest, SEEDS))
    return summaries


def number_of(model: ModelSummary, name: str) -> Number:
    number = model.cell(*PLACES[name][1:4])
    assert number is not None
    return number


def agreeing(drawn: tuple[list[Numbers], set[str]]) -> list[Numbers]:
    seeds, alike = drawn
    first = seeds[0]
    return [
        {name: (first[name][0], *own[1:]) if name in alike else own for name, own in seed.items()}
        for seed in seeds
    ]


SEVERAL_SEEDS = st.tuples(
    st.lists(ALL_NUMBERS, min_size=1, max_size=4), st.sets(st.sampled_from(sorted(PLACES)))
).map(agreeing)
"""Seeds that differ, seeds without some values, and seeds that agree in some numbers."""


@pytest.mark.slow
@given(st.lists(SEVERAL_SEEDS, min_size=1, max_size=8))
@settings(max_examples=15)
def test_no_exam_speaks_of_seeds_that_say_nothing_of_chance(models: list[list[Numbers]]) -> None:
    """An interval is over two seeds or more that differ, or over documents of all with a value."""
    for seeds, model in zip(models, over_seeds(models), strict=True):
        check_that_chance_is_told(seeds, model)


def check_that_chance_is_told(seeds: list[Numbers], model: ModelSummary) -> None:
    numbers = {name: number_of(model, name) for name in PLACES}
    for name, number in numbers.items():
        valued = [n[name] for n in seeds if not math.isnan(n[name][0])]
        values = [value for value, _, _ in valued]
        if len(values) > 1 and max(values) - min(values) > ROUNDING:
            assert number.over == SEEDS
            assert number.has_interval
            continue
        assert number.over == DOCUMENTS
        lows, highs = ([n[end] for n in valued] for end in (1, 2))
        for end, ends, pick in ((number.low, lows, min), (number.high, highs, max)):
            if not ends or any(map(math.isnan, ends)):
                assert math.isnan(end), name
            else:
                assert end == pick(ends)
    # of these numbers each exam speaks by its printed rule
    rules = expected({name: (n.value, n.low, n.high) for name, n in numbers.items()})
    rows = rows_of(model)
    assert {exam: row.verdict for exam, row in rows.items()} == {exam: rules[exam] for exam in rows}
    judged_by = {"agreement": "tau", "replacement": "survival"}
    judged_by |= {"single_token": "alone", "adversary": "cost"}
    for exam, row in rows.items():
        if row.verdict in SPEAKS and exam in judged_by:
            valued = [n[judged_by[exam]] for n in seeds if not math.isnan(n[judged_by[exam]][0])]
            documents = all(not math.isnan(low + high) for _, low, high in valued)
            assert row.number.over == SEEDS or documents, exam


@pytest.mark.slow
@given(st.lists(st.tuples(ALL_NUMBERS, st.integers(0, 2)), min_size=1, max_size=8))
@settings(max_examples=8)
def test_where_one_seed_alone_has_a_value_it_is_judged_by_its_documents(
    cases: list[tuple[Numbers, int]],
) -> None:
    none: Numbers = dict.fromkeys(PLACES, (nan, nan, nan))
    models = [[n if seed == place else none for seed in range(3)] for n, place in cases]
    for (n, _), model in zip(cases, over_seeds(models), strict=True):
        alone, together = judge(n), rows_of(model)
        assert {exam: row.verdict for exam, row in together.items()} == {
            exam: row.verdict for exam, row in alone.items()
        }
        assert {row.number.over for row in together.values()} <= {DOCUMENTS}


@pytest.mark.parametrize("seeds", [2, 3, 7])
@pytest.mark.parametrize("value", [0.1, 97.1, 99.7])
def test_seeds_that_agree_to_the_last_digit_have_no_interval_of_their_own(
    value: float, seeds: int
) -> None:
    """The mean of three equal numbers is not always that number: its spread is then 1e-14."""

    def verdict(low: float, high: float) -> tuple[str, str]:
        parts = [
            summary(survives(value, low, high)).assign(seed=seed, model="m")
            for seed in range(seeds)
        ]
        numbers = numbers_over_seeds(pd.concat(parts, ignore_index=True), "model")
        (row,) = judge_model(ModelSummary("m", numbers, {}, SEEDS), HAND).rows
        return row.verdict, row.number.over

    assert verdict(nan, nan) == (OPEN, DOCUMENTS)
    assert verdict(0.0, 100.0) == (OPEN, DOCUMENTS)
    spoken = FOR if value < 50 else AGAINST
    assert verdict(value - 0.05, value + 0.05) == (spoken, DOCUMENTS)
