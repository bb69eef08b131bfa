"""Studies run without workers: each cell where the test is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.internals import Runner
from verax.studies import Hardware, HereEngine, Store, read_study


class InProcess(HereEngine):
    """The engine of this process, whatever hardware is asked for."""

    def __init__(self, hardware: Hardware | None = None) -> None:
        super().__init__("cpu")


def run_here(study: Mapping[str, Any], folder: Path) -> Any:
    read = read_study(study)
    store = Store.create(folder, read.name, read.text, read.resolved())
    runner = Runner(read, store)
    return runner.run(InProcess(), runner.pending())
