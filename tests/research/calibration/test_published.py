"""The shipped thresholds and docs/calibration.md are what the published models give."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import verax
from research.calibration.report import changed_verdicts, page, power_at, write_page
from research.calibration.run import Published, main, publish, smoke, thresholds, train_group, whole
from support.errors import raises
from verax.calibration import CHOOSING, DECEPTIVE, HELD_OUT, HONEST, Gates, TrainingBudget
from verax.exams import LimitSet, load_limits

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "results" / "calibration"
VERSION = "2026-11-measured-3"
CHANGED = (
    *(f"audits/{name}" for name in ("bilstm", "scratch", "minilm", "smollm2", "guard")),
    *("grounding-x-sparsity-sst", "grounding-x-sparsity-imdb", "calibration/demo"),
)
"""Results whose verdicts the page shows under both thresholds."""


@pytest.fixture(scope="module")
def data() -> Published:
    return Published.load(PUBLISHED)


@pytest.fixture(scope="module")
def limits(data: Published) -> LimitSet:
    return thresholds(data, VERSION)


@pytest.mark.slow
def test_the_shipped_thresholds_are_measured_on_the_published_models(limits: LimitSet) -> None:
    kept = load_limits(VERSION)
    assert limits.version == kept.version
    assert limits.provenance == kept.provenance
    measured, published = (
        json.loads(json.dumps(one.to_json(whole=True))) for one in (limits, kept)
    )
    assert flat(measured) == pytest.approx(flat(published), rel=1e-6, abs=1e-9)
    assert len(json.dumps(measured)) < 20_000


@pytest.mark.slow
def test_the_page_says_what_the_published_models_say(data: Published, limits: LimitSet) -> None:
    results = [ROOT / "results" / name for name in CHANGED]
    kept = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    for part in page(data, limits, [], results):
        assert part in kept


@pytest.mark.slow
def test_the_page_has_its_charts(data: Published, limits: LimitSet, tmp_path: Path) -> None:
    text = write_page(data, limits, tmp_path / "page.md").read_text(encoding="utf-8")
    places = [line.partition("(")[2].rstrip(")") for line in text.splitlines() if line[:2] == "!["]
    assert len(places) == 4
    for place in places:
        chart = (tmp_path / place).read_text(encoding="utf-8")
        assert chart == (ROOT / "docs" / place).read_text(encoding="utf-8")


def test_what_was_asked_of_the_calibration_is_held(limits: LimitSet) -> None:
    found = [limits, *limits.by_kind.values()]
    known = [one.calibration for one in found if one.calibration is not None]
    assert len(known) == 2
    for one in known:
        assert sum(about["auroc"] >= 0.95 for about in one.exams.values()) >= 4
    pooled = known[0].errors
    assert pooled["accused"][2] <= 0.05
    assert pooled["cleared"][2] <= 0.10
    honest, deceptive = (sum(one.errors[n][3] for one in known) for n in ("accused", "cleared"))
    assert min(honest, deceptive) >= 60


def flat(values: object, at: str = "") -> dict[str, float]:
    """Every number in nested values, by its place."""
    if isinstance(values, dict):
        return {p: n for key, v in values.items() for p, n in flat(v, f"{at}/{key}").items()}
    if isinstance(values, list):
        return {p: n for key, v in enumerate(values) for p, n in flat(v, f"{at}/{key}").items()}
    return {at: float(values)} if isinstance(values, (int, float)) else {}


def test_the_plan_is_that_of_the_published_models(data: Published) -> None:
    planned = [
        (kind, group["texts"], group["length"], group["classes"], group["seed"], group["part"])
        for group in whole()
        for kind in group["kinds"]
    ]
    columns = ["kind", "texts", "length", "classes", "seed", "part"]
    assert sorted(planned) == sorted(data.models[columns].itertuples(index=False, name=None))


def test_held_out_are_other_kinds_lengths_and_classes(data: Published) -> None:
    models = data.models
    parts = [models[models["part"] == part] for part in (CHOOSING, HELD_OUT)]
    for column in ("kind", "length", "classes"):
        assert not set(parts[0][column]) & set(parts[1][column])
    for side in (HONEST, DECEPTIVE):
        assert (parts[1]["side"] == side).sum() >= 60


@pytest.mark.slow
def test_groups_are_trained_and_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gates, "failed", lambda gates, side: [])
    budget = TrainingBudget(documents=120, epochs=1, ramp=1, size=8, sample=3, costly=2, berts=2)
    groups = {group["encoder"]: group for group in smoke() if group["part"] == CHOOSING}
    configs = [
        {**groups[encoder], "kinds": groups[encoder]["kinds"][:1], "budget": asdict(budget)}
        for encoder in ("none", "bert")
    ]
    grid = verax.run_grid(train_group, configs, tmp_path / "run", engine="here", progress=False)
    assert not grid.failures
    publish(grid, budget, tmp_path)
    models = pd.read_parquet(tmp_path / "models.parquet").set_index("family")
    kept = Published.load(PUBLISHED).models
    assert {*models.columns, "family"} - {"torch"} == set(kept.columns)
    for family in ("pooled", "transformer"):
        own = kept[kept["family"] == family].dropna(axis="columns", how="all")
        assert {*models.loc[family].dropna().index, "family"} - {"torch"} == set(own.columns)
    assert list(Published.load(tmp_path).families) == ["pooled"]
    with raises("result.too-few"):
        thresholds(Published.load(tmp_path), "mine")


@pytest.mark.slow
def test_thresholds_of_published_models_by_the_command(tmp_path: Path) -> None:
    path = tmp_path / "limits.json"
    told = ["--published", "--version", VERSION, "--limits", str(path)]
    assert main([str(PUBLISHED), *told], "calibrate") == 0
    shipped = load_limits(VERSION).to_json(whole=True)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(shipped))


def test_power_is_a_share_beyond_a_quantile() -> None:
    one = np.arange(100.0)
    assert power_at(one, one - 1000, 0.05) == 1
    assert power_at(one, one, 0.05) == 0.05


@pytest.mark.slow
def test_changes_are_of_verdicts_and_of_audits(tmp_path: Path, data: Published) -> None:
    limits = load_limits(VERSION)
    pooled, berts = (data.families[name].summaries for name in ("pooled", "transformer"))
    names = ["mlp.planted.16.3.100", "bigru-penalty.planted.16.3.100"]
    for name in names:
        place = tmp_path / "saved" / name
        place.mkdir(parents=True)
        pooled[name].summary.to_parquet(place / "summary.parquet")
        (place / "manifest.json").write_text(json.dumps(dict(pooled[name].manifest)))
    audit = tmp_path / "audit"
    audit.mkdir()
    summary = next(iter(berts.values())).summary
    about = {"layers": 6, "readout": "mean", "kind": "transformer"}
    fact = {"classes": ["0", "1"], "documents": 2, "description": about}
    (audit / "models.json").write_text(json.dumps({"bert-0": fact, "bert-1": fact}))
    each = [summary.assign(model=name) for name in ("bert-0", "bert-1")]
    pd.concat(each).to_parquet(audit / "summary.parquet")
    read = {"model": ["bert-0", "bert-1"] * 2, "words": [9, 9, 11, 11], "label": list("0101")}
    pd.DataFrame(read).to_parquet(audit / "documents.parquet")
    frame = changed_verdicts([tmp_path / "saved", audit], limits)
    assert frame["model"].tolist() == [*sorted(names), "bert, 2 seeds"]
    assert frame["not measured"].tolist()[:2] == ["", ""]
    assert frame["not measured"][2].startswith("its classifier reads the mean of all")
    assert frame["changed"][2] == "none"
    assert frame["measured"][2] == "no verdict"  # of 2 documents
