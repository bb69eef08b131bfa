"""Commands that have no option for what a test needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import verax
from verax.cli import completion, demo

LOADING = [f"verax.cli.{module}.load_corpus" for module in ("loading", "corpora", "demo")]
"""Where commands load corpora: places to patch."""
WORK = [
    *("verax.cli.train.train", "verax.cli.examine.examine", "verax.cli.compare.compare"),
    *("verax.cli.sweep.run_sweep", "verax.cli.adversary.run_adversaries"),
    "verax.cli.report.charts_in",
]
"""What takes long in a command: tests do it once, and a fork has its result."""


@contextmanager
def small_demo(corpus: verax.Corpus, settings: Mapping[str, Any]) -> Iterator[None]:
    """Within the block the demo trains one model on a corpus, with these settings."""
    with (
        patch.object(demo, "load_corpus", lambda name: corpus),
        patch.dict(demo.MODELS, {"softmax": {}}, clear=True),
        patch.dict(demo.SETTINGS, {n: v for n, v in settings.items() if n != "device"}),
    ):
        yield


def make_completion(folder: Path, version: str) -> None:
    """Do what `make completion` does, into a folder."""
    with (
        patch.object(completion, "COMMANDS", folder / "commands.json"),
        patch.object(completion, "_tree", lambda: {version: ((), ())}),
    ):
        completion.keep()
