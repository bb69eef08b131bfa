"""Results of every kind: saved, opened by `verax.open`, the same again, and shown."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import verax
from support.errors import raises
from support.internals import (
    FILES,
    OPENING,
    OPENING_FILES,
    OPENING_RESULTS,
    PRIVATE_TABLES,
    REPORT,
    open_result,
    saved_kind,
)
from support.internals import (
    RESULT_KINDS as KINDS,
)
from support.internals import (
    RESULT_MANIFEST as MANIFEST,
)
from verax import Result
from verax.exams import load_verdict
from verax.studies import load_adversaries, load_comparison, load_sweep, pack

TINY: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 1, "device": "cpu"}
KIND = ["verdict", "comparison", "sweep", "adversaries"]
LOADING: dict[str, Callable[[Path], Result]] = {
    "verdict": load_verdict,
    "comparison": load_comparison,
    "sweep": load_sweep,
    "adversaries": load_adversaries,
}
RESULTS = Path(__file__).parents[1] / "results"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sweep of `made` keeps its study."""
    return tmp_path_factory.mktemp("kept") / "study"


@pytest.fixture(scope="module")
def made(study: Path) -> dict[str, Result]:
    """One result of every kind."""
    corpus = verax.load_corpus("planted", documents=60, length=12)
    model = verax.train(corpus, **TINY)
    other = verax.train(corpus, projection="sparsemax", **TINY)
    verdicts = [verax.examine(m, corpus, ["replacement", "information"]) for m in (model, other)]
    few: dict[str, Any] = {"exams": "dispersion", "influence": "none", "entropy_of": ""}
    found = verax.sweep(corpus, [-1, 0.5], keep=study, **few, **TINY)
    opposed = verax.adversaries(
        model, corpus, [0, 1], retrain=[2], controls=False, epochs=1, device="cpu"
    )
    compared = verax.compare(dict(zip("ab", verdicts, strict=True)))
    return {r.kind: r for r in (verdicts[0], compared, found, opposed)}


def same(one: Result, other: Result) -> None:
    """Of one class, with the same manifest and the same tables to the last digit."""
    assert type(one) is type(other)
    assert json.dumps(one.manifest) == json.dumps(other.manifest)
    tables, others = tables_of(one), tables_of(other)
    assert list(tables) == list(others)
    for name, table in tables.items():
        pd.testing.assert_frame_equal(plain(others[name]), plain(table), check_exact=True)


