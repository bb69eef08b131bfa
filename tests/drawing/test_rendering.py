"""Pictures: colours, ids, what a screen reader says, and files."""

from __future__ import annotations

import re
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from support.errors import raises
from verax.drawing.rendering import (
    CATEGORIES,
    CONFIG,
    THEMES,
    VARIABLES,
    coloured,
    printable,
    require_altair,
)
from verax.report import Chart


def bars(name: str = "bars", **names: Any) -> Chart:
    values = [{"a": 1, "m": "one"}, {"a": 2, "m": names.get("label", "two")}]
    colour = {"field": "m", "type": "nominal", "scale": {"range": list(CATEGORIES[:2])}}
    axis = {"field": "a", "type": "quantitative"}
    spec = {
        "data": {"values": values},
        "mark": {"type": "bar", "clip": True},
        "encoding": {"x": axis, "y": {"field": "m", "type": "nominal"}, "color": colour},
        "config": CONFIG,
    }
    return Chart(name, "erasure", names.get("title", "A title"), "How to read it.", spec)


def test_the_page_has_css_variables_and_no_colour() -> None:
    svg = bars().svg()
    assert "#fe00" not in svg
    assert {*re.findall(r'(?:fill|stroke)="([^"]*)"', svg)} <= {
        *("none", "transparent"),
        *(f"var({name})" for name in VARIABLES["light"]),
    }
    assert "var(--chart-1)" in svg
    assert "var(--chart-2)" in svg
    assert "var(--chart-paper)" in svg


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_files_have_colours_and_no_variable(theme: str) -> None:
    svg = bars().svg(theme)
    assert "var(" not in svg
    assert "#fe00" not in svg
    for place in CATEGORIES[:2]:
        assert f'fill="{THEMES[theme][place]}"' in svg


def test_themes_define_the_same_variables() -> None:
    names = {"--chart-ink", "--chart-grid", "--chart-paper", *(f"--chart-{k}" for k in range(1, 9))}
    assert set(VARIABLES["light"]) == set(VARIABLES["dark"]) == names
    with raises("option.unknown-value", "drak", "dark"):
        coloured("<svg/>", "drak")


def contrast(one: str, other: str) -> float:
    """WCAG 2's ratio of two colours' luminance."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ink_and_marks_stand_out_from_paper(theme: str) -> None:
    colours = VARIABLES[theme]
    assert contrast(colours["--chart-ink"], colours["--chart-paper"]) > 7
    for number in range(1, 9):
        assert contrast(colours[f"--chart-{number}"], colours["--chart-paper"]) > 2
    for number in range(1, 5):
        assert contrast(colours[f"--chart-{number}"], colours["--chart-paper"]) > 2.9


def test_a_screen_reader_has_a_title_and_a_text() -> None:
    svg = bars(title="<b> & 'q'").svg()
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    told = {e.get("id"): e.text for e in root if e.tag.endswith(("title", "desc"))}
    assert told[root.get("aria-labelledby")] == "<b> & 'q'"
    assert told[root.get("aria-describedby")] == "How to read it."
    assert root.get("class") == "chart"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


@pytest.mark.slow
def test_ids_of_two_charts_in_a_page_differ() -> None:
    one, other = (
        {*re.findall(r'\bid="([^"]+)"', bars(name).svg())} for name in ("first", "second")
    )
    assert "first-0" in one
    assert bars("first").svg() == bars("first").svg()
    assert not one & other
    for name in re.findall(r"url\(#([^)]+)\)", bars("first").svg()):
        assert name in one


def test_text_is_left_as_it_is() -> None:
    """What looks like markup, or like a placeholder, is a label."""
    label = f'fill="{CATEGORIES[0]}" id="x" <b>'
    shown = [e.text for e in ElementTree.fromstring(bars(label=label).svg()).iter()]
    assert label in shown


def test_what_xml_cannot_hold_is_replaced() -> None:
    assert printable("a\x00b\ud800\u202ec\ufffe") == "a�b��c�"
    assert printable("héllo שלום 🙂 −λ") == "héllo שלום 🙂 −λ"
    assert "a�b" in bars(label="a\x01b").svg()


def test_files() -> None:
    chart = bars()
    assert chart.png().startswith(b"\x89PNG")
    assert chart.pdf().startswith(b"%PDF")
    size = [int.from_bytes(chart.png(scale)[16:20], "big") for scale in (1, 2)]
    assert size[1] == pytest.approx(2 * size[0], abs=1)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with raises("package.missing", "verax[report]"):
        require_altair()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with raises("package.missing"):
        bars().svg()
