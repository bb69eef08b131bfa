"""Nobody reads what is printed, or it cannot be: the result is there as a whole all the same."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import pkgutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import verax
from support.commands import WORK
from support.errors import refused
from support.internals import Guarded, print_json
from support.internals import running_run as running
from verax.cli import main
from verax.studies import HereEngine

CORPUS = "planted:documents=60,length=12"
QUICK = ["--epochs", "1", "--device", "cpu", "--embedding-size", "4", "--encoder", "none"]
FEW = ["--influence", "none", "--entropy-of", "", "--inputs", "gradient", "--items", "gradient"]
COMMANDS: dict[str, list[str]] = {
    "train": ["train", CORPUS, *QUICK],
    "examine": ["examine", "models/soft", "--exams", "replacement", "--full"],
    "examine as JSON": ["examine", "models/soft", "--exams", "replacement", "--json", "--full"],
    "compare": ["compare", "models/soft", "models/sparse", "--exams", "replacement"],
    "sweep": ["sweep", CORPUS, "--lams", "0.5", *FEW, *QUICK],
    "adversary": [
        *("adversary", "models/soft", "--lams", "1", "--no-controls"),
        *("--epochs", "1", "--device", "cpu"),
    ],
    "run": ["run", "study.yaml"],
    "predict": ["predict", "models/soft", "w1 good0_1 λ"],
    "explain": ["explain", "models/soft", "w1 good0_1 λ"],
    "report": ["report", "verdict"],
    "figures": ["figures", "verdict"],
    "pack": ["pack", "study"],
    "corpora": ["corpora", CORPUS],
}
"""Command → its words but for where results go."""
OUTS = {"predict": "out.csv", "explain": "out.html", "report": "out.html"}
FLAGS = {"corpora": "--save"}
STUDY = """
name: study
corpora: {planted: {documents: 60, length: 12}}
models: {encoder: none, embedding_size: 4, projection: [softmax, sparsemax]}
training: {epochs: 1}
exams: [replacement]
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with models, a verdict and a study, and commands whose work is done once."""
    folder = tmp_path_factory.mktemp("here")
    corpus = verax.load_corpus(CORPUS)
    how: dict[str, Any] = {"encoder": "none", "embedding_size": 4, "epochs": 1, "device": "cpu"}
    for name, projection in (("soft", "softmax"), ("sparse", "sparsemax")):
        verax.train(corpus, projection=projection, **how).save(folder / "models" / name)
    verax.examine(folder / "models" / "soft", exams="replacement").save(folder / "verdict")
    (folder / "study.yaml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("VERAX_DATA", raising=False)
        patch.setattr(running, "make_engine", lambda hardware: HereEngine("cpu"))
        for place in WORK:
            patch.setattr(place, _once(pkgutil.resolve_name(place)))
        yield folder


def _once(work: Callable[..., Any]) -> Callable[..., Any]:
    results: list[Any] = []

    @functools.wraps(work)
    def done(*given: Any, **options: Any) -> Any:
        if not results:
            results.append(work(*given, **options))
        return results[0]

    return done


def call(name: str, out: str) -> list[str]:
    return [*COMMANDS[name], FLAGS.get(name, "--out"), out]


def names(out: Path) -> set[str]:
    """What a command has written, but for locks and what is cleared away."""
    if out.is_file():
        return {out.suffix}
    paths = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    return {path for path in paths if not path.startswith(".locks")}


@pytest.fixture(scope="module")
def whole(here: Path) -> Callable[[str], set[str]]:
    """What a command writes where nothing is in its way."""

    @functools.cache
    def written(name: str) -> set[str]:
        if name == "pack" and not Path("study").exists():
            assert main(["run", "study.yaml", "--out", "study"]) == 0
        folder = here / f"whole {name}"
        folder.mkdir()
        out = folder / OUTS.get(name, "out")
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(call(name, str(out))) == 0
        found = names(out)
        assert found
        return found

    return written


def forked(words: list[str], stdout: Callable[[], Any], folder: Path) -> tuple[int, str]:
    """A command's exit code and errors; its standard output is what `stdout` opens there."""
    errors = folder / "errors"
    child = os.fork()
    if not child:
        code = 99
        try:
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
            sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
            sys.stdout = stdout()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            code = main(words)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), errors.read_text(encoding="utf-8")


