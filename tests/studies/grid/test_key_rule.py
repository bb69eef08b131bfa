"""Key rule 3: options at their defaults are not hashed, and defaults keep their meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.internals import CELL_MODEL_OPTIONS, Planted, adversary_defaults
from verax.corpora import CorpusOptions
from verax.exams import EXAMS
from verax.exams.authoring import option
from verax.models import ModelOptions
from verax.studies import Cell, open_study, read_study
from verax.training import TrainingOptions

RESULTS = Path(__file__).parents[3] / "results"
DEFAULTS = Path(__file__).with_name("defaults.json")
OURS = (
    *("adversary", "agreement", "deletion", "dispersion", "erasure", "information"),
    *("plausibility", "replacement", "single_token", "sufficiency"),
)


@cache
def stored() -> dict[str, Cell]:
    """All cells of the packs in results/ by key."""
    studies = [open_study(path.parent, every=True) for path in RESULTS.rglob("cells.parquet")]
    return {key: study.cell(key) for study in studies for key in study.done}


def recomputed(cell: Cell) -> str:
    return Cell.from_json(cell.to_json()).key


def extended(options: type) -> type:
    """Options with one more, at its default."""
    new = [("brand_new", float, option(0.5, "an option that was added"))]
    return make_dataclass(options.__name__, new, bases=(options,), frozen=True)


def test_all_stored_keys_recompute_from_their_configurations() -> None:
    assert len(stored()) == 1674
    assert all(cell.is_current for cell in stored().values())
    assert {key for key, cell in stored().items() if recomputed(cell) != key} == set()


def test_a_new_option_leaves_stored_keys_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = {key: cell for key, cell in stored().items() if "erasure" in cell.exams}
    assert len(cells) == 170
    monkeypatch.setattr(EXAMS["erasure"], "options_class", extended(EXAMS["erasure"].options_class))
    monkeypatch.setattr(CELL_MODEL_OPTIONS, extended(ModelOptions))
    for key, cell in cells.items():
        assert recomputed(cell) == key
        for value, same in ((0.5, True), (0.75, False)):
            exams = {**cell.exams, "erasure": {**cell.exams["erasure"], "brand_new": value}}
            assert (recomputed(replace(cell, exams=exams)) == key) is same
            model = {**cell.model, "brand_new": value}
            assert (recomputed(replace(cell, model=model)) == key) is same
            assert (replace(cell, model=model).trained == cell.trained) is same


def test_a_new_version_of_an_exam_gives_new_keys_and_keeps_the_stored_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = {"corpora": {"planted": {"documents": 60}}, "exams": ["erasure", "replacement"]}
    (before,) = read_study(source).cells
    assert "versions" not in before.to_json()
    (other,) = read_study({**source, "exams": ["replacement"]}).cells
    monkeypatch.setattr(EXAMS["erasure"], "version", 2)
    (after,) = read_study(source).cells
    assert after.to_json()["versions"] == {"exams.erasure": 2}
    assert after.key != before.key
    assert after.trained == before.trained
    assert read_study({**source, "exams": ["replacement"]}).cells[0].key == other.key
    again = [Cell.from_json(json.loads(json.dumps(c.to_json()))) for c in (before, after)]
    assert [cell.key for cell in again] == [before.key, after.key]
    assert [cell.is_current for cell in again] == [False, True]


def test_a_new_version_of_a_model_option_gives_new_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    source = {"corpora": {"planted": {"documents": 60}}, "exams": ["replacement"]}
    (before,) = read_study(source).cells
    changed = make_dataclass(
        "ModelOptions",
        [("heads", int, option(8, "heads", version=2))],
        bases=(ModelOptions,),
        frozen=True,
    )
    monkeypatch.setattr(CELL_MODEL_OPTIONS, changed)
    (after,) = read_study(source).cells
    assert after.to_json()["versions"] == {"model.heads": 2}
    assert after.key != before.key
    assert after.trained != before.trained


def test_no_default_changed_its_meaning_without_a_new_version() -> None:
    """Each default is in defaults.json, with the version of its option or exam."""
    frozen: dict[str, Any] = json.loads(DEFAULTS.read_text())
    now = dict(declared())
    added = {name: of for name, of in now.items() if name not in frozen}
    assert not added, f"add to {DEFAULTS.name}: {json.dumps(added)}"
    for name, (default, version) in frozen.items():
        assert name in now, f"{name} is gone: stored cells with it have other keys"
        if now[name] != [default, version]:
            assert now[name][1] > version, f"{name} has another default: raise its version"
    assert now == frozen


def declared() -> Iterator[tuple[str, list[Any]]]:
    """Option → its default and its version, or that of its exam."""
    sections = {"corpus": CorpusOptions, "planted": Planted}
    sections |= {"model": ModelOptions, "training": TrainingOptions}
    for section, cls in sections.items():
        for one in fields(cls):
            yield f"{section}.{one.name}", [one.default, one.metadata["version"]]
    for name in OURS:
        for one in fields(EXAMS[name].options_class):
            default = list(one.default) if isinstance(one.default, tuple) else one.default
            yield f"exams.{name}.{one.name}", [default, EXAMS[name].version]
    for name, default in adversary_defaults().items():
        yield f"adversaries.{name}", [default, 1]


def test_a_cell_of_an_exam_that_is_not_registered_is_read() -> None:
    """Its options' defaults are unknown, so that its key is taken from the store."""
    (cell,) = read_study({"corpora": {"planted": {"documents": 60}}, "exams": ["erasure"]}).cells
    foreign = replace(cell, exams={"of_another_package": {"draws": 5}})
    assert not foreign.is_current
    assert Cell.from_json(foreign.to_json()) == foreign
