"""Names of configurations: of a study's cells, of compared groups, of models over seeds.

Each is made of what tells it apart from the others, and no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pandas as pd

from verax.models.options import ModelOptions
from verax.training.options import (
    TrainingOptions,
    deciding_option,
    format_value,
    inactive_options,
)

if TYPE_CHECKING:
    from verax.studies.grid.cell import Cell

_OPTIONS = {f.name: f for cls in (ModelOptions, TrainingOptions) for f in fields(cls)}
_GAP = "  "
_NAMED_BY_VALUE = ("corpus", "outside", "encoder", "attention", "projection", "grounding")
"""Columns whose values say what they are of."""
_SWITCHES = {"True": True, "False": False}


def distinguishing(
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    known: Sequence[tuple[Hashable, ...]],
) -> list[str]:
    """Of `names`, those that tell rows apart beyond what is `known` of each, in their order.

    A row that lacks a name has None. Choices, such as the projection, are tried first: a strength
    that is another for each grounding is then not needed.

    >>> rows = [{"projection": "sparsegen", "lam": 0.5}, {"projection": "softmax", "lam": 0.0}]
    >>> distinguishing(rows, ["lam", "projection", "lr"], [(), ()])
    ['projection']
    """
    varying = [name for name in names if len({row.get(name) for row in rows}) > 1]
    choices_first = sorted(varying, key=lambda name: not _is_choice(name))
    keys, needed = list(known), set()
    for name in choices_first:
        more = [(*old, row.get(name)) for old, row in zip(keys, rows, strict=True)]
        if len(set(more)) > len(set(keys)):
            keys = more
            needed.add(name)
    return [name for name in varying if name in needed]


def _is_choice(name: str) -> bool:
    return name in _OPTIONS and bool(_OPTIONS[name].metadata["choices"])


# -- cells of a study


def cell_labels(cells: Sequence[Cell]) -> dict[str, str]:
    """Key → label, made of the corpus, options and seed that vary: `softmax  seed 0`."""
    corpora = _corpus_labels(cells)
    if len(cells) == 1:
        return {cell.key: f"{corpora[cell.key]}{_GAP}seed {cell.seed}" for cell in cells}
    rows = [{**cell.model, **cell.training} for cell in cells]
    shown = distinguishing(rows, rows[0], [(corpora[cell.key],) for cell in cells])
    ambiguous = _ambiguous(rows, shown)
    several = len(set(corpora.values())) > 1
    seeds = len({cell.seed for cell in cells}) > 1
    labels = {}
    for cell in cells:
        parts = [corpora[cell.key]] if several else []
        parts += _cell_parts(cell, shown, ambiguous)
        labels[cell.key] = _GAP.join([*parts, f"seed {cell.seed}"] if seeds else parts)
    return labels


def _corpus_labels(cells: Iterable[Cell]) -> dict[str, str]:
    """Key → the corpus by name, with how it was read where that tells two of one name apart."""
    names = {cell.key: str(cell.corpus.get("corpus", cell.fingerprint)) for cell in cells}
    readings: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        of_name = readings.setdefault(names[cell.key], [])
        if cell.corpus not in of_name:
            of_name.append(cell.corpus)
    labels = {}
    for cell in cells:
        differing = [
            f"{name}={format_value(value)}"
            for name, value in cell.corpus.items()
            if any(other.get(name) != value for other in readings[names[cell.key]])
        ]
        labels[cell.key] = " ".join([names[cell.key], *differing])
    return labels


def _cell_parts(cell: Cell, shown: Sequence[str], ambiguous: Collection[str]) -> list[str]:
    """Each shown option that has an effect; one that goes with a choice stands beside it."""
    if not cell.is_trained:
        return [str(cell.model["outside"])] if "outside" in shown else []
    inactive = inactive_options(ModelOptions(**cell.model), TrainingOptions(**cell.training))
    values = {**cell.model, **cell.training}
    parts: dict[str, str] = {}
    for name in shown:
        if name in inactive:
            continue
        alone = _is_choice(name) and str(values[name]) not in ambiguous
        text = str(values[name]) if alone else f"{name}={format_value(values[name])}"
        decider = deciding_option(name) or name
        if decider in parts:
            parts[decider] += f" {text}"
        else:
            parts[name] = text
    return list(parts.values())


def _ambiguous(rows: Sequence[Mapping[str, Any]], shown: Iterable[str]) -> set[str]:
    """Words that say nothing alone: `none`, and those that two of the shown choices share."""
    words = [{str(row[name]) for row in rows} for name in shown if _is_choice(name)]
    counted = Counter(word for of_option in words for word in of_option)
    return {"none"} | {word for word, times in counted.items() if times > 1}


# -- groups of a comparison


def group_name(
    settings: Mapping[str, Any],
    groups: Sequence[Mapping[str, Any]],
    resolved: Mapping[str, Any],
    own_kind: Collection[str],
    kind: str,
) -> str:
    """What differs between a group and others: `grounding=tying, strength=auto`.

    Args:
        settings: of the group; None where a choice was automatic.
        groups: those of all groups.
        resolved: what automatic choices came to, shown where nothing else differs.
        own_kind: settings that tell only groups apart that have the setting `kind`, or lack it.
        kind: see there.

    Returns:
        The name, empty where nothing differs.
    """
    alike = [other for other in groups if (kind in other) == (kind in settings)]
    shown = {}
    for name, value in settings.items():
        others = alike if name in own_kind else groups
        values = {str(other[name]) for other in others if name in other}
        everywhere = all(name in other for other in others)
        default = _OPTIONS[name].default if name in _OPTIONS else None
        if len(values) > 1 or (not everywhere and value != default):
            shown[name] = value
    chosen = {name: value for name, value in shown.items() if value is not None}
    if not chosen:
        chosen = {name: resolved.get(name) for name in shown}
    return ", ".join(f"{name}={_short(value)}" for name, value in chosen.items())


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else format_value(value)


# -- configurations of a study's results


def configuration_names(cells: pd.DataFrame) -> list[str]:
    """A name a row: `conv, no grounding`; alike where the configuration is.

    Args:
        cells: a row a cell, its columns those in which cells differ.
    """
    rows: list[dict[str, Any]] = [dict(row) for _, row in cells.astype(str).iterrows()]
    names = [str(name) for name in cells if name != "corpus"]
    shown = distinguishing(rows, names, [(row.get("corpus"),) for row in rows])
    shown = [str(name) for name in cells if name == "corpus" or name in shown]
    number = len(cells[shown].astype(str).drop_duplicates())
    values = cells[shown].to_dict("records")
    in_short = [_configuration_name(row, _NAMED_BY_VALUE) for row in values]
    if len(set(in_short)) == number:
        return in_short
    return [_configuration_name(row, ()) for row in values]


def _configuration_name(row: Mapping[Any, Any], by_value: Collection[str]) -> str:
    parts = []
    for name, value in row.items():
        if pd.isna(value):
            continue
        shown = _short(value) if isinstance(value, float) else str(value)
        if name in by_value:
            parts.append(f"no {name}" if value == "none" else shown)
        elif by_value and shown in _SWITCHES:
            parts += [str(name).replace("_", " ")] * _SWITCHES[shown]
        else:
            parts.append(f"{name} {shown}")
    return ", ".join(parts) or "all cells"
