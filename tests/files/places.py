"""A folder in which a capability writes, as often as it is needed, with or without a fault."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from capabilities import NEW, OLD, Capability
from faults import ERROR, INTERRUPTED, Call, Faults, every_path, is_temporary, temporary, tree

from support.storage import start_again
from verax.studies import Store

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""A folder in memory, where there is such a filesystem: thousands of files are written."""
PLAN = "resolved.json"
"""Written twice in a run, because it has the configurations of cells that are not finished."""
MANY = 35
"""Calls from which on an error and Ctrl-C are tried in turn, as in all commands, not both."""


class Place:
    """A folder that a capability has written before, or has not, as often as it is needed.

    Attributes:
        calls: the calls by which the new version is written, without a fault.
        dead: what is on the disk before each of these calls: what kill -9 would leave there.
    """

    def __init__(
        self, folder: Path, capability: Capability, has_old: bool = True, exchanges: bool = True
    ) -> None:
        self.work, self._template = folder / "work", folder / "template"
        self._capability, self._exchanges = capability, exchanges
        self.dead: list[tuple[str, Path]] = []
        self._state: object = None
        self._found_whole: list[dict[str, bytes]] = []
        self._template.mkdir()
        if has_old:
            self._write(self._template, OLD)
            capability.opens(self._template)
        self.old = tree(self._template)
        self.again()
        recorder = Faults(self.work, exchanges=exchanges, before=self._keep)
        with recorder.injected():
            self._write(self.work, NEW)
        assert recorder.unseen == [], "a call that the injector does not replace"
        self.calls = recorder.calls
        self.new = tree(self.work)
        assert self.new != self.old
        capability.opens(self.work)
        assert _left(self.work) == []

    def _write(self, folder: Path, version: str) -> None:
        """Write; pages have no charts, as without the extra `report`, unless charts are written."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(folder.parent))
            if not self._capability.drawn:
                patch.setitem(sys.modules, "altair", None)
            self._capability.write(folder, version)

    def _keep(self, call: Call) -> None:
        """Copy the folder as it is before a call, if it has changed since the last."""
        found = [(path, os.lstat(self.work / path)) for path in every_path(self.work)]
        state = [(p, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for p, s in found]
        if not self.dead or state != self._state:
            kept = self.work.with_name(f"dead-{len(self.dead)}")
            shutil.copytree(self.work, kept)
            self.dead.append((f"{call.name} {call.paths}", kept))
        self._state = state

    def again(self) -> None:
        """Make the folder what it was before anything was written."""
        if not self.work.exists() or tree(self.work) != self.old or temporary(self.work):
            shutil.rmtree(self.work, ignore_errors=True)
            shutil.copytree(self._template, self.work)

    def goes_wrong(self, at: int, how: str) -> BaseException | None:
        """Write with a fault at one call; returns what is raised, once all is found whole."""
        self.again()
        raised = None
        faults = Faults(self.work, at, how, self._exchanges)
        try:
            with faults.injected():
                self._write(self.work, NEW)
        except BaseException as error:
            raised = error
        assert len(faults.calls) >= at
        self.check(self.work, f"{how} at call {at} of {len(self.calls)}", raised)
        return raised

    def check(self, folder: Path, where: str, why: object = None, same_run: bool = False) -> None:
        """Once another command has begun there, all is old or all is new, and nothing else."""
        start_again(folder)
        assert _left(folder) == [], where
        assert self._is_whole(folder, same_run), (where, why)

    def _is_whole(self, folder: Path, same_run: bool) -> bool:
        told, found = self._capability, tree(folder)
        if found in (self.old, self.new):
            return True
        if told.parts and found in self._found_whole:
            return True
        if told.parts:  # some are old and some new, each of them whole
            known = {**self.old, **self.new}
            told.opens(folder)
            whole = all(
                name in known
                and (
                    not same_run
                    or data in (self.old.get(name), self.new.get(name))
                    or (Path(name).name == PLAN and self._is_plan(folder / name, name))
                )
                for name, data in found.items()
            )
            self._found_whole += [found] * whole
            return whole
        found, new = ({n: v for n, v in some.items() if Path(n).name not in told.late}
                      for some in (found, self.new))  # fmt: skip
        if told.timed and not same_run and found.keys() == new.keys():
            told.opens(folder)
            return True
        return found == new

    def _is_plan(self, file: Path, name: str) -> bool:
        """Whether a plan is of the cells of old or new, some of which may not be finished yet."""
        Store.open(file.parent).resolved()  # compares its checksum
        known = (some[name] for some in (self.old, self.new) if name in some)
        return _planned(file.read_bytes()) in map(_planned, known)

    def check_killed(self) -> None:
        """Kill -9 before any call leaves old or new, and the next run sweeps what it left."""
        seen: set[tuple[str, ...]] = {()}
        for where, kept in self.dead:
            kinds = tuple(sorted({_kind(name) for name in temporary(kept)} - {".scratch"}))
            if kinds not in seen and not self._capability.slow:
                seen.add(kinds)
                shutil.rmtree(self.work, ignore_errors=True)
                shutil.copytree(kept, self.work)
                start_again(kept)
                if not (self._capability.once and tree(kept) == self.new):
                    self._write(self.work, NEW)
                    self._capability.opens(self.work)
                    assert _left(self.work) == [], (where, "the next run sweeps it")
                    assert tree(self.work).keys() == self.new.keys()
            self.check(kept, f"killed before {where}", same_run=True)

    def chosen(self) -> Iterator[tuple[int, str]]:
        """Call and fault: every call, or one where the command writes most."""
        if not self._capability.slow:
            is_command = self._capability.names[0].startswith("verax ")
            for at in range(1, len(self.calls) + 1):
                yield at, (ERROR, INTERRUPTED)[at % 2]
                if len(self.calls) <= MANY and not is_command:
                    yield at, (INTERRUPTED, ERROR)[at % 2]
            return
        lines: dict[object, list[int]] = {}
        for at, call in enumerate(self.calls, 1):
            lines.setdefault(call.frames[-2:], []).append(at)
        most = max(lines.values(), key=len)
        yield most[len(most) // 2], (ERROR, INTERRUPTED)[len(self.calls) % 2]


def _left(folder: Path) -> list[str]:
    """What a writer left, but for the empty folders in which stores write."""
    return [name for name in temporary(folder) if not name.endswith(".scratch")]


def _planned(plan: bytes) -> list[str]:
    """The keys of a plan's cells."""
    return list(json.loads(plan)["cells"])


def _kind(name: str) -> str:
    """What is left, without its random name: a file or folder and what stands in it."""
    parts = Path(re.sub(r"[0-9a-f]{16,}", "*", name)).parts
    first = next(n for n, part in enumerate(parts) if is_temporary(part))
    return "/".join(parts[first : first + 2])
