"""How something was made, for people: a line a fact, and what is seldom asked for folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.report.markup import element, named, text

NAMES = {
    "sampled_from": "drawn from",
    "attended": "attention is over",
    "verax": "Verax",
    "python": "Python",
    "torch": "PyTorch",
    "lams": "λ",
    "importances": "importances of its own",
}
_UNTOLD = ("tables", "format", "fingerprint", "bias")
"""What only a program reads."""
_FIRST = ("corpus", "split", "documents", "sampled_from", "exams")
_LAST = ("seconds", "device", "verax", "python", "torch")
_BY_EXAM = "options"
_MOST = 12
"""Parts of a list that are named; of more, how many there are."""


def facts(manifest: Mapping[str, Any], title: str) -> str:
    """A manifest as a table, a line a fact; what has facts of its own waits to be opened."""
    lines: list[tuple[str, Any]] = []
    folded: list[tuple[str, str]] = []
    for key, value in _told(manifest).items():
        if isinstance(value, Mapping) and isinstance(value.get(key), str):
            lines.append((key, value[key]))  # what the others are the options of
        if not isinstance(value, Mapping):
            lines.append((key, value))
        elif key == _BY_EXAM and _is_of_mappings(value):
            folded.append((key, fact_table([(k, v) for k, v in value.items() if not _empty(v)])))
        else:
            folded += _groups(key, value, manifest)
    order = (*_FIRST, *(key for key, _ in lines if key not in _LAST), *_LAST)
    inner = fact_table(sorted(lines, key=lambda line: order.index(line[0])), title)
    for key, told in folded:
        shown = _name(key)
        inner += closed(shown[:1].upper() + shown[1:], told)
    return inner


def fact_table(lines: list[tuple[str, Any]], title: str = "") -> str:
    """Names, and what is said of them; of a mapping each part on a line of its own."""
    if not lines:
        return ""
    rows = "".join(
        element("tr", element("th", named(_name(k)), {"scope": "row"}) + element("td", _value(v)))
        for k, v in lines
    )
    caption = element("caption", text(title)) if title else ""
    table = element("table", f"{caption}<tbody>{rows}</tbody>", {"class": "facts"})
    box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": title or "facts"}
    return element("div", table, box)


def closed(title: str, inner: str) -> str:
    """What waits to be opened."""
    return element("details", element("summary", text(title)) + inner)


def _groups(key: str, value: Mapping[str, Any], whole: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A fold for what stands in a mapping itself, and one for each mapping in it.

    One that stands in the manifest too, as a model's corpus, is not told twice.
    """
    own = {k: v for k, v in _told(value).items() if not isinstance(v, Mapping)}
    found = [(key, fact_table(list(own.items())))] if own else []
    for inner, part in _told(value).items():
        if isinstance(part, Mapping) and part != whole.get(inner):
            title = f"{key}, each" if inner == key else f"{key}: {inner}"
            found.append((title, fact_table(list(_told(part).items()))))
    return found


def _told(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in manifest.items() if k not in _UNTOLD and not _empty(v)}


def _is_of_mappings(value: Mapping[str, Any]) -> bool:
    """Whether each part is a few plain facts, as the options of exams are."""
    return all(
        isinstance(part, Mapping) and not any(isinstance(v, Mapping) for v in part.values())
        for part in value.values()
    )


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        lines = (f"{named(_name(k))}: {_value(v)}" for k, v in value.items() if not _empty(v))
        return "<br>".join(lines)
    if isinstance(value, list | tuple):
        if len(value) > _MOST:
            return text(f"{len(value):,} values")
        return ", ".join(_value(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return text(f"{value:.6g}".replace("-", "−"))
    return named(f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else value)


def _name(key: str) -> str:
    return NAMES.get(key, key.replace("_", " "))


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping | list | tuple | str) and not len(value))
