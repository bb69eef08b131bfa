"""What a user can have written: each public function and command that writes, on small results.

A capability uses public names and `verax.cli.main` only.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import verax
from support.commands import make_completion, small_demo
from support.internals import CROSS_FITTED_LIMITS, RUN_GRID
from verax.calibration import calibrate_like
from verax.cli import main
from verax.files import replace_folder, write_files, write_table, write_text
from verax.models import AttentionClassifier
from verax.report import write_figures
from verax.studies import Store, pack

OLD, NEW = "old", "new"


@dataclass(frozen=True)
class Capability:
    """Something that writes into a folder.

    Attributes:
        names: the public functions, methods, or commands with their flag.
        write: writes a version into the folder: another version has other contents.
        opens: reads what was written, checksums included; an error where it is not whole.
        late: files that are added to a result that is whole without them.
        parts: it writes several results, one after the other, each of them at once.
        timed: what it writes holds times, so that it is never the same twice.
        slow: it takes long, and writes by what has a row of its own: it meets every kill, and one
            other fault.
        once: it replaces nothing.
        drawn: it needs charts; others are run as where the extra `report` is not installed.
    """

    names: tuple[str, ...]
    write: Callable[[Path, str], None]
    opens: Callable[[Path], Any]
    late: tuple[str, ...] = ()
    parts: bool = False
    timed: bool = False
    slow: bool = False
    once: bool = False
    drawn: bool = False


CAPABILITIES: dict[str, Capability] = {}
"""Name → capability."""


def writes(
    *names: str, opens: Callable[[Path], Any], title: str = "", **told: Any
) -> Callable[[Callable[[Path, str], None]], Callable[[Path, str], None]]:
    """Enter a function as what these names do."""

    def enter(write: Callable[[Path, str], None]) -> Callable[[Path, str], None]:
        CAPABILITIES[title or names[0]] = Capability(names, write, opens, **told)
        return write

    return enter


class CommandError(Exception):
    """A command ended with another code than 0."""

    def __init__(self, code: int, lines: str) -> None:
        super().__init__(lines)
        self.code = code


def typed(*words: object) -> str:
    """Run a command; returns what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    if code:
        raise CommandError(code, err.getvalue())
    return out.getvalue()


# What is written, made once. Nothing here is written where faults are.

PLACE = Path()
"""A folder for what is made once; tests set it."""

TINY = {"encoder": "none", "embedding_size": 2, "epochs": 1, "device": "cpu"}
FLAGS = [word for name, v in TINY.items() for word in (f"--{name.replace('_', '-')}", v)]


def seed(version: str) -> int:
    return int(version == NEW)


@cache
def corpus() -> verax.Corpus:
    made = verax.load_corpus("planted", documents=40, length=8)
    made.save(PLACE / "corpus")
    return made


@cache
def model(version: str) -> AttentionClassifier:
    made = verax.train(corpus(), seed=seed(version), progress=False, **TINY)  # type: ignore[arg-type]
    made.save(PLACE / f"model-{version}")
    return made


@cache
def verdict(version: str) -> verax.Verdict:
    made = verax.examine(model(version), corpus(), "dispersion", sample=9, progress=False)
    made.save(PLACE / f"verdict-{version}")
    return made


@cache
def swept() -> verax.Sweep:
    """A sweep of two seeds, which also makes the study `swept`."""
    gc.freeze()  # what is imported is not gone through after every cell
    keep = PLACE / "swept"
    return verax.sweep(corpus(), [0], [0, 1], keep=keep, progress=False, sample=6, **TINY)


@cache
def study(version: str) -> Path:
    """A study with one cell, or with both; its cells have models."""
    swept()
    source, folder = Store.open(PLACE / "swept"), PLACE / f"study-{version}"
    store = Store.create(folder, source.name, source.text(), source.resolved())
    for key in source.keys()[: 1 + seed(version)]:
        commit(store, key)
    return folder


def commit(store: Store, key: str, more: Mapping[str, bytes] | None = None) -> None:
    """Put a cell of `study` into a store, with few tables, a model, and more files beside them."""
    cell = PLACE / "swept" / "cells" / key
    manifest, verdict = (
        json.loads((cell / f"{name}.json").read_bytes()) for name in ("manifest", "verdict")
    )
    tables = ("summary", "history", "dispersion")
    files = {f"{name}.parquet": (cell / f"{name}.parquet").read_bytes() for name in tables}
    files["verdict.json"] = json.dumps({**verdict, "tables": ["dispersion"]}).encode()
    model(OLD)
    kept = {f"model/{path.name}": path.read_bytes() for path in (PLACE / "model-old").iterdir()}
    facts = {name: manifest[name] for name in manifest if name not in ABOUT_FILES}
    store.commit(key, manifest["config"], {**files, **kept, **(more or {})}, facts)


