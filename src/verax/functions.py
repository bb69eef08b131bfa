"""Functions that files and calls name as text: `"package.module:function"`, `"file.py:function"`.

`resolve` imports one. `FunctionCode` also carries the source files that define it, so that a
process on another machine can run it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from verax.errors import VeraxError, foreign_code, nearest
from verax.plugin_files import import_file

_NAME = re.compile(r"(?P<module>[\w.]+|.+\.py):(?P<function>[A-Za-z_]\w*)")
_INSTALLED = re.compile(r"[\\/](site|dist)-packages[\\/]")


def resolve(name: str) -> tuple[Callable[..., Any], int]:
    """Import a function by its name.

    Args:
        name: `package.module:function` for a module on the import path, or `file.py:function`
            for a file.

    Returns:
        The function and its version: its attribute `version`, 1 by default. Increase it when a
        change to the function changes its results.

    >>> resolve("math:sqrt")
    (<built-in function sqrt>, 1)
    """
    module, function = _split(name)
    if module.endswith(".py"):
        import_file(module)
        module = Path(module).stem
    return _function(module, function)


def portable_function(name: str) -> str:
    """Return the name of a function without the folders of its file.

    >>> portable_function("/home/me/coin.py:flip"), portable_function("math:sqrt")
    ('coin.py:flip', 'math:sqrt')
    """
    module, function = _split(name)
    return f"{Path(module).name if module.endswith('.py') else module}:{function}"


def _split(name: str) -> tuple[str, str]:
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or match["module"] == "__main__":
        raise VeraxError(
            f"{name!r} does not name a function: expected 'package.module:function' or "
            "'file.py:function'",
            code="option.malformed",
        )
    return match["module"], match["function"]


def _function(module: str, name: str) -> tuple[Callable[..., Any], int]:
    with foreign_code(f"cannot import {module}", code="plugin.import-failed"):
        functions = vars(import_module(module))
    function = functions.get(name)
    if not callable(function):
        names = [n for n, value in functions.items() if callable(value) and not n.startswith("_")]
        advice = nearest(name, names) if names else "it defines no function"
        raise VeraxError(
            f"{module} has no function {name!r}: {advice}", code="option.unknown-value"
        )
    version = getattr(function, "version", 1)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise VeraxError(
            f"the version of {module}:{name} is {version!r:.40}: expected a whole number from 1",
            code="option.out-of-range",
        )
    return function, version


@dataclass(frozen=True)
class SourceFile:
    """A module's source, with the path that tracebacks show."""

    module: str
    path: str
    is_package: bool
    source: bytes = field(repr=False)


@dataclass(frozen=True)
class FunctionCode:
    """A function by name, with the source files that define it.

    These are all `.py` files of its top-level package, or its one file. Installed packages are not
    included: processes that run the function need them installed, too.
    """

    module: str
    function: str
    files: Sequence[SourceFile] = ()

    @classmethod
    def of(cls, name: str) -> FunctionCode:
        """Return the code of a function that `resolve` finds in this process."""
        resolve(name)
        module, function = _split(name)
        if module.endswith(".py"):
            path = Path(module).resolve()
            file = SourceFile(path.stem, str(path), False, path.read_bytes())
            return cls(path.stem, function, (file,))
        return cls(module, function, tuple(_sources(sys.modules[module.partition(".")[0]])))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the source."""
        parts = sorted((file.module.encode(), file.source) for file in self.files)
        return hashlib.sha256(repr((self.module, self.function, parts)).encode()).hexdigest()

    def load(self) -> Callable[..., Any]:
        """Return the function, imported from the source files unless its module is imported."""
        if self.files and self.module not in sys.modules:
            sys.meta_path.insert(0, _SourceFinder(self.files))
        return _function(self.module, self.function)[0]


def _sources(module: ModuleType) -> Iterator[SourceFile]:
    """The source files of a top-level module or package that is not installed."""
    origin = getattr(module, "__file__", None)
    standard = sysconfig.get_paths()["stdlib"]
    if origin is None or module.__name__ == "verax":
        return
    path = Path(origin).resolve()
    if _INSTALLED.search(str(path)) or path.is_relative_to(standard) or path.suffix != ".py":
        return
    if path.name != "__init__.py":
        yield SourceFile(module.__name__, str(path), False, path.read_bytes())
        return
    for file in sorted(path.parent.rglob("*.py")):
        parts = (module.__name__, *file.relative_to(path.parent).with_suffix("").parts)
        if all(part.isidentifier() for part in parts):
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            yield SourceFile(name, str(file), is_package, file.read_bytes())


class _SourceFinder(MetaPathFinder):
    """Finds modules among source files that another process has read."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._files = {file.module: file for file in files}

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        file = self._files.get(fullname)
        if file is None:
            return None
        folders = [str(Path(file.path).parent)] if file.is_package else None
        return importlib.util.spec_from_file_location(
            fullname, file.path, loader=_Loader(file), submodule_search_locations=folders
        )


class _Loader(SourceLoader):
    def __init__(self, file: SourceFile) -> None:
        self._file = file

    def get_filename(self, fullname: str) -> str:
        return self._file.path

    def get_data(self, path: str | bytes) -> bytes:
        return self._file.source
