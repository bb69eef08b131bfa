"""Options: strict about names, kinds and bounds, the same in Python, files and flags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.errors import VeraxError
from verax.options import build, divide, kind_of, names, option, parse


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
    ("name", "value", "message"),
    [
        ("pots", 0, "'pots' is 0: it must be at least 1"),
        ("pots", 10, "'pots' is 10: it must be at most 9"),
        ("pots", 2.0, "'pots' is 2.0: expected a whole number"),
        ("pots", "2", "'pots' is '2': expected a whole number"),
        ("pots", True, "'pots' is True: expected a whole number"),
        ("pots", None, "'pots' cannot be none: give a whole number"),
        ("pots", "none", "'pots' is 'none': expected a whole number"),
        ("heat", 0, "'heat' is 0.0: it must be above 0"),
        ("heat", 1, "'heat' is 1.0: it must be below 1"),
        ("heat", False, "'heat' is False: expected a number"),
        ("heat", "warm", "'heat' is 'warm': expected a number"),
        ("shelf", float("nan"), "'shelf' is nan: it must be a finite number"),
        ("shelf", float("inf"), "'shelf' is inf: it must be a finite number"),
        ("stove", "gaz", "'stove' is 'gaz': did you mean 'gas'"),
        ("stove", "sun", "'stove' is 'sun': choose from gas, wood"),
        ("stove", 3, "'stove' is 3: expected text"),
        ("lit", 1, "'lit' is 1: expected true or false"),
        ("lit", "yes", "'lit' is 'yes': expected true or false"),
        ("guests", [1], "'guests' is .*: expected a mapping such as"),
        ("pot", 3, "unknown option 'pot': did you mean 'pots'"),
        ("zzz", 3, "unknown option 'zzz': choose from cook, guests, heat"),
        (3, 3, "unknown option '3'"),
    ],
)
def test_everything_else_is_refused_with_what_is_expected(
    name: Any, value: Any, message: str
) -> None:
    with pytest.raises(VeraxError, match=message):
        build(Kitchen, {name: value})


def test_names_that_belong_elsewhere_are_offered_and_not_accepted() -> None:
    with pytest.raises(VeraxError, match="did you mean 'trees'"):
        build(Kitchen, {"tree": 3}, also_valid=["trees"])
    with pytest.raises(VeraxError, match="unknown option 'trees'"):
        build(Kitchen, {"trees": 3}, also_valid=["trees"])


def test_a_flat_mapping_is_dealt_out_to_the_classes_that_know_its_names() -> None:
    assert divide({"trees": 1, "pots": 2}, Kitchen, Garden) == [{"pots": 2}, {"trees": 1}]
    with pytest.raises(VeraxError, match="'tress': did you mean 'trees'"):
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
        with pytest.raises(VeraxError, match="option 'x' is"):
            parse("x", text, kind)
