"""`run_grid`: any function over configurations; resumed, killed, and sent to other processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from running import LIMIT, soon

import verax
from support.errors import raises
from verax.cli import main
from verax.studies import GridResults

MODULE = """
import os
import pathlib
import signal
import time

import pandas as pd

def squares(config, device):
    n = config["n"]
    if "log" in config:
        with open(config["log"], "a") as log:
            log.write(f"{n}\\n")
    if config.get("wrong"):
        raise ValueError("a text that must not be stored")
    frame = pd.DataFrame({"i": range(n), "square": [i * i for i in range(n)], "kind": "a"})
    return {"squares": frame, "sum": sum(frame["square"]), "device": device,
            "note.txt": f"n is {n}".encode(), "none": float("nan")}

def deadly(config):
    marker = pathlib.Path(config["marker"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"alive": True}

def slow(config, progress):
    with progress.busy("sleeping"):
        time.sleep(config["seconds"])
    return {"slept": config["seconds"]}

squares.version = 2
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "made_up_function.py"
    path.write_text(MODULE)
    return path


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    for name in [n for n in sys.modules if n.startswith("made_up_function")]:
        del sys.modules[name]


def stored(folder: Path) -> dict[str, bytes]:
    """All files of cells but manifests, which have times."""
    paths = (p for p in folder.glob("cells/*/*") if p.name != "manifest.json")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def grid(function: Any, configs: list[dict[str, Any]], out: Path, **more: Any) -> GridResults:
    return verax.run_grid(function, configs, out, **{"engine": "here", "device": "cpu", **more})


def test_tables_values_and_files_are_kept_and_only_new_cells_run(
    module: Path, tmp_path: Path
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    configs = [{"n": n, "log": str(log)} for n in (2, 3)]
    first = grid(f"{module}:squares", configs, out)
    again = grid(f"{module}:squares", [*configs, {"n": 4, "log": str(log)}], out)
    assert log.read_text().split() == ["2", "3", "4"]
    assert again.done[:2] == first.done
    assert again.cells["status"].tolist() == ["done"] * 3
    assert again.cells["sum"].tolist() == [1, 5, 14]
    assert again.cells["device"].unique().tolist() == ["cpu"]
    assert again.cells["none"].isna().all()
    assert again.tables == ["squares"]
    rows = again.table("squares")
    assert rows.columns.tolist() == ["cell", "i", "square", "kind"]
    assert rows.groupby("cell").size()[again.done].tolist() == [2, 3, 4]
    key = again.done[1]
    assert again.config(key) == configs[1]
    assert again.values(key)["sum"] == 5
    assert again.file(key, "note.txt") == b"n is 3"
    assert again.files(key) == ["note.txt"]
    assert "torch" in again.facts(key)["versions"]
    pd.testing.assert_frame_equal(verax.open_grid(out).cells, again.cells)
    assert repr(verax.open_grid(out)).startswith("GridResults(made_up_function.py:squares: 3 done")


def test_a_failing_function_stops_no_other_cell_and_is_tried_again_on_request(
    module: Path, tmp_path: Path
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    configs = [{"n": n, "log": str(log), "wrong": n == 2} for n in (2, 3)]
    results = grid(f"{module}:squares", configs, out)
    assert results.cells["status"].tolist() == ["failed", "done"]
    [record] = results.failures.values()
    assert record["error"] == "ValueError"
    assert "a text" not in str(record)
    assert len(results.table("squares")) == 3
    grid(f"{module}:squares", configs, out)
    grid(f"{module}:squares", configs, out, retry_failed=True)
    assert log.read_text().split() == ["2", "3", "2"]
    failed = next(iter(results.failures))
    with raises("result.unfinished", failed):
        results.values(failed)


def test_the_key_is_made_of_name_version_and_configuration(module: Path, tmp_path: Path) -> None:
    [two] = grid(f"{module}:squares", [{"n": 2}, {"n": 2}], tmp_path / "a").done
    module.write_text(MODULE.replace("version = 2", "version = 3"))
    del sys.modules["made_up_function"]
    [three] = grid(f"{module}:squares", [{"n": 2}], tmp_path / "a").done
    assert two != three
    elsewhere = tmp_path / "elsewhere" / module.name
    elsewhere.parent.mkdir()
    module.rename(elsewhere)
    del sys.modules["made_up_function"]
    [moved] = grid(f"{elsewhere}:squares", [{"n": 2}], tmp_path / "b").done
    assert moved == three


READER = """
def read(config, table, tree, corpus):
    words = table.read_text().split()
    names = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*.txt"))
    return {"word": words[config["n"]], "suffix": table.suffix, "names": names,
            "inner": (tree / "inner" / "b.txt").read_text(), "documents": len(corpus.test)}

read.version = 1
"""


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "tree" / "a.txt").write_text("a")
    (tmp_path / "tree" / "inner" / "b.txt").write_text("b")
    (tmp_path / "words.csv").write_text("one two")
    corpus = verax.load_corpus("planted", documents=60)
    return {"table": tmp_path / "words.csv", "tree": str(tmp_path / "tree"), "corpus": corpus}


@pytest.fixture
def reader(tmp_path: Path) -> str:
    (tmp_path / "made_up_function_of_files.py").write_text(READER)
    return f"{tmp_path}/made_up_function_of_files.py:read"


def test_inputs_are_named_by_their_content(
    reader: str, inputs: dict[str, Any], tmp_path: Path
) -> None:
    out, configs = tmp_path / "out", [{"n": 0}, {"n": 1}]
    first = grid(reader, configs, out, inputs=inputs)
    assert first.cells["word"].tolist() == ["one", "two"]
    assert first.values(first.done[0]) == {
        "word": "one",
        "suffix": ".csv",
        "names": ["a.txt", "inner/b.txt"],
        "inner": "b",
        "documents": len(inputs["corpus"].test),
    }
    moved = inputs["table"].rename(tmp_path / "moved.csv")
    assert grid(reader, configs, out, inputs={**inputs, "table": moved}).done == first.done
    assert str(tmp_path) not in (out / "resolved.json").read_text()
    moved.write_text("one three")
    assert not set(grid(reader, configs, out, inputs={**inputs, "table": moved}).done) & set(
        first.done
    )
    (tmp_path / "tree" / "a.txt").rename(tmp_path / "tree" / "c.txt")
    changed = grid(reader, configs, out, inputs={**inputs, "table": moved})
    assert changed.cells["status"].tolist() == ["done"] * 2
    corpus = verax.load_corpus("planted", documents=72)
    other = grid(reader, configs, out, inputs={**inputs, "table": moved, "corpus": corpus})
    assert not set(other.done) & set(changed.done)


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, dict[str, Any]]]:
    """Every engine, with the address of a cluster of two nodes for Ray."""
    cluster = pytest.importorskip("two_nodes").TwoNodes()
    try:
        yield {"here": {}, "local": {}, "ray": {"address": cluster.address}}
    finally:
        cluster.stop()


