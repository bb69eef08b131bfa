"""Options: strict about names, kinds and bounds, the same in Python, files and flags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.errors import raises
from support.internals import build, divide, names
from verax.exams.authoring import option
from verax.options import kind_of, parse


@dataclass(frozen=True)
class Kitchen:
    stove: str = option("gas", "what it burns", choices=("gas", "wood"))
    pots: int = option(3, "how many", minimum=1, maximum=9)
    heat: float = option(0.5, "how hot", above=0, below=1)
    lit: bool = option(False, "burning")
    cook: str | None = option(None, "who")
    shelf: float | None = option(None, "how high", minimum=0)
    guests: dict[str, Any] | None = option(None, "who eats what")  # noqa: RUF009


@dataclass(frozen=True)
class Garden:
    trees: int = option(0, "how many")


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("pots", 9, 9),
        ("pots", np.int64(4), 4),
        ("heat", np.float32(0.5), 0.5),
        ("heat", "2.5e-1", 0.25),
        ("shelf", 2, 2.0),
        ("shelf", None, None),
        ("shelf", "none", None),
        ("cook", "None", None),
        ("cook", Path("some/where"), "some/where"),
        ("lit", True, True),
        ("guests", {1: "a"}, {1: "a"}),
    ],
)
def test_values_of_the_right_kind_are_kept(name: str, value: Any, kept: Any) -> None:
    found = getattr(build(Kitchen, {name: value}), name)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("pots", 0, ("option.out-of-range", "pots")),
        ("pots", 10, ("option.out-of-range", "pots", "10")),
        ("pots", 2.0, ("option.wrong-type", "pots", "2.0")),
        ("pots", "2", ("option.wrong-type", "pots", "2")),
        ("pots", True, ("option.wrong-type", "pots")),
        ("pots", None, ("option.wrong-type", "pots")),
        ("pots", "none", ("option.wrong-type", "pots", "none")),
        ("heat", 0, ("option.out-of-range", "heat", "0.0")),
        ("heat", 1, ("option.out-of-range", "heat", "1.0")),
        ("heat", False, ("option.wrong-type", "heat")),
        ("heat", "warm", ("option.wrong-type", "heat", "warm")),
        ("shelf", float("nan"), ("option.out-of-range", "shelf")),
        ("shelf", float("inf"), ("option.out-of-range", "shelf")),
        ("stove", "gaz", ("option.unknown-value", "stove", "gaz", "gas")),
        ("stove", "sun", ("option.unknown-value", "stove", "sun")),
        ("stove", 3, ("option.wrong-type", "stove")),
        ("lit", 1, ("option.wrong-type", "lit")),
        ("lit", "yes", ("option.wrong-type", "lit", "yes")),
        ("guests", [1], ("option.wrong-type", "guests")),
        ("pot", 3, ("option.unknown", "pots")),
        ("zzz", 3, ("option.unknown", "zzz")),
        (3, 3, ("option.unknown", "3")),
    ],
)
def test_everything_else_is_refused_with_what_is_expected(
    name: Any, value: Any, expected: tuple[str, ...]
) -> None:
    with raises(*expected):
        build(Kitchen, {name: value})


def test_names_that_belong_elsewhere_are_offered_and_not_accepted() -> None:
    with raises("option.unknown", "trees"):
        build(Kitchen, {"tree": 3}, also_valid=["trees"])
    with raises("option.unknown", "trees"):
        build(Kitchen, {"trees": 3}, also_valid=["trees"])


def test_a_flat_mapping_is_dealt_out_to_the_classes_that_know_its_names() -> None:
    assert divide({"trees": 1, "pots": 2}, Kitchen, Garden) == [{"pots": 2}, {"trees": 1}]
    with raises("option.unknown", "tress", "trees"):
        divide({"tress": 1}, Kitchen, Garden)
    assert names(Kitchen, Garden)[-2:] == ["guests", "trees"]


def test_hints_name_their_kind() -> None:
    assert kind_of(int) == (int, False)
    assert kind_of(int | None) == (int, True)
    assert kind_of(dict[str, Any] | None) == (dict, True)


@given(st.floats(allow_nan=False), st.integers())
def test_numbers_written_out_are_read_back(number: float, whole: int) -> None:
    assert parse("x", repr(number), float) == number
    assert parse("x", str(whole), int) == whole


def test_text_is_parsed_by_kind() -> None:
    assert parse("x", "0=a b, 2 = c=d", dict) == {"0": "a b", "2": "c=d"}
    assert parse("x", "TRUE", bool) is True
    assert parse("x", "3", str) == "3"
    for text, kind in (("0", dict), ("", dict), ("yes", bool), ("1.0", int), ("", float)):
        with raises("option.wrong-type", "x"):
            parse("x", text, kind)
