"""Every option has bounds, in Python as on the command line."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import pytest

from support.errors import raises
from support.internals import Planted, variants_of
from verax.corpora import CorpusOptions
from verax.exams import EXAMS
from verax.models import ModelOptions
from verax.options import check, check_path, hints, kind_of, saved_options, shown
from verax.schema import SchemaError
from verax.studies import Hardware
from verax.training import TrainingOptions

CLASSES = [CorpusOptions, Planted, ModelOptions, TrainingOptions, Hardware]
CLASSES += [exam.options_class for name in EXAMS for exam in (EXAMS[name], *variants_of(name))]


def options_of(kind: type) -> Iterator[tuple[str, Any, Any]]:
    for cls in dict.fromkeys(CLASSES):
        for field in dataclasses.fields(cls):
            if kind_of(hints(cls)[field.name])[0] is kind:
                yield field.name, hints(cls)[field.name], field.metadata


def test_whole_numbers_are_bounded_on_both_sides() -> None:
    names = [name for name, *_ in options_of(int)]
    assert len(names) > 50
    for name, hint, metadata in options_of(int):
        for value in (2**32, 2**63, 10**30, 10**5000, -(2**31), -(10**5000)):
            with raises("option.out-of-range", name):
                check(name, value, hint, metadata)


def test_numbers_are_finite() -> None:
    for name, hint, metadata in options_of(float):
        for value in (math.nan, math.inf, -math.inf, 10**400, "nan", "1e400"):
            with raises("option.out-of-range", name):
                check(name, value, hint, metadata)


def test_text_can_be_written_to_a_file() -> None:
    for name, hint, metadata in options_of(str):
        if not metadata["choices"]:
            for value in ("a\0b", "\ud800"):
                with raises("text.invalid-unicode", name):
                    check(name, value, hint, metadata)


@pytest.mark.parametrize(
    "value", [None, 3, 0.5, b"x", [], object(), "", "a\0b", "\udcff", "x" * 9999]
)
def test_what_is_no_path_is_refused(value: Any) -> None:
    with raises("*.*", "model") as error:
        check_path("the model", value)
    assert len(str(error.value)) < 200


def test_a_value_is_shown_in_a_line() -> None:
    assert shown("x" * 500).endswith("…")
    assert len(shown("x" * 500)) == 80
    assert shown(10**5000) == "a number of thousands of digits"


def test_saved_options_are_those_that_are_declared_but_for_names_to_choose() -> None:
    kind = saved_options(ModelOptions)
    kind({"encoder": "of another package", "hidden_size": 8, "else": [1]}, "config.json")
    for bad in ({"hidden_size": "8"}, {"hidden_size": 2**31}, {"lam": 1.0}, {"else": object()}, []):
        with pytest.raises(SchemaError, match=r"^config\.json"):
            kind(bad, "config.json")
