"""`run_paper`: the studies of a paper, one after the other, each into a folder of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from verax.errors import VeraxError, nearest
from verax.papers.paper import Paper
from verax.studies.grid import Study, read_study
from verax.studies.running.run import run, with_hardware
from verax.studies.running.runner import Ran
from verax.studies.running.watching import Silent, Watcher

Watching = Callable[[Study], Watcher]


def chosen_parts(paper: Paper, scale: str, parts: Iterable[str] | None) -> list[str]:
    """Names of the parts of a scale: all, or those named."""
    known = list(paper.studies(scale))
    for name in parts or ():
        if name not in known:
            raise VeraxError(
                f"{paper.name} at scale {scale} has no part {name!r}: {nearest(name, known)}"
            )
    wanted = set(known if parts is None else parts)
    return [name for name in known if name in wanted]


def read_part(
    paper: Paper,
    scale: str,
    part: str,
    *,
    vectors: str | None = None,
    seeds: Iterable[int] | None = None,
    hardware: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> Study:
    """A part as a checked study; `vectors` is the file of word vectors for all its models."""
    changed = {} if vectors is None else {"vectors": vectors}
    source = paper.studies(scale)[part]
    study = read_study(source, seeds=seeds, changed=changed, progress=progress)
    return with_hardware(study, hardware or {})


def run_paper(
    paper: Paper,
    scale: str,
    folder: str | Path,
    *,
    parts: Iterable[str] | None = None,
    vectors: str | None = None,
    seeds: Iterable[int] | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
    watching: Watching = lambda study: Silent(),
    progress: bool = False,
    **hardware: Any,
) -> dict[str, Ran]:
    """Run what is not done yet of a paper's parts, into folder/PART; part → what became of it.

    No cell is begun after `budget` seconds; parts that time does not reach are not in the result.
    `watching` makes a watcher for each study.
    """
    ends = None if budget is None else time.monotonic() + budget
    found = {}
    for part in chosen_parts(paper, scale, parts):
        left = None if ends is None else ends - time.monotonic()
        if left is not None and left <= 0:
            break
        study = read_part(
            paper, scale, part, vectors=vectors, seeds=seeds, hardware=hardware, progress=progress
        )
        found[part] = run(
            study,
            Path(folder) / part,
            budget=left,
            retry_failed=retry_failed,
            watcher=watching(study),
            progress=progress,
        )
    return found
