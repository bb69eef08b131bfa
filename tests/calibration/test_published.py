"""The limits file of the package and docs/calibration.md are what the packed models give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.internals import Calibrated, write_limits
from support.internals import calibration_page as page
from support.internals import limits as limits_module
from verax.exams import LimitSet, load_limits

ROOT = Path(__file__).parents[2]
PACKED = ROOT / "results" / "calibration"
VERSION = "2026-11-measured-3"
CHANGED = (
    *(f"audits/{name}" for name in ("bilstm", "scratch", "minilm", "smollm2", "guard")),
    *("grounding-x-sparsity-sst", "grounding-x-sparsity-imdb", "calibration/demo"),
)
"""Results whose verdicts the page shows under both limits."""


@pytest.fixture(scope="module")
def limits(tmp_path_factory: pytest.TempPathFactory) -> LimitSet:
    return write_limits(PACKED, tmp_path_factory.mktemp("limits") / "limits.json", VERSION)


@pytest.mark.slow
def test_limits_of_the_package_are_measured_on_the_packed_models(limits: LimitSet) -> None:
    kept = load_limits(VERSION)
    assert limits.version == kept.version
    assert limits.provenance == kept.provenance
    measured, published = (
        json.loads(json.dumps(one.to_json(whole=True))) for one in (limits, kept)
    )
    assert flat(measured) == pytest.approx(flat(published), rel=1e-6, abs=1e-9)
    folder = Path(limits_module.__file__).parent / "limits_files"
    assert (folder / f"{VERSION}.json").stat().st_size < 20_000


@pytest.mark.slow
def test_the_page_says_what_the_packed_models_say(limits: LimitSet) -> None:
    results = [ROOT / "results" / name for name in CHANGED]
    kept = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    for part in page(Calibrated.load(PACKED), limits, [], results):
        assert part in kept


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
