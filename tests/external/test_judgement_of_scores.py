"""Several scores, each a subject: which may be shown, and how the lines are grouped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from made_up_summaries import Cell, cell, model_of
from verax.exams import judge
from verax.exams.authoring import Judged, Number
from verax.exams.judgement.headline import headline, short

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
            "Of three scores derived from attention, chefer may be shown (exams support it and "
            "none contradicts it); exams contradict rollout; inconclusive for attention.",
            "1 for, 1 against, 1 open",
        ),
        (
            {"rollout": FOR, "chefer": FOR},
            "Of two scores derived from attention, rollout and chefer may be shown (exams support "
            "them and none contradicts them).",
            "2 for",
        ),
        (
            {"rollout": AGAINST, "chefer": AGAINST},
            "Of two scores derived from attention, none may be shown: exams contradict rollout "
            "and chefer.",
            "2 against",
        ),
        (
            {"rollout": AGAINST, "mine": OPEN},
            "Of two scores examined here, none may be shown: exams contradict rollout; "
            "inconclusive for mine.",
            "1 against, 1 open",
        ),
        (
            {"rollout": OPEN, "chefer": OPEN},
            "Inconclusive: the exams neither support nor contradict any of the two scores derived "
            "from attention.",
            "2 open",
        ),
        (
            {"rollout": FOR},
            "rollout may be shown (exams support it and none contradicts it).",
            "1 for",
        ),
        ({"rollout": AGAINST}, "rollout may not be shown: exams contradict rollout.", "1 against"),
        (
            {"rollout": OPEN},
            "Inconclusive: the exams neither support nor contradict rollout.",
            "1 open",
        ),
    ],
)
def test_the_headline_says_which_scores_may_be_shown(
    said: dict[str, str], sentence: str, counted: str
) -> None:
    assert headline(rows(**said)) == sentence
    assert short(rows(**said)) == counted


def test_a_score_that_one_exam_supports_and_another_contradicts_is_mixed() -> None:
    """Whichever of the two decides; the headline names both."""
    scores = rows(attention=FOR, rollout=AGAINST, chefer=FOR, mine=OPEN)
    others = [
        Judged(exam, f"{exam}.x", said, Number(1.0), "", "", "", subject=score)
        for exam, score, said in (
            ("agreement", "attention", AGAINST),
            ("sufficiency", "attention", AGAINST),
            ("agreement", "rollout", FOR),
            ("agreement", "chefer", OPEN),
            ("agreement", "mine", FOR),
        )
    ]
    for decides in (False, True):
        both = [*(replace(row, decides=decides) for row in scores), *others]
        said = headline(both)
        assert "mixed for attention (supported by deletion, contradicted by agreement and " in said
        assert "mixed for rollout (supported by agreement, contradicted by deletion)" in said
        assert said.split(" may be shown")[0].endswith(" chefer" if decides else "chefer and mine")
        # agreement with leave-one-out is not enough where deletion cannot tell
        assert ("inconclusive for mine" in said) == decides
        assert short(both) == ("1 for, 2 mixed, 1 open" if decides else "2 for, 2 mixed")


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
    assert judgement.headline.startswith("No exam contradicts this attention")
    assert "subjects" not in judgement.to_json()