ABOUT_FILES = ("format", "cell", "files", "left_out", "sha256")


def begun(folder: Path) -> Store:
    """The store in a folder, made at first and then opened."""
    study(NEW)
    if any(folder.iterdir()):
        store = Store.open(folder)
        store.sweep_all()  # as every run does
        return store
    source = Store.open(PLACE / "swept")
    return Store.create(folder, source.name, source.text(), source.resolved())


def charts(version: str) -> list[Any]:
    drawn = f"<svg>{version}</svg>"
    one = {"title": "t", "reading": "r", "svg": lambda theme: drawn}
    return [SimpleNamespace(name=name, **one) for name in ("first", "second")]


def whole_study(folder: Path) -> None:
    """Every cell has the checksums of its manifest; a study that was only begun is refused."""
    if not (folder / "resolved.json").exists():
        with pytest.raises(verax.VeraxError):
            verax.open_study(folder)
        return
    assert Store.open(folder).verify(contents=True) == {}
    results = verax.open_study(folder, every=True)
    if results.done:
        results.summary()


def all_studies(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            whole_study(path)


def page(name: str) -> Callable[[Path], Any]:
    def opens(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>")

    return opens


def result(name: str) -> Callable[[Path], Any]:
    return lambda folder: verax.open(folder / name)


# Results


@writes("AttentionClassifier.save", opens=lambda folder: verax.load(folder / "model"))
def _model(folder: Path, version: str) -> None:
    model(version).save(folder / "model", overwrite=True)


@writes("Result.save", opens=result("verdict"))
def _result(folder: Path, version: str) -> None:
    verdict(version).save(folder / "verdict", overwrite=True)


@cache
def comparison(version: str) -> verax.Comparison:
    return verax.compare({"a": verdict(OLD), "b": verdict(version)}, progress=False)


@writes("Comparison.save", opens=result("comparison"), slow=True)
def _comparison(folder: Path, version: str) -> None:
    comparison(version).save(folder / "comparison", overwrite=True)


@writes("Corpus.save", opens=lambda folder: verax.load_corpus(folder / "corpus"))
def _corpus(folder: Path, version: str) -> None:
    texts = [f"{version} {word} {n}" for word in ("good", "bad") for n in range(10)]
    labels = [version] * 10 + ["neg"] * 10
    verax.load_corpus((texts, labels)).save(folder / "corpus")


@writes("report", "Shown.report", opens=page("deep/report.html"))
def _report(folder: Path, version: str) -> None:
    verdict(OLD).report(folder / "deep" / "report.html", title=version)


@writes("write_figures", opens=lambda folder: list(folder.rglob("*.svg")))
def _figures(folder: Path, version: str) -> None:
    write_figures(charts(version), folder / "figures")


# Files and folders


@writes("write_text", opens=lambda folder: versions(folder / "a.txt"))
def _text(folder: Path, version: str) -> None:
    write_text(folder / "a.txt", version)


@writes("write_table", opens=lambda folder: pd.read_parquet(folder / "a.parquet"))
def _table(folder: Path, version: str) -> None:
    write_table(folder / "a.parquet", pd.DataFrame({"version": [version]}))


@writes("write_files", opens=lambda folder: [versions(folder / name) for name in ("a", "b/c")])
def _files(folder: Path, version: str) -> None:
    write_files(folder, {"a": version, "b/c": version})


@writes("replace_folder", opens=lambda folder: versions(folder / "result" / "a.txt"))
def _folder(folder: Path, version: str) -> None:
    replace_folder(
        folder / "result",
        lambda scratch: write_text(scratch / "a.txt", version),
        owned=lambda old: (old / "a.txt").exists(),
    )


def versions(path: Path) -> None:
    assert path.read_text(encoding="utf-8") in (OLD, NEW)


# Studies


@writes("Store.fail", opens=whole_study)
def _failure(folder: Path, version: str) -> None:
    store = begun(folder)
    store.fail(next(iter(store.resolved()["cells"])), {"error": version})


@writes("Store.commit", "Store.create", opens=whole_study)
def _cell(folder: Path, version: str) -> None:
    """A cell that is there stays: another version is another cell."""
    store = begun(folder)
    commit(store, Store.open(PLACE / "swept").keys()[seed(version)])


@writes("Store.discard", "Store.forgive", opens=whole_study, parts=True)
def _removed(folder: Path, version: str) -> None:
    """A cell and the record of a failure; then they are removed."""
    store = begun(folder)
    key, failed = Store.open(PLACE / "swept").keys()
    if version == OLD:
        commit(store, key)
        store.fail(failed, {"error": version})
    else:
        store.discard(key)
        store.forgive(failed)


@writes("pack", opens=lambda folder: verax.open(folder / "packed").summary())
def _pack(folder: Path, version: str) -> None:
    pack(study(version), folder / "packed", weights=True)


@writes("run_sweep", opens=whole_study, parts=True, timed=True, slow=True)
def _sweep(folder: Path, version: str) -> None:
    verax.sweep(
        corpus(), [0], range(1 + seed(version)), keep=folder, sample=3, progress=False, **TINY
    )


@writes("run_study", opens=all_studies, once=True, parts=True, slow=True)
def _run(folder: Path, version: str) -> None:
    """No cell is begun: workers are other processes, and `Store.commit` is how they write."""
    verax.run_study(description(version), folder / version, budget=1e-9, progress=False, workers=1)


@writes("run_studies", opens=all_studies, once=True, parts=True, slow=True)
def _run_side_by_side(folder: Path, version: str) -> None:
    pairs = [(description(version), folder / f"{version}-{n}") for n in range(2)]
    verax.run_studies(pairs, budget=1e-9, progress=False, workers=1)


@writes("run_grid", opens=lambda folder: whole_grid(folder), parts=True, timed=True, slow=True)
def _grid(folder: Path, version: str) -> None:
    function = PLACE / "dice.py"
    if not function.exists():
        function.write_text("def throw(config):\n    return {'sum': config['n'], 'raw': b'1'}\n")
    configs = [{"n": n} for n in range(1 + seed(version))]
    verax.run_grid(f"{function}:throw", configs, folder, engine="here", progress=False)


def whole_grid(folder: Path) -> None:
    """Every finished cell has its values; a grid that was only begun is refused."""
    if not (folder / "resolved.json").exists():
        with pytest.raises(verax.VeraxError):
            verax.open_grid(folder)
        return
    results = verax.open_grid(folder)
    assert set(results.cells["status"]) <= {"done", "missing"}
    assert [results.values(key) for key in results.done] == [
        {"sum": results.config(key)["n"]} for key in results.done
    ]


@writes("calibrate_like", "verax calibrate --out", opens=lambda folder: json.loads(
    (folder / "out" / "limits.json").read_text(encoding="utf-8")))  # fmt: skip
def _calibrated(folder: Path, version: str) -> None:
    """What would train for minutes is replaced."""
    limits = SimpleNamespace(to_json=lambda whole: {"version": version})
    with pytest.MonkeyPatch.context() as patch:
        grid = SimpleNamespace(
            table=lambda name: pd.DataFrame({"cell": []}), tables=[], failures={}
        )
        patch.setattr(RUN_GRID, lambda *given, **how: grid)
        patch.setattr(CROSS_FITTED_LIMITS, lambda *given: limits)
        calibrate_like(model(version), corpus(), folder / "out")


def description(version: str) -> dict[str, Any]:
    corpus()
    models = {name: value for name, value in TINY.items() if name in ("encoder", "embedding_size")}
    return {
        "name": version,
        "corpora": [str(PLACE / "corpus")],
        "models": models,
        "training": {"epochs": 1},
        "exams": ["dispersion"],
    }


@writes("train", opens=lambda folder: all_models(folder), parts=True, slow=True)
def _candidates(folder: Path, version: str) -> None:
    strengths = [1.0, 2.0 + seed(version)]
    told = {**TINY, "encoder": "mlp", "hidden_size": 2, "grounding": "tying"}
    verax.train(corpus(), strength="auto", strengths=strengths, keep=folder, progress=False, **told)  # type: ignore[arg-type]


def all_models(folder: Path) -> None:
    for path in folder.rglob("model.safetensors"):
        verax.load(path.parent)
    for path in folder.rglob("*.parquet"):
        pd.read_parquet(path)


@writes("run_adversaries", opens=all_models, parts=True, slow=True)
def _adversaries(folder: Path, version: str) -> None:
    told = {"epochs": 1, "device": "cpu", "controls": False}
    lams = [0.5, 1.0 + seed(version)]
    verax.adversaries(model(OLD), corpus(), lams, [0], keep=folder, progress=False, **told)


# Commands


@writes(
    "verax train --out", opens=lambda folder: verax.load(folder / "model"), timed=True, slow=True
)
def _train(folder: Path, version: str) -> None:
    corpus()
    told = ["--out", folder / "model", "--seed", seed(version), "--overwrite"]
    typed("train", PLACE / "corpus", *told, *FLAGS)


@writes(
    "verax corpora --save", opens=lambda folder: verax.load_corpus(folder / "corpus"), slow=True
)
def _saved_corpus(folder: Path, version: str) -> None:
    _corpus(PLACE / version, version)
    typed("corpora", PLACE / version / "corpus", "--save", folder / "corpus")


def _of_table(command: str, suffix: str) -> None:
    def write(folder: Path, version: str) -> None:
        model(OLD)
        out = folder / f"out{suffix}"
        texts = ["good"] * (1 + seed(version))
        typed(command, PLACE / "model-old", *texts, "--out", out, "--overwrite")

    read = {
        ".csv": pd.read_csv,
        ".jsonl": lambda path: pd.read_json(path, lines=True),
        ".parquet": pq.read_table,
    }
    name = f"verax {command} --out"
    opens = page("out.html") if suffix == ".html" else lambda f: read[suffix](f / f"out{suffix}")
    writes(name, opens=opens, title=f"{name} {suffix}", slow=command == "explain")(write)


for _command, _suffix in (
    *(("predict", suffix) for suffix in (".csv", ".jsonl", ".parquet")),
    *(("explain", suffix) for suffix in (".csv", ".html")),
):
    _of_table(_command, _suffix)

WITH_PAGE = {"late": ("report.html",), "timed": True, "slow": True}
"""Of commands that add a page to their result."""


@writes("verax examine --out", opens=result("out"), **WITH_PAGE)
def _examine(folder: Path, version: str) -> None:
    if version == OLD:
        verdict(OLD).save(folder / "out")
        return
    model(version)
    told = ["--exams", "dispersion", "--sample", 9, "--overwrite", "--out", folder / "out"]
    typed("examine", PLACE / f"model-{version}", "--corpus", PLACE / "corpus", *told)


@writes("verax compare --out", opens=result("out"), **WITH_PAGE)
def _compare(folder: Path, version: str) -> None:
    if version == OLD:
        comparison(OLD).save(folder / "out")
        return
    verdict(OLD), verdict(NEW)
    pair = (f"verdict-{version}", f"verdict-{NEW if version == OLD else OLD}")
    typed("compare", *(PLACE / one for one in pair), "--out", folder / "out", "--overwrite")


@writes("verax sweep --out", opens=result("out"), parts=True, **WITH_PAGE)
def _sweep_command(folder: Path, version: str) -> None:
    if version == OLD:
        swept().save(folder / "out")
        return
    corpus()
    told = ["--lams", 0, "--seeds", seed(version), "--sample", 3, "--overwrite"]
    typed("sweep", PLACE / "corpus", *told, "--out", folder / "out", *FLAGS)


@writes("verax adversary --out", opens=result("out"), parts=True, **WITH_PAGE)
def _adversary(folder: Path, version: str) -> None:
    model(OLD)
    told = ["--lams", 1, "--seeds", seed(version), "--epochs", 1, "--device", "cpu", "--overwrite"]
    base = [PLACE / "model-old", "--corpus", PLACE / "corpus", "--no-controls"]
    typed("adversary", *base, *told, "--out", folder / "out")


@writes("verax run --out", opens=lambda folder: whole_study(folder / "out"), parts=True, slow=True)
def _run_command(folder: Path, version: str) -> None:
    path = PLACE / f"{version}.json"
    path.write_text(
        json.dumps({**description(OLD), "seeds": [0, seed(version)][: 1 + seed(version)]})
    )
    typed("run", path, "--out", folder / "out", "--budget", "0.0001s", "--workers", 1)


@writes("verax pack --out", opens=lambda folder: verax.open(folder / "packed").summary(), slow=True)
def _pack_command(folder: Path, version: str) -> None:
    typed("pack", study(version), "--out", folder / "packed", "--weights")


@writes("verax report --out", opens=page("report.html"), slow=True)
def _report_command(folder: Path, version: str) -> None:
    verdict(OLD)
    told = ["--title", version, "--overwrite"]
    typed("report", PLACE / "verdict-old", "--out", folder / "report.html", *told)


@writes(
    "verax figures --out", opens=lambda folder: list(folder.rglob("*.svg")), slow=True, drawn=True
)
def _figures_command(folder: Path, version: str) -> None:
    if version == OLD:
        write_figures(charts(OLD), folder / "figures")
        return
    verdict(version)
    typed("figures", PLACE / f"verdict-{version}", "--out", folder / "figures")


def _demonstrated(folder: Path) -> None:
    verax.load(folder / "demo" / "softmax")
    verax.open(folder / "demo" / "softmax-verdict")
    pd.read_parquet(folder / "demo" / "demo.parquet")


@writes("verax demo --out", opens=_demonstrated, late=("report.html",), timed=True, slow=True)
def _demo(folder: Path, version: str) -> None:
    if version == OLD:
        model(OLD).save(folder / "demo" / "softmax")
        verdict(OLD).save(folder / "demo" / "softmax-verdict")
        pd.DataFrame({"model": ["softmax"]}).to_parquet(folder / "demo" / "demo.parquet")
        return
    with small_demo(corpus(), TINY):
        typed("demo", "--out", folder / "demo", "--seed", seed(version), "--overwrite")


@writes("make completion", opens=lambda folder: json.loads((folder / "commands.json").read_text()))
def _completion(folder: Path, version: str) -> None:
    make_completion(folder, version)
