"""A study: a question, the cells that answer it, and the machines that they run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from verax.corpora.corpus import Corpus
from verax.options import option
from verax.studies.grid.cell import Cell

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Hardware:
    """Where the cells of a study run: the engine, its workers and their devices."""

    engine: str = option("local", "processes of this machine, or a Ray cluster", choices=ENGINES)
    workers: int | None = option(
        None,
        "cells at once (one a core; on GPUs as many as cells-per-gpu says)",
        minimum=1,
        maximum=4096,
    )
    device: str = option("auto", "auto, cpu, cuda or cuda:1")
    threads: int = option(
        1, "threads of each cell on a CPU: more may change last digits", minimum=1, maximum=4096
    )
    cells_per_gpu: int | None = option(
        None,
        "cells that share a GPU (1; with MPS one a core but one, 12 at most)",
        minimum=1,
        maximum=4096,
    )
    mps: bool = option(False, "start NVIDIA MPS if it does not run, and stop it in the end")
    address: str | None = option(
        None, "address of a Ray cluster, such as 10.0.0.1:6379 or auto (start one here)"
    )
    max_tokens: int | None = option(
        None, "padded tokens a cell holds at once; halved once when memory runs out", minimum=1
    )


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
