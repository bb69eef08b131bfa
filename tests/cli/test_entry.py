"""The command before it is imported: Ctrl-C is a line there too, and `import verax` is light."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import verax
from support.internals import LIGHT_IMPORTS

CONSOLE = "import sys; from verax.__main__ import main; sys.exit(main())"
SOURCE = str(Path(verax.__file__).parents[1])


def ended(*arguments: str, before: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(before), SOURCE] if before else [SOURCE])
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize("how", [["-m", "verax"], ["-c", CONSOLE]])
def test_an_interruption_while_it_imports_is_a_line(how: list[str], tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise KeyboardInterrupt\n")
    found = ended(*how, "corpora", before=tmp_path)
    assert found.returncode == 130
    assert (found.stdout, found.stderr) == ("", "verax: stopped before anything was begun\n")


def test_the_installed_command_begins_there() -> None:
    text = (Path(SOURCE).parent / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.scripts]\nverax = "verax.__main__:main"\n' in text


@pytest.mark.slow
def test_the_library_is_imported_on_first_use_handles_no_signal_and_needs_no_extra() -> None:
    """Without duckdb, ray, pydantic and s3fs it trains, and its store opens local folders.

    One process, as each takes seconds to import torch. Exams, studies, reports and commands load
    without altair, too: only drawing needs it. The package of reviews is read, never imported.
    """
    code = """
import signal, sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("altair", "duckdb", "ray", "pydantic", "s3fs"):
            raise ImportError(name)
sys.meta_path.insert(0, Without())
before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
import verax
assert "torch" not in sys.modules
corpus = verax.load_corpus("planted", documents=60)
assert corpus.name == "planted"
assert "torch" in sys.modules
verax.train(corpus, encoder="none", epochs=1, device="cpu")
assert "torch._dynamo" not in sys.modules  # two seconds
assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before
"""
    code += LIGHT_IMPORTS
    found = ended("-c", code)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.split() == ["True", "False", "8530", "False"]


def test_the_version_needs_no_torch() -> None:
    """0.3 s are Python's own start and a file or two: no heavy package is imported."""
    code = """
import sys
sys.argv = ["verax", "--version"]
from verax.__main__ import main
code = main()
heavy = {"torch", "pandas", "numpy", "rich", "verax.cli"} & set(sys.modules)
sys.exit(code if not heavy else f"imported {heavy}")
"""
    found = ended("-c", code)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == f"verax {verax.__version__}\n"


def test_all_that_it_offers_is_there() -> None:
    from support.internals import api

    assert {*api.__all__, "__version__"} == set(verax.__all__) <= set(dir(verax))
    for name in api.__all__:
        assert getattr(verax, name) is getattr(api, name)
    assert verax.statistics.__name__ == "verax.statistics"
    with pytest.raises(AttributeError, match="module 'verax' has no attribute 'nothing'"):
        _ = verax.nothing
    assert not hasattr(verax, "_nothing")


@pytest.mark.parametrize(
    ("chosen", "policy"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")]
)
@pytest.mark.parametrize("spins", [{}, {"GOMP_SPINCOUNT": "7"}, {"KMP_BLOCKTIME": "7"}])
def test_waiting_threads_sleep_unless_the_user_chose(
    chosen: dict[str, str], policy: str, spins: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**chosen, **spins}.items():
        monkeypatch.setenv(name, value)
    run = ended("-c", "import os, verax; print(os.environ.get('OMP_WAIT_POLICY'))")
    expected = policy if chosen or not spins else "None"
    assert (run.stdout, run.stderr) == (f"{expected}\n", "")


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
def test_a_signal_while_it_imports_ends_it_at_once_with_the_line(tmp_path: Path) -> None:
    """Packages in the middle of their import may crash of an exception."""
    for sign in ("SIGINT", "SIGTERM"):
        (tmp_path / "torch.py").write_text(
            f"import os, signal\ntry:\n    os.kill(os.getpid(), signal.{sign})\n"
            "finally:\n    os.abort()\n"
        )
        found = ended("-m", "verax", "corpora", before=tmp_path)
        assert found.returncode == 130
        assert found.stderr == "verax: stopped before anything was begun\n"


def test_a_working_folder_that_is_gone_and_streams_that_are_closed(tmp_path: Path) -> None:
    """Torch would end the process; and the first file opened would be taken for a stream."""
    (tmp_path / "torch.py").write_text("raise SystemExit(5)\n")
    code = f"import os; os.chdir({str(tmp_path)!r}); os.mkdir('x'); os.chdir('x'); "
    code += "os.rmdir('../x'); import sys; sys.argv = ['verax', 'corpora']; " + CONSOLE
    found = ended("-c", code, before=tmp_path)
    assert found.returncode == 2
    assert found.stderr == "verax: the working folder does not exist any more: go to another\n"
    code = "import os; os.close(0); os.close(1); import sys; sys.stdin = sys.stdout = None; "
    code += "import verax.__main__ as m; m._open_closed(); print(os.open('/dev/null', 0), "
    found = ended("-c", code + "sys.stdin.read() == '', sys.stdout.name, file=sys.stderr)")
    assert found.stderr == "3 True 1\n"
