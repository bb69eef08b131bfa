"""Papers: what their commands write. DELETE with these packages.

What would train for minutes is replaced, and what writes is not.
"""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from unittest.mock import patch

import capabilities
import pandas as pd
from capabilities import NEW, commit, seed, study, typed, writes

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
