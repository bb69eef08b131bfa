"""A chart's specification as SVG, PNG or PDF, in the colours of a page, or light or dark.

Colours in a specification are placeholders. In the page they become CSS variables, so that one SVG
serves light and dark; in files they are the colours of a theme.
"""

from __future__ import annotations

import atexit
import html
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from verax.drawing.apart import Renderer, is_limited
from verax.errors import VeraxError, nearest

INK, GRID, PAPER = "#fe00a0", "#fe00a1", "#fe00a2"
"""The colour of text and axes in a chart: a placeholder that every theme replaces."""
CATEGORIES = tuple(f"#fe000{number}" for number in range(1, 9))
"""The colours of series in a chart: placeholders that every theme replaces."""

_NAMES = {
    INK: "--chart-ink",
    GRID: "--chart-grid",
    PAPER: "--chart-paper",
    **{place: f"--chart-{number}" for number, place in enumerate(CATEGORIES, start=1)},
}
# Okabe & Ito's colours. Yellow is darkened on white paper; blue and sky blue change places on
# dark paper, where black becomes white.
_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#a39600", "#000000")
_DARK = ("#56b4e9", "#e69f00", "#2fc59b", "#cc79a7", "#e8743b", "#3d9bd9", "#f0e442", "#ffffff")
THEMES: dict[str, dict[str, str]] = {
    "page": {place: f"var({name})" for place, name in _NAMES.items()},
    "light": {INK: "#1b1f24", GRID: "#d8dce1", PAPER: "#ffffff"}
    | dict(zip(CATEGORIES, _LIGHT, strict=True)),
    "dark": {INK: "#e6e9ed", GRID: "#3a4048", PAPER: "#14171b"}
    | dict(zip(CATEGORIES, _DARK, strict=True)),
}
VARIABLES: dict[str, dict[str, str]] = {
    theme: {name: THEMES[theme][place] for place, name in _NAMES.items()}
    for theme in ("light", "dark")
}
"""Theme → CSS variable → colour: what a page has to define."""

FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif"
LETTERS, _MEASURED = 13, 15.5
"""Pixels, on charts at most 620 px wide. Room is left for larger letters than are written: the
reader's font may be wider than the one they are measured in, and no label may be cut."""

_LABELS: dict[str, Any] = {"labelColor": INK, "labelFontSize": _MEASURED}
_TITLES: dict[str, Any] = {
    "titleColor": INK,
    "titleFontSize": _MEASURED,
    "titleFontWeight": "normal",
}
CONFIG: dict[str, Any] = {
    "aria": False,  # a label a mark would be most of the file; the whole has a title and a text
    "background": PAPER,
    "font": FONT,
    "padding": 8,
    "view": {"stroke": None},
    "axis": {
        **_LABELS,
        **_TITLES,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": GRID,
        "labelLimit": 260,
        "titleLimit": 600,
        "titlePadding": 8,
        "labelOverlap": "greedy",
        "labelSeparation": 5,
        "labelFlush": False,
    },
    # where not all labels have room, every other one: what is left is as far apart as before
    "axisQuantitative": {"labelOverlap": "parity"},
    "axisBand": {"grid": False, "domain": False, "ticks": False, "labelPadding": 10},
    "legend": {
        **_LABELS,
        **_TITLES,
        "labelLimit": 300,
        "titleLimit": 400,
        "orient": "top",
        "symbolSize": 90,
        "columnPadding": 18,
    },
    "header": {**_LABELS, **_TITLES, "labelFontWeight": "bold", "labelLimit": 520},
    "title": {"color": INK, "fontSize": _MEASURED, "anchor": "start", "fontWeight": "bold"},
    "text": {"color": INK, "fontSize": _MEASURED},
    "rule": {"color": INK},
}

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_COLOUR = re.compile(r'\b(fill|stroke)="(#fe00[0-9a-f]{2})"')
_LONG = re.compile(r"-?\d+\.\d{3,}")
_PLACED = re.compile(r'\b(transform|d|x2|y2)="([^"]*)"')
_UNUSED = re.compile(r' (role|aria-[a-z]+|pointer-events|opacity)="(?!0)[^"]*"')
_WIDTH = re.compile(r' stroke-width="[^"]*"')
_ID = re.compile(r'(\bid="|url\(#)([^")]+)')
_TAG = re.compile(r"<[^>]+>")
"""Only tags are rewritten: a text may hold anything."""


