"""The judgement on a page: cards that name their exam, by which limits, and of how many."""

from __future__ import annotations

import re

from made_up_summaries import (
    another,
    cell,
    model_of,
    part_optimal,
    right,
    survives,
    tau,
    together,
    token_alone,
)
from support.internals import page_text as text
from verax.report.sections import cards, exam_part, first_screen

ONE_TOKEN = (token_alone(0.9, 0.88, 0.92), together(0.93, 0.91, 0.95))


def test_limits_and_documents_are_on_the_first_screen() -> None:
    cells = [survives(96.0, 94.0, 98.0), tau(0.4, 0.31, 0.5), *another((0.1, 0.0, 0.2))]
    page = first_screen([model_of(*cells)]).inner
    for limits in (
        "Speaks for it below 80%, against it above 95%.",
        "Speaks for it above 0.6, against it below 0.3.",
        "Speaks for it above 0.2, against it below 0.05; judged where more than 90% of decisions "
        "are kept and the model's confidence is above 0.75.",
    ):
        assert text(limits) in page
    assert page.count("of 100 documents") == 3
    assert "<li>Limits 2026-11: Set by hand" in page


def test_models_of_unlike_classes_have_their_own_limits() -> None:
    two = model_of(*ONE_TOKEN, name="two")
    three = model_of(*ONE_TOKEN, name="three", classes=list("abc"))
    page = exam_part("single_token", [two, three], []).inner
    assert "<bdi>two</bdi>: It speaks for it below 0.6, " in page
    assert "<bdi>three</bdi>: It speaks for it below 0.433, " in page


def test_a_verdict_is_shown_in_words_and_by_a_sign() -> None:
    model = model_of(survives(97.0, 95.5, 99.0))
    assert "✗ contradicts it" in cards(model.judgement.rows)
    assert 'aria-label="contradicts it">✗</span>' in first_screen([model, model]).inner


def test_a_card_has_everything_that_its_row_has() -> None:
    counts = {"examined": 250, "all_weight_needed": 100, "no_erasure_flips": 63}
    cells = [
        cell("erasure", "erasure.documents", row, "value", number, unit="count")
        for row, number in counts.items()
    ]
    model = model_of(part_optimal(19.5, 12.0, 29.0), *cells, n=87)
    (row,) = model.judgement.rows
    page = first_screen([model]).inner
    for shown in (row.of, row.limits, "19.5%", "✗ contradicts it"):
        assert shown in page


def test_cards_name_their_exam_and_accuracy_has_one() -> None:
    cells = [survives(96.0, 94.0, 98.0), *ONE_TOKEN, right(90.0, 85.0, 95.0)]
    page = first_screen([model_of(*cells)]).inner
    named = re.findall(r'data-exam="(\w+)"><span class="exam">(.*?)</span>', page)
    assert named == [
        ("replacement", "Replacement"),
        ("single_token", "Single token"),
        ("decisions", "Decisions"),
    ]
    assert "accuracy of the decisions" in page
    assert "says how well it decides, not why" in page


def test_that_a_model_has_learnt_nothing_comes_first() -> None:
    model = model_of(survives(96.0, 94.0, 98.0), right(45.0, 40.0, 50.0), labels={"a": 5, "b": 5})
    for page in (first_screen([model]).inner, first_screen([model, model]).inner):
        assert "No verdict: this model has learnt nothing: its accuracy is 45.0%" in page
        assert "contradicts" not in page
    many = first_screen([model] * 7).inner
    assert "<b>7</b> have no verdict" in many
    assert "<b>7</b> may have learnt nothing." in many
