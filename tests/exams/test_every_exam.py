"""What holds for every exam there is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch

import verax
from support.errors import raises
from verax.exams import EXAMS
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
OF_ITEM_LOGITS = ("erasure", "replacement", "single_token", "adversary")


@pytest.mark.parametrize("exam", EXAMS)
def test_names_of_importances_of_ones_own_are_checked(exam: str) -> None:
    with raises("importance.name-taken", "gradient"):
        EXAMS[exam](EXAMS[exam].options_class(), 0, {"gradient": lambda m, t: t.weights})


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("exam", OF_ITEM_LOGITS)
def test_a_model_that_does_not_answer_in_numbers_is_refused(
    exam: str, value: float, make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model()
    with torch.no_grad():
        model.head.linear.bias.fill_(value)
    with raises("model.not-finite"):
        verax.examine(model, planted, exam)


def test_no_two_exams_call_an_option_the_same() -> None:
    """What exams inherit from one class is one option."""
    fields = [field for exam in EXAMS.values() for field in dataclasses.fields(exam.options_class)]
    assert len({id(field) for field in fields}) == len({field.name for field in fields})
