"""What several rooms' tests share: small corpora, small models, and the settings of hypothesis."""

from __future__ import annotations

import csv
import functools
import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

import verax
from support.internals import COMMIT, EncodedDocuments, chart, reviews
from support.models import encoded_for, model_maker
from verax.models import AttentionClassifier

collect_ignore = ["strangers"]
"""A package of its own, which tests put on the path."""

settings.register_profile("verax", deadline=None, derandomize=True)
settings.load_profile("verax")


SLOW_DOCTESTS = frozenset(
    {
        "exams.examine.examine",
        "studies.adversary_models.run_adversaries",
        "studies.comparison.compare.compare",
        "studies.grid.reading.read_study",
        "studies.running.run.run_studies",
        "studies.running.run.run_study",
        "studies.sweep.run_sweep",
    }
)
"""Doctests cannot have `@pytest.mark.slow`."""

CHANGES = Path(__file__).with_name("golden") / "changes.csv"
"""Frozen numbers that changed on purpose."""


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name.removeprefix("verax.") in SLOW_DOCTESTS:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Studies collect garbage after every cell: what was imported is not gone through again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # so that extensions are freed as Python ends


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many frozen numbers are skipped, where tests of these ran."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    if any(report.nodeid.startswith("tests/golden/") for report in reports):
        rows = list(csv.DictReader(CHANGES.read_text(encoding="utf-8").splitlines()))
        skipped = sum(int(row["values"]) for row in rows)
        terminalreporter.write_line(f"tests/golden: {skipped:,} numbers changed on purpose")


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
    return model_maker(planted)


@pytest.fixture
def encoded(planted: verax.Corpus) -> Callable[[AttentionClassifier], EncodedDocuments]:
    return lambda model: encoded_for(model, planted)


@pytest.fixture
def first_rows() -> np.ndarray:
    return np.arange(9)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Handle Ctrl-C as in a terminal, also where the shell that runs the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, on a machine without corpora of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VERAX_DATA", raising=False)


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever trains a model in this process fails; exams have gradients without `backward`."""

    def never(*given: object, **options: object) -> None:
        raise AssertionError("a model was trained")

    monkeypatch.setattr(torch.Tensor, "backward", never)


@pytest.fixture(autouse=True, scope="session")
def _committed() -> Iterator[None]:
    """Run studies as from an installed package: those of a changed checkout cannot be packed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(COMMIT, lambda: None)
        yield
