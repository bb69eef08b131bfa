"""Loose Python files that register exams, importances, encoders or projections.

A file is kept with its content, so that workers import it, too, on machines that lack the file.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.abc import SourceLoader
from pathlib import Path
from types import ModuleType

from verax.errors import VeraxError, foreign_code


@dataclass(frozen=True)
class PluginFile:
    """A Python file by its absolute path, and its content."""

    path: str
    source: bytes = field(repr=False)

    @property
    def module(self) -> str:
        """The name it is imported by."""
        return Path(self.path).stem


_IMPORTED: dict[PluginFile, ModuleType] = {}


def import_file(path: str) -> None:
    """Import a Python file as a module of its name.

    Args:
        path: the file.
    """
    file = Path(path).resolve()
    if not file.is_file() or file.suffix != ".py":
        raise VeraxError(
            f"cannot import {path}: expected a Python file, such as my_exam.py",
            code="plugin.import-failed",
        )
    try:
        import_plugins([PluginFile(str(file), file.read_bytes())])
    except OSError as error:
        raise VeraxError(
            f"cannot import {path}: {error.strerror}", code="plugin.import-failed"
        ) from error


def imported_plugins() -> tuple[PluginFile, ...]:
    """The files that this process has imported."""
    return tuple(f for f, module in _IMPORTED.items() if sys.modules.get(f.module) is module)


def import_plugins(files: Iterable[PluginFile]) -> None:
    """Import files that another process has read; one that is imported already stays as it is."""
    for file in files:
        known = sys.modules.get(file.module)
        if known is None:
            _IMPORTED[file] = _imported(file)
        elif getattr(known, "__file__", None) != file.path:
            raise VeraxError(
                f"cannot import {file.module}.py: a module {file.module!r} is imported already, "
                "rename the file",
                code="plugin.import-failed",
            )


def _imported(file: PluginFile) -> ModuleType:
    loader = _KeptSource(file)
    spec = importlib.util.spec_from_loader(file.module, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.module] = module
    try:
        with foreign_code(f"cannot import {file.module}.py", code="plugin.import-failed"):
            loader.exec_module(module)
    except VeraxError:
        del sys.modules[file.module]
        raise
    return module


class _KeptSource(SourceLoader):
    """Imports a file from its content."""

    def __init__(self, file: PluginFile) -> None:
        self._file = file

    def get_filename(self, fullname: str) -> str:
        return self._file.path

    def get_data(self, path: str | bytes) -> bytes:
        return self._file.source
