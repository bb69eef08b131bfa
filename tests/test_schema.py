"""Kinds of values and columns, strict JSON, checksums."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.errors import assert_names
from support.internals import checksum_of
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
    assert_names(refused(KIND, {"name": "a"}), "a.json", "sizes")
    assert_names(refused(KIND, {"name": "a", "sizes": [1, 0]}), "a.json: sizes[1]", "0", "1", "9")
    nested = record({"a": record({"b": COUNT})})
    assert_names(refused(nested, {"a": {"b": "x" * 500}}), "a.json: a.b")


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ('{"a": 1, "a": 1}', ["a"]),
        ("[NaN]", ["NaN"]),
        ("[-Infinity]", ["-Infinity"]),
        ("[1e999]", ["1e999"]),
        (f"[{2**63}]", [str(2**63)]),
        (f"[{'9' * 5000}]", ["9" * 40]),
        ("[" * 100_000, []),
        ('["\\ud800"]', []),
        ("[1", ["line 1"]),
        ("", ["line 1"]),
        (b"\xff", ["UTF-8"]),
    ],
)
def test_json_is_read_strictly(written: str | bytes, names: list[str]) -> None:
    with pytest.raises(SchemaError) as error:
        parse_json(written)
    assert_names(str(error.value), *names)


def test_json_that_is_whole_is_read_as_it_is() -> None:
    value = {"a": [1, -0.5, None, True, "é😀", {}], "b": -(2**63)}
    assert parse_json(json.dumps(value)) == value  # 😀 as two escapes
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value
    with pytest.raises(SchemaError, match=r"^a.json: a .*-1"):
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
    for bad, name in (
        (good.drop(columns="name"), "'name'"),
        (good.assign(id=["a", "b"]), "'id'"),
        (good.assign(value=[np.inf, 0]), "'value'"),
        (good.assign(more=[[1], [2]]), "'more'"),
        (good.assign(id=1), ""),
        (good.iloc[:0], "0 .* 1"),
        (pd.concat([good, good[["id"]]], axis=1), ""),
    ):
        with pytest.raises(SchemaError, match=f"^t.parquet.*{name}"):
            columns.check(bad, "t.parquet")


def test_checksums_tell_changed_files_by_name() -> None:
    sums = {"a": checksum_of(b"one"), "b": checksum_of(b"two")}
    check_sums({"a": b"one", "b": b"two"}, sums)
    with pytest.raises(SchemaError, match=r"^b "):
        check_sums({"a": b"one", "b": b"twO"}, sums)
    with pytest.raises(SchemaError, match=r"^c "):
        check_sums({"c": b""}, sums)


def test_what_is_no_table_is_refused() -> None:
    for data in (b"", b"PAR1", b"x" * 100):
        with pytest.raises(SchemaError, match=r"^t.parquet "):
            read_parquet(data, "t.parquet")


def test_a_writer_keeps_what_a_reader_would_refuse_and_warns() -> None:
    with pytest.warns(VeraxWarning, match="may not open again: a.json has no 'name'"):
        warn_unless(KIND, {}, "a.json")
