"""Python code of users: plugin files, and functions named as `module:function`.

Each file is kept with its content, so that worker processes and nodes of a cluster can import it
without having the file.
"""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

from verax.errors import VeraxError, foreign_code


@dataclass(frozen=True)
class PluginFile:
    """A Python file with its content.

    Attributes:
        path: its absolute path.
        source: its content.
        name: the full name of a module of a package; None for a loose file.
    """

    path: str
    source: bytes = field(repr=False)
    name: str | None = None

    @property
    def module(self) -> str:
        """The name by which the file is imported."""
        return self.name or Path(self.path).stem


_IMPORTED: dict[PluginFile, ModuleType] = {}
_MODULES: dict[str, PluginFile] = {}
"""Modules of functions that `resolve` has imported, by name, with the rest of their packages."""


def resolve(name: str) -> tuple[Callable[..., Any], int]:
    """Import the function that a name stands for.

    The module is sent along to worker processes and cluster nodes, together with its package, if
    it belongs to one, unless it is installed.

    Args:
        name: `package.module:function`, or `file.py:function` for a function in a loose file.

    Returns:
        The function, and its version: its attribute `version`, 1 by default. Change the version
        whenever the function returns something else for the same input.

    Raises:
        VeraxError: the name is malformed, the module cannot be imported, or it has no such
            function.

    >>> resolve("math:sqrt")
    (<built-in function sqrt>, 1)
    """
    source, _, attribute = name.rpartition(":")
    if not source or not attribute.isidentifier():
        raise VeraxError(
            f"{name!r:.80} names no function: write package.module:function, or file.py:function",
            code="option.malformed",
        )
    module = _module_of_file(source) if source.endswith(".py") else _module(source)
    function = getattr(module, attribute, None)
    if not callable(function):
        raise VeraxError(
            f"{source} has no function {attribute!r}: define it, or correct its name",
            code="option.unknown-value",
        )
    version = getattr(function, "version", 1)
    if not isinstance(version, int) or version < 1:
        raise VeraxError(
            f"the version of {name} is {version!r:.40}: expected a whole number from 1",
            code="plugin.invalid",
        )
    return function, version


def function_identity(name: str) -> dict[str, Any]:
    """Return a function's name and version, as they enter the keys of results.

    Folders before the name of a file are left out, so that keys are the same everywhere.

    >>> function_identity("math:sqrt")
    {'function': 'math:sqrt', 'version': 1}
    """
    _, version = resolve(name)
    source, _, attribute = name.rpartition(":")
    source = PurePath(source).name if source.endswith(".py") else source
    return {"function": f"{source}:{attribute}", "version": version}


def _module_of_file(path: str) -> ModuleType:
    file = Path(path)
    if not file.is_file():  # on another machine, where the file was sent along
        for sent, module in _IMPORTED.items():
            if Path(sent.path).name == file.name and sys.modules.get(sent.module) is module:
                return module
    import_file(path)
    return sys.modules[file.stem]


def _module(name: str) -> ModuleType:
    with foreign_code(f"cannot import {name}", code="plugin.import-failed"):
        module = importlib.import_module(name)
        if name not in _MODULES:
            _MODULES.update({file.module: file for file in _files_of(name)})
    return module


def _files_of(name: str) -> Sequence[PluginFile]:
    """Return the files that another machine needs to import a module: none if it is installed."""
    root = name.partition(".")[0]
    package = sys.modules[root]
    folders = [Path(folder) for folder in getattr(package, "__path__", ())]
    file = getattr(package, "__file__", None)
    start = Path(file) if file else None
    if root == "verax" or _is_installed([*folders, *([start] if start else [])]):
        return []
    files = [] if start is None else [PluginFile(str(start), start.read_bytes(), root)]
    if start is None:  # a folder without __init__.py
        files = [PluginFile(str(folders[0] / "__init__.py"), b"", root)]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if parts and all(part.isidentifier() for part in parts):
                files.append(PluginFile(str(path), path.read_bytes(), ".".join((root, *parts))))
    return files


def _is_installed(paths: Iterable[Path]) -> bool:
    known = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return all(
        {"site-packages", "dist-packages"} & set(path.parts)
        or any(path.is_relative_to(folder) for folder in known)
        for path in paths
    )


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
    """Return the files that workers of this process need."""
    loose = (f for f, module in _IMPORTED.items() if sys.modules.get(f.module) is module)
    return *loose, *_MODULES.values()


def import_plugins(files: Iterable[PluginFile]) -> None:
    """Import files that another process has read; one that is imported already stays as it is.

    A module of a package is imported only when it is used.
    """
    for file in files:
        if file.name is not None:
            if file.name not in _MODULES:
                _MODULES[file.name] = file
                if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
                    sys.meta_path.insert(0, _Finder())
            continue
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


class _Finder(MetaPathFinder):
    """Finds the modules that another process has sent."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        file = _MODULES.get(fullname)
        if file is None:
            return None
        return importlib.util.spec_from_loader(fullname, _KeptSource(file), origin=file.path)
