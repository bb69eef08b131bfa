"""What several rooms' tests share: small corpora, small models, and the settings of hypothesis."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

import verax
from verax.corpora import reviews
from verax.corpora.encoded import EncodedDocuments, encode
from verax.corpora.vocabulary import Vocabulary
from verax.drawing import chart
from verax.models import AttentionClassifier, ModelOptions, make_classifier

collect_ignore = ["strangers"]
"""A package of its own, which tests put on the path."""

settings.register_profile("verax", deadline=None, derandomize=True)
settings.load_profile("verax")


SLOW = Path(__file__).with_name("slow.txt")
"""Tests that are slow, by `scripts/slow_tests.py`, by file and function; `make slow` writes it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out the tests of tests/slow.txt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--quick"):
        slow = set(SLOW.read_text(encoding="utf-8").split())
        left_out = [item for item in items if item.nodeid.split("[")[0] in slow]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid.split("[")[0] not in slow]


def pytest_collection_finish() -> None:
    """Studies collect garbage after every cell: what was imported is not gone through again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # so that extensions are freed as Python ends


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """What was written every process sees at once; whether it outlasts a loss of power, none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # which refuses a closed file, too
        yield


@pytest.fixture(scope="session", autouse=True)
def _reviews_are_read_once() -> Iterator[None]:
    """Both built-in corpora of reviews are one file of 35 MB, which many tests read a little of."""
    read = functools.cache(reviews.read_reviews)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviews, "read_reviews", lambda name: read(name).copy())
        yield


@pytest.fixture(autouse=True)
def pictures(request: pytest.FixtureRequest) -> None:
    """Pages that tests of commands write have empty pictures: to draw takes longer than the rest.

    They are drawn where tests look at them, and in tests of reports.
    """
    if request.path.parent.name == "cli" and request.path.stem not in DRAWN:
        request.getfixturevalue("monkeypatch").setattr(chart, "drawn", _empty)


DRAWN = ("test_demo", "test_figures", "test_report")


def _empty(spec: object, name: str, title: str, text: str) -> str:
    return f'<svg class="chart" role="img" width="8" height="8"><title>{name}</title></svg>'


@pytest.fixture(scope="session")
def planted() -> verax.Corpus:
    return verax.load_corpus("planted", documents=300, sentences=3, length=24, evidence=2)


@pytest.fixture(scope="session")
def make_model(planted: verax.Corpus) -> Callable[..., AttentionClassifier]:
    """An untrained small model over `planted`, in eval mode; any model option can be given."""
    vocabulary = Vocabulary.of(planted.train)

    def make(classes: int = 2, **options: object) -> AttentionClassifier:
        sizes = {"hidden_size": 12, "embedding_size": 12, **options}
        resolved = ModelOptions(**sizes).resolved(classes)  # type: ignore[arg-type]
        names = [str(i) for i in range(classes)]
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # others' are not used, and slow to seed
            return make_classifier(resolved, vocabulary, names, planted.tokeniser).eval()

    return make


@pytest.fixture
def encoded(planted: verax.Corpus) -> Callable[[AttentionClassifier], EncodedDocuments]:
    def make(model: AttentionClassifier) -> EncodedDocuments:
        return encode(
            planted.train,
            model.vocabulary,
            boundaries=bool(model.options.boundaries),
            hierarchical=model.options.hierarchical,
        )

    return make


@pytest.fixture
def first_rows() -> np.ndarray:
    return np.arange(9)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, on a machine without corpora of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VERAX_DATA", raising=False)


@pytest.fixture(autouse=True, scope="session")
def _limits_set_by_hand() -> Iterator[None]:
    """Rules are tested by the limits they were written for; measured ones change with the data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("verax.exams.judgement.limits.NEWEST", "2026-11")
        yield
