"""Values of options: every flag of every command, and every keyword in Python."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np

import verax
from fuzz.harness import Act, command
from fuzz.samples import STUDY, Samples
from support.internals import Planted, build_parser, variants_of
from verax.corpora import CorpusOptions
from verax.exams import EXAMS
from verax.models import ModelOptions
from verax.training import TrainingOptions

_DIGITS = "9" * 4301
_TEXTS = (
    *("0", "-1", "1", "2", "-0", "0.5", "1.5", "-1e308", "1e308", "1e-320", "nan", "inf", "-inf"),
    *("1e400", _DIGITS, "2147483647", "2147483648", "4294967296", "9223372036854775808", "1e3"),
    *("", " ", "none", "None", "true", "auto", "x", "a=b", "a=b,c=d", "=", ",", "1,2", "0.1,0.2"),
    *(
        "nan,1",
        "-1,-2",
        "1,,2",
        "\x00",
        "\udcff",
        "é",
        "../..",
        "/",
        "a/b",
        "0x10",
        "1_0",
        "٣",
        "1 2",
    ),
    *("x" * 5000, "[1]", "{}", "all", "test", "train", "cuda:99", "cpu", "utf-16", "softmax", "-"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**63, 10**400, 0.5, -0.5, 1.5, 1e308, -1e308, 1e-320),
    *(
        math.nan,
        math.inf,
        -math.inf,
        "",
        "x",
        "nan",
        "1",
        "\x00",
        "\ud800",
        b"x",
        [],
        {},
        [1],
        (1, 2),
    ),
    *(
        {"a": "b"},
        object(),
        np.float32(0.5),
        np.int64(3),
        np.nan,
        np.array([1, 2]),
        1j,
        Path("x"),
        set(),
    ),
)
_NO_NUMBERS = ("nan", "inf", "-inf", "1e400", _DIGITS)
"""No option that is a number may take these."""
_TOO_LARGE = ("9223372036854775808", "4294967296")
"""Nor may a whole number be one of these."""
_LONG = {"demo", "calibrate", "completion"}
"""Commands whose good values take minutes."""


def make(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """One or two options with odd values, of a command or a function."""
    if rng.random() < 0.3:
        return _in_python(rng, samples)
    parsers = _parsers()
    pages = set() if samples.pages else {"report", "figures"}
    verbs = sorted(verb for verb in set(parsers) - _LONG - pages if _valued(parsers[verb]))
    verb = rng.choice(verbs)
    base = _base(verb, samples, folder)
    flags, odd_number = [], False
    for _ in range(rng.choice((1, 1, 1, 2))):
        action = rng.choice(_valued(parsers[verb]))
        flag, value = action.option_strings[0], rng.choice(_TEXTS)
        if flag == "--epochs" and value == "1e3":
            value = "1"
        exam = flag.removeprefix("--").partition(".")[0]
        if verb in ("examine", "compare") and "." in flag and exam in EXAMS:
            base = [*base, "--exams", exam]
        flags.append(f"{flag}={value}")
        odd_number |= value in _NO_NUMBERS and _is_number(action)
        odd_number |= value in _TOO_LARGE and _is_number(action) and action.metavar == "N"
    arguments = [*base, *flags]

    def act() -> str | None:
        code = command(arguments)
        return f"{flags}: accepted" if code == 0 and odd_number else None

    return f"{verb} {' '.join(flags)!r:.120}", act


@functools.cache
def _parsers() -> dict[str, argparse.ArgumentParser]:
    verbs = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(verbs.choices)


def _valued(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    taken = ("--out", "-o", "--overwrite", "--config", "--save")
    return [
        action
        for action in parser._actions
        if action.option_strings and action.nargs is None and action.option_strings[0] not in taken
    ]


def _is_number(action: argparse.Action) -> bool:
    return action.metavar in ("N", "X") or action.type in (int, float)


def _base(verb: str, samples: Samples, folder: Path) -> list[str]:
    """A command line that is good, and quick."""
    model, out = str(samples.folder / "model"), str(folder / "out")
    small = ["--documents", "48", "--encoder", "none", "--embedding-size", "4", "--epochs", "1"]
    study = folder / "study.json"
    study.write_text(json.dumps(STUDY), encoding="utf-8")
    lines = {
        "train": ["planted", *small, "--out", out],
        "examine": [model, "--sample", "3", "--exams", "replacement"],
        "compare": [f"a={model}", f"b={model}", "--sample", "3", "--exams", "replacement"],
        "predict": [model, "a good0_1 film"],
        "explain": [model, "a good0_1 film"],
        "corpora": ["planted", "--documents", "48"],
        "sweep": ["planted", *small, "--lams", "0", "--sample", "3"],
        "adversary": [model, "--lams", "0.1", "--seeds", "1", "--no-controls"],
        "run": [str(study), "--dry-run", "--out", out],
        "pack": [str(samples.folder / "store"), "--out", out],
        "report": [str(samples.folder / "verdict"), "--out", f"{out}.html"],
        "figures": [str(samples.folder / "verdict"), "--out", out],
        "exams": [],
    }
    return [verb, *lines[verb]]


def _in_python(rng: random.Random, samples: Samples) -> tuple[str, Act]:
    function = rng.choice(("load_corpus", "train", "examine", "call", "build"))
    value = rng.choice(_VALUES)
    nonsense = isinstance(value, float) and not math.isfinite(value)
    nonsense = nonsense or (type(value) is int and value == 10**400)
    if function == "load_corpus":
        name = rng.choice([f.name for c in (CorpusOptions, Planted) for f in dataclasses.fields(c)])
        options = {"documents": 48, name: value}
        return f"load_corpus {name}={value!r:.60}", lambda: _numeric(
            nonsense, verax.load_corpus("planted", **options)
        )
    if function == "train":
        fields = [f.name for c in (ModelOptions, TrainingOptions) for f in dataclasses.fields(c)]
        name = rng.choice([*fields, "seed", "device"])
        settings = {"encoder": "none", "embedding_size": 4, "epochs": 1, name: value}
        return f"train {name}={value!r:.60}", lambda: _numeric(
            nonsense, verax.train(samples.corpus, **settings)
        )
    if function == "examine":
        exam = rng.choice(["erasure", "agreement", "replacement", "single_token", "adversary"])
        classes = [EXAMS[exam].options_class, *(v.options_class for v in variants_of(exam))]
        fields = [f.name for c in classes[:1] for f in dataclasses.fields(c)]
        name = rng.choice([*fields, "seed", "sample", "gallery", "max_tokens", "split", "limits"])
        given = {"sample": 3, name: value}
        if name == "limits":
            nonsense = False
        return f"examine {exam} {name}={value!r:.60}", lambda: _numeric(
            nonsense, verax.examine(samples.model, samples.corpus, [exam], **given)
        )
    if function == "call":
        return _calls(rng, samples, value)
    exam = rng.choice(sorted(EXAMS))
    options = EXAMS[exam].options_class
    fields = [f.name for f in dataclasses.fields(options)]
    name = rng.choice(fields) if fields else "x"

    def act() -> str | None:
        from support.internals import build

        EXAMS[exam](build(options, {name: value}), 0, {})
        return f"{name}: accepted" if nonsense else None

    return f"{exam} {name}={value!r:.60}", act


def _numeric(nonsense: bool, _: Any) -> str | None:
    return "accepted" if nonsense else None


def _calls(rng: random.Random, samples: Samples, value: Any) -> tuple[str, Act]:
    """Arguments that are no options."""
    calls: dict[str, Any] = {
        "predict": lambda: samples.model.predict(value),
        "explain": lambda: samples.model.explain(value),
        "predict max_tokens": lambda: samples.model.predict(["a b"], max_tokens=value),
        "load": lambda: verax.load(value),
        "open": lambda: verax.open(value),
        "open_study": lambda: verax.open_study(value),
        "compare": lambda: verax.compare(value),
        "adversaries": lambda: verax.adversaries(samples.model, samples.corpus, lams=value),
        "sweep": lambda: verax.sweep(samples.corpus, lams=value, encoder="none", epochs=1),
        "seeds": lambda: verax.sweep(
            samples.corpus, lams=[0], seeds=value, encoder="none", epochs=1
        ),
        "run_study": lambda: verax.run_study(value, "nowhere"),
        "load_verdict": lambda: verax.load_verdict(value),
    }
    name = rng.choice(sorted(calls))
    if name == "run_study" and isinstance(value, dict):
        name = "compare"

    def act() -> str | None:
        calls[name]()
        return None

    return f"{name}({value!r:.60})", act
