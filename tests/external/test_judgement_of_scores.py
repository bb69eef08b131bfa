"""Several scores, each a subject: which may be shown, and how the lines are grouped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from made_up_summaries import Cell, cell, model_of
from verax.exams.judgement.headline import headline, short
from verax.exams.judgement.judgement import judge
from verax.exams.judgement.number import Number
from verax.exams.judgement.row import Judged

FOR, AGAINST, OPEN = "for", "against", "open"


def rows(**verdicts: str) -> list[Judged]:
    return [
        Judged("deletion", f"deletion.{name}.gain", said, Number(0.5), "", "", "", subject=name)
        for name, said in verdicts.items()
    ]


@pytest.mark.parametrize(
    ("said", "sentence", "counted"),
    [
        (
            {"rollout": AGAINST, "chefer": FOR, "attention": OPEN},
            "Of three scores derived from attention, chefer passes the exams taken here, and may "
            "be shown for this model; exams speak against rollout; it cannot be told of attention.",
            "1 for, 1 against, 1 open",
        ),
        (
            {"rollout": FOR, "chefer": FOR},
            "Of two scores derived from attention, rollout and chefer pass the exams taken here, "
            "and may be shown for this model.",
            "2 for",
        ),
        (
            {"rollout": AGAINST, "chefer": AGAINST},
            "Of two scores derived from attention, none may be shown for this model: exams speak "
            "against rollout and chefer.",
            "2 against",
        ),
        (
            {"rollout": AGAINST, "mine": OPEN},
            "Of two scores examined here, none is known to be fit to be shown for this model: "
            "exams speak against rollout; it cannot be told of mine.",
            "1 against, 1 open",
        ),
        (
            {"rollout": OPEN, "chefer": OPEN},
            "Of two scores derived from attention, it cannot be told whether any may be shown for "
            "this model.",
            "2 open",
        ),
        (
            {"rollout": FOR},
            "rollout passes the exams taken here, and may be shown for this model.",
            "1 for",
        ),
        (
            {"rollout": AGAINST},
            "rollout may not be shown for this model: exams speak against it.",
            "1 against",
        ),
        (
            {"rollout": OPEN},
            "It cannot be told whether rollout may be shown for this model.",
            "1 open",
        ),
    ],
)
def test_the_headline_says_which_scores_may_be_shown(
    said: dict[str, str], sentence: str, counted: str
) -> None:
    assert headline(rows(**said)) == sentence
    assert short(rows(**said)) == counted


def test_exams_that_disagree_on_a_score() -> None:
    other = Judged("replacement", "replacement.a.b", AGAINST, Number(1.0), "", "", "")
    both = [*rows(attention=FOR, rollout=AGAINST), other]
    assert "they are divided on attention" in headline(both)
    assert short(both) == "1 against, 1 mixed"
    deciding = [*(replace(row, decides=True) for row in both[:2]), other]
    assert headline(deciding) == (
        "Of two scores derived from attention, attention finds words that matter better than "
        "chance, and may be shown for this model; other exams speak against attention; exams speak "
        "against rollout."
    )
    assert short(deciding) == "1 for, 1 against"


def gain(score: str, value: float, low: float, high: float) -> Cell:
    return cell("deletion", "deletion", score, "gain", value, low, high, "percent")


def p(score: str, value: float) -> Cell:
    return cell("deletion", "deletion", score, "p", value)


def test_scores_are_judged_by_the_way_they_go_from_chance_to_the_smallest_sets() -> None:
    cells = [
        *(gain("rollout", 5, -2, 9), p("rollout", 0.6)),
        *(gain("chefer", 60, 50, 70), p("chefer", 0.001)),
        *(gain("attention", 60, 50, 70), p("attention", 0.06)),
        *(gain("attention@2.1", 30, 20, 40), p("attention@2.1", 0.001)),
        *(gain("gradient", 90, 80, 95), p("gradient", 0.001)),
    ]
    judgement = model_of(*cells).judgement
    assert judgement.subjects == {
        "attention": OPEN,
        "rollout": AGAINST,
        "chefer": FOR,
        "attention@2.1": OPEN,
    }
    assert [line.split()[1] for line in judgement.lines()[:4]] == list(judgement.subjects)
    assert judgement.to_json()["subjects"] == judgement.subjects
    assert "p is not below 0.05" in judgement.lines()[0]
    few = model_of(*cells, n=5).judgement
    assert set(few.subjects.values()) == {OPEN}
    ours = {"version": "ours", "limits": {"deletion": {"for_above": 10}}}
    assert judge(model_of(*cells), ours).subjects["attention@2.1"] == FOR


def test_one_attention_is_judged_as_ever() -> None:
    (row,) = model_of(gain("attention", 60, 50, 70), p("attention", 0.001)).judgement.rows
    assert row.verdict == FOR
    judgement = model_of(gain("attention", 60, 50, 70), p("attention", 0.001)).judgement
    assert judgement.headline.startswith("Nothing speaks against this attention")
    assert "subjects" not in judgement.to_json()
