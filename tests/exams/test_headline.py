"""The headline: every mix of what exams say is worded apart, and caveats say what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import pytest

from made_up_summaries import (
    Cell,
    model_of,
    more_than_random,
    optimal,
    part_optimal,
    right,
    survives,
)
from support.internals import OVER_SEEDS as SEEDS
from verax.exams import judge
from verax.exams.authoring import Judged, ModelSummary, Number
from verax.exams.judgement.headline import headline, short

FOR, AGAINST, OPEN, ASIDE = "for", "against", "open", "not applicable"


def rows(verdicts: Sequence[str]) -> list[Judged]:
    return [
        Judged(f"exam{k}", f"exam{k}.a.b", verdict, Number(0.5), "", "", "")
        for k, verdict in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("verdicts", "sentence", "counted"),
    [
        (
            [AGAINST] * 5,
            "Do not take this attention for the reason of a decision: all 5 exams run here "
            "contradict it.",
            "5 against",
        ),
        (
            [AGAINST],
            "Do not take this attention for the reason of a decision: the one exam run here "
            "contradicts it.",
            "1 against",
        ),
        (
            [AGAINST] * 3 + [OPEN] * 2,
            "Do not rely on this attention: 3 of 5 exams contradict it, and none supports it.",
            "3 against, 2 open",
        ),
        (
            [AGAINST] + [OPEN] * 4,
            "Doubt this attention: 1 of 5 exams contradicts it, and none supports it.",
            "1 against, 4 open",
        ),
        (
            [AGAINST, OPEN],
            "Doubt this attention: 1 of 2 exams contradicts it, and none supports it.",
            "1 against, 1 open",
        ),
        (
            [FOR, AGAINST],
            "The exams disagree about this attention: of 2 exams, 1 supports it (exam0) and 1 "
            "contradicts it (exam1).",
            "1 for, 1 against",
        ),
        (
            [FOR, FOR, AGAINST, OPEN],
            "The exams disagree about this attention: of 4 exams, 2 support it (exam0 and exam1) "
            "and 1 contradicts it (exam2); 1 is inconclusive.",
            "2 for, 1 against, 1 open",
        ),
        (
            [FOR] * 5,
            "No exam contradicts this attention: all 5 exams run here support it.",
            "5 for",
        ),
        (
            [FOR, OPEN, OPEN],
            "No exam contradicts this attention: 1 of 3 exams supports it; 2 are inconclusive.",
            "1 for, 2 open",
        ),
        (
            [OPEN],
            "Inconclusive: the one exam run here neither supports nor contradicts this attention.",
            "1 open",
        ),
        (
            [OPEN] * 3,
            "Inconclusive: none of the 3 exams run here supports or contradicts this attention.",
            "3 open",
        ),
        (
            [],
            "The exams run here do not judge whether this attention can be trusted.",
            "not asked",
        ),
    ],
)
def test_every_mix_is_worded_apart(verdicts: list[str], sentence: str, counted: str) -> None:
    assert headline(rows(verdicts)) == sentence
    # what is not applicable has no vote
    assert headline([*rows([ASIDE]), *rows([*verdicts, ASIDE])]) == sentence
    assert short(rows([ASIDE, *verdicts])) == counted


@pytest.mark.parametrize(
    ("cells", "beginning", "counted"),
    [
        (
            [part_optimal(90, 85, 95), more_than_random(20, 10, 30), survives(70, 60, 75)],
            "No exam contradicts",
            "2 for",
        ),
        ([optimal(10, 5, 15), survives(99, 98, 100)], "Do not take this attention", "2 against"),
        ([optimal(60, 50, 70)], "Inconclusive: the one exam run here", "1 open"),
        ([], "The exams run here do not judge", "not asked"),
    ],
)
def test_the_headline_counts_what_exams_say(
    cells: list[Cell], beginning: str, counted: str
) -> None:
    judgement = model_of(*cells).judgement
    assert judgement.headline.startswith(beginning)
    assert judgement.short == counted


LEARNT_NOTHING = "No verdict: this model has learnt nothing: its accuracy is "
MAY_HAVE = "No verdict: this model may have learnt nothing: its accuracy is "


@pytest.mark.parametrize(
    ("accuracy", "beginning"),
    [
        ((52.0, 45.0, 59.0), MAY_HAVE),  # as often as the largest class
        ((48.0, 44.0, 52.0), LEARNT_NOTHING),
        ((40.0, 33.0, 47.0), LEARNT_NOTHING),
        ((55.0, 48.0, 62.0), MAY_HAVE),
        ((58.0, 52.0, 65.0), MAY_HAVE),  # its interval touches 52
        ((60.0, 53.0, 67.0), ""),
        ((50.0, nan, nan), MAY_HAVE),  # without an interval nothing is sure
        ((60.0, nan, nan), ""),
    ],
)
def test_there_is_no_verdict_on_a_model_that_has_learnt_nothing(
    accuracy: tuple[float, float, float], beginning: str
) -> None:
    labels = {"no": 48, "yes": 52}
    judgement = model_of(right(*accuracy), survives(99, 98, 100), labels=labels).judgement
    if not beginning:
        assert judgement.unlearned == judgement.withheld == ""
        assert judgement.headline.startswith("Do not take this attention for the reason")
        return
    assert judgement.headline.startswith(f"{beginning}{accuracy[0]:.1f}%")
    assert judgement.headline.endswith("that of always naming the largest class 52.0%.")
    assert judgement.speaks("against") == []
    assert not judgement.to_json()["learnt"]
    assert judgement.lines()[-1] == judgement.headline


def test_where_labels_are_not_known_accuracy_is_held_against_chance() -> None:
    assert "naming a class at random 50.0%" in model_of(right(55, 48, 62)).judgement.unlearned
    assert model_of(right(60, 53, 67)).judgement.unlearned == ""
    of_four = model_of(right(40, 33, 47), classes=list("abcd"))
    assert of_four.judgement.unlearned == ""
    assert model_of(right(40, 33, 47), classes=[]).judgement.unlearned == ""
    assert model_of(survives(99, 98, 100)).judgement.unlearned == ""
    nobody = model_of(right(55, 48, 62), labels={"no": 0, "yes": 0})
    assert "at random" in nobody.judgement.unlearned


def test_caveats_say_how_many_were_examined_and_what_intervals_are_over() -> None:
    lines = model_of(documents=150, sampled_from=854).judgement.caveats
    assert any("150 of 854" in line for line in lines)
    assert any("another seed may give another attention" in line for line in lines)
    assert not any("854" in line for line in model_of(documents=150).judgement.caveats)
    own = model_of(survives(99, 98, 100))
    seeds = ModelSummary("", own.summary, {"seeds": 3, "cut": True}, SEEDS)
    (over, _) = judge(seeds, "2026-11").caveats
    assert over == (
        "Intervals are over 3 seeds (Student's t): 3 are few, and intervals wide; they are cut "
        "where a number cannot go."
    )
