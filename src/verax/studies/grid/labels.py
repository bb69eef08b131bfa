"""Short names for cells: what tells them apart within their study, and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from verax.models.options import ModelOptions
from verax.studies.grid.cell import Cell
from verax.studies.grid.effects import ACTIVE_WHEN, idle
from verax.studies.grid.settings import OPTIONS
from verax.training.options import TrainingOptions

_GAP = "  "


def labels_of(cells: Sequence[Cell]) -> dict[str, str]:
    """Key → label, made of the corpus, options and seed that vary.

    An option that the others tell already is left out: choices such as the projection come first,
    so a strength that is another for each grounding is not shown.
    """
    corpora = _corpora(cells)
    if len(cells) == 1:
        return {cell.key: f"{corpora[cell.key]}{_GAP}seed {cell.seed}" for cell in cells}
    shown = _telling(cells, corpora)
    words = _ambiguous(cells, shown)
    several = len(set(corpora.values())) > 1
    seeds = len({cell.seed for cell in cells}) > 1
    labels = {}
    for cell in cells:
        parts = [corpora[cell.key]] if several else []
        parts += _parts(cell, shown, words)
        labels[cell.key] = _GAP.join([*parts, f"seed {cell.seed}"] if seeds else parts)
    return labels


def _corpora(cells: Iterable[Cell]) -> dict[str, str]:
    """Key → the corpus by name, with how it was read where that tells two of one name apart."""
    named = {cell.key: str(cell.corpus.get("corpus", cell.fingerprint)) for cell in cells}
    readings: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        there = readings.setdefault(named[cell.key], [])
        if cell.corpus not in there:
            there.append(cell.corpus)
    found = {}
    for cell in cells:
        others = readings[named[cell.key]]
        differing = {
            name: value
            for name, value in cell.corpus.items()
            if any(other.get(name) != value for other in others)
        }
        told = [f"{name}={in_words(value)}" for name, value in differing.items()]
        found[cell.key] = " ".join([named[cell.key], *told])
    return found


def _telling(cells: Sequence[Cell], corpora: Mapping[str, str]) -> list[str]:
    """The options that tell cells apart, in the order they are declared in."""
    rows = [{**cell.model, **cell.training} for cell in cells]
    return telling(rows, OPTIONS, [(corpora[cell.key],) for cell in cells])


def telling(
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str],
    known: Sequence[tuple[Hashable, ...]],
) -> list[str]:
    """Of `names`, those that tell rows apart beyond what is `known` of each, in their order.

    A row that lacks a name has None. Choices are asked first.

    >>> rows = [{"projection": "sparsegen", "lam": 0.5}, {"projection": "softmax", "lam": 0.0}]
    >>> telling(rows, ["lam", "projection", "lr"], [(), ()])
    ['projection']
    """
    varying = [name for name in names if len({row.get(name) for row in rows}) > 1]
    by_kind = sorted(varying, key=lambda name: name not in OPTIONS or not OPTIONS[name].choices)
    seen, shown = list(known), set()
    for name in by_kind:
        more = [(*old, row.get(name)) for old, row in zip(seen, rows, strict=True)]
        if len(set(more)) > len(set(seen)):
            seen = more
            shown.add(name)
    return [name for name in varying if name in shown]


def _parts(cell: Cell, shown: Sequence[str], ambiguous: set[str]) -> list[str]:
    """Each shown option that has an effect; one that goes with a choice stands beside it."""
    unused = idle(ModelOptions(**cell.model), TrainingOptions(**cell.training))
    parts: dict[str, str] = {}
    for name in shown:
        if name in unused:
            continue
        value = _value(cell, name)
        alone = OPTIONS[name].choices and str(value) not in ambiguous
        text = str(value) if alone else f"{name}={in_words(value)}"
        beside = ACTIVE_WHEN[name][0] if name in ACTIVE_WHEN else name
        if beside in parts:
            parts[beside] += f" {text}"
        else:
            parts[name] = text
    return list(parts.values())


def _ambiguous(cells: Iterable[Cell], shown: Iterable[str]) -> set[str]:
    """Words that say nothing alone: `none`, and those that two of the shown choices share."""
    cells = list(cells)
    taken = [{str(_value(cell, n)) for cell in cells} for n in shown if OPTIONS[n].choices]
    counted = Counter(word for words in taken for word in words)
    return {"none"} | {word for word, times in counted.items() if times > 1}


def _value(cell: Cell, name: str) -> Any:
    return cell.model[name] if name in cell.model else cell.training[name]


def in_words(value: Any) -> str:
    """An option's value as a label has it: 0.5, 16, null as none, a mapping by its pairs."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, Mapping):
        return ",".join(f"{old}={new}" for old, new in value.items())
    return str(value)
