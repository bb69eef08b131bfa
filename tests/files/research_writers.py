"""Audits and calibration: what their commands write. DELETE with these packages.

What would train for minutes is replaced, and so are the numbers and charts of pages; what writes is
not.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import pandas as pd
from capabilities import NEW, charts, seed, typed, writes

from verax.audits.examining import Examined

PUBLISHED = Path(__file__).parents[2] / "results"


def table(version: str) -> pd.DataFrame:
    return pd.DataFrame({"cell": [version] * 3, "value": [0.5] * 3})


@writes("verax audit --out", opens=lambda folder: None, slow=True)
def _audited(folder: Path, version: str) -> None:
    facts = {"entry": version, "seconds": {"making": 0, "exams": 0}}
    examined = Examined({"summary": table(version)}, facts)
    with patch("verax.audits.running.examine_entry", lambda *given, **how: examined):
        one = ("bilstm-mlm-0", "bilstm-tying-0")[seed(version)]
        typed("audit", "bilstm", "--models", one, "--out", folder / "out")


@writes("verax audit --docs", opens=lambda folder: None, parts=True, slow=True, drawn=True)
def _audit_pages(folder: Path, version: str) -> None:
    if version != NEW:
        shutil.copytree(PUBLISHED / "audits" / "scratch", folder / "out")
        return
    pictures = {chart.name: chart for chart in charts(version)}
    with ExitStack() as stack:
        for module in ("page", "findings"):
            stack.enter_context(
                patch(f"verax.audits.{module}.pictures_of", lambda *given: pictures)
            )
        found = [SimpleNamespace(picture=name) for name in pictures]
        stack.enter_context(patch("verax.audits.findings.findings", lambda *given: found))
        stack.enter_context(patch("verax.audits.findings.findings_page", lambda *given: version))
        told = ["--from-results", PUBLISHED / "audits" / "guard", "--out", folder / "out"]
        typed("audit", "guard", *told, "--docs", folder / "docs" / "page.md")


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
