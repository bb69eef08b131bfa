"""A packed study of format 1, and the same with the names that Verax has now."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from old_names import (
    CONTROLS,
    DEFAULTS,
    EXAMS,
    INSTANCES,
    OPTIONS,
    exam_id,
    measure_id,
    number_id,
)
from old_tables import UnknownLabelError
from verax.errors import VeraxError
from verax.models.saving import CONFIG as MODEL_CONFIG
from verax.portable import portable
from verax.studies.grid.cell import Cell
from verax.studies.grid.portable import portable_failure, portable_study
from verax.studies.store.cells import CELL, CONFIG, FORMAT, MODEL, VERDICT, table_file
from verax.studies.store.folders import storage_folder
from verax.studies.store.packed import PackedSource, about_packed
from verax.studies.store.sources import CellState, StoreSource

SUMMARY, ADVERSARIES = "summary", "adversaries"
VERDICT_FORMAT = 2
"""The format of verdicts whose numbers have ids."""
_MACHINE = re.compile(r"^([A-Za-z]+)-.*?(x86_64|amd64|AMD64|aarch64|arm64)")
_EXAMS_BLOCK = re.compile(r"^(exams\s*:.*(?:\n(?:[ \t#-].*)?)*)", re.MULTILINE)


def is_format_1(folder: Path) -> bool:
    about = about_packed(storage_folder(folder))
    return about is not None and about.get("packed") == 1


_JSON = ("config", "manifest", "failure", "tables", "left_out", "others")


class Format1(PackedSource):
    """A packed study of format 1, read as it was written."""

    def _check(self, about: Mapping[str, Any]) -> None:
        """Nothing: the schema is of the present format, whose keys are made otherwise."""

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: json.loads(row[name]) for name in _JSON if row[name]}

    def _refuse_format(self, packed: Any) -> None:
        if (packed, self.store.get("format")) != (1, 1):
            raise VeraxError(f"{self.shown} is not of format 1")


class Migrated(StoreSource):
    """The same study as a store of the present format would give it to `Packing`."""

    def __init__(self, source: Format1) -> None:
        self._source = source
        self.shown, self.about = source.shown, {**source.store, "format": FORMAT}
        try:
            configs = {key: migrated_config(s.config) for key, s in source.states.items()}
            self.keys = {key: Cell.from_json(c).key for key, c in configs.items()}
            """Old key → new key."""
            self._old = {new: old for old, new in self.keys.items()}
            if len(self._old) < len(self.keys):
                raise VeraxError(f"{self.shown}: cells of different keys have become one")
            self.states = {
                self.keys[key]: self._state(state, configs[key])
                for key, state in source.states.items()
            }
            self.resolved = self._resolved(configs)
            self._study = migrated_study(source.study)
        except UnknownLabelError as error:
            raise VeraxError(f"{self.shown}: {error}") from None

    def text(self) -> str:
        return self._study

    def check(self) -> None:
        """Look every label of every summary up; an error names the first that is unknown."""
        for key, state in self.states.items():
            if SUMMARY in state.tables:
                self.table(key, SUMMARY)

    def schema(self, key: str, name: str) -> pa.Schema:
        return self.table(key, name).schema

    def table(self, key: str, name: str) -> pa.Table:
        """A table of a cell, by their new names."""
        old = _old_table(name, self._source.states[self._old[key]].tables)
        table = self._source.table(self._old[key], old)
        try:
            if name == SUMMARY:
                table = with_ids(table)
            elif name == ADVERSARIES:
                names = table.column("name").to_pylist()
                table = _replaced(table, "name", [CONTROLS.get(one, one) for one in names])
            return _relabelled(table, key)
        except UnknownLabelError as error:
            raise VeraxError(f"{self.shown}: {error}") from None

    def files(self, key: str) -> list[str]:
        old = self._old[key]
        names = [CONFIG, CELL, *(table_file(name) for name in self.states[key].tables)]
        names += self._source.files(old)
        return [*names, *(f"{MODEL}/{name}" for name in self._source.model(old))]

    def file(self, key: str, name: str) -> bytes:
        old = self._old[key]
        if name != VERDICT:
            return self._source.files(old)[name]
        verdict = migrated_verdict(self._source.verdict(old))
        return (json.dumps(verdict, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def model(self, key: str) -> dict[str, bytes]:
        files = self._source.model(self._old[key])
        if MODEL_CONFIG in files:
            config = portable(json.loads(files[MODEL_CONFIG]))
            files[MODEL_CONFIG] = (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()
        return files

    def _state(self, state: CellState, config: Mapping[str, Any]) -> CellState:
        failure = state.failure
        if failure is not None:
            failure = portable_failure({**failure, "config": config})
            failure["cell"] = self.keys.get(str(failure.get("cell")), failure.get("cell"))
        return replace(
            state,
            config=config,
            facts=self._facts(state.facts),
            tables=sorted(INSTANCES.get(name, name) for name in state.tables),
            failure=failure,
            left_out=sorted(INSTANCES.get(name, name) for name in state.left_out),
        )

    def _facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Facts of a manifest without the host and its kernel, and with the new key of a model."""
        kept = {name: value for name, value in facts.items() if name != "host"}
        if isinstance(kept.get("platform"), str):
            found = _MACHINE.match(kept["platform"])
            kept["platform"] = " ".join(found.groups()) if found else "unknown"
        if kept.get("model_of") is not None:
            kept["model_of"] = self.keys.get(kept["model_of"], kept["model_of"])
        return kept

    def _resolved(self, configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        old = self._source.resolved
        hardware = {n: v for n, v in old.get("hardware", {}).items() if n != "address"}
        cells = {self.keys[key]: configs[key] for key in old["cells"]}
        return {**old, "hardware": hardware, "cells": cells}


def migrated_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A cell's configuration with the present names, every option of its exams spelt out."""
    return Cell.from_json({**config, "exams": _options(config["exams"])}).to_json()


def migrated_verdict(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict's manifest with the present names."""
    changed = {
        **manifest,
        "format": VERDICT_FORMAT,
        "exams": [exam_id(name) for name in manifest["exams"]],
        "options": _options(manifest["options"]),
        "tables": [INSTANCES.get(name, name) for name in manifest["tables"]],
    }
    return dict(portable(changed))


def _options(exams: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    made = {}
    for label, options in exams.items():
        exam = exam_id(label)
        names = OPTIONS.get(exam, {})
        own = {names.get(name, name): value for name, value in options.items()}
        made[exam] = {**DEFAULTS.get(exam, {}), **own}
    return made


def migrated_study(text: str) -> str:
    """A study file with the present names of exams and of their options."""
    changed = portable_study(_EXAMS_BLOCK.sub(lambda found: _renamed(found[1]), text))
    before, after = yaml.safe_load(portable_study(text)), yaml.safe_load(changed)
    if not isinstance(before, Mapping):
        return changed
    if "exams" in before:
        before = {**before, "exams": _renamed_values(before["exams"])}
    if before != after:
        raise UnknownLabelError("the exams of the study file cannot be renamed")
    return changed


def _renamed(block: str) -> str:
    for old, new in EXAMS.items():
        block = re.sub(rf"\b{old}\b", new, block)
    for options in OPTIONS.values():
        for old, new in options.items():
            block = re.sub(rf"\b{old}(?=\s*:)", new, block)
    return block


def _renamed_values(exams: Any) -> Any:
    if isinstance(exams, str):
        return EXAMS.get(exams, exams)
    if isinstance(exams, list):
        return [_renamed_values(one) for one in exams]
    if not isinstance(exams, Mapping):
        return exams
    made = {}
    for label, options in exams.items():
        exam = EXAMS.get(str(label), str(label))
        names = OPTIONS.get(exam, {})
        own = options
        if isinstance(options, Mapping):
            own = {names.get(name, name): value for name, value in options.items()}
        made[exam] = own
    return made


def with_ids(summary: pa.Table) -> pa.Table:
    """A summary whose exam, table, row and column are ids, with the id of each number."""
    labels = {name: summary.column(name).to_pylist() for name in ("exam", "table", "row", "column")}
    numbers = [
        (exam_id(exam), *number_id(table, row, column))
        for exam, table, row, column in zip(*labels.values(), strict=True)
    ]
    if len(set(numbers)) < len(numbers):
        raise UnknownLabelError("two numbers of a summary would have one id")
    for place_, name in enumerate(labels):
        summary = _replaced(summary, name, [number[place_] for number in numbers])
    return _with_measure(summary, [measure_id(*number[1:]) for number in numbers])


def _with_measure(summary: pa.Table, measures: list[str]) -> pa.Table:
    names = summary.schema.names
    after = names.index("column")
    kind = summary.schema.field("column").type
    made = summary.add_column(after + 1, pa.field("measure", kind), _array(measures, kind))
    return made.replace_schema_metadata(_noted(summary.schema.metadata))


def _noted(metadata: Mapping[bytes, bytes] | None) -> Mapping[bytes, bytes] | None:
    """What pandas noted of columns, with one of `measure` after that of `column`."""
    if metadata is None or b"pandas" not in metadata:
        return metadata
    notes = json.loads(metadata[b"pandas"])
    columns = list(_with_note(notes["columns"]))
    return {**metadata, b"pandas": json.dumps({**notes, "columns": columns}).encode()}


def _with_note(columns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for column in columns:
        yield column
        if column["name"] == "column":
            yield {**column, "name": "measure", "field_name": "measure"}


def _relabelled(table: pa.Table, key: str) -> pa.Table:
    return _replaced(table, "cell", [key] * len(table))


def _replaced(table: pa.Table, name: str, values: list[str]) -> pa.Table:
    place_, field = table.schema.get_field_index(name), table.schema.field(name)
    return table.set_column(place_, field, _array(values, field.type))


def _array(values: list[str], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.array(values, kind)
    encoded = pa.array(values, kind.value_type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        encoded.indices.cast(kind.index_type), encoded.dictionary, ordered=kind.ordered
    )


def _old_table(name: str, known: Any) -> str:
    return next(old for old in known if INSTANCES.get(old, old) == name)
