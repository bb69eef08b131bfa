"""How a result was made, for people: a line a fact, and what is seldom looked up folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from verax.report.templating import fill, fold

NAMES = {
    "sampled_from": "drawn from",
    "attended": "attention is over",
    "verax": "Verax",
    "python": "Python",
    "torch": "PyTorch",
    "lams": "λ",
    "importances": "importances of its own",
}
_INTERNAL = (
    *("tables", "format", "fingerprint", "bias", "plan"),
    *("calibration", "by_kind"),  # of limits: error rates there say nothing about this model
)
"""What only a program reads."""
_FIRST = ("corpus", "split", "documents", "sampled_from", "exams")
_LAST = ("seconds", "device", "verax", "python", "torch")
_BY_EXAM = "options"
_MOST = 12
"""Parts of a list that are named; of more, how many there are."""


def facts(manifest: Mapping[str, Any], title: str) -> Markup:
    """A manifest as a table, a line a fact; mappings in it are folded below."""
    lines: list[tuple[str, Any]] = []
    folded: list[tuple[str, Sequence[tuple[str, Any]]]] = []
    for key, value in _stated(manifest).items():
        if isinstance(value, Mapping) and isinstance(value.get(key), str):
            lines.append((key, value[key]))  # what the others are the options of
        if not isinstance(value, Mapping):
            lines.append((key, value))
        elif key == _BY_EXAM and _is_of_mappings(value):
            folded.append((key, [(k, v) for k, v in value.items() if not _empty(v)]))
        else:
            folded += _groups(key, value, manifest)
    order = (*_FIRST, *(key for key, _ in lines if key not in _LAST), *_LAST)
    inner = fact_table(sorted(lines, key=lambda line: order.index(line[0])), title)
    for key, group in folded:
        name = _name(key)
        inner += fold(name[:1].upper() + name[1:], fact_table(group))
    return inner


def fact_table(lines: Sequence[tuple[str, Any]], title: str = "") -> Markup:
    """A table of names and values; of a mapping each part is on a line of its own."""
    if not lines:
        return Markup()
    named = [(_name(key), _readable(value)) for key, value in lines]
    return fill("elements", "facts", lines=named, title=title)


def _groups(
    key: str, value: Mapping[str, Any], whole: Mapping[str, Any]
) -> list[tuple[str, list[tuple[str, Any]]]]:
    """A group of a mapping's plain facts, and one for each mapping in it.

    One that the manifest has too, as a model's corpus, is not repeated.
    """
    plain = [(k, v) for k, v in _stated(value).items() if not isinstance(v, Mapping)]
    groups = [(key, plain)] if plain else []
    for name, part in _stated(value).items():
        if isinstance(part, Mapping) and part != whole.get(name):
            title = f"{key}, each" if name == key else f"{key}: {name}"
            groups.append((title, list(_stated(part).items())))
    return groups


def _stated(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in manifest.items() if k not in _INTERNAL and not _empty(v)}


def _is_of_mappings(value: Mapping[str, Any]) -> bool:
    """Whether each part is a few plain facts, as the options of exams are."""
    return all(
        isinstance(part, Mapping) and not any(isinstance(v, Mapping) for v in part.values())
        for part in value.values()
    )


def _readable(value: Any) -> Any:
    """The value with names and numbers as people read them; mappings and lists stay such."""
    if isinstance(value, Mapping):
        return {_name(k): _readable(v) for k, v in value.items() if not _empty(v)}
    if isinstance(value, list | tuple):
        return [_readable(v) for v in value] if len(value) <= _MOST else f"{len(value):,} values"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−")
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def _name(key: str) -> str:
    return NAMES.get(key, key.replace("_", " "))


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping | list | tuple | str) and not len(value))
