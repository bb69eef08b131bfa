"""A limit of time: what there is time for is the same to the bit, the rest is left out and said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import verax
from verax import time_limit
from verax.errors import VeraxError
from verax.exams import item_evidence
from verax.exams.adversary.exam import AdversaryExam
from verax.exams.item_evidence import put_together
from verax.exams.tables import TableBuilder
from verax.progress import tracked
from verax.time_limit import OutOfTimeError, TimeLimit, check_time, within

EXAMS = ["erasure", "agreement", "dispersion", "replacement", "information", "adversary"]
SMALL: dict[str, Any] = {"max_tokens": 256, "progress": False}


class Clock:
    """A clock that moves on by a second whenever it is looked at."""

    def __init__(self, step: float = 1.0) -> None:
        self.time, self.step = 0.0, step

    def __call__(self) -> float:
        self.time += self.step
        return self.time


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    random = np.random.default_rng(0)
    texts, labels = [], []
    for number in range(120):
        words = [f"w{k}" for k in random.integers(0, 30, size=3 + number // 4)]
        texts.append(" ".join(["good" if number % 2 else "bad", *words]))
        labels.append("pos" if number % 2 else "neg")
    return verax.load_corpus((texts, labels))


@pytest.fixture(scope="module")
def model(corpus: verax.Corpus) -> Any:
    torch.manual_seed(0)
    return verax.train(corpus, encoder="bilstm", hidden_size=8, embedding_size=8, epochs=1)


@pytest.fixture(scope="module")
def whole(model: Any, corpus: verax.Corpus) -> verax.Verdict:
    return verax.examine(model, corpus, EXAMS, split="all", gallery=5, **SMALL)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Clock]:
    def set_to(step: float) -> Clock:
        made = Clock(step)
        monkeypatch.setattr(time_limit.time, "monotonic", made)
        return made

    return set_to


def test_with_time_enough_every_table_is_the_same_to_the_bit(
    model: Any, corpus: verax.Corpus, whole: verax.Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_evidence, "HELD", 512)  # so that exams of items put several together
    plain = verax.examine(model, corpus, EXAMS, split="all", gallery=5, **SMALL)
    limited = verax.examine(model, corpus, EXAMS, split="all", gallery=5, max_seconds=1e6, **SMALL)
    assert limited.manifest["out_of_time"] == {}
    assert list(limited.tables) == list(plain.tables)
    for name, table in plain.tables.items():
        pd.testing.assert_frame_equal(limited.tables[name], table, check_exact=True)
