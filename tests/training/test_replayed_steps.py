"""When a step is taken, captured and replayed: the rules, with graphs played by Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import verax
from support.internals import Loop, Objective, prepare
from verax.models import AttentionClassifier, ModelOptions
from verax.progress import Progress
from verax.training import TrainingOptions
from verax.training.cuda_graphs import GraphedStep, rounded
from verax.training.loop import can_be_captured
from verax.training.train import classification


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=120)


def made(corpus: verax.Corpus, **settings: Any) -> Loop:
    options = TrainingOptions(batch_size=16, lr=0.01, **settings)
    prepared = prepare(
        corpus,
        ModelOptions(encoder="conv", hidden_size=12, embedding_size=12),
        options,
        seed=3,
        device=torch.device("cpu"),
        display=Progress(False),
    )
    objective = classification(prepared)
    return Loop(prepared.model, prepared.train, prepared.validation, objective, options, 3)


class Played(GraphedStep):
    """Captures nothing: a replay takes the step again, at the rate it was captured with."""

    def __init__(self, loop: Loop) -> None:
        lr = loop.optimizer.adam.param_groups[0]
        super().__init__(loop.train, loop.model.device, loop.take, lambda: float(lr["lr"]))
        self.groups = loop.optimizer.adam.param_groups
        self.captured: list[int] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        yield

    def _capture(self, buffer: torch.Tensor, width: int) -> Any:
        self.captured.append(buffer.shape[1])
        groups, loss = self.groups, torch.zeros(())
        rate = self.lr()

        def replay() -> None:
            rates = [group["lr"] for group in groups]
            for group in groups:
                group["lr"] = rate
            loss.copy_(self._take(buffer, width))
            for group, before in zip(groups, rates, strict=True):
                group["lr"] = before

        return SimpleNamespace(replay=replay), loss


@pytest.fixture
def replayed(corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch) -> Loop:
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    loop = made(corpus)
    loop.graphed = Played(loop)
    return loop


def played(loop: Loop) -> Played:
    assert isinstance(loop.graphed, Played)
    return loop.graphed


def same_parameters(one: Loop, other: Loop) -> None:
    for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5)


def test_a_shape_is_met_then_captured_then_replayed(corpus: verax.Corpus, replayed: Loop) -> None:
    ordinary, steps = made(corpus), played(replayed)
    batches = [np.arange(16), np.arange(16, 32), np.arange(9), np.arange(32, 48), np.arange(16)]
    captured = []
    for number, rows in enumerate(batches):
        expected = ordinary.step(rows, number)
        torch.testing.assert_close(replayed.step(rows, number), expected, rtol=1e-4, atol=1e-5)
        captured.append(len(steps.captured))
    assert captured == [0, 1, 1, 1, 1]
    same_parameters(ordinary, replayed)
    steps.close()
    assert not steps.graphs
    assert not steps.buffers


def test_another_rate_is_captured_anew(corpus: verax.Corpus, replayed: Loop) -> None:
    ordinary, steps = made(corpus), played(replayed)
    rows = np.arange(16)
    for number in range(6):
        if number == 3:
            for loop in (ordinary, replayed):
                for group in loop.optimizer.adam.param_groups:
                    group["lr"] *= 0.1
        ordinary.step(rows, number)
        replayed.step(rows, number)
        same_parameters(ordinary, replayed)
    assert steps.captured == [16, 16]


def test_what_does_not_fit_is_taken_in_pieces(corpus: verax.Corpus, replayed: Loop) -> None:
    rows = np.arange(16)
    room = 16 * rounded(int(replayed.train.lengths[rows].max()))
    steps = played(replayed)
    assert steps.fits_budget(rows, room)
    assert not steps.fits_budget(rows, room - 1)
    replayed.options = TrainingOptions(max_tokens=room - 1)
    ordinary = made(corpus)
    for number in range(3):
        ordinary.step(rows, number)
        replayed.step(rows, number)
    assert not steps.seen_shapes
    same_parameters(ordinary, replayed)


def test_only_plain_models_and_objectives_are_replayed(
    corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Guided(Objective):
        """One that may ask the host."""

    class Sentences(AttentionClassifier):
        """One that is laid out by the host."""

    loop = made(corpus)
    monkeypatch.setattr(AttentionClassifier, "device", torch.device("cuda"))
    assert can_be_captured(loop.model, loop.objective)
    assert not can_be_captured(loop.model, object.__new__(Guided))
    assert not can_be_captured(object.__new__(Sentences), loop.objective)