def printable(text: str) -> str:
    """Text without control characters, marks that turn its direction, and halves of characters.

    XML has no place for some of these: a renderer given one ends the whole process.
    """
    return _UNPRINTABLE.sub("�", text)


def drawn(spec: Mapping[str, Any], name: str, title: str, text: str) -> str:
    """The SVG of a specification, its colours still placeholders.

    name   begins every id in it, so that several can stand in one page
    title  and text are what a screen reader says
    """
    svg: str = _converter().vegalite_to_svg(_clean(dict(spec)))
    # the renderer goes on counting from chart to chart
    numbered = dict.fromkeys(m[2] for tag in _TAG.findall(svg) for m in _ID.finditer(tag))
    ids = {id_: f"{name}-{number}" for number, id_ in enumerate(numbered)}
    svg = _TAG.sub(lambda tag: _rewritten(tag[0], ids), svg)
    described = (
        f'<title id="{name}-title">{html.escape(printable(title))}</title>'
        f'<desc id="{name}-desc">{html.escape(printable(text))}</desc>'
    )
    role = f'role="img" aria-labelledby="{name}-title" aria-describedby="{name}-desc"'
    opening = _TAG.search(svg)
    if opening is None:
        raise ValueError("no SVG was drawn")
    return (
        opening[0].replace('class="marks"', f'class="chart" {role}')
        + described
        + svg[opening.end() :]
    )


def coloured(svg: str, theme: str) -> str:
    """The SVG with the colours of a theme in place of the placeholders."""
    if theme not in THEMES:
        raise VeraxError(
            f"unknown theme {theme!r}: {nearest(theme, THEMES)}", code="option.unknown-value"
        )
    colours = THEMES[theme]

    def paint(tag: re.Match[str]) -> str:
        return _COLOUR.sub(lambda m: f'{m[1]}="{colours.get(m[2], m[2])}"', tag[0])

    return _TAG.sub(paint, svg)


def png(svg: str, scale: float) -> bytes:
    picture: bytes = _converter().svg_to_png(svg, scale=scale)
    return picture


def pdf(svg: str) -> bytes:
    picture: bytes = _converter().svg_to_pdf(svg)
    return picture


def require_altair() -> None:
    """Raise an error that says what to install where charts cannot be made."""
    _installed("altair", "altair")


def _converter() -> Any:
    if is_limited():
        return _renderer()
    return _installed("vl_convert", "vl-convert-python")


@cache
def _renderer() -> Renderer:
    _find("vl_convert", "vl-convert-python")
    renderer = Renderer()
    atexit.register(renderer.close)
    return renderer


def _find(module: str, package: str) -> None:
    if find_spec(module) is None:
        raise VeraxError(
            f"a chart needs {package}: pip install 'verax[report]'", code="package.missing"
        )


def _installed(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise VeraxError(
            f"a chart needs {package}: pip install 'verax[report]'", code="package.missing"
        ) from error


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(inner) for inner in value]
    return value


def _rewritten(tag: str, ids: Mapping[str, str]) -> str:
    """A tag with ids of its chart and hundredths of pixels, without attributes of no effect."""
    tag = _UNUSED.sub("", tag)
    if "stroke=" not in tag:
        tag = _WIDTH.sub("", tag)
    tag = tag.replace(f'font-size="{_MEASURED}px"', f'font-size="{LETTERS}px"')
    tag = _ID.sub(lambda m: f"{m[1]}{ids[m[2]]}", tag)
    return _PLACED.sub(lambda m: f'{m[1]}="{_LONG.sub(_shorter, m[2])}"', tag)


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
