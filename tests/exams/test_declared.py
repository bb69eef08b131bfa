"""What an exam declares is held against its measures: limits at once, values when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

from verax.errors import VeraxError
from verax.exams import authoring as exams
from verax.exams.registry import unregister
from verax.exams.verdict import Verdict

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
    ("declared", "message"),
    [
        ({"limits": {"for_above": 120}}, "for_above is 120: expected from 0 to 100"),
        ({"limits": {"against_below": -1}}, "against_below is -1: expected from 0 to 100"),
        ({"limits": {"for above": 1}}, "has a limit 'for above': name it with letters"),
        ({"limits": {"for_above": "80"}}, "limit for_above is '80': expected a number"),
        ({"limits": {"for_above": 20, "against_below": 50}}, "must not be below the second"),
        (
            {"limits": {"least": 5}, "limit_ranges": {"leats": (0, 9)}},
            "range of the limit 'leats': did you mean 'least'?",
        ),
        ({"limits": {"least": 5}, "limit_ranges": {"least": (9, 0)}}, "the range of least is"),
        ({"limits": {"least": 5}, "limit_ranges": {"least": (6, 9)}}, "least is 5: expected from"),
    ],
)
def test_limits_that_cannot_be_are_refused_at_once(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(VeraxError) as caught:
        exams.register(exam_of(**declared))
    assert "exam 'declared'" in str(caught.value)
    assert message in str(caught.value)
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
    with pytest.raises(VeraxError) as caught:
        read([0.5, 64.0])
    assert str(caught.value) == (
        "exam 'declared' gives a document 64 for 'declared.all.share': expected from 0 to 1, "
        "shares of 1 for a number in percent; mend its document_values"
    )


@pytest.mark.parametrize(("values", "column"), [([0.0, 1.0], "share"), ([-3.0, 64.0], "other")])
def test_values_within_bounds_are_not(read: Any, values: list[float], column: str) -> None:
    assert read(values, column)["value"].tolist() == values
