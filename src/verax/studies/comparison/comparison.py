"""The result of a comparison: every model's numbers, and how each group differs from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.exams.described import exam_options, model_options
from verax.exams.dispersion.measures import DOCUMENT_COUNTS
from verax.exams.exam import Pair
from verax.exams.measures import NEITHER, SCALE, VALUE, measure_id
from verax.exams.registry import EXAMS
from verax.models.kinds import POOLED
from verax.models.options import DENSE
from verax.results import Result
from verax.schema import (
    COUNT,
    Columns,
    Kind,
    SchemaError,
    declared,
    flag,
    listed,
    mapping,
    maybe,
    number,
    record,
    text,
    whole,
)
from verax.statistics import holm
from verax.studies.comparison.differences import (
    BETTER,
    DECISIONS,
    UNCLEAR,
    WORSE,
    Difference,
    Direction,
    counted_as,
    direction_of,
    judge,
    over_documents,
    over_nothing,
    over_seeds,
)

_CURVES = "curves"
_MODEL = ["group", "model", "seed"]
_COLUMNS = [
    *("group", "reference", "exam", "measure", "unit", "reference_value", "value", "difference"),
    *("low", "high", "p", "holm", "over", "n_reference", "n", "pairs", "better", "judged", "note"),
    "shown",
]
_SUPPORT_SHARE = measure_id(DOCUMENT_COUNTS.id, "support_share", VALUE)


_ENTRY = record(
    {
        "model": text,
        "options": model_options,
        "encoder": maybe(text),
        "attended": maybe(text),
    },
    {
        "seed": maybe(whole()),
        "chosen": maybe(number()),
        "headline": maybe(text),
        "learnt": maybe(flag),
        "kind": text,
        "training": declared("training"),
    },
)
MANIFEST = record(
    {"groups": mapping(listed(_ENTRY, 1))},
    {
        "verax": text,
        "corpus": maybe(text),
        "fingerprint": maybe(text),
        "split": maybe(text),
        "documents": maybe(COUNT),
        "sampled_from": maybe(COUNT),
        "seed": maybe(whole(0, 2**32 - 1)),
        "options": exam_options,
        "exams": listed(text),
    },
)
"""The schema of a comparison's manifest."""
COLUMNS = {
    "instances": Columns.of(
        text="group model measure",
        maybe_whole="seed",
        whole="id",
        number="value",
        maybe_text="reason",
        key=("group", "model", "id", "measure"),
    ),
    "values": Columns.of(
        text="group model exam measure unit",
        maybe_whole="seed",
        number="value",
        whole="n excluded",
        key=("group", "model", "measure"),
    ),
    "excluded": Columns.of(
        text="group model measure", maybe_whole="seed", maybe_text="reason", whole="documents"
    ),
    "table": Columns.of(
        text="group reference exam measure unit over better judged note",
        number="reference_value value difference low high p holm",
        whole="n_reference n pairs",
        flag="shown",
    ),
}
"""The schemas of its tables."""


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """Models side by side; the first group is the reference.

    instances  group, model, seed, id, measure, value and, where there is none, the reason. For a
               number that is no mean (F1, Δ F1, pooled): the number plus the document's influence
    numbers    group, model, seed, measure, value: what has no documents (information)
    manifest   what was examined and how; `groups`: name → model, seed, encoder, … of each
    curves     what each token of one text says alone to each group, if asked (see `token_curves`)
    """

    kind, remedy = "comparison", "compare the models again"
    always, sometimes = ("table", "values", "excluded", "instances"), (_CURVES,)

    instances: pd.DataFrame
    numbers: pd.DataFrame
    manifest: Mapping[str, Any]
    curves: pd.DataFrame | None = None

    def __repr__(self) -> str:
        measures = self.instances["measure"].nunique() + self.numbers["measure"].nunique()
        number = f"{measures} measure{'' if measures == 1 else 's'}"
        return f"Comparison({', '.join(self.groups)}: {number})"

    def __str__(self) -> str:
        from verax.studies.comparison.phrasing import lines_of

        return "\n".join(lines_of(self))

    @property
    def groups(self) -> list[str]:
        """Names, the reference first."""
        return list(self.manifest["groups"])

    @property
    def reference(self) -> str:
        return self.groups[0]

    def values(self) -> pd.DataFrame:
        """A row per model and measure: group, model, seed, exam, measure, unit, value, n, excluded.

        value        its mean over documents, in the unit: percent and points are of a hundred
        n, excluded  documents with and without one; 0 for a measure that has no documents
        """
        return self._values.copy()

    @cached_property
    def _values(self) -> pd.DataFrame:
        by = [*_MODEL, "measure"]
        grouped = self.instances.groupby(by, sort=False, observed=True, dropna=False)["value"]
        means = grouped.agg(["mean", "count", "size"]).reset_index()
        means["excluded"] = means["size"] - means["count"]
        means = means.rename(columns={"mean": "value", "count": "n"}).drop(columns="size")
        rest = self.numbers.assign(n=0, excluded=0)
        values = pd.concat([part for part in (means, rest) if len(part)], ignore_index=True)
        directions = {name: direction_of(str(name)) for name in dict.fromkeys(values["measure"])}
        values.insert(3, "exam", [directions[name].exam for name in values["measure"]])
        values.insert(5, "unit", [directions[name].unit for name in values["measure"]])
        values["value"] = values["value"] * values["unit"].map(SCALE)
        return values

    def excluded(self) -> pd.DataFrame:
        """A row per model, measure and reason: how many documents have no value for it."""
        missing = self.instances[self.instances["value"].isna()]
        by = [*_MODEL, "measure", "reason"]
        counts = missing.groupby(by, sort=False, observed=True, dropna=False).size()
        return counts.rename("documents").reset_index()

    def table(self) -> pd.DataFrame:
        """A row per group but the reference, and measure.

        reference_value, value   means over a group's models of each one's own number, in the unit
        difference, low, high    of the group from the reference, and its 95% interval
        p, holm                  two-sided, and corrected for the measures judged between the two
        over                     seeds, with two or more on both sides (Welch's interval); else
                                 documents, paired by id, a document's value being its mean over
                                 seeds; or neither, without interval
        n_reference, n, pairs    seeds or documents with a value, and documents with both. Over
                                 documents the difference is of these alone, so that it need not be
                                 that of the two values
        better, judged           which way is better, if one is; better, worse or unclear, by holm
        note                     why there is no interval, or no way that is better
        """
        rows = [row for rows in self._rows.values() for row in rows]
        return pd.DataFrame(rows, columns=_COLUMNS)

    def tally(self, group: str) -> pd.DataFrame:
        """What a group is judged by, each kind of measure once: exam, measure, judged.

        Several of one kind, such as those of several ε, are better or worse together where some
        are and none says the contrary.
        """
        kinds: dict[tuple[str, str], set[str]] = {}
        for row in self._rows[group]:
            if row["better"] != NEITHER:
                kind = (row["exam"], counted_as(row["measure"]))
                kinds.setdefault(kind, set()).update({row["judged"]} & {BETTER, WORSE})
        tallied = [(*kind, s.pop() if len(s) == 1 else UNCLEAR) for kind, s in kinds.items()]
        return pd.DataFrame(tallied, columns=["exam", "measure", "judged"])

    def worse(self) -> pd.DataFrame:
        """Rows of `table` in which a group is surely worse than the reference; empty if none is.

        Surely: after Holm's correction p is below 0.05. Worse: to the side that the measure's exam
        calls worse, so that attention is the less truthful, or decisions the less accurate. A
        measure of which no side is better, such as an entropy, is never worse.

        All models must have been judged by the same limits.
        """
        versions = {m.get("limits") for group in self.groups for m in self._models(group)}
        if len(versions) > 1:
            named = ", ".join(sorted(str(version or "not recorded") for version in versions))
            raise VeraxError(
                f"models were judged by different limits ({named}): give --limits, in Python "
                "limits, to judge all by one version",
                code="result.incomparable",
            )
        table = self.table()
        return table[table["judged"] == WORSE].reset_index(drop=True)

    @cached_property
    def _rows(self) -> dict[str, list[dict[str, Any]]]:
        """Group → its rows, exam by exam: text, page and tables all take them."""
        return {group: self._compared(group) for group in self.groups[1:]}

    def _compared(self, group: str) -> list[dict[str, Any]]:
        names = (self.reference, group)
        both = self._values[self._values["group"].isin(names)]
        pair = self._pair(names, both)
        several_kinds = len(self._kinds(names)) > 1
        instances = dict(list(self.instances.groupby("measure", sort=False, observed=True)))
        rows = []
        for measure, values in both.groupby("measure", sort=False, observed=True):
            direction = direction_of(str(measure), pair)
            if several_kinds and values["group"].nunique() == 1:
                one = str(values["group"].iloc[0])
                direction = replace(direction, better=NEITHER, note=f"only {one}", shown=False)
            difference = self._difference(names, direction, values, instances.get(measure))
            row: dict[str, Any] = {"group": group, "reference": self.reference}
            row |= {"measure": str(measure)} | asdict(direction) | asdict(difference)
            rows.append({**row, "note": direction.note or difference.why_no_interval})
        family = [row["p"] if row["better"] != NEITHER else np.nan for row in rows]
        for row, p in zip(rows, holm(family), strict=True):
            row["holm"] = float(p)
            row["judged"] = judge(row["difference"], float(p), row["better"])
        order = [DECISIONS, *EXAMS]
        return sorted(rows, key=lambda r: [*order, r["exam"]].index(r["exam"]))

    def _pair(self, names: tuple[str, str], numbers: pd.DataFrame) -> Pair:
        """What exams need to know of two groups to say which way is better."""
        models = [model for name in names for model in self._models(name)]
        share = numbers.loc[numbers["measure"] == _SUPPORT_SHARE, "value"]
        dense = bool((share > 1 - 1e-11).all())
        if share.empty:  # of exams that do not count it
            dense = all(m["options"].get("projection", "softmax") in DENSE for m in models)
        attended = {model["attended"] for model in models} - {None}
        return Pair(dense, {model["encoder"] for model in models}, attended)

    def _difference(
        self,
        names: tuple[str, str],
        direction: Direction,
        values: pd.DataFrame,
        instances: pd.DataFrame | None,
    ) -> Difference:
        reference, group = (values.loc[values["group"] == name, "value"] for name in names)
        if min(len(self._models(name)) for name in names) > 1:
            return over_seeds(reference, group)
        if instances is None:
            return over_nothing(reference, group)
        scaled = instances.assign(value=instances["value"] * SCALE[direction.unit])
        by_document = (
            scaled[scaled["group"] == name].pivot(index="id", columns="model", values="value")
            for name in names
        )
        return over_documents(*by_document)

    def only(self) -> dict[str, list[str]]:
        """Exams that have numbers of one group alone, by group, where models are of several kinds.

        A number that both groups have is in the table; the rest is in `values`.
        """
        if len(self._kinds(self.groups)) == 1:
            return {}
        values = self.values()
        alone = values.groupby("measure", observed=True)["group"].transform("nunique") == 1
        by_group = values[alone].groupby("group", sort=False, observed=True)["exam"]
        return {str(group): list(dict.fromkeys(exams)) for group, exams in by_group}

    def _kinds(self, groups: Sequence[str]) -> set[str]:
        return {str(m.get("kind", POOLED)) for group in groups for m in self._models(group)}

    def _models(self, group: str) -> list[Mapping[str, Any]]:
        return list(self.manifest["groups"][group])

    def save(
        self,
        folder: str | Path,
        curves: pd.DataFrame | None = None,
        *,
        overwrite: bool = False,
    ) -> None:
        """Write a Parquet file a table and `manifest.json`, all at once.

        Args:
            folder: see `Result.save`.
            curves: what each token of a text says alone, in place of the comparison's own.
            overwrite: replace an earlier comparison that the folder holds.
        """
        shown = self if curves is None else replace(self, curves=curves)
        Result.save(shown, folder, overwrite=overwrite)

    def _tables(self) -> dict[str, pd.DataFrame]:
        curves = {} if self.curves is None else {_CURVES: self.curves}
        return {
            "table": self.table(),
            "values": self.values(),
            "excluded": self.excluded(),
            "instances": self.instances,
            **curves,
        }

    @classmethod
    def _schema(cls) -> Kind:
        return MANIFEST

    @classmethod
    def _columns(cls, table: str) -> Columns:
        return COLUMNS.get(table, Columns({}))

    @classmethod
    def _restored(cls, tables: Mapping[str, pd.DataFrame], manifest: dict[str, Any]) -> Comparison:
        instances, values = tables["instances"], tables["values"]
        _check_together(instances, values, manifest["groups"])
        # what has no documents is among the values alone, in its unit
        rest = values[~values["measure"].isin(set(instances["measure"]))]
        scale = rest["unit"].map(SCALE).astype("float64")
        numbers = rest[[*_MODEL, "measure"]].assign(value=rest["value"] / scale)
        return cls(instances, numbers.reset_index(drop=True), manifest, tables.get(_CURVES))


def _check_together(
    instances: pd.DataFrame, values: pd.DataFrame, groups: Mapping[str, Any]
) -> None:
    """Raise `SchemaError` where tables are of other models than the manifest."""
    if len(groups) < 2:
        raise SchemaError(f"manifest.json: groups has {len(groups)}: expected 2 or more")
    models = {(group, entry["model"]) for group in groups for entry in groups[group]}
    for name, table in (("instances", instances), ("values", values)):
        found = set(table[["group", "model"]].drop_duplicates().itertuples(index=False, name=None))
        if found != models and (found or name == "values"):
            raise SchemaError(f"{name}.parquet is of other models than manifest.json")
    if not set(values["unit"]) <= set(SCALE):
        raise SchemaError(f"values.parquet has a unit that is none of {', '.join(SCALE)}")


def load_comparison(folder: str | Path) -> Comparison:
    """The comparison that `Comparison.save` wrote in `folder`."""
    return Comparison.load(folder)
