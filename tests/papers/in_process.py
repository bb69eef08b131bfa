"""Studies run without workers: each cell where the test is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verax.studies.engines.local import HereEngine
from verax.studies.grid import read_study
from verax.studies.grid.study import Hardware
from verax.studies.running.runner import Runner
from verax.studies.running.watching import Ran
from verax.studies.store.store import Store


class InProcess(HereEngine):
    """The engine of this process, whatever hardware is asked for."""

    def __init__(self, hardware: Hardware | None = None) -> None:
        super().__init__("cpu")


def run_here(study: Mapping[str, Any], folder: Path) -> Ran:
    read = read_study(study)
    store = Store.create(folder, read.name, read.text, read.resolved())
    runner = Runner(read, store)
    return runner.run(InProcess(), runner.pending())
