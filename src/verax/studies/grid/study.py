"""A study: a question, and the cells that answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from verax.corpora.corpus import Corpus
from verax.studies.grid.cell import Cell
from verax.studies.grid.hardware import Hardware


@dataclass(frozen=True, eq=False)
class Study:
    """A study, as `read_study` returns it.

    text     the file as it was written
    cells    corpora × models × seeds, no key twice
    weights  whether models are kept, not their results alone
    corpora  the corpora of the cells, by fingerprint
    notes    what a reader of the file might not expect, in words
    labels   key → a short name, made of what varies over the study
    """

    name: str
    question: str | None
    text: str = field(repr=False)
    cells: tuple[Cell, ...] = field(repr=False)
    hardware: Hardware
    weights: bool
    corpora: Mapping[str, Corpus]
    notes: tuple[str, ...]
    labels: Mapping[str, str] = field(repr=False)

    def resolved(self) -> dict[str, Any]:
        """The study for JSON, every default and automatic choice spelt out.

        The address of a cluster is left out: results are opened elsewhere, and name no machine.
        """
        hardware = {n: value for n, value in asdict(self.hardware).items() if n != "address"}
        return {
            "name": self.name,
            "question": self.question,
            "hardware": hardware,
            "weights": self.weights,
            "cells": {cell.key: cell.to_json() for cell in self.cells},
        }