@pytest.mark.slow
def test_inputs_travel_to_workers(
    reader: str, inputs: dict[str, Any], tmp_path: Path, engines: dict[str, dict[str, Any]]
) -> None:
    found = {}
    for engine, more in engines.items():
        out = tmp_path / engine
        results = grid(reader, [{"n": 0}, {"n": 1}], out, inputs=inputs, engine=engine, **more)
        assert results.cells["status"].tolist() == ["done"] * 2, results.failures
        found[engine] = stored(out)
    assert found["here"] == found["local"] == found["ray"]


def test_inputs_that_cannot_be_are_refused(
    reader: str, inputs: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with raises("option.unknown", "tables"):
        grid(reader, [{"n": 0}], out, inputs={**inputs, "tables": tmp_path})
    with raises("option.unknown", "device"):
        grid(reader, [{"n": 0}], out, inputs={**inputs, "device": tmp_path})
    with raises("option.conflict"):
        grid(reader, [{"n": 0}], out, inputs={**inputs, "tree": inputs["corpus"]})
    with raises("file.missing", "nowhere"):
        grid(reader, [{"n": 0}], out, inputs={**inputs, "tree": tmp_path / "nowhere"})
    assert not out.exists()


def test_an_exception_that_a_caller_is_handling_causes_no_failure(tmp_path: Path) -> None:
    """It is the `__context__` of all errors meanwhile; one handled by the function is a cause."""
    path = tmp_path / "made_up_function.py"
    lines = ["from verax import VeraxError", "def f(config):", "    if config['inside']:"]
    lines += ["        try:", "            int('a text')", "        except ValueError as error:"]
    lines += ["            raise VeraxError(f'no number: {error}') from None"]
    lines += ["    raise VeraxError('too few documents: add some')"]
    path.write_text("\n".join(lines))
    configs = [{"inside": False}, {"inside": True}]
    try:
        raise MemoryError
    except MemoryError:
        results = grid(f"{path}:f", configs, tmp_path / "out")
    records = sorted(results.failures.values(), key=lambda record: record["error"])
    assert [record["reason"] for record in records] == ["error", "error"]
    assert [record["error"] for record in records] == [
        "no number: ValueError",
        "too few documents: add some",
    ]


@pytest.mark.parametrize(
    ("returned", "code"),
    [
        ("1", "plugin.invalid"),
        ("{'a': object()}", "plugin.invalid"),
        ("{'../a': b''}", "plugin.invalid"),
        ("{'manifest.json': b''}", "plugin.invalid"),
        ("{'cells': pd.DataFrame({'a': [1]})}", "plugin.invalid"),
        ("{'t': pd.DataFrame({'cell': [1]})}", "plugin.invalid"),
    ],
)
def test_what_cannot_be_stored_fails_the_cell(returned: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "made_up_function.py"
    path.write_text(f"import pandas as pd\ndef f(config):\n    return {returned}\n")
    [record] = grid(f"{path}:f", [{}], tmp_path / "out").failures.values()
    assert record["code"] == code


def test_what_is_no_grid_is_refused(module: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with raises("option.wrong-type"):
        grid(lambda config: {}, [{}], out)
    with raises("option.wrong-type", 2):
        grid(f"{module}:squares", [{"n": 1}, {"n": object()}], out)
    with raises("option.empty"):
        grid(f"{module}:squares", [], out)
    with raises("option.unknown-value"):
        grid(f"{module}:cubes", [{}], out)
    assert not out.exists()
    grid(f"{module}:squares", [{"n": 1}], out)
    with raises("output.occupied"):
        grid(f"{module}:slow", [{"seconds": 0}], out)
    with raises("result.wrong-kind", "verax.open_grid"):
        verax.open_study(out)


def test_a_grid_is_opened_by_the_general_command_and_has_no_page(
    module: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    results = grid(f"{module}:squares", [{"n": 2}, {"n": 3}], out)
    verax.studies.pack(out, tmp_path / "packed")
    for folder in (out, tmp_path / "packed"):
        opened = verax.open(folder)
        assert isinstance(opened, GridResults)
        pd.testing.assert_frame_equal(opened.cells, results.cells)
        pd.testing.assert_frame_equal(
            opened.table("squares"), results.table("squares"), check_categorical=False
        )
        assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 2
        assert main(["figures", str(folder), "--out", str(tmp_path / "figures")]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"out", "packed", module.name}


@pytest.mark.slow
def test_a_worker_killed_at_work_is_replaced_and_its_cell_done(
    module: Path, tmp_path: Path
) -> None:
    configs = [{"marker": str(tmp_path / "marker")}]
    results = grid(f"{module}:deadly", configs, tmp_path / "out", engine="local", workers=1)
    assert results.cells["status"].tolist() == ["done"]
    assert (tmp_path / "marker").exists()


RUNNER = """
import sys, verax
verax.run_grid(sys.argv[1], [{"seconds": 0}, {"seconds": 1000}], sys.argv[2],
               engine="local", workers=1, device="cpu", progress=False)
"""


@pytest.mark.slow
def test_a_runner_that_is_killed_loses_no_finished_cell(module: Path, tmp_path: Path) -> None:
    out, name = tmp_path / "out", f"{module}:slow"
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, name, str(out)])
    try:
        assert soon(lambda: any(out.glob("cells/*/manifest.json")), LIMIT)
        time.sleep(0.2)
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/*")}
    results = grid(name, [{"seconds": 0}, {"seconds": 0.01}], out)
    assert results.cells["slept"].tolist() == [0, 0.01]
    assert kept == {path: path.stat().st_mtime_ns for path in kept}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A function in a package that is on this process's path only."""
    folder = tmp_path / "path" / "made_up_functions"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("from made_up_functions.base import BASE\n")
    (folder / "base.py").write_text("BASE = 10\n")
    source = "from . import BASE\n\ndef add(config):\n    return {'sum': BASE + config['n']}\n"
    (folder / "inner" / "adding.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path / "path"))
    return "made_up_functions.inner.adding:add"


@pytest.mark.slow
def test_processes_ray_and_this_process_give_the_same_bytes(
    module: Path, package: str, tmp_path: Path, engines: dict[str, dict[str, Any]]
) -> None:
    """Workers get the code of the function, of a loose file or with its package."""
    configs = [{"n": n} for n in range(2)]
    for name, function in (("loose", f"{module}:squares"), ("package", package)):
        found = {}
        for engine, more in engines.items():
            out = tmp_path / name / engine
            results = grid(function, configs, out, engine=engine, workers=2, **more)
            assert results.cells["status"].tolist() == ["done"] * 2, results.failures
            found[engine] = stored(out)
        assert found["here"] == found["local"] == found["ray"]
        assert found["here"]
