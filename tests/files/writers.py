"""Every function of Verax that writes, with something small to write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "studies" / "store"))

from made_up_store import FACTS, files_of, made_up_cell, made_up_store

import verax
from verax.audits.examining import Examined
from verax.audits.results import AuditResults
from verax.audits.running import keep as keep_audit
from verax.calibration.calibrate import write_limits
from verax.calibration.page import write_page as write_calibration
from verax.calibration.running import make_group
from verax.calibration.running import pack as pack_calibration
from verax.cli import completion, demo
from verax.cli.predict import write as write_predicted
from verax.exams.verdict import Verdict
from verax.models import AttentionClassifier
from verax.models.kinds import POOLED
from verax.papers.checking import Checked
from verax.papers.describing import write_corpora
from verax.papers.overview import write_overview
from verax.papers.packing import _write_points
from verax.report.figures import write_figures
from verax.report.page import write as write_report
from verax.studies.adversaries.making import Making
from verax.studies.store import Store, pack, unpack

Write = Callable[[Path, str], None]
"""Writes something into a folder, of a version: the same bytes each time, others for another."""

WRITERS: dict[str, Write] = {}
"""Function of Verax, and in brackets in which way, → what calls it."""


def writes(*names: str) -> Callable[[Write], Write]:
    """Enter a function as what calls these."""

    def enter(write: Write) -> Write:
        WRITERS.update(dict.fromkeys(names, write))
        return write

    return enter


def table(version: str, rows: int = 3) -> pd.DataFrame:
    return pd.DataFrame({"cell": [version] * rows, "value": [0.5] * rows})


CORPUS = verax.load_corpus("planted", documents=30, length=8)


def charts(version: str) -> list[Any]:
    drawn = f"<svg>{version}</svg>"
    one = {"title": "t", "reading": "r", "svg": lambda theme: drawn}
    return [SimpleNamespace(name=name, **one) for name in ("first", "second")]


def model(version: str) -> AttentionClassifier:
    made = MODELS.get(version)
    if made is None:
        how = {"encoder": "none", "embedding_size": 2, "epochs": 1, "seed": len(MODELS)}
        made = MODELS[version] = verax.train(CORPUS, device="cpu", progress=False, **how)
    return made


MODELS: dict[str, AttentionClassifier] = {}


def verdict(version: str) -> Verdict:
    manifest = {"exams": [], "tables": ["one", "two"], "made": version}
    return Verdict({"one": table(version), "two": table(version, 5)}, manifest)


@writes("models.saving.save")
def _model(folder: Path, version: str) -> None:
    model(version).save(folder / "model", overwrite=True)


@writes("results.Result.save")
def _result(folder: Path, version: str) -> None:
    verdict(version).save(folder / "verdict", overwrite=True)


@writes("corpora.corpus.Corpus.save")
def _corpus(folder: Path, version: str) -> None:
    texts = [f"{version} {word} {n}" for word in ("good", "bad") for n in range(10)]
    labels = [version] * 10 + ["neg"] * 10
    verax.load_corpus((texts, labels)).save(folder / "corpus")


@writes("report.page.write")
def _report(folder: Path, version: str) -> None:
    write_report(folder / "deep" / "report.html", version * 99)


@writes("report.figures.write_figures")
def _figures(folder: Path, version: str) -> None:
    write_figures(charts(version), folder / "figures")


@writes("audits.running.keep")
def _audited(folder: Path, version: str) -> None:
    keep_audit(Examined({"summary": table(version)}, {"entry": version}), folder, "one")


@writes("audits.results.AuditResults.pack")
def _audit(folder: Path, version: str) -> None:
    tables = {n: table(version).assign(model=version) for n in ("summary", "values")}
    AuditResults({version: {"entry": "e"}}, tables).pack(folder)


@contextmanager
def answered(module: str, version: str) -> Iterator[None]:
    """Without the answers of an audit, which take long to make up."""
    pictures = {chart.name: chart for chart in charts(version)}
    found = [SimpleNamespace(picture=name) for name in pictures]
    with (
        patch(f"verax.audits.{module}.tell", lambda *given: None),
        patch(f"verax.audits.{module}.pictures_of", lambda *given: pictures),
        patch("verax.audits.page.page", lambda *given: version),
        patch("verax.audits.findings.findings", lambda *given: found),
        patch("verax.audits.findings.findings_page", lambda *given: version),
    ):
        yield


@writes("audits.page.write_page")
def _audit_page(folder: Path, version: str) -> None:
    from verax.audits.page import write_page

    with answered("page", version):
        write_page(SimpleNamespace(includes=["x"]), AuditResults({}, {}), folder)  # type: ignore[arg-type]


@writes("audits.findings.write_findings")
def _findings(folder: Path, version: str) -> None:
    from verax.audits.findings import write_findings

    with answered("findings", version):
        write_findings(AuditResults({}, {}), folder / "docs" / "page.md")


@writes("calibration.running.make_group")
def _calibrated(folder: Path, version: str) -> None:
    spec: Any = SimpleNamespace(name=version, group=(SimpleNamespace(texts="t"), 0, None))
    effort: Any = SimpleNamespace(documents=1)
    module = "verax.calibration.running"
    with (
        patch(f"{module}._corpus", lambda *given: None),
        patch(f"{module}.Maker", lambda *given: None),
        patch(f"{module}.make_one", lambda *given: {"name": version}),
    ):
        make_group([spec], effort, folder / "models", {})


@writes("calibration.running.pack")
def _calibration(folder: Path, version: str) -> None:
    from verax.calibration.making import Effort

    frames = table(version).assign(seconds=1.0), table(version)
    with (
        patch("verax.calibration.running.tables_of", lambda results: frames),
        patch("pathlib.Path.glob", lambda path, pattern: [Path(__file__).parents[2] / "one"]),
        patch("verax.calibration.running._finished", lambda path: {}),
    ):
        pack_calibration(folder / "models", folder, Effort(documents=len(version)))


@writes("calibration.calibrate._write")
def _limits(folder: Path, version: str) -> None:
    known: Any = SimpleNamespace(to_json=lambda: {"made": version})
    limits = SimpleNamespace(calibration=known, to_json=lambda whole: {"limits": version})
    module = "verax.calibration.calibrate"
    with (
        patch(f"{module}.Calibrated", SimpleNamespace(load=lambda folder: _Calibrated())),
        patch(f"{module}.measured_limits", lambda *given: limits),
    ):
        write_limits(folder, folder / "limits.json", version)


class _Calibrated:
    models = passed = ()

    def family(self, name: str) -> _Calibrated:
        return self


@writes("calibration.page.write_page")
def _calibration_page(folder: Path, version: str) -> None:
    limits: Any = SimpleNamespace(calibration=True)
    with (
        patch("verax.calibration.page.calibrations", lambda data, limits: {POOLED: True}),
        patch("verax.calibration.charts.charts", lambda *given: charts(version)),
        patch("verax.calibration.page.page", lambda *given: [version]),
    ):
        write_calibration(_Calibrated(), limits, folder / "docs" / "page.md")  # type: ignore[arg-type]


@writes("papers.packing._write_points")
def _points(folder: Path, version: str) -> None:
    points = table("same").assign(id=range(3), delta_alpha=0.5, delta_js=float(ord(version[0])))
    _write_points(points, folder / "points.parquet")


@writes("papers.checking.Checked.write")
def _paper(folder: Path, version: str) -> None:
    checked = Checked(None, None)  # type: ignore[arg-type]
    made = {"tables": {"table1": table(version), "figure2": table(version)}, "probed": table("")}
    checked.__dict__.update(made)
    with (
        patch("verax.papers.page.page", lambda checked: version),
        patch("verax.papers.picture.can_draw", lambda: False),
        patch.object(Checked, "to_json", lambda checked: version),
    ):
        checked.write(folder)


@writes("papers.overview.write_overview")
def _papers(folder: Path, version: str) -> None:
    with (
        patch("verax.papers.overview.overview", lambda every: version),
        patch("verax.papers.overview.picture", lambda every: charts(version)[0]),
    ):
        write_overview([], folder)


@writes("papers.describing.write_corpora")
def _described(folder: Path, version: str) -> None:
    with patch("verax.papers.describing.describe_corpora", lambda *given: table(version)):
        write_corpora(None, folder)  # type: ignore[arg-type]


@writes("studies.adversaries.making.Making.guided")
def _guided(folder: Path, version: str) -> None:
    making: Any = object.__new__(Making)
    making.__dict__.update(
        recipe={}, corpus=None, begin=lambda model: None, _keep=folder, _training={}, _shared={}
    )
    making.measure = lambda model, splits: table(version)
    module = "verax.studies.adversaries.making"
    with (
        patch(f"{module}.control", lambda name, recipe: {}),
        patch(f"{module}._settings", lambda recipe: {"made": version}),
        patch(f"{module}.digest", lambda guide: version),
        patch(f"{module}.train_guided", lambda *given, **how: None),
    ):
        making.guided("mlp", None, 0, ["test"])


CELLS = [made_up_cell(seed=seed) for seed in range(2)]


def _store(folder: Path) -> Store:
    """Made at first, and then opened."""
    return Store.open(folder) if any(folder.iterdir()) else made_up_store(folder, [], CELLS)


@writes("studies.store.folders.StorageFolder.write_bytes")
def _failure(folder: Path, version: str) -> None:
    store = _store(folder)
    store.fail(CELLS[0].key, {"error": version})


@writes("studies.store.cells.CellFolders._commit_by_rename")
def _cell(folder: Path, version: str) -> None:
    """A cell that is there stays: another version is another cell."""
    store = _store(folder)
    cell = CELLS[version == "new"]
    store.commit(cell.key, cell.to_json(), files_of(cell, weights=True), FACTS)


@writes("studies.store.packing.pack", "studies.store.packing._writer")
def _pack(folder: Path, version: str) -> None:
    pack(study(version), folder / "packed", weights=True)


@writes("studies.store.packing.unpack")
def _unpack(folder: Path, version: str) -> None:
    """Into a new folder only: another version is another folder."""
    unpack(study("packed"), folder / version)


def study(version: str) -> Path:
    """A study, made once: with one cell, with both, or packed."""
    folder = STUDIES / version
    if not folder.exists():
        if version == "packed":
            pack(study("old"), folder, weights=True)
        else:
            made_up_store(folder, CELLS[: 1 + (version == "new")], CELLS, weights=True)
    return folder


STUDIES = Path()
"""Where studies are made; tests set it."""


@writes("cli.predict.write (csv)")
def _csv(folder: Path, version: str) -> None:
    write_predicted(table(version), folder / "out.csv")


@writes("cli.predict.write (jsonl)")
def _jsonl(folder: Path, version: str) -> None:
    write_predicted(table(version), folder / "out.jsonl")


@writes("cli.predict.write (parquet)")
def _parquet(folder: Path, version: str) -> None:
    write_predicted(table(version), folder / "out.parquet")


@writes("cli.demo.run")
def _demo(folder: Path, version: str) -> None:
    """A model and its verdict in one folder; nothing is trained, printed or drawn."""
    module = "verax.cli.demo"
    args = argparse.Namespace(out=str(folder / "demo"), seed=0, device="cpu", overwrite=True)
    with (
        patch(f"{module}.MODELS", {"one": {}}),
        patch(f"{module}.load_corpus", lambda name: CORPUS),
        patch(f"{module}.train", lambda *given, **how: model(version)),
        patch(f"{module}.examine", lambda *given, **how: _Gallery(verdict(version))),
        patch(f"{module}.measure", lambda *given: {"made": version}),
        patch(f"{module}.numbers_of", lambda verdict: {}),
        patch(f"{module}._SECTIONS", ()),
        patch(f"{module}.example_rows", lambda *given: []),
        patch(f"{module}.say", lambda *given: None),
        patch(f"{module}.write_page", lambda *given: None),
        patch("verax.cli.saving.write_elsewhere", lambda name, write, error: _raise(error)),
    ):
        demo.run(args)


class _Gallery:
    """A verdict with documents for a report."""

    def __init__(self, verdict: Verdict) -> None:
        self.save, self.tables = verdict.save, {"gallery_documents": pd.DataFrame({"id": [0]})}


def _raise(error: Exception) -> Path:
    raise error


@writes("cli.completion.keep")
def _completion(folder: Path, version: str) -> None:
    with (
        patch("verax.cli.completion.COMMANDS", folder / "commands.json"),
        patch("verax.cli.completion._tree", lambda: {version: ((), ())}),
    ):
        completion.keep()
