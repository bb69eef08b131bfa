"""The models of a study: adversaries, the base again, and controls, each trained and kept once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError, WriteError
from verax.files import (
    json_text,
    kept_if_possible,
    refuse_unwritable,
    replace_folder,
    stamp,
    write_table,
    write_text,
)
from verax.models.classifier import AttentionClassifier
from verax.models.guided import GuidedClassifier
from verax.models.saving import FILES, load
from verax.portable import portable
from verax.progress import Display
from verax.schema import parse_json, read_parquet
from verax.studies.adversaries.scores import ADVERSARY, CONTROL, SEED, Model, measured
from verax.training.adversary import as_inherited, refuse_uniform, train_adversary
from verax.training.guided import DEFAULTS as UNENCODED
from verax.training.guided import FIXED as SET_BY_GUIDE
from verax.training.guided import train_guided
from verax.training.preparing import inherit
from verax.training.training import train
from verax.version import __version__

Recipe = dict[str, Any]

UNIFORM = "uniform"
MLP_UNIFORM, MLP_OWN = "mlp-uniform", "mlp-own"
BY_BASE, BY_ADVERSARY = "mlp-guided-by-base", "mlp-guided-by-adversary"
CONTROL_TITLES = {
    MLP_UNIFORM: "mlp, uniform",
    MLP_OWN: "mlp, own",
    BY_BASE: "mlp, guided by base",
    BY_ADVERSARY: "mlp, guided by adversary",
}


def control_title(name: str) -> str:
    """A control in words."""
    return CONTROL_TITLES.get(name, name)


CONTROLS = (UNIFORM, MLP_UNIFORM, MLP_OWN, BY_BASE, BY_ADVERSARY)
SHARED = ("vectors", "max_tokens")
"""Options that reach every model: where a file is and how much is held, not what is trained."""


def recipe_of(base: AttentionClassifier, changed: Mapping[str, Any]) -> Recipe:
    """The options with which the base was trained, but for those given that all models share."""
    if not base.record.get("training"):
        raise VeraxError(
            "the base does not say how it was trained, so that nothing can be trained like it: "
            "leave out retrain and controls",
            code="model.unsuitable-base",
        )
    shared = {name: value for name, value in changed.items() if name in SHARED}
    options, settings = inherit(base, shared, {}, ())
    return {**asdict(options), **asdict(settings)}


def control(name: str, recipe: Recipe) -> Recipe:
    """The options of one of `CONTROLS`; a guided one's are those that its guide does not set.

    uniform                   as the base, but attention is uniform, in training too
    mlp-uniform               each word by itself, without context, under uniform attention
    mlp-own                   the same with attention of its own, by the base's projection
    mlp-guided-by-base        the same under the base's weights
    mlp-guided-by-adversary   the same under those of the adversary chosen
    """
    if name == UNIFORM:
        return {**recipe, "projection": "uniform"}
    options = {**recipe, **UNENCODED, "sentence_encoder": "same"}
    if name == MLP_UNIFORM:
        options["projection"] = "uniform"
    if name in (BY_BASE, BY_ADVERSARY):
        options = {n: v for n, v in options.items() if n not in SET_BY_GUIDE}
    return options


def left_out_of(hierarchical: bool) -> dict[str, str]:
    """Controls that cannot be for a base that is hierarchical, or is not, and why."""
    why = "the base attends sentences, and a guide attends words"
    return dict.fromkeys((BY_BASE, BY_ADVERSARY), why) if hierarchical else {}


def refuse_as_base(base: AttentionClassifier) -> None:
    """Raise an error where a model cannot be a base: it needs attention, trained for its labels."""
    if isinstance(base, GuidedClassifier):
        raise VeraxError(
            "a guided model has no attention of its own: give its guide as the base",
            code="model.unsuitable-base",
        )
    if "adversary" in base.record:
        raise VeraxError(
            "this is an adversary: give the model that it was trained against",
            code="model.unsuitable-base",
        )
    refuse_uniform(base)


NAMES = {ADVERSARY: "adversary", SEED: "retrained"}
"""Of what is made here, where it is not a control's."""

_ASKED, _TABLE = "asked.json", "documents.parquet"
_KEPT = (FILES, {_ASKED, _TABLE})
"""Files of what is kept: of a model, and of what was measured of one."""
_KEY = "study"
_DELETE = "delete it, and what was in it is made again"


