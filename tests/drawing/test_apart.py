"""Charts where memory is limited: drawn in a child process, and left out where that ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from support.errors import raises
from verax.drawing import rendering
from verax.drawing.apart import Renderer, is_limited
from verax.drawing.chart import drawable
from verax.errors import VeraxWarning
from verax.report import Chart

SPEC = {
    "data": {"values": [{"a": 1}]},
    "mark": "bar",
    "encoding": {"x": {"field": "a", "type": "quantitative"}},
}
ENDS = (sys.executable, "-c", "import os, sys; sys.stdin.readline(); os.abort()")
REFUSES = (
    sys.executable,
    "-c",
    """import sys; sys.stdin.readline(); print('{"error": "no such mark"}')""",
)


@pytest.fixture
def chart() -> Chart:
    return Chart("c", "erasure", "a title", "how to read it", SPEC)


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    made = Renderer()
    yield made
    made.close()


@pytest.mark.slow
def test_a_child_draws_what_the_process_itself_draws(renderer: Renderer) -> None:
    import vl_convert

    svg = vl_convert.vegalite_to_svg(SPEC)
    assert renderer.vegalite_to_svg(SPEC) == svg
    assert renderer.svg_to_png(svg, scale=1).startswith(b"\x89PNG")
    assert renderer.svg_to_pdf(svg).startswith(b"%PDF")


def test_where_the_child_ends_charts_are_left_out_and_that_is_said(
    chart: Chart, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Renderer(ENDS)
    monkeypatch.setattr(rendering, "is_limited", lambda: True)
    monkeypatch.setattr(rendering, "_renderer", lambda: ended)
    with pytest.warns(VeraxWarning, match="without charts: .* 80 GB"):
        charts, note = drawable([chart])
    assert charts == []
    assert note.startswith("Charts cannot be drawn within the limit of address space")
    with raises("device.out-of-memory"):  # and it is not tried again
        ended.vegalite_to_svg(SPEC)
    ended.close()


def test_what_the_renderer_refuses_is_an_error_of_its_own() -> None:
    refusing = Renderer(REFUSES)
    with pytest.raises(ValueError, match="no such mark"):
        refusing.vegalite_to_svg(SPEC)
    refusing.close()


def test_a_chart_that_can_be_drawn_is_kept(chart: Chart) -> None:
    assert drawable([chart]) == ([chart], "")


def test_a_limit_of_address_space_is_noticed() -> None:
    assert not is_limited()
    code = "from verax.drawing.apart import is_limited; print(is_limited())"
    limited = f"ulimit -v 30000000; exec {sys.executable} -c '{code}'"
    ran = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "True"
