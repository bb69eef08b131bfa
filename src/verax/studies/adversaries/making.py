"""The models of a study: adversaries, the base again, and controls, each trained once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.files import stamp
from verax.models.classifier import AttentionClassifier
from verax.progress import Display
from verax.studies.adversaries.keeping import Keeping, digest
from verax.studies.adversaries.measuring import ADVERSARY, CONTROL, SEED, Model, measured
from verax.studies.adversaries.recipes import Recipe, control
from verax.training.adversary import as_inherited, train_adversary
from verax.training.guided import train_guided
from verax.training.training import train
from verax.version import __version__

NAMES = {ADVERSARY: "adversary", SEED: "retrained"}
"""Of what is made here, where it is not a control's."""


@dataclass(frozen=True, eq=False)
class Making:
    """Trains what is not yet kept.

    options  of the adversaries, checked, in the types that options have
    recipe   of the base; empty where nothing is trained like it
    begin    called with a model before it is trained
    """

    base: AttentionClassifier
    corpus: Corpus
    options: Mapping[str, Any]
    recipe: Recipe
    max_tokens: int
    device: str
    progress: bool | Display | None
    keeping: Keeping
    begin: Callable[[Model], None]
    _whole: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        base: AttentionClassifier,
        corpus: Corpus,
        options: Mapping[str, Any],
        recipe: Recipe,
        device: str,
        progress: bool | Display | None,
        keep: str | Path | None,
        begin: Callable[[Model], None],
    ) -> Making:
        model_options, settings = as_inherited(base, options)
        whole = {**asdict(model_options), **asdict(settings)}
        shared = {"base": digest(base), "corpus": corpus.fingerprint, "verax": __version__}
        keeping = Keeping(None if keep is None else Path(keep), device, shared)
        keeping.refuse_unfit()
        checked = {name: whole[name] for name in options}
        budget = int(whole["max_tokens"])
        return cls(base, corpus, checked, recipe, budget, device, progress, keeping, begin, whole)

    @property
    def _training(self) -> dict[str, Any]:
        return {"device": self.device, "progress": self.progress}

    def measure(self, model: AttentionClassifier, splits: Sequence[str]) -> pd.DataFrame:
        return measured(model, self.base, self.corpus, splits, self.max_tokens)

    def adversary(self, lam: float, seed: int) -> AttentionClassifier:
        def make() -> AttentionClassifier:
            self.begin(Model(ADVERSARY, NAMES[ADVERSARY], lam, seed))
            how = {**self._training, **self.options}
            return train_adversary(self.base, self.corpus, lam, seed=seed, **how)

        settings = {"adversary": lam, "seed": seed, **_settings(self._whole)}
        name = f"lam{repr(lam).removesuffix('.0')}-seed{seed}"
        return self.keeping.model(name, settings, make)

    def again(self, seed: int) -> AttentionClassifier:
        """The base's recipe with another seed."""
        model = Model(SEED, NAMES[SEED], None, seed)
        return self._ordinary(model, f"again-seed{seed}", self.recipe)

    def control(self, name: str, seed: int) -> AttentionClassifier:
        """A control that is trained as models are, without a guide."""
        model = Model(CONTROL, name, None, seed)
        return self._ordinary(model, f"{_plain(name)}-seed{seed}", control(name, self.recipe))

    def guided(
        self, name: str, guide: AttentionClassifier, seed: int, splits: Sequence[str]
    ) -> pd.DataFrame:
        """What is measured of a control with a guide, which cannot be saved itself."""
        recipe = control(name, self.recipe)

        def make() -> pd.DataFrame:
            self.begin(Model(CONTROL, name, None, seed))
            how = {**self._training, **recipe}
            return self.measure(train_guided(guide, self.corpus, seed=seed, **how), splits)

        settings = {"guide": digest(guide), "seed": seed, "splits": list(splits)}
        settings |= _settings(recipe)
        return self.keeping.table(f"{_plain(name)}-seed{seed}", settings, make)

    def _ordinary(self, model: Model, name: str, recipe: Recipe) -> AttentionClassifier:
        def make() -> AttentionClassifier:
            self.begin(model)
            return train(self.corpus, **{"seed": model.seed, **self._training, **recipe})

        return self.keeping.model(name, {"seed": model.seed, **_settings(recipe)}, make)


def _settings(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they are kept: without what changes no result, and with the file of vectors."""
    options = {name: value for name, value in sorted(recipe.items()) if name != "max_tokens"}
    return {"options": options, "vectors": stamp(recipe["vectors"])}


def _plain(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")
