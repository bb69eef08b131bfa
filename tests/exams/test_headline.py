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
from verax.exams.judgement.headline import headline, short
from verax.exams.judgement.model_summary import SEEDS, ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.row import Judged

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
            "Do not take this attention for the reason of a decision: all 5 exams taken here speak "
            "against it.",
            "5 against",
        ),
        (
            [AGAINST],
            "Do not take this attention for the reason of a decision: the one exam taken here "
            "speaks against it.",
            "1 against",
        ),
        (
            [AGAINST] * 3 + [OPEN] * 2,
            "Do not rely on this attention: 3 of 5 exams speak against it, and none for it.",
            "3 against, 2 open",
        ),
        (
            [AGAINST] + [OPEN] * 4,
            "Doubt this attention: 1 of 5 exams speaks against it, and none for it.",
            "1 against, 4 open",
        ),
        (
            [AGAINST, OPEN],
            "Doubt this attention: 1 of 2 exams speaks against it, and none for it.",
            "1 against, 1 open",
        ),
        (
            [FOR, AGAINST],
            "This attention tells part of the truth: of 2 exams, 1 speaks for it and 1 against.",
            "1 for, 1 against",
        ),
        (
            [FOR, FOR, AGAINST, OPEN],
            "This attention tells part of the truth: of 4 exams, 2 speak for it and 1 against, and "
            "one exam leaves it open.",
            "2 for, 1 against, 1 open",
        ),
        (
            [FOR] * 5,
            "Nothing speaks against this attention: all 5 exams taken here speak for it.",
            "5 for",
        ),
        (
            [FOR, OPEN, OPEN],
            "Nothing speaks against this attention: 1 of 3 exams speaks for it, and 2 exams leave "
            "it open.",
            "1 for, 2 open",
        ),
        (
            [OPEN],
            "The one exam taken here leaves open whether this attention can be trusted.",
            "1 open",
        ),
        (
            [OPEN] * 3,
            "The 3 exams taken here leave open whether this attention can be trusted.",
            "3 open",
        ),
        ([], "The exams taken here do not ask whether this attention can be trusted.", "not asked"),
    ],
)
def test_every_mix_is_worded_apart(verdicts: list[str], sentence: str, counted: str) -> None:
    assert headline(rows(verdicts)) == sentence
    # what is not applicable has no vote
    assert headline(rows([ASIDE, *verdicts, ASIDE])) == sentence
    assert short(rows([ASIDE, *verdicts])) == counted


@pytest.mark.parametrize(
    ("cells", "beginning", "counted"),
    [
        (
            [part_optimal(90, 85, 95), more_than_random(20, 10, 30), survives(70, 60, 75)],
            "Nothing speaks against",
            "2 for",
        ),
        ([optimal(10, 5, 15), survives(99, 98, 100)], "Do not take this attention", "2 against"),
        ([optimal(60, 50, 70)], "The one exam taken here leaves open", "1 open"),
        ([], "The exams taken here do not ask", "not asked"),
    ],
)
def test_the_headline_counts_what_exams_say(
    cells: list[Cell], beginning: str, counted: str
) -> None:
    judgement = model_of(*cells).judgement
    assert judgement.headline.startswith(beginning)
    assert judgement.short == counted


LEARNT_NOTHING = "This model has learnt nothing that attention could explain: it decides right in "
MAY_HAVE = "This model may have learnt nothing: it decides right in "


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
def test_of_a_model_that_has_learnt_nothing_the_headline_says_so_first(
    accuracy: tuple[float, float, float], beginning: str
) -> None:
    labels = {"no": 48, "yes": 52}
    judgement = model_of(right(*accuracy), survives(99, 98, 100), labels=labels).judgement
    attention = "Do not take this attention for the reason of a decision: the one exam taken here "
    if not beginning:
        assert judgement.unlearned == ""
        assert judgement.headline.startswith(attention)
        return
    assert judgement.headline.startswith(f"{beginning}{accuracy[0]:.1f}%")
    assert judgement.headline.endswith(f"{attention}speaks against it.")
    assert "always naming the largest class in 52.0%." in judgement.headline
    assert not judgement.to_json()["learnt"]
    assert judgement.lines()[-1] == judgement.headline


def test_where_labels_are_not_known_accuracy_is_held_against_chance() -> None:
    assert "naming a class at random in 50.0%" in model_of(right(55, 48, 62)).judgement.unlearned
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
    (over, _) = seeds.judgement.caveats
    assert over == (
        "Intervals are over 3 seeds (Student's t): 3 are few, and intervals wide; they are cut "
        "where a number cannot go."
    )
