"""A share of `make fuzz`: a few hundred inputs of all classes; and the harness itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import verax.cli
from fuzz import harness
from fuzz.__main__ import plan_of, quickened
from fuzz.classes import CLASSES
from fuzz.classes.numerics import exact_sparsegen
from fuzz.harness import CRASH, HANG, MEMORY_OUT, NONSENSE, TRACEBACK, WARNING, WORDS, run
from fuzz.samples import make_samples
from fuzz.spoiling import Change, is_nonsense, spoil_value, unexpected
from verax.errors import VeraxError

INPUTS, SEED = 150, 1


@pytest.mark.slow
def test_inputs_of_all_classes_end_in_a_result_or_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, no hang, no nonsense accepted; `python -m fuzz --only CLASS:N` runs one."""
    samples = make_samples(tmp_path, pages=False)
    makers = {name: maker for name, (maker, _) in CLASSES.items()}
    with quickened(monkeypatch.setattr):
        outcomes = list(run(plan_of(INPUTS), makers, samples, SEED, workers=1))
    failed = [f"{o.kind} {o.label}:{o.number} {o.what}\n{o.text}" for o in outcomes if o.kind]
    assert not failed, "\n".join(failed)
    assert {outcome.label for outcome in outcomes} == set(CLASSES)
    assert sum(outcome.refused for outcome in outcomes) > len(outcomes) / 2


def _hang() -> None:
    while True:
        pass


def _warn() -> None:
    import warnings

    warnings.warn("beware", RuntimeWarning, stacklevel=1)


def _raise(error: Exception) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def _end() -> None:
    import os

    os._exit(3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (_raise(KeyError("x")), TRACEBACK),
        (_raise(VeraxError("x is wrong: expected y")), None),
        (_raise(VeraxError(" ")), WORDS),
        (_raise(VeraxError("x" * 50_000)), WORDS),
        (_raise(MemoryError()), MEMORY_OUT),
        (lambda: bytearray(1 << 40), MEMORY_OUT),
        (_hang, HANG),
        (_warn, WARNING),
        (_end, CRASH),
        (lambda: "two and two are five", NONSENSE),
        (lambda: None, None),
    ],
)
def test_the_harness_tells_failures_apart(
    act: Callable[[], Any], kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "SECONDS", 0.1)
    makers = {"made up": lambda rng, samples, folder: ("a case", act)}
    (outcome,) = run([("made up", 0)], makers, None, 0, workers=1)
    assert outcome.kind == kind


@pytest.mark.parametrize("code", [70, 9])
def test_commands_that_break_their_promise_fail(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verax.cli, "main", lambda arguments: code)
    with pytest.raises(harness.Failure) as failure:
        harness.command(["train"])
    assert failure.value.kind == (TRACEBACK if code == 70 else WORDS)


def test_what_failed_is_kept_with_how_to_run_it_again(tmp_path: Path) -> None:
    def make(rng: random.Random, samples: Any, folder: Path) -> tuple[str, Callable[[], str]]:
        (folder / "input.txt").write_text("spoilt")
        return "a case", lambda: "accepted"

    list(run([("made up", 7)], {"made up": make}, None, 3, workers=1, keep=tmp_path))
    kept = tmp_path / "nonsense-made up-7"
    assert (kept / "input" / "input.txt").read_text() == "spoilt"
    assert "--seed 3 --only made up:7" in (kept / "failure.txt").read_text()


def test_the_same_seed_makes_the_same_cases() -> None:
    value = {"a": [1, 2, {"b": "c"}], "d": None, "e": 0.5}
    made = [spoil_value(random.Random("7"), value) for _ in range(2)]
    assert repr(made[0]) == repr(made[1])
    assert value == {"a": [1, 2, {"b": "c"}], "d": None, "e": 0.5}


def test_nonsense_is_another_kind_of_value_or_no_number() -> None:
    assert is_nonsense(3, "x")
    assert is_nonsense(3, -1)
    assert is_nonsense(3, 0.5)
    assert is_nonsense("x", 3)
    assert is_nonsense(True, 1)
    assert is_nonsense([], {})
    assert is_nonsense({"lines": []}, "x")
    assert not is_nonsense({"lines": []}, 0.5)
    assert not is_nonsense(3, 4)
    assert not is_nonsense(0.5, 4)
    assert not is_nonsense(None, "x")


def test_what_differs_and_was_not_changed_is_told() -> None:
    before = {"a": 1, "b/c": [1, 2], "d": 3}
    assert unexpected(before, {**before, "a": 2}, Change("a", "a", nonsense=False)) is None
    assert unexpected(before, {**before, "b/c": [1]}, Change("b", "b/c/1", nonsense=False)) is None
    assert "d" in str(unexpected(before, {**before, "d": 4}, Change("a", "a", nonsense=False)))
    assert "accepted" in str(unexpected(before, {**before, "a": "x"}, Change("a", "a", True)))


def test_exact_sparsegen_is_the_projection() -> None:
    """λ = 0 is sparsemax: of (2, 1.5, −1) it is (0.75, 0.25, 0) by hand; λ → −∞ is uniform."""
    assert list(map(float, exact_sparsegen([2.0, 1.5, -1.0], 0.0))) == [0.75, 0.25, 0.0]
    assert list(map(float, exact_sparsegen([2.0, 1.5], -1e300))) == [0.5, 0.5]
