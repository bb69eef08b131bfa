"""Results of audits: packed as a few files, or a folder for each model as they were made.

models.json           what was examined, a record for each model
summary.parquet       every number of every verdict, by model
values.parquet        values of single documents, by model; documents are numbers
documents.parquet     of each document its class and length
randomisation.parquet scores beside those of weights drawn anew
spans.parquet         of the guard: how well scores find the instruction

They hold no text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.audits.examining import TABLES
from verax.audits.running import FACTS, MODELS
from verax.calibration.changes import audited_models
from verax.errors import VeraxError
from verax.exams.judgement.judgement import Judgement, judge
from verax.files import parquet_bytes, write_files
from verax.schema import (
    TEXT,
    Columns,
    Kind,
    SchemaError,
    checked_json,
    mapping,
    read_parquet,
    record,
    text,
    whole,
)
from verax.scratch import sweep

PACKED = "models.json"
NO_TABLE = pd.DataFrame()


_OF_MODEL = record({}, {"entry": text, "seed": whole(0)})
"""The schema of what is kept of a model beside its tables."""


def _read_json(path: Path, kind: Kind) -> dict[str, Any]:
    try:
        return dict(checked_json(path.read_bytes(), kind, path.name))
    except (OSError, SchemaError) as error:
        raise VeraxError(
            f"cannot read {path}: {error}; run the audit again", code="result.damaged"
        ) from error


def _read_table(path: Path, **required: str) -> pd.DataFrame:
    try:
        table = read_parquet(path.read_bytes(), path.name)
        Columns(required).check(table, path.name)
    except (OSError, SchemaError) as error:
        raise VeraxError(
            f"cannot read {path}: {error}; run the audit again", code="result.damaged"
        ) from error
    return table


@dataclass(frozen=True, eq=False)
class AuditResults:
    """Results of some models.

    facts   model → what was examined, how and where
    tables  name → rows of all models, with a column `model`
    """

    facts: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, pd.DataFrame]

    @classmethod
    def open(cls, *folders: str | Path) -> AuditResults:
        """The results in folders, packed or not; of a model that is there twice the first."""
        facts: dict[str, Mapping[str, Any]] = {}
        parts: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
        for folder in map(Path, folders):
            sweep(folder)
            packed, made = folder / PACKED, folder / MODELS
            if not packed.is_file() and not made.is_dir():
                raise VeraxError(
                    f"{folder} holds no results of an audit: run verax audit NAME",
                    code="result.missing",
                )
            for place in sorted(made.glob("*/")):
                if not (place / FACTS).is_file() or place.name in facts:
                    continue
                facts[place.name] = _read_json(place / FACTS, _OF_MODEL)
                for name in TABLES:
                    if (place / f"{name}.parquet").is_file():
                        table = _read_table(place / f"{name}.parquet")
                        parts[name].append(table.assign(model=place.name))
            if packed.is_file():
                records = _read_json(packed, mapping(_OF_MODEL))
                new = {name: one for name, one in records.items() if name not in facts}
                for name in TABLES:
                    if (folder / f"{name}.parquet").is_file():
                        table = _read_table(folder / f"{name}.parquet", model=TEXT)
                        table["model"] = table["model"].astype(str)
                        parts[name].append(table[table["model"].isin(list(new))])
                facts |= new
        tables = {name: pd.concat(some, ignore_index=True) for name, some in parts.items() if some}
        return cls(facts, tables)

    def pack(self, folder: str | Path) -> None:
        """Write all of it as a few files; the same results give the same bytes."""
        files: dict[str, bytes | str] = {}
        order = sorted(self.facts)
        facts = {model: self.facts[model] for model in order}
        for name, table in self.tables.items():
            rows = table.assign(model=pd.Categorical(table["model"].astype(str), order))
            rows = rows.sort_values("model", kind="stable", ignore_index=True)
            for column in rows.columns:
                if rows[column].dtype == object or str(rows[column].dtype) in ("str", "string"):
                    rows[column] = rows[column].astype("category")
            files[f"{name}.parquet"] = parquet_bytes(rows, index=False, compression="zstd")
        write_files(folder, {**files, PACKED: json.dumps(facts, indent=1) + "\n"})

    @cached_property
    def judgements(self) -> Mapping[str, Judgement]:
        """Model → its judgement, by the limits that it was examined under."""
        models = audited_models(self.facts, self.tables["summary"], self.tables["documents"])
        return {one.name: judge(one, self.facts[one.name]["limits"]) for one in models}

    def models(self, entry: str) -> list[str]:
        """The models of an entry, by seed."""
        some = [model for model, one in self.facts.items() if one["entry"] == entry]
        return sorted(some, key=lambda model: int(self.facts[model]["seed"]))

    def table(self, name: str, models: Sequence[str]) -> pd.DataFrame:
        """The rows of some models; empty where there are none."""
        table = self.tables.get(name, NO_TABLE)
        return table[table["model"].isin(list(models))] if len(table) else table

    @cached_property
    def _numbers(self) -> Mapping[tuple[str, str], tuple[float, float, float]]:
        summary = self.tables["summary"]
        keys = zip(summary["model"].astype(str), summary["measure"].astype(str), strict=True)
        ends = zip(*(summary[name] for name in ("value", "low", "high")), strict=True)
        return dict(zip(keys, ends, strict=True))

    def number(self, model: str, measure: str) -> tuple[float, float, float] | None:
        """A number of a model's summary and its interval over documents; None without one."""
        number = self._numbers.get((model, measure))
        return None if number is None or pd.isna(number[0]) else number

    def measures(self, model: str) -> list[str]:
        """The ids of a model's numbers."""
        return [measure for one, measure in self._numbers if one == model]

    @cached_property
    def _wide(self) -> Mapping[str, pd.DataFrame]:
        values = self.tables["values"]
        wide = {}
        for model, part in values.groupby(values["model"].astype(str), sort=False):
            measures = part["measure"].astype(str)
            table = part.assign(measure=measures).drop_duplicates(["id", "measure"])
            wide[str(model)] = table.pivot(index="id", columns="measure", values="value")
        return wide

    def documents(self, model: str) -> pd.DataFrame:
        """Values of a model's documents, a row each, a column for each measure."""
        return self._wide.get(model, NO_TABLE)
