"""`verax train`: flags, config files, and what is saved."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import verax
from support.internals import names
from verax.cli import main
from verax.corpora import CorpusOptions
from verax.models import ModelOptions
from verax.training import TrainingOptions

pytestmark = pytest.mark.usefixtures("alone")

PLANTED = "planted:documents=60,length=12"
QUICK = ["--encoder", "none", "--epochs", "1"]
LEARNING = ["--epochs", "2", "--batch-size", "8", "--lr", "0.01"]


def config(folder: str) -> dict[str, Any]:
    return json.loads((Path(folder) / "config.json").read_text())


def contents(folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_the_command_saves_what_the_python_call_trains() -> None:
    assert main(["train", PLANTED, "--out", "by-flag", *QUICK, "--seed", "3"]) == 0
    corpus = verax.load_corpus(PLANTED)
    verax.train(corpus, encoder="none", epochs=1, seed=3).save("by-call")
    assert contents("by-flag") == contents("by-call")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_config_file_equals_flags(suffix: str) -> None:
    flags = ["--projection", "sparsegen", "--lam", "-1e3", "--lr", "1e-2", "--clip", "none"]
    flags += ["--labels", "0=left,1=right", "--no-boundaries", "--batch-size", "16"]
    assert main(["train", PLANTED, "--out", "by-flag", *QUICK, *flags]) == 0
    values = {
        "corpus": PLANTED,
        "out": "by-file",
        "encoder": "none",
        "epochs": 1,
        "projection": "sparsegen",
        "lam": "-1e3" if suffix == ".yaml" else -1e3,
        "lr": "1e-2",
        "clip": "none",
        "labels": {"0": "left", "1": "right"},
        "boundaries": False,
        "batch-size": 16,
    }
    dump = yaml.safe_dump(values) if suffix == ".yaml" else json.dumps(values)
    Path(f"my{suffix}").write_text(dump)
    assert main(["train", "--config", f"my{suffix}"]) == 0
    assert contents("by-file") == contents("by-flag")
    assert config("by-file")["model"]["lam"] == -1000.0
    assert config("by-file")["training"]["clip"] is None
    assert config("by-file")["classes"] == ["left", "right"]


def test_flags_override_the_config_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("my.yaml").write_text(
        f"corpus: {PLANTED}\nencoder: conv\nhidden_size: 20\nepochs: 1\nseed: 5\nout: a\n"
    )
    assert main(["train", "--config", "my.yaml", "--encoder", "none", "--out", "b"]) == 0
    warning = "warning: hidden_size has no effect with encoder=none"
    assert capsys.readouterr().out.count(warning) == 1
    assert not Path("a").exists()
    assert config("b")["model"]["encoder"] == "none"
    assert config("b")["training"]["seed"] == 5


def test_knobs_of_planted_can_stand_in_the_config_file() -> None:
    Path("my.yaml").write_text(
        "corpus: planted\ndocuments: 60\nclasses: 3\nencoder: none\nepochs: 1\n"
    )
    assert main(["train", "--config", "my.yaml", "--out", "model"]) == 0
    assert config("model")["classes"] == ["0", "1", "2"]


def test_arguments_may_stand_in_any_order() -> None:
    assert main(["train", *QUICK, PLANTED, "--out", "model"]) == 0
    assert main(["train", "--out", "other", *QUICK, PLANTED]) == 0


def test_an_earlier_model_is_replaced() -> None:
    for encoder in ("none", "conv"):
        arguments = ["train", PLANTED, "--out", "model", "--encoder", encoder, "--epochs", "1"]
        assert main([*arguments, "--overwrite"]) == 0
    assert config("model")["model"]["encoder"] == "conv"
    assert [p.name for p in Path().iterdir()] == ["model"]


def test_two_topics_are_kept_under_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    name = "planted:documents=90,length=12,classes=3"
    assert main(["train", name, "--out", "model", *QUICK, "--labels", "0=world,2=business"]) == 0
    assert config("model")["classes"] == ["world", "business"]
    assert "documents with other labels left out" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        (["--encoder", "none"], "train longer (--epochs)\n"),
        (["--encoder", "conv", "--grounding", "mlm"], "a lower --strength, or --strength auto\n"),
    ],
)
def test_a_model_that_decides_for_one_class_is_noticed(
    flags: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"word{i} film,{'one' if i % 5 == 0 else 'five'}" for i in range(100)]
    Path("mine.csv").write_text("\n".join(["text,label", *lines]))
    assert main(["train", "mine.csv", "--out", "model", *LEARNING, *flags]) == 0
    printed = capsys.readouterr().out
    assert "warning: decides for 'five' only: train longer" in printed
    assert advice in printed


def test_dropped_documents_and_vectors_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{'good' if i % 2 else 'bad'} film {i},{i % 2}" for i in range(40)]
    Path("mine.csv").write_text("\n".join(["text,label", *lines, ",1", " ,0"]))
    Path("vectors.txt").write_text("good 1 2\nbad 2 1\nfilm 0 1\n")
    assert main(["train", "mine.csv", "--out", "model", *QUICK, "--vectors", "vectors.txt"]) == 0
    out = capsys.readouterr().out
    assert "train: 2 empty documents dropped" in out
    assert "word vectors: 3 of" in out
    assert "saved in model" in out


def test_every_option_is_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["train", "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out.split()
    for name in names(CorpusOptions, ModelOptions, TrainingOptions):
        flag = "--" + name.replace("_", "-")
        assert any(word.strip("[],") == flag for word in shown)


def test_every_model_and_training_option_is_a_keyword() -> None:
    keywords = inspect.signature(verax.train).parameters
    assert set(names(ModelOptions, TrainingOptions)) <= set(keywords)


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "verax", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"verax {verax.__version__}\n", "")


@pytest.mark.slow
def test_planted_knobs_are_flags(tmp_path: Path) -> None:
    out = tmp_path / "m"
    knobs = ["--classes", "3", "--documents", "60", "--length", "12", "--label-noise", "0.1"]
    flags = ["--encoder", "none", "--epochs", "1", "--out", str(out)]
    assert main(["train", "planted", *knobs, *flags]) == 0
    model = verax.load(out)
    assert model.classes == ["0", "1", "2"]
    assert model.record["corpus"]["label_noise"] == 0.1
