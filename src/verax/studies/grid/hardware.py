"""Options for the machines that a study runs on; they change no result."""

from __future__ import annotations

from dataclasses import dataclass

from verax.options import option

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Hardware:
    engine: str = option("local", "processes of this machine, or a Ray cluster", choices=ENGINES)
    workers: int | None = option(
        None, "cells at once (one a core; on GPUs as many as cells-per-gpu says)", minimum=1
    )
    device: str = option("auto", "auto, cpu, cuda or cuda:1")
    threads: int = option(
        1, "threads of each cell on a CPU: more may change last digits", minimum=1
    )
    cells_per_gpu: int | None = option(
        None, "cells that share a GPU (1; with MPS one a core but one, 12 at most)", minimum=1
    )
    mps: bool = option(False, "start NVIDIA MPS if it does not run, and stop it in the end")
    address: str | None = option(
        None, "address of a Ray cluster, such as 10.0.0.1:6379 or auto (start one here)"
    )
    max_tokens: int | None = option(
        None, "padded tokens a cell holds at once; halved once when memory runs out", minimum=1
    )
