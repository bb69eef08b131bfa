"""What is saved names no host, user, kernel or folder; texts are kept and covered as asked."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

import verax
from saved_strings import strings_in
from support.errors import raises
from support.internals import MAKE_ENGINE
from verax.cli import main
from verax.report import report
from verax.studies import HereEngine, Store, pack

RESULTS = Path(__file__).parents[1] / "results"
TINY: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 1, "device": "cpu"}
MARK = "zqxwv"
"""Part of every name of this made-up machine; no word, and in no base64 by chance."""
NAMES = {
    "host": f"host-{MARK}",
    "user": f"user-{MARK}",
    "kernel": f"6.1.0-{MARK}-generic",
}
STUDY = """
corpora: {{{folder}/data/own.csv: {{}}, "~/reviews.csv": {{}}}}
models: {{vectors: [{folder}/data/vectors.txt, word2vec]}}
hardware: {{engine: ray, address: host-zqxwv:6379}}
"""
FOLDERS = re.compile(
    r"(?<![\w.:/<-])/(?:home|root|Users|tmp|work|mnt|media|opt|var|srv|scratch|private|usr)/[\w.-]"
    r"|[A-Za-z]:\\{1,2}Users\\"
)
KERNEL = re.compile(
    r"Linux-\d|\b\d+\.\d+\.\d+-\d[\w.-]*-(?:generic|amd64|cloud|aws|azure|gcp|gke)\b"
)
KEYS = re.compile(r'"(?:host|hostname|node|user|username|kernel|cwd|home|ip|address)":\s*"')


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A machine with names of its own; the folder that the user works in."""
    folder = tmp_path_factory.mktemp(f"home-{MARK}") / f"clients-{MARK}"
    (folder / "data").mkdir(parents=True)
    uname = platform.uname()._replace(node=NAMES["host"], release=NAMES["kernel"])
    system = os.uname()
    changed = os.uname_result((system[0], NAMES["host"], NAMES["kernel"], system[3], system[4]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: NAMES["host"])
        patch.setattr(socket, "getfqdn", lambda name="": NAMES["host"])
        patch.setattr(platform, "node", lambda: NAMES["host"])
        patch.setattr(platform, "uname", lambda: uname)
        patch.setattr(platform, "release", lambda: NAMES["kernel"])
        patch.setattr(os, "uname", lambda: changed)
        patch.setattr(getpass, "getuser", lambda: NAMES["user"])
        for name in ("USER", "LOGNAME", "USERNAME"):
            patch.setenv(name, NAMES["user"])
        for name in ("HOSTNAME", "HOST", "COMPUTERNAME"):
            patch.setenv(name, NAMES["host"])
        patch.setenv("HOME", str(folder.parent))
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def saved(machine: Path) -> Path:
    """A folder with one of everything that Verax saves, made of the user's own files."""
    lines = ["text,label"]
    lines += [f"w{n % 7} w{n % 5} {'fine' if n % 2 else 'poor'} w{n},{n % 2}" for n in range(80)]
    (machine / "data" / "own.csv").write_text("\n".join(lines) + "\n")
    words = ["fine", "poor", *(f"w{n}" for n in range(80))]
    vectors = machine / "data" / "vectors.txt"
    vectors.write_text("".join(f"{word} {' '.join(['0.1'] * 8)}\n" for word in words))
    corpus = verax.load_corpus("data/own.csv")  # a relative path has folders, too
    out = machine / "saved"
    model = verax.train(verax.load_corpus(machine / "data" / "own.csv"), vectors=vectors, **TINY)
    other = verax.train(corpus, projection="sparsemax", vectors="data/vectors.txt", **TINY)
    model.save(out / "model")
    other.save(out / "other")
    verdict = verax.examine(out / "model", corpus, ["replacement"], gallery=3)
    verdict.save(out / "verdict")
    verdict.report(out / "verdict.html")
    verax.examine(other, machine / "data" / "own.csv", ["replacement"]).save(out / "second")
    compared = verax.compare([out / "model", out / "other"], corpus, ["replacement"])
    compared.save(out / "compared")
    compared.report(out / "compared.html")
    opposed = verax.adversaries(
        *(out / "model", corpus, [1]),
        keep=out / "kept",
        controls=False,
        epochs=1,
        device="cpu",
        vectors=str(vectors),
    )
    opposed.save(out / "adversaries")
    opposed.report(out / "adversaries.html")
    unsaved = verax.compare([model, other], corpus, ["replacement"])
    unsaved.report(out / "unsaved.html")
    (out / "printed.txt").write_text(f"{unsaved}\n{unsaved!r}\n{verdict.card()}\n")
    few: dict[str, Any] = {"exams": "dispersion", "influence": "none", "entropy_of": ""}
    swept = verax.sweep(corpus, [0.5], keep=out / "points", **few, **TINY)
    swept.save(out / "sweep")
    swept.report(out / "sweep.html")
    report(model.explain(["w1 fine"]), out / "explained.html")
    Store.create(out / "study", "own", STUDY.format(folder=machine), {"cells": {}})
    pack(out / "points", out / "packed", weights=True)
    return out


@pytest.mark.slow
def test_nothing_saved_names_the_machine_its_user_or_a_folder(saved: Path) -> None:
    found = [
        f"{path.relative_to(saved)}: …{text[max(0, place.start() - 60) : place.end()]}"
        for path, text in strings_in(saved)
        for place in re.finditer(f"{MARK}|{re.escape(str(saved.parent))}", text)
    ]
    assert not found, "\n".join(found[:20])


def test_what_is_saved_says_which_file_it_was_and_what_was_in_it(saved: Path) -> None:
    for name in ("model", "other"):
        config = json.loads((saved / name / "config.json").read_text())
        assert config["corpus"]["corpus"] == "own.csv"
        assert re.fullmatch("[0-9a-f]{16}", config["corpus"]["fingerprint"])
        assert config["training"]["vectors"] == "vectors.txt"


def test_a_saved_model_finds_its_corpus_in_this_folder_or_beside_it(
    saved: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raises("corpus.not-at-hand", "own.csv"):
        verax.examine(saved / "model", exams="replacement")
    monkeypatch.chdir(machine / "data")
    verdict = verax.examine(saved / "model", exams="replacement")
    assert verdict.manifest["split"] == "test"
    monkeypatch.chdir(machine)
    shutil.copytree(saved / "model", machine / "data" / "model")  # the file lies beside it
    assert verax.examine(machine / "data" / "model", exams="replacement").manifest["documents"] == 8


def test_the_same_file_is_cut_as_in_training_and_another_of_its_name_is_not(
    saved: Path, machine: Path
) -> None:
    """A lone file is examined whole, unless the model was trained on part of it."""
    source = machine / "data" / "own.csv"
    assert verax.examine(saved / "model", source, "replacement").manifest["split"] == "test"
    other = machine / "elsewhere" / "own.csv"
    other.parent.mkdir()
    other.write_text("\n".join(source.read_text().splitlines()[:21]) + "\n")
    assert verax.examine(saved / "model", other, "replacement").manifest["split"] == "all"


WORD, MESSAGE = "blorptang", "grommelquux"
"""A word of every text, and one of every message of the user's functions."""
FUNCTIONS = f"""
import numpy as np
import verax

class Refused(Exception):
    pass

def answers(texts):
    share = np.array([0.3 + 0.4 * ("fine" in text) + len(text) % 7 / 100 for text in texts])
    return np.stack([1 - share, share], axis=1)

def make():
    return verax.from_predict(answers, ["0", "1"])

def other():
    return verax.from_predict(lambda texts: answers(texts)[:, ::-1], ["0", "1"])

def refusing():
    def refuse(texts):
        if any("{WORD}" in text for text in texts):
            raise Refused("{MESSAGE}: it's this one:\\n" + texts[0])
        return answers(texts)
    return verax.from_predict(refuse, ["0", "1"])

def undecided():
    def undecide(texts):
        given = answers(texts)
        given[["{WORD}" in text for text in texts]] = np.nan
        return given
    return verax.from_predict(undecide, ["0", "1"])
"""
MODELS = ("make", "other", "refusing", "undecided")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["relative", "absolute"])
def test_no_folder_text_or_message_of_a_function_is_in_what_commands_write(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Corpora without rationales, and functions that fail, in a folder with a telling name."""
    monkeypatch.chdir(tmp_path)
    (own := Path(f"clients-{MARK}", "may")).mkdir(parents=True)
    own = own if place == "relative" else own.absolute()
    lines = ["text,label"]
    lines += [f"{'fine' if n % 2 else 'poor'} {WORD} isn't w{n},{n % 2}" for n in range(60)]
    corpus = own / "reviews.csv"
    corpus.write_text("\n".join(lines) + "\n")
    (own / "splits").mkdir()
    (own / "splits" / "train.csv").write_text("\n".join(lines) + "\n")
    (functions := own / "functions.py").write_text(FUNCTIONS)
    verax.train(verax.load_corpus(corpus), **TINY).save(own / "model")
    out, (make, other, *_) = Path("out"), (f"{functions}:{name}" for name in MODELS)
    model, given = str(own / "model"), ("--corpus", str(corpus), "--exams")
    of_splits = ("--corpus", str(own / "splits"), "--exams")
    commands = [
        ["examine", make, "--corpus", str(corpus), "--out", "out/function"],
        ["examine", model, *given, "replacement", "--out", "out/pooled"],
        ["compare", make, other, *given, "deletion", "--out", "out/functions"],
        ["compare", model, model, *given, "replacement", "--out", "out/compared"],
        ["compare", model, model, *of_splits, "replacement", "--out", "out/splits"],
        ["explain", model, "a fine film", "--out", "out/explained.html"],
    ]
    for command in commands:
        assert main(command) == 0, command
    few: dict[str, Any] = {"exams": "dispersion", "influence": "none", "entropy_of": ""}
    swept = verax.sweep(verax.load_corpus(corpus), [0.5], keep=out / "points", **few, **TINY)
    swept.save(out / "sweep")
    models = {name: f"{functions}:{name}" for name in MODELS}
    study = {"corpora": {str(corpus): {}}, "models": models, "exams": {"deletion": {}}}
    Path("study.yaml").write_text(json.dumps({"name": "own", **study}))
    monkeypatch.setattr(MAKE_ENGINE, lambda hardware: HereEngine(hardware.device))
    assert main(["run", "study.yaml", "--out", "out/study"]) == 1
    assert main(["report", "out/study", "--out", "out/study.html"]) == 0
    pack(out / "study", out / "packed")
    failed = [json.loads(path.read_text()) for path in (out / "study" / "failed").iterdir()]
    assert sorted(record["error"] for record in failed) == [
        "the function failed on 6 texts: Refused",
        "the function gave [nan, nan] for …: expected finite numbers",
    ]
    assert all("verax/models/adapters.py" in record["traceback"] for record in failed)
    found = [
        f"{path}: …{text[max(0, at.start() - 60) : at.end()]}"
        for path, text in strings_in(out)
        for at in re.finditer(f"{MARK}|{WORD}|{MESSAGE}", text)
    ]
    assert not found, "\n".join(found[:20])


@pytest.mark.slow
def test_results_of_this_repository_name_no_host_kernel_or_folder() -> None:
    host = socket.gethostname()
    own = re.compile(rf"\b{re.escape(host)}\b") if len(host) > 3 and host != "localhost" else None
    files, found = 0, []
    for path, text in strings_in(RESULTS):
        files += path.is_file()
        for pattern in (FOLDERS, KERNEL, KEYS, own):
            if pattern is not None and (place := pattern.search(text)):
                found.append(f"{path.relative_to(RESULTS)}: {text[place.start() :][:80]!r}")
    assert files > 500, "each file is seen twice: its name, and what is in it"
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize(
    "text",
    [
        "reading /home/me/a.csv",
        '{"corpus": "/data/../root/x"}',
        r'{"corpus": "C:\\Users\\me\\a.csv"}',
        "Linux-6.8.0-45-generic-x86_64",
        "6.8.0-45-generic",
        '{"host": "gpu7"}',
    ],
)
def test_the_patterns_find_what_they_look_for(text: str) -> None:
    assert any(pattern.search(text) for pattern in (FOLDERS, KERNEL, KEYS)) or "/../" in text
