"""Keywords that editors and type checkers see are the options that there are, field by field."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

import scripts.keywords
import verax
from support.internals import Planted, variants_of
from verax.corpora import CorpusOptions
from verax.corpora.options import CorpusKeywords, LoadKeywords, PlantedKeywords
from verax.exams import EXAMS
from verax.exams.keywords import ExamKeywords
from verax.models import ModelOptions
from verax.training import TrainingOptions
from verax.training.keywords import TrainKeywords


@pytest.mark.parametrize(
    ("keywords", "options"),
    [
        (CorpusKeywords, CorpusOptions),
        (PlantedKeywords, Planted),
    ],
)
def test_keywords_are_the_options(keywords: type, options: type) -> None:
    found, declared = get_type_hints(keywords), get_type_hints(options)
    assert list(found) == [field.name for field in dataclasses.fields(options)]
    assert found == declared
    assert keywords.__required_keys__ == frozenset()  # type: ignore[attr-defined]


def test_generated_keywords_are_up_to_date() -> None:
    assert scripts.keywords.FILE.read_text(encoding="utf-8") == scripts.keywords.text()
    found = get_type_hints(TrainKeywords)
    for cls in (ModelOptions, TrainingOptions):
        for name, kind in get_type_hints(cls).items():
            accepted = set(typing.get_args(found[name])) or {found[name]}
            assert accepted >= (set(typing.get_args(kind)) or {kind}), name


@pytest.mark.parametrize(
    ("function", "keywords", "classes"),
    [
        (verax.train, TrainKeywords, (ModelOptions, TrainingOptions)),
        (verax.load_corpus, LoadKeywords, (CorpusOptions, Planted)),
    ],
)
def test_functions_show_them(
    function: Callable[..., Any], keywords: type, classes: tuple[type, ...]
) -> None:
    assert get_type_hints(function)["options"] == typing.Unpack[keywords]
    fields = [field for cls in classes for field in dataclasses.fields(cls)]
    assert set(keywords.__annotations__) == {field.name for field in fields}
    shown = inspect.signature(function).parameters
    for field in fields:
        assert shown[field.name].default == field.default
    assert not any(p.kind is p.VAR_KEYWORD for p in shown.values())


def test_examine_and_compare_show_the_options_of_exams() -> None:
    """Flat, and under the name of each exam of this package, of the types that exams declare."""
    for function in (verax.examine, verax.compare):
        assert get_type_hints(function)["options"] == typing.Unpack[ExamKeywords]
        assert {"sample", "seed", "device", "max_tokens"} <= set(
            inspect.signature(function).parameters
        )
    shown = get_type_hints(ExamKeywords)
    built_in = {n: e for n, e in EXAMS.registered.items() if e.__module__.startswith("verax.")}
    of_exams = {name: _options(name) for name in built_in}
    options = {option for one in of_exams.values() for option in one}
    assert set(shown) == {*built_in, *options}
    for name, of_exam in of_exams.items():
        assert get_type_hints(shown[name]) == of_exam
        assert of_exam.items() <= shown.items()


def _options(exam: str) -> dict[str, Any]:
    """Option → its type, of the exam for all kinds of model."""
    hints = [get_type_hints(cls.options_class) for cls in variants_of(exam)]
    together = {name: kind for one in hints for name, kind in one.items()}
    assert all(one.items() <= together.items() for one in hints)
    return together
