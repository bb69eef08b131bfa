"""Kinds of values and columns, strict JSON, checksums."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from verax.errors import VeraxWarning
from verax.schema import (
    COUNT,
    LISTS,
    NUMBER,
    OR_NONE,
    SURE,
    TEXT,
    WHOLE,
    Columns,
    Kind,
    SchemaError,
    any_text,
    both,
    check_sums,
    checked_json,
    checksum_of,
    choice,
    either,
    flag,
    is_of_kind,
    listed,
    mapping,
    maybe,
    number,
    parse_json,
    plain,
    read_parquet,
    record,
    text,
    unknown,
    warn_unless,
    whole,
)

KIND = record({"name": text, "sizes": listed(whole(1, 9), 1)}, {"share": maybe(number(0, 1))})


def refused(kind: Kind, value: Any) -> str:
    with pytest.raises(SchemaError) as error:
        kind(value, "a.json")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300
    return str(error.value)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (text, ["", "é"], [None, 1, b"x", ["x"], "a\0b"]),
        (any_text, ["", "a\0b"], [None, 1]),
        (flag, [True, False], [0, 1, "true", None]),
        (whole(0, 3), [0, 3], [-1, 4, True, 1.0, "1", None, 10**5000]),
        (whole(), [-1, 2**63 - 1], [2**63, 0.5]),
        (number(0, 1), [0, 0.5, 1], [-0.1, 1.1, True, "1", None, float("nan"), float("inf")]),
        (COUNT, [0], [-1]),
        (maybe(text), [None, "x"], [1]),
        (choice(("a", 1)), ["a", 1], ["b", True, 1.0, None]),
        (listed(COUNT, 1, 2), [[0], [0, 1], (1,)], [[], [0, 1, 2], [-1], "01", {0: 1}]),
        (listed(text, once=True), [["a", "b"]], [["a", "a"]]),
        (mapping(COUNT), [{}, {"a": 1}], [{"a": -1}, {1: 1}, {"\0": 1}, [], None]),
        (plain, [None, True, 1, 0.5, "x", [1], {"a": [{}]}], [object(), {1: 2}, float("nan")]),
        (both(COUNT, whole(-5, 5)), [0, 5], [-1, 6]),
        (either("a number or text", COUNT, text), [1, "x"], [-1, None]),
        (unknown, [], [None, 1]),
        (KIND, [{"name": "a", "sizes": [1]}, {"name": "a", "sizes": [9], "x": {}}], [{}, [], None]),
    ],
)
def test_a_value_is_of_its_kind_or_refused_in_a_line(
    kind: Kind, good: list[Any], bad: list[Any]
) -> None:
    for value in good:
        kind(value, "a.json")
    for value in bad:
        try:
            shown = refused(kind, value)
        except ValueError as error:  # Python itself writes no number of 5,000 digits
            pytest.fail(f"{type(value)}: {error}")
        assert "a.json" in shown


def test_the_place_of_what_is_wrong_is_told() -> None:
    assert refused(KIND, {"name": "a"}) == "a.json has no 'sizes'"
    assert refused(KIND, {"name": "a", "sizes": [1, 0]}) == (
        "a.json: sizes[1] is 0: expected a whole number from 1 to 9"
    )
    nested = record({"a": record({"b": COUNT})})
    assert refused(nested, {"a": {"b": "x" * 500}}).startswith("a.json: a.b is 'xxx")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ('{"a": 1, "a": 1}', "the name 'a' twice"),
        ("[NaN]", "NaN, which is no number"),
        ("[-Infinity]", "-Infinity, which is no number"),
        ("[1e999]", "1e999, which is too large"),
        (f"[{2**63}]", "beyond 64 bits"),
        (f"[{'9' * 5000}]", "beyond 64 bits"),
        ("[" * 100_000, "nested too deep"),
        ('["\\ud800"]', "half a character"),
        ("[1", "not JSON: Expecting"),
        ("", "not JSON"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_json_is_read_strictly(written: str | bytes, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        parse_json(written)


def test_json_that_is_whole_is_read_as_it_is() -> None:
    value = {"a": [1, -0.5, None, True, "é😀", {}], "b": -(2**63)}
    assert parse_json(json.dumps(value)) == value  # 😀 as two escapes
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value
    with pytest.raises(SchemaError, match=r"a.json: a is -1: expected a whole number from 0"):
        checked_json('{"a": -1}', mapping(COUNT), "a.json")


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([1, 2], {WHOLE, NUMBER, SURE, WHOLE + OR_NONE}),
        ([1.5, 2.0], {NUMBER, SURE}),
        ([1.5, np.nan], {NUMBER}),
        ([1.5, np.inf], set()),
        (["a", "b"], {TEXT, TEXT + OR_NONE}),
        (["a", None], {TEXT + OR_NONE}),
        (pd.Categorical(["a", "b"]), {TEXT, TEXT + OR_NONE}),
        (pd.Categorical(["a", None]), {TEXT + OR_NONE}),
        (pd.Categorical([1, 2]), {WHOLE, NUMBER, SURE, WHOLE + OR_NONE}),
        (pd.array([1, None], dtype="Int64"), {WHOLE + OR_NONE, NUMBER}),
        ([True, False], set()),
        ([["a"], ["b"]], {LISTS}),
        ([{"a": 1}, {"a": 2}], set()),
        ([b"a", b"b"], set()),
        ([1, "a"], set()),
    ],
)
def test_columns_are_of_kinds(values: Any, kinds: set[str]) -> None:
    every = (WHOLE, NUMBER, SURE, TEXT, LISTS, TEXT + OR_NONE, WHOLE + OR_NONE)
    column = pd.Series(values)
    assert {kind for kind in every if is_of_kind(column, kind)} == kinds


def test_tables_are_checked_by_columns_keys_and_rows() -> None:
    columns = Columns.of(whole="id", text="name", number="value", key=("id",), least=1)
    good = pd.DataFrame({"id": [1, 2], "name": ["a", "b"], "value": [0.5, None]})
    columns.check(good, "t.parquet")
    columns.check(good.assign(more="x"), "t.parquet")
    for bad, message in (
        (good.drop(columns="name"), "has no column 'name'"),
        (good.assign(id=["a", "b"]), "column 'id' is not of whole numbers"),
        (good.assign(value=[np.inf, 0]), "column 'value' is not of numbers"),
        (good.assign(more=[[1], [2]]), "column 'more' is not of"),
        (good.assign(id=1), "has a row twice"),
        (good.iloc[:0], "has 0 rows: expected 1 or more"),
        (pd.concat([good, good[["id"]]], axis=1), "has a column twice"),
    ):
        with pytest.raises(SchemaError, match=message):
            columns.check(bad, "t.parquet")


def test_checksums_tell_changed_files_by_name() -> None:
    sums = {"a": checksum_of(b"one"), "b": checksum_of(b"two")}
    check_sums({"a": b"one", "b": b"two"}, sums)
    check_sums({"a": b"other"}, {})  # of an earlier version, which kept none
    with pytest.raises(SchemaError, match="b has other contents"):
        check_sums({"a": b"one", "b": b"twO"}, sums)
    with pytest.raises(SchemaError, match="c has no checksum"):
        check_sums({"c": b""}, sums)


def test_what_is_no_table_is_refused() -> None:
    for data in (b"", b"PAR1", b"x" * 100):
        with pytest.raises(SchemaError, match=r"t.parquet is no table: "):
            read_parquet(data, "t.parquet")


def test_a_writer_keeps_what_a_reader_would_refuse_and_warns() -> None:
    with pytest.warns(VeraxWarning, match="may not open again: a.json has no 'name'"):
        warn_unless(KIND, {}, "a.json")
