"""What an exam declares is held against its measures: limits at once, values when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from support.errors import raises
from verax.exams import Verdict, unregister
from verax.exams import authoring as exams

SHARE = exams.Table(
    "declared",
    "a share",
    (
        exams.Measure("share", "share", unit=exams.PERCENT, better=exams.HIGHER),
        exams.Measure("other", "anything"),
    ),
)


def exam_of(**declared: Any) -> type[exams.Exam]:
    def summarise(cls: Any, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        return exams.summary_frame("declared", [])

    class_level = {
        "name": "declared",
        "question": "Is it possible?",
        "summary_tables": (SHARE,),
        "tidy_tables": ("declared",),
        "see": lambda self, model, trace: None,
        "summarise": classmethod(summarise),
    }
    return type("Declared", (exams.Exam,), class_level | declared)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"limits": {"for_above": 120}}, ("limits.out-of-range", "for_above", "120", "100")),
        ({"limits": {"against_below": -1}}, ("limits.out-of-range", "against_below", "100")),
        ({"limits": {"for above": 1}}, ("plugin.invalid", "for above")),
        ({"limits": {"for_above": "80"}}, ("limits.malformed", "for_above", "80")),
        ({"limits": {"for_above": 20, "against_below": 50}}, ("limits.out-of-range",)),
        (
            {"limits": {"least": 5}, "limit_ranges": {"leats": (0, 9)}},
            ("plugin.invalid", "leats", "least"),
        ),
        ({"limits": {"least": 5}, "limit_ranges": {"least": (9, 0)}}, ("plugin.invalid",)),
        ({"limits": {"least": 5}, "limit_ranges": {"least": (6, 9)}}, ("limits.out-of-range",)),
    ],
)
def test_limits_that_cannot_be_are_refused_at_once(
    declared: dict[str, Any], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as caught:
        exams.register(exam_of(**declared))
    assert "exam 'declared'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_limits_that_can_be_are_not() -> None:
    limits = {"for_above": 100, "against_below": 0, "least_documents": 500}
    exams.register(exam_of(limits=limits, limit_ranges={"for_above": (0, 100)}))
    unregister("declared")


@pytest.fixture
def read() -> Iterator[Any]:
    def values_of(values: list[float], column: str = "share") -> pd.DataFrame:
        def document_values(cls: Any, tables: Any) -> Iterator[pd.DataFrame]:
            ids = pd.Series(range(len(values)))
            yield exams.part(ids, SHARE.id_of("all", column), pd.Series(values))

        exams.register(exam_of(document_values=classmethod(document_values)))
        table = pd.DataFrame({"id": [], "measure": [], "value": []})
        return Verdict({"declared": table}, {"exams": ["declared"]}).document_values()

    yield values_of
    unregister("declared")


def test_values_of_documents_on_another_scale_are_refused(read: Any) -> None:
    with raises("plugin.invalid", "declared", "64", "declared.all.share"):
        read([0.5, 64.0])


@pytest.mark.parametrize(("values", "column"), [([0.0, 1.0], "share"), ([-3.0, 64.0], "other")])
def test_values_within_bounds_are_not(read: Any, values: list[float], column: str) -> None:
    assert read(values, column)["value"].tolist() == values
