"""Papers and calibration: what their commands write. DELETE with these packages.

What would train for minutes is replaced, and so are the numbers and charts of pages; what writes is
not.
"""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import capabilities
import pandas as pd
from capabilities import NEW, charts, commit, seed, study, typed, writes

from verax.papers import paper
from verax.studies import Store

PUBLISHED = Path(__file__).parents[2] / "results"
SCATTERED = "serrano-smith-2019"
"""A paper with points for scatter plots."""


def table(version: str) -> pd.DataFrame:
    return pd.DataFrame({"cell": [version] * 3, "value": [0.5] * 3})


@cache
def study_of(name: str, version: str) -> Path:
    """The folder of a paper's studies: one, with one cell or with both."""
    study(NEW)
    source, folder = Store.open(capabilities.PLACE / "swept"), capabilities.PLACE / name / version
    resolved = {**source.resolved(), "name": f"{name}.main"}
    store = Store.create(folder / "main", f"{name}.main", source.text(), resolved)
    for key in source.keys()[: 1 + seed(version)]:
        single = pd.DataFrame(
            {"cell": pd.Categorical([key] * 2), "id": [0, 0], "value": [0.1, 0.2]}
        )
        single = single.assign(top="attention", rule="paper", measure=["delta_alpha", "delta_js"])
        commit(store, key, {"erasure_single.parquet": single.to_parquet(index=False)})
    return folder


@writes("verax papers pack --out", "pack_paper", opens=lambda folder: pd.read_parquet(
    folder / "packed" / "delta_js_points.parquet"), parts=True, slow=True)  # fmt: skip
def _packed(folder: Path, version: str) -> None:
    typed("papers", "pack", SCATTERED, study_of(SCATTERED, version), "--out", folder / "packed")


@writes("verax papers run --out", "run_paper", opens=lambda folder: None, parts=True, slow=True)
def _run(folder: Path, version: str) -> None:
    told = ["--scale", "smoke", "--budget", "0.0001s", "--seeds", seed(version), "--workers", 1]
    typed("papers", "run", "wiegreffe-pinter-2019", *told, "--out", folder / "out")


def _judged(folder: Path) -> None:
    for path in folder.rglob("claims.json"):
        json.loads(path.read_text(encoding="utf-8"))


@writes("verax papers check", "Checked.write", opens=_judged, parts=True, slow=True)
def _checked(folder: Path, version: str) -> None:
    """Beside results, which are there: the page of the one paper, and that of all papers."""
    if version != NEW:
        shutil.copytree(study_of(SCATTERED, version), folder / SCATTERED)
        (folder / "README.md").write_text("old", encoding="utf-8")
        return
    with patch("verax.cli.papers.papers", lambda: [paper(SCATTERED)]):
        typed("papers", "check", "all", "--results", folder)


@writes("verax papers corpora", opens=lambda folder: pd.read_csv(folder / "corpora.csv"), slow=True)
def _described(folder: Path, version: str) -> None:
    if version != NEW:
        shutil.copytree(study_of(SCATTERED, version), folder, dirs_exist_ok=True)
        (folder / "corpora.csv").write_text("corpus\nold\n", encoding="utf-8")
        return
    typed("papers", "corpora", SCATTERED, "--results", folder)


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
