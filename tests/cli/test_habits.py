"""What users do by habit: save twice, press Ctrl-C, name an option as another library does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from refused import refusal

import verax
from support.errors import raises
from support.internals import build_parser
from verax.cli import completion, main
from verax.errors import VeraxWarning
from verax.exams import unregister
from verax.progress import Progress

pytestmark = pytest.mark.usefixtures("alone")

CORPUS = "planted:documents=60,length=8"
SMALL = ["--encoder", "mlp", "--hidden-size", "4", "--embedding-size", "4", "--epochs", "1"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its verdict."""
    where = tmp_path_factory.mktemp("saved")
    corpus = verax.load_corpus(CORPUS)
    model = verax.train(corpus, encoder="none", embedding_size=4, epochs=1)
    model.save(where / "model")
    verax.examine(model, corpus, "replacement").save(where / "verdict")
    return where


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_out_is_overwritten_only_where_that_is_said(
    saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused before any work: a corpus or a model that does not exist is not even looked for."""
    before = everything(saved)
    model, verdict = saved / "model", saved / "verdict"
    Path("page.html").write_text("mine")
    for arguments in (
        ["train", "no-corpus", "--out", str(model)],
        ["examine", "no-model", "--out", str(verdict)],
        ["report", "no-verdict", "-o", "page.html"],
        ["explain", "no-model", "w1", "--out", "page.html"],
    ):
        refusal(capsys, arguments, "output.occupied", "--overwrite")
    for result in (verax.load(model), verax.open(verdict)):
        with raises("output.occupied"):
            result.save(model if hasattr(result, "classes") else verdict)
    assert everything(saved) == before
    assert main(["train", CORPUS, *SMALL, "--out", "m"]) == 0
    assert main(["train", CORPUS, *SMALL, "--seed", "1", "--out", "m", "--overwrite"]) == 0
    assert verax.load("m").record["training"]["seed"] == 1
    assert main(["report", str(verdict), "-o", "page.html", "--overwrite"]) == 0
    assert "<html" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c")
def test_an_interruption_says_what_is_on_disk(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real SIGINT: in the first epoch, in the second candidate, and while a model is saved."""

    def interrupt(*arguments: object, **keywords: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    train = ["train", CORPUS, *SMALL, "--out", "m"]
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "step", interrupt)
        assert main(train) == 130
        assert capsys.readouterr().err == "verax: stopped; nothing was written to m\n"
        assert list(Path().iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr("verax.cli.train._candidate", interrupt)
        auto = ["--grounding", "tying", "--strength", "auto", "--strengths", "1"]
        assert main([*train, *auto]) == 130
    err = capsys.readouterr().err
    assert err.startswith("verax: stopped; nothing was written to m; m.candidates keeps what was ")
    assert [path.name for path in Path().iterdir()] == ["m.candidates"]
    with monkeypatch.context() as patch:
        patch.setattr("verax.models.saving.packed", interrupt)
        assert main(train) == 130
        assert capsys.readouterr().err == "verax: stopped; nothing was written to m\n"
    assert [path.name for path in Path().iterdir()] == ["m.candidates"]
    assert main(train) == 0
    with monkeypatch.context() as patch:
        patch.setattr("verax.models.saving.packed", interrupt)
        assert main([*train, "--overwrite"]) == 130
        assert "stopped; m is as it was before" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr("verax.cli.train._report", interrupt)
        assert main([*train, "--overwrite"]) == 130
        assert "stopped; m is complete" in capsys.readouterr().err
    assert verax.load("m").classes == ["0", "1"]


def test_names_of_other_libraries_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    given = build_parser().parse(["train", "planted", "--learning-rate", "0.5"])
    assert given.lr == 0.5
    refusal(capsys, ["train", "--num-epochs", "3"], "option.unknown", "--epochs")
    with raises("option.unknown", "learning_rate", "lr"):
        verax.train(verax.load_corpus(CORPUS), learning_rate=0.1)  # type: ignore[call-arg]


def test_a_model_and_a_verdict_are_told_apart(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, ["examine", str(saved / "verdict")], "result.wrong-kind", "verdict")
    with raises("result.wrong-kind"):
        verax.load_verdict(saved / "model")


def test_wrong_choices_are_answered_in_one_voice(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "option.unknown-value"
    words = ["examine", str(saved / "model"), "--fail-on", "agianst"]
    refusal(capsys, words, code, "--fail-on", "agianst", "against")
    refusal(capsys, ["tran"], "option.unknown-value", "tran", "train")
    with raises("option.wrong-type"):
        verax.examine(saved / "model", exams="replacement", replacement=3)  # type: ignore[arg-type]


def test_a_warning_points_at_the_caller(tmp_path: Path) -> None:
    rows = "".join(f"word{i} other{i},{i % 2},0\n" for i in range(20))
    (tmp_path / "twice.csv").write_text(f"text,label,label\n{rows}")
    with pytest.warns(VeraxWarning, match="has two columns 'label'") as caught:
        verax.load_corpus(str(tmp_path / "twice.csv"))
    assert caught[0].filename == __file__


EXAM = """
from verax import Exam
from verax.exams import register

@register
class Loose(Exam):
    name = "loose"
    question = "Is this file imported?"

    def see(self, model, trace):
        pass

    @staticmethod
    def summarise(tables):
        raise NotImplementedError
"""


def test_a_loose_file_adds_an_exam(capsys: pytest.CaptureFixture[str]) -> None:
    Path("loose_exam.py").write_text(EXAM)
    try:
        assert main(["exams", "--plugin", "loose_exam.py"]) == 0
        assert "Is this file imported?" in capsys.readouterr().out
    finally:
        unregister("loose")
        del sys.modules["loose_exam"]
    refusal(capsys, ["exams", "--plugin", "missing.py"], "plugin.import-failed")
    Path("broken_exam.py").write_text("1 / 0\n")
    words = ["exams", "--plugin=broken_exam.py"]
    refusal(capsys, words, "plugin.import-failed", "broken_exam.py", "ZeroDivisionError")


def complete(script: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    code = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _verax; "
    code += 'printf "%s\\n" "${COMPREPLY[@]}"'
    ran = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.slow
def test_a_shell_completes_commands_flags_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    script = Path("verax.bash")
    assert main(["completion", "bash"]) == 0
    script.write_text(capsys.readouterr().out)
    assert complete(script, "verax", "ex") == {"exams", "examine", "explain"}
    assert complete(script, "verax", "train", "--learn") == {"--learning-rate"}
    assert complete(script, "verax", "train", "--encoder", "bi") == {"bilstm", "bigru"}
    tree = dict(completion.commands_of(build_parser()))
    assert "-l learning-rate" in completion.fish(tree)
    assert main(["completion", "zsh"]) == 0
    assert "bashcompinit" in capsys.readouterr().out
    refusal(capsys, ["completion", "bsh"], "option.unknown-value", "bash")
