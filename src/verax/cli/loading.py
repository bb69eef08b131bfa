"""Corpora that a command loads, with a sign of life: some are gigabytes."""

from __future__ import annotations

from typing import Any

from verax.corpora import Corpus, load_corpus
from verax.progress import Progress


def load_shown(name: str, **options: Any) -> Corpus:
    """`load_corpus`, with a spinner while it takes."""
    with Progress() as display, display.busy(f"loading {name}"):
        return load_corpus(name, **options)