class Making:
    """Trains models, puts each away at once, and takes it from there the next time.

    Args:
        base: of the adversaries.
        corpus: that of all models.
        options: of the adversaries.
        recipe: of the base; empty where nothing is trained like it.
        device: where to train.
        progress: as of `train`.
        keep: a folder for what is trained; None keeps nothing.
        begin: called with a model before it is trained.
    """

    def __init__(
        self,
        base: AttentionClassifier,
        corpus: Corpus,
        options: Mapping[str, Any],
        recipe: Recipe,
        device: str,
        progress: bool | Display | None,
        keep: str | Path | None,
        begin: Callable[[Model], None],
    ) -> None:
        self.base, self.corpus, self.recipe, self.begin = base, corpus, recipe, begin
        self._training: dict[str, Any] = {"device": device, "progress": progress}
        model_options, settings = as_inherited(base, options)
        self._whole = {**asdict(model_options), **asdict(settings)}
        self.options = {name: self._whole[name] for name in options}
        self._keep = None if keep is None else Path(keep)
        self._shared = {"base": digest(base), "corpus": corpus.fingerprint, "verax": __version__}
        if self._keep is not None:
            _refuse_unfit(self._keep)

    def measure(self, model: AttentionClassifier, splits: Sequence[str]) -> pd.DataFrame:
        return measured(model, self.base, self.corpus, splits, int(self._whole["max_tokens"]))

    def adversary(self, lam: float, seed: int) -> AttentionClassifier:
        def make() -> AttentionClassifier:
            self.begin(Model(ADVERSARY, NAMES[ADVERSARY], lam, seed))
            how = {**self._training, **self.options}
            return train_adversary(self.base, self.corpus, lam, seed=seed, **how)

        settings = {"adversary": lam, "seed": seed, **_settings(self._whole)}
        return self._model(f"lam{repr(lam).removesuffix('.0')}-seed{seed}", settings, make)

    def again(self, seed: int) -> AttentionClassifier:
        """The base's recipe with another seed."""
        return self._ordinary(Model(SEED, NAMES[SEED], None, seed), "again", self.recipe)

    def control(self, name: str, seed: int) -> AttentionClassifier:
        """A control that is trained as models are, without a guide."""
        model = Model(CONTROL, name, None, seed)
        return self._ordinary(model, _plain(name), control(name, self.recipe))

    def _ordinary(self, model: Model, name: str, recipe: Recipe) -> AttentionClassifier:
        def make() -> AttentionClassifier:
            self.begin(model)
            return train(self.corpus, **{"seed": model.seed, **self._training, **recipe})

        settings = {"seed": model.seed, **_settings(recipe)}
        return self._model(f"{name}-seed{model.seed}", settings, make)

    def guided(
        self, name: str, guide: AttentionClassifier, seed: int, splits: Sequence[str]
    ) -> pd.DataFrame:
        """What is measured of a control with a guide, which cannot be saved itself."""
        recipe = control(name, self.recipe)
        settings = {"guide": digest(guide), "seed": seed, "splits": list(splits)}
        settings = {**self._shared, **settings, **_settings(recipe)}
        folder = None if self._keep is None else self._keep / f"{_plain(name)}-seed{seed}"
        if folder is not None and _is_full(folder):
            try:
                if parse_json((folder / _ASKED).read_bytes()) == settings:
                    return read_parquet((folder / _TABLE).read_bytes(), _TABLE)
            except (OSError, ValueError) as error:
                raise VeraxError(
                    f"{folder} is damaged ({error}): {_DELETE}", code="result.damaged"
                ) from error
        self.begin(Model(CONTROL, name, None, seed))
        model = train_guided(guide, self.corpus, seed=seed, **{**self._training, **recipe})
        table = self.measure(model, splits)

        def write(target: Path) -> None:
            write_table(target / _TABLE, table, index=False, compression="zstd")
            text = json_text(settings, indent=2, allow_nan=False)
            write_text(target / _ASKED, text + "\n")

        if folder is not None:
            with kept_if_possible():
                replace_folder(folder, write, owned=lambda f: _names(f) == {_ASKED, _TABLE})
        return table

    def _model(
        self, name: str, settings: Mapping[str, Any], make: Callable[[], AttentionClassifier]
    ) -> AttentionClassifier:
        """The model kept under this name if it is the one asked for, else one made and kept."""
        if self._keep is None:
            return make()
        folder, settings = self._keep / name, {**self._shared, **settings}
        if _is_full(folder):
            try:
                model = load(folder, device=self._training["device"])
            except VeraxError as error:
                raise VeraxError(
                    f"{folder} is damaged ({error}): {_DELETE}", code="result.damaged"
                ) from error
            if model.record.get(_KEY) == settings:
                return model
        model = make()
        model.record = {**model.record, _KEY: settings}
        with kept_if_possible():
            model.save(folder, overwrite=True)
        return model


def digest(model: AttentionClassifier) -> str:
    """A hash of all that a model's answers depend on."""
    settings = (asdict(model.options), model.classes, model.tokeniser, list(model.vocabulary.words))
    hashed = hashlib.sha256(repr(settings).encode("utf-8", "surrogatepass"))
    for name, value in sorted(model.state_dict().items()):
        hashed.update(name.encode())
        hashed.update(value.detach().cpu().contiguous().numpy().tobytes())
    return hashed.hexdigest()[:16]


def _settings(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they are kept: without what changes no result, and with the file of vectors."""
    options = {name: value for name, value in sorted(recipe.items()) if name != "max_tokens"}
    kept: dict[str, Any] = portable({"options": options, "vectors": stamp(recipe["vectors"])})
    return kept


def _plain(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _is_full(folder: Path) -> bool:
    return folder.exists() and bool(_names(folder))


def _refuse_unfit(folder: Path) -> None:
    """Raise an error, before the work, where something could not be kept in a folder.

    It may hold what was kept before; hidden files are left alone.
    """
    cannot = f"cannot keep models in {folder}"
    if folder.exists() and not folder.is_dir():
        raise VeraxError(f"{cannot}: it is a file, give a folder", code="output.wrong-kind")
    try:
        for path in sorted(folder.iterdir()) if folder.exists() else ():
            if path.name.startswith("."):
                continue
            names = _names(path) if path.is_dir() else {""}
            whole = next((files for files in _KEPT if names <= files), None)
            if whole is None:
                raise VeraxError(
                    f"{cannot}: it holds other files ({path.name}), give a new or an empty folder",
                    code="output.occupied",
                )
            if names and names != whole:
                lacks = ", ".join(sorted(whole - names))
                raise VeraxError(
                    f"{path} is damaged (it lacks {lacks}): {_DELETE}", code="result.damaged"
                )
    except OSError as error:
        raise VeraxError(f"{cannot}: {error.strerror}", code="output.not-writable") from error
    try:
        refuse_unwritable(folder / "model")
    except WriteError as error:
        raise WriteError(str(error).replace("cannot write", "cannot keep models in", 1)) from error
