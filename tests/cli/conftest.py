"""Pages that commands write have empty pictures: drawing takes longer than most commands."""

from __future__ import annotations

import pytest

from verax.drawing import chart, rendering

DRAWN = ("test_demo", "test_figures", "test_report")
"""Files whose tests have their pictures drawn, as tests of reports have."""


def empty(spec: object, name: str, title: str, text: str) -> str:
    return f'<svg class="chart" role="img" width="8" height="8"><title>{name}</title></svg>'


@pytest.fixture(autouse=True)
def pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = request.node.path.stem in DRAWN
    monkeypatch.setattr(chart, "drawn", rendering.drawn if wanted else empty)
