"""Calibration: what its command writes. DELETE with this package.

What would train for minutes is replaced, and so are the numbers and charts of pages; what writes is
not.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import pandas as pd
from capabilities import charts, typed, writes


def table(version: str) -> pd.DataFrame:
    return pd.DataFrame({"cell": [version] * 3, "value": [0.5] * 3})


class _Place(NamedTuple):
    texts: str


@writes("verax calibrate --limits", "verax calibrate --page", opens=lambda folder: [
    json.loads(path.read_text(encoding="utf-8")) for path in folder.rglob("*.json")],
    parts=True, slow=True, drawn=True)  # fmt: skip
def _calibrated(folder: Path, version: str) -> None:
    spec: Any = SimpleNamespace(name=version, group=(_Place("t"), 0, None))
    errors = {"accused": (0, 0, 0, 1), "cleared": (0, 0, 0, 1)}
    known: Any = SimpleNamespace(exams={}, errors=errors, to_json=lambda: {"made": version})
    limits = SimpleNamespace(
        calibration=known, by_kind={}, version=version, to_json=lambda whole: {"limits": version}
    )
    models: Any = SimpleNamespace(models=(), passed=(), family=lambda name: models)
    made: dict[str, Any] = {
        "calibrate.smoke": lambda berts: [spec],
        "running._cost": lambda group: 0,
        "running._corpus": lambda *given: None,
        "running.Maker": lambda *given: None,
        "running.make_one": lambda *given: {"name": version},
        "running._finished": lambda path: {},
        "running.tables_of": lambda results: (table(version).assign(seconds=1.0), table(version)),
        "calibrate.Calibrated": SimpleNamespace(load=lambda folder: models),
        "calibrate.measured_limits": lambda *given: limits,
        "page.calibrations": lambda data, limits: {"pooled": True},
        "charts.charts": lambda *given: charts(version),
        "page.page": lambda *given: [version],
    }
    with ExitStack() as stack:
        for name, instead in made.items():
            stack.enter_context(patch(f"verax.calibration.{name}", instead))
        stack.enter_context(patch("verax.cli.calibrate.Calibrated", made["calibrate.Calibrated"]))
        out = folder / "out"
        told = ["--limits", folder / "limits.json", "--page", folder / "docs" / "page.md"]
        typed("calibrate", out, "--small", "--no-reviews", "--no-berts", *told)