def gone() -> Any:
    """A reader who has gone, as `| head -1` goes."""
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
    return os.fdopen(1, "w", encoding="utf-8", closefd=False)


def full() -> Any:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    return os.fdopen(1, "w", encoding="utf-8", closefd=False)


def ascii_alone() -> Any:
    os.dup2(os.open("printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    return os.fdopen(1, "w", encoding="ascii", closefd=False)


class _Interrupted(io.StringIO):
    """Somebody presses Ctrl-C at the first line."""

    def write(self, text: str) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return len(text)


@pytest.mark.parametrize("name", COMMANDS)
class TestEveryCommand:
    @pytest.mark.slow
    def test_a_reader_who_has_gone(
        self, name: str, whole: Callable[[str], set[str]], tmp_path: Path
    ) -> None:
        expected, out = whole(name), tmp_path / OUTS.get(name, "out")
        assert forked(call(name, str(out)), gone, tmp_path)[0] == 0
        assert names(out) == expected

    @pytest.mark.slow
    def test_a_full_disk_is_told_at_the_end(
        self, name: str, whole: Callable[[str], set[str]], tmp_path: Path
    ) -> None:
        expected, out = whole(name), tmp_path / OUTS.get(name, "out")
        code, errors = forked(call(name, str(out)), full, tmp_path)
        assert code == 74
        last = errors.splitlines()[-1]
        assert last.startswith("verax: cannot write to standard output: No space left on device; ")
        assert "Traceback" not in errors
        assert names(out) == expected

    @pytest.mark.slow
    def test_an_ascii_locale(
        self, name: str, whole: Callable[[str], set[str]], tmp_path: Path
    ) -> None:
        expected, out = whole(name), tmp_path / OUTS.get(name, "out")
        code, errors = forked(call(name, str(out)), ascii_alone, tmp_path)
        assert (code, "Traceback" in errors) == (0, False)
        assert names(out) == expected
        printed = Path("printed").read_bytes().decode("ascii")
        assert printed
        if "--json" in COMMANDS[name]:
            assert json.loads(printed)["summary"]

    @pytest.mark.slow
    def test_ctrl_c_while_it_prints(
        self, name: str, whole: Callable[[str], set[str]], tmp_path: Path
    ) -> None:
        expected, out = whole(name), tmp_path / OUTS.get(name, "out")
        code, errors = forked(call(name, str(out)), _Interrupted, tmp_path)
        assert code == 130
        assert errors.splitlines()[-1].startswith("verax: stopped")
        assert "Traceback" not in errors
        if name != "run":  # which prints before its first cell
            assert names(out) >= expected - {"report.html"}


@pytest.mark.slow
def test_what_fails_on_something_says_so_though_nobody_reads(here: Path, tmp_path: Path) -> None:
    words = [*COMMANDS["examine"], "--limits", "2026-11", "--fail-on", "against"]
    said = main(words)
    assert said in (0, 3)
    assert forked(words, gone, tmp_path)[0] == said


@pytest.mark.slow
def test_help_and_a_version_that_cannot_be_printed(tmp_path: Path) -> None:
    for words in (["--help"], ["train", "--help"], []):
        code, errors = forked(words, full, tmp_path)
        assert code == 74
        assert errors.startswith("verax: cannot write to standard output: No space left on device")


def test_an_error_is_a_line_where_standard_output_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["exams"]) == 0
    refused(["tran"], "option.unknown-value", "tran", "train")
    assert capsys.readouterr().err.count("\n") == 1
    assert sys.stdout is None
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["predict", "nothing"]) == 2


def test_a_guarded_stream_is_the_stream_but_for_its_errors() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    guarded = Guarded(stream)
    print("é λ", file=guarded)
    guarded.writelines(["a", "b"])
    guarded.flush()
    assert guarded.buffer.getvalue() == b"\xe9 ?\nab"
    stream.detach()
    guarded.write("after its end")
    assert isinstance(guarded.error, ValueError)
    guarded.flush()


def test_json_keeps_its_signs_whatever_the_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, written in (("utf-8", '"λ"'), ("ascii", '"\\u03bb"')):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        print_json(["λ"])
        stream.flush()
        text = stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
        assert written in text
        assert json.loads(text) == ["λ"]
