"""A classifier from what names it: a saved model, `hf:` and a folder, or a function in a file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verax.errors import VeraxError, foreign_code
from verax.models.kinds import KINDS
from verax.models.saving import load

HF = "hf:"
"""What comes before the folder of a Hugging Face model."""


def open_classifier(source: str | Path, device: str = "auto", **options: Any) -> Any:
    """The classifier that a name stands for.

    Args:
        source: the folder of a model that Verax saved; `hf:FOLDER`; or `FILE.py:NAME`, a function
            without arguments that gives a classifier. The file is run.
        device: auto, cpu, cuda; a function puts its model where it likes.
        options: keywords of `from_transformers`, for a Hugging Face model.
    """
    if isinstance(source, str) and source.startswith(HF):
        from verax.external.loading import from_transformers

        return from_transformers(source.removeprefix(HF), device=device, **options)
    if options:
        raise VeraxError(
            f"{', '.join(options)} cannot be set for {source}: that is for Hugging Face models, "
            "which are named hf:FOLDER",
            code="option.not-applicable",
        )
    found = function_in(source)
    return load(source, device=device) if found is None else _made(*found)


def is_outside(source: Any) -> bool:
    """Whether a name stands for a model that Verax did not save."""
    return isinstance(source, str) and (source.startswith(HF) or function_in(source) is not None)


def function_in(source: str | Path) -> tuple[Path, str] | None:
    """The file and the function that `FILE.py:NAME` names; None for anything else."""
    if not isinstance(source, str):
        return None
    if source.endswith(".py") and Path(source).is_file():
        raise VeraxError(
            f"{source} is a file: name the function in it, as in {source}:make",
            code="option.malformed",
        )
    file, _, name = source.rpartition(":")
    return (Path(file), name) if file.endswith(".py") else None


def _made(file: Path, name: str) -> Any:
    """What the function of that name gives, once it is a classifier."""
    if not file.is_file():
        raise VeraxError(
            f"no file {file}: name a Python file and a function, as in {file}:make",
            code="file.missing",
        )
    function = _contents(file).get(name)
    if not callable(function):
        raise VeraxError(
            f"{file} has no function {name!r}: define it, without arguments", code="model.missing"
        )
    with foreign_code(f"{file}:{name} failed"):
        model = function()
    if getattr(model, "kind", None) not in KINDS:
        raise VeraxError(
            f"{file}:{name} gave a {type(model).__name__}: expected a classifier of verax.train, "
            "from_pooled, from_transformers or from_predict",
            code="model.wrong-type",
        )
    return model


def _contents(file: Path) -> Mapping[str, Any]:
    """What a file defines, once it is run; it may import its neighbours."""
    spec = importlib.util.spec_from_file_location(file.stem, file.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.resolve().parent))
    try:
        with foreign_code(f"cannot run {file}"):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.resolve().parent))
    return vars(module)
