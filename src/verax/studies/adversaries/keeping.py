"""Trained once: what a study trains is put away at once, and taken from there the next time."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from verax.errors import VeraxError
from verax.files import replace_folder, write_text
from verax.models.classifier import AttentionClassifier
from verax.models.saving import FILES, load

_ASKED, _TABLE = "asked.json", "documents.parquet"
_KEPT = (FILES, {_ASKED, _TABLE})
"""Files of what is kept: of a model, and of what was measured of one."""

_KEY = "study"
_DELETE = "delete it, and what was in it is made again"


@dataclass(frozen=True, eq=False)
class Keeping:
    """A folder for what is trained; None keeps nothing.

    shared  what all of it depends on: the base, the corpus, the version
    """

    folder: Path | None
    device: str
    shared: Mapping[str, Any]

    def refuse_unfit(self) -> None:
        """Raise an error, before the work, where something could not be kept."""
        if self.folder is None:
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise VeraxError(f"cannot keep models in {self.folder}: it is a file, give a folder")
        above = next(path for path in self.folder.absolute().parents if path.exists())
        try:
            if self.folder.exists():
                _refuse_others(self.folder)
                above = self.folder
            shutil.rmtree(tempfile.mkdtemp(prefix=".", dir=above))
        except OSError as error:
            raise VeraxError(
                f"cannot keep models in {self.folder}: nothing can be written in {above} "
                f"({error.strerror})"
            ) from error

    def model(
        self, name: str, settings: Mapping[str, Any], make: Callable[[], AttentionClassifier]
    ) -> AttentionClassifier:
        """The model kept under this name if it is the one asked for, else one made and kept."""
        if self.folder is None:
            return make()
        folder, settings = self.folder / name, {**self.shared, **settings}
        if folder.exists() and any(folder.iterdir()):
            try:
                model = load(folder, device=self.device)
            except VeraxError as error:
                raise VeraxError(f"{folder} is damaged ({error}): {_DELETE}") from error
            if model.record.get(_KEY) == settings:
                return model
        model = make()
        model.record = {**model.record, _KEY: settings}
        model.save(folder, overwrite=True)
        return model

    def table(
        self, name: str, settings: Mapping[str, Any], make: Callable[[], pd.DataFrame]
    ) -> pd.DataFrame:
        """The table kept under this name if it is the one asked for, else one made and kept."""
        if self.folder is None:
            return make()
        folder, settings = self.folder / name, {**self.shared, **settings}
        if folder.exists() and any(folder.iterdir()):
            try:
                if json.loads((folder / _ASKED).read_text(encoding="utf-8")) == settings:
                    return pd.read_parquet(folder / _TABLE)
            except (OSError, ValueError) as error:
                raise VeraxError(f"{folder} is damaged ({error}): {_DELETE}") from error
        made = make()

        def write(target: Path) -> None:
            made.to_parquet(target / _TABLE, index=False, compression="zstd")
            text = json.dumps(settings, indent=2, ensure_ascii=False, allow_nan=False)
            write_text(target / _ASKED, text + "\n")

        replace_folder(folder, write, owned=_is_only_a_table)
        return made


def digest(model: AttentionClassifier) -> str:
    """A hash of all that a model's answers depend on."""
    settings = (asdict(model.options), model.classes, model.tokeniser, list(model.vocabulary.words))
    hashed = hashlib.sha256(repr(settings).encode("utf-8", "surrogatepass"))
    for name, value in sorted(model.state_dict().items()):
        hashed.update(name.encode())
        hashed.update(value.detach().cpu().contiguous().numpy().tobytes())
    return hashed.hexdigest()[:16]


def _is_only_a_table(folder: Path) -> bool:
    return {path.name for path in folder.iterdir()} == {_ASKED, _TABLE}


def _refuse_others(folder: Path) -> None:
    """Raise an error where a folder holds something else; hidden files are left alone."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        names = {file.name for file in path.iterdir()} if path.is_dir() else {""}
        whole = next((files for files in _KEPT if names <= files), None)
        if whole is None:
            raise VeraxError(
                f"cannot keep models in {folder}: it holds other files ({path.name}), give a new "
                "or an empty folder"
            )
        if names and names != whole:
            lacks = ", ".join(sorted(whole - names))
            raise VeraxError(f"{path} is damaged (it lacks {lacks}): {_DELETE}")