def tables_of(result: Result) -> dict[str, pd.DataFrame]:
    """Return all tables that a result saves, by name."""
    return getattr(result, PRIVATE_TABLES)()


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose text is text, categorical or not, and None where there is none."""
    numbers = table.select_dtypes("number").columns
    text = {name: table[name].astype("object") for name in table if name not in numbers}
    return table.assign(**{name: own.where(own.notna(), None) for name, own in text.items()})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KIND)
def test_saved_opened_and_the_same(kind: str, made: dict[str, Result], tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    made[kind].save(folder)
    written = json.loads((folder / MANIFEST).read_text())
    assert list(written)[:2] == ["kind", "format"]
    assert (written["kind"], written["format"]) == (kind, type(made[kind]).format)
    assert saved_kind(folder) == kind
    for opening in (verax.open, open_result, LOADING[kind], type(made[kind]).load):
        found = opening(folder)
        assert isinstance(found, Result)
        same(found, made[kind])
    with raises("output.occupied"):
        found.save(folder)
    found.save(folder, overwrite=True)  # over itself
    again = json.loads((folder / MANIFEST).read_text())
    assert again | {FILES: {}} == written | {FILES: {}}
    assert set(again[FILES]) == set(written[FILES]) == {p.name for p in folder.glob("*.parquet")}
    same(type(made[kind]).load(folder), made[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KIND)
def test_reported_and_shown_in_a_notebook(
    kind: str, made: dict[str, Result], tmp_path: Path
) -> None:
    made[kind].save(tmp_path)
    found = verax.open(tmp_path)
    assert isinstance(found, Result)
    found.report(tmp_path / REPORT, "<mine>")
    page = (tmp_path / REPORT).read_text(encoding="utf-8")
    assert "<title>&lt;mine&gt;</title>" in page
    shown = found._repr_html_()
    assert shown == made[kind]._repr_html_()
    assert "<table" in shown
    assert found.owns(tmp_path)  # with its page it may be replaced
    found.save(tmp_path, overwrite=True)
    assert not (tmp_path / REPORT).exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KIND)
def test_what_is_of_another_kind_or_not_alone_is_left_as_it_is(
    kind: str, made: dict[str, Result], tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    made[kind].save(folder)
    for other in KIND:
        if other == kind:
            continue
        assert not type(made[other]).owns(folder)
        with raises("output.occupied"):
            made[other].save(folder, overwrite=True)
        with raises("result.wrong-kind", kind, other):
            type(made[other]).load(folder)
    same(type(made[kind]).load(folder), made[kind])
    (folder / "letter.txt").write_text("dear")
    with raises("output.occupied"):
        made[kind].save(folder, overwrite=True)
    assert (folder / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("kind", KIND)
def test_what_cannot_be_read_is_one_line(
    kind: str, made: dict[str, Result], tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    load = type(made[kind]).load
    with raises("result.missing", kind):
        load(tmp_path)
    made[kind].save(folder)
    text = (folder / MANIFEST).read_text()
    newer = json.dumps({**json.loads(text), "format": 99})
    for manifest, code in (
        (newer, "result.other-format"),
        ("{", "result.damaged"),
        ("[]", "result.damaged"),
        ('{"cell": 3}', "result.*"),
    ):
        (folder / MANIFEST).write_text(manifest)
        with raises(code) as error:
            load(folder)
        assert "\n" not in str(error.value)
        assert type(made[kind]).owns(folder) == (manifest == newer)
    (folder / MANIFEST).write_text(text)
    name = next(n for n in tables_of(made[kind]) if n in ("instances", "replacement"))
    (folder / f"{name}.parquet").unlink()
    with raises("result.damaged", name):
        load(folder)
    assert not type(made[kind]).owns(folder)


def test_a_kind_that_is_not_known_is_told(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"kind": "forecast", "format": 1}')
    with raises("result.wrong-kind", "forecast"):
        verax.open(tmp_path)


def test_a_class_that_names_its_kind_is_found(tmp_path: Path) -> None:
    class Tally(Result):
        kind, always = "tally", ("counts",)

        def __init__(self, counts: pd.DataFrame, manifest: dict[str, Any]) -> None:
            self.counts, self.manifest = counts, manifest

        def _tables(self) -> dict[str, pd.DataFrame]:
            return {"counts": self.counts}

        @classmethod
        def _restored(cls, tables: Any, manifest: dict[str, Any]) -> Tally:
            return cls(tables["counts"], manifest)

        def __repr__(self) -> str:
            return f"Tally({len(self.counts)} <rows>)"

    try:
        Tally(pd.DataFrame({"n": [1, 2]}), {"of": "words"}).save(tmp_path)
        found = verax.open(tmp_path)
        assert isinstance(found, Tally)
        assert (found.counts["n"].tolist(), found.manifest["of"]) == ([1, 2], "words")
        assert found._repr_html_() == "<p>Tally(2 &lt;rows&gt;)</p>"
    finally:
        del KINDS["tally"]


def test_several_verdicts_and_a_model(made: dict[str, Result], tmp_path: Path) -> None:
    for name in ("soft-verdict", "sparse"):
        made["verdict"].save(tmp_path / name)
    made["sweep"].save(tmp_path / "swept")  # no verdict, and not among them
    found = verax.open(str(tmp_path))
    assert isinstance(found, dict)
    assert list(found) == ["soft", "sparse"]
    same(found["soft"], made["verdict"])
    corpus = verax.load_corpus("planted", documents=60, length=12)
    verax.train(corpus, **TINY).save(tmp_path / "model")
    with raises("result.wrong-kind"):
        verax.open(tmp_path / "model")
    for nothing in ("nowhere", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with raises("*.missing", nothing):
            verax.open(tmp_path / nothing)


@pytest.mark.slow
@pytest.mark.usefixtures("made")
def test_a_study_packed_or_not_by_path_or_url(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    for place in (study, tmp_path / "packed", study.as_uri()):
        found = verax.open(place)
        assert isinstance(found, verax.StudyResults)
        assert found.counts == {"done": 2}
    found.report(tmp_path / REPORT)
    assert "sweep" in (tmp_path / REPORT).read_text(encoding="utf-8")
    assert "2 done" in found._repr_html_()


@pytest.mark.usefixtures("made")
def test_a_cell_of_a_store_is_no_verdict(study: Path) -> None:
    cell = next((study / "cells").iterdir())
    assert saved_kind(cell) is None
    with raises("result.other-format"):
        load_verdict(cell)


def test_the_builtin_is_still_there() -> None:
    assert verax.open is not builtins.open
    for name in ("verax", OPENING_RESULTS, OPENING, OPENING_FILES):
        module = __import__(name, fromlist=["_"])
        own = vars(module).get("open", builtins.open)
        assert own in (builtins.open, verax.open)
    assert "open" not in vars(__import__(OPENING, fromlist=["_"]))
