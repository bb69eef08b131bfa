"""`verax train --strength auto`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import verax
from support.errors import refused
from support.internals import Loop
from verax.cli import main

PLANTED = "planted:documents=60,length=12"
FLAGS = ["--hidden-size", "8", "--embedding-size", "8", "--epochs", "1", "--grounding", "tying"]
COMMAND = ["train", PLANTED, *FLAGS, "--strength", "auto", "--strengths", "1,5", "--seed", "3"]


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_the_command_saves_what_the_python_call_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--out", "model"]) == 0
    printed = capsys.readouterr().out
    sizes = {"hidden_size": 8, "embedding_size": 8, "epochs": 1}
    model = verax.train(
        verax.load_corpus(PLANTED),
        seed=3,
        grounding="tying",
        strength="auto",
        strengths=[1, 5],
        **sizes,  # type: ignore[arg-type]
    )
    model.save("by-call")
    for path in Path("by-call").iterdir():
        assert (Path("model") / path.name).read_bytes() == path.read_bytes()
    record = json.loads((Path("model") / "config.json").read_text())["strength"]
    for row in record["candidates"]:
        name = "ungrounded" if row["strength"] is None else f"strength {row['strength']:g}"
        told = f"{name}: validation accuracy {row['accuracy']:.1%}, F1 {100 * row['f1']:.1f}"
        assert f"{told}, with attention" in printed
    assert f"strength {record['chosen']:g}: " in printed
    assert "within 1 point" in " ".join(printed.split())


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_the_command_keeps_the_candidates_beside_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*COMMAND, "--out", "my/model"]) == 0
    folders = sorted(str(path) for path in Path("my").rglob("*") if path.is_dir())
    beside = "my/model.candidates"
    names = [f"{beside}/{name}" for name in ("none", "tying-1", "tying-5")]
    assert folders == ["my/model", beside, *names]
    assert verax.load(names[2]).options.strength == 5
    monkeypatch.delattr(Loop, "run")  # nothing is trained again
    assert main([*COMMAND, "--out", "my/model", "--overwrite"]) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_the_command_says_where_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether or not a folder's name is written with its slash."""
    for out in ("one", "two/"):
        assert main([*COMMAND, "--out", out]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        where = printed.split("all are in ")[1].split()[0]
        assert (Path(where) / "none" / "config.json").is_file()


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_config_file_may_list_strengths() -> None:
    values: dict[str, Any] = {"corpus": PLANTED, "hidden_size": 8, "embedding_size": 8}
    values |= {"epochs": 1, "grounding": "tying", "strength": "auto", "seed": 3}
    for name, strengths in (("list", [1, 5]), ("text", "1,5")):
        Path(f"{name}.yaml").write_text(yaml.safe_dump({**values, "strengths": strengths}))
        assert main(["train", "--config", f"{name}.yaml", "--out", name]) == 0
    configs = [json.loads((Path(n) / "config.json").read_text()) for n in ("list", "text")]
    assert configs[0] == configs[1]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--grounding", "none"], ("option.conflict", "strength", "auto")),
        (["--strengths", "1,x"], ("option.wrong-type", "strengths", "x")),
        (["--strengths", "-1,2"], ("option.out-of-range", "strengths", "-1.0")),
        (["--strength", "often"], ("option.wrong-type", "strength", "often")),
    ],
    ids=str,
)
@pytest.mark.usefixtures("alone")
def test_bad_input_is_one_line(
    flags: list[str], expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    refused([*COMMAND, "--out", "model", *flags], *expected)
    assert capsys.readouterr().err.count("\n") == 1
    assert not Path("model").exists()


@pytest.mark.usefixtures("alone")
def test_a_strength_of_ones_own_keeps_no_candidates() -> None:
    assert main(["train", PLANTED, *FLAGS, "--strength", "2", "--out", "model"]) == 0
    assert [path.name for path in Path().iterdir()] == ["model"]
