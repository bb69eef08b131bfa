"""`unpack`: a store again, from a packed study."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from verax.errors import VeraxError
from verax.files import replace_folder
from verax.progress import Progress
from verax.studies.store.folders import SCRATCH, StorageFolder, storage_folder
from verax.studies.store.manifests import MODEL, VERDICT, as_json, table_file
from verax.studies.store.packed import PackedSource, is_packed
from verax.studies.store.results import StudyResults, open_study
from verax.studies.store.rows import parquet_bytes
from verax.studies.store.sources import DONE
from verax.studies.store.store import STORE, Store


def unpack(
    packed: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    filesystem: Any = None,
    progress: bool = False,
) -> StudyResults:
    """Make a store of a packed study: same tables, facts and failures, every cell complete.

    `filesystem` is where the packed study is. `out` is a new or an empty folder, or a URL; on this
    machine it is there all at once.
    """
    where, target = storage_folder(packed, filesystem), storage_folder(out)
    if where.exists(STORE) and not is_packed(where):
        raise VeraxError(f"{where.shown} is not packed: it can be opened and run as it is")
    source = PackedSource(where)
    with Progress(progress) as display:
        watch = display.watching("unpacking cells")
        if target.local is not None:
            replace_folder(
                target.local,
                lambda folder: _fill(storage_folder(folder), source, watch),
                owned=lambda folder: False,
            )
        elif target.names():
            raise VeraxError(
                f"cannot write {target.shown}: it holds other files, give a new or an empty folder"
            )
        else:
            _fill(target, source, watch)
    return open_study(target)


def _fill(
    where: StorageFolder, source: PackedSource, watch: Callable[[Iterable[Any]], Iterable[Any]]
) -> None:
    with where.writing():
        where.write_bytes(STORE, as_json(source.store) + b"\n")  # who made it is not who unpacks it
    store = Store.create(where, str(source.store["name"]), source.study, source.resolved)
    names = sorted({name for state in source.states.values() for name in state.tables})
    with ExitStack() as stack:
        opened = {name: stack.enter_context(source.rows(name)) for name in names}
        for key, state in watch(source.states.items()):
            if state.failure is not None:
                store.fail(key, state.failure)
            if state.status != DONE:
                continue
            files = {}
            for name in state.tables:
                files[table_file(name)] = parquet_bytes(source.table(key, name, opened[name]))
            verdict = source.verdict_text(key)
            if verdict is not None:
                files[VERDICT] = verdict.encode()
            files |= source.others(key)
            files |= {f"{MODEL}/{name}": data for name, data in source.model(key).items()}
            store.commit(key, state.config, files, state.facts, state.left_out)
    if where.local is not None:
        shutil.rmtree(where.local / SCRATCH, ignore_errors=True)
