"""The models of a study: adversaries, the base again, and controls, each trained once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.files import stamp
from verax.models.classifier import AttentionClassifier
from verax.models.guided import GuidedClassifier
from verax.progress import Display
from verax.studies.adversaries.keeping import Keeping, digest
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
            "leave out retrain and controls"
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


def left_out(base: AttentionClassifier) -> dict[str, str]:
    """Controls that cannot be, and why."""
    return left_out_of(base.options.hierarchical)


def left_out_of(hierarchical: bool) -> dict[str, str]:
    """Controls that cannot be for a base that is hierarchical, or is not, and why."""
    if not hierarchical:
        return {}
    why = "the base attends sentences, and a guide attends words"
    return dict.fromkeys((BY_BASE, BY_ADVERSARY), why)


def refuse_as_base(base: AttentionClassifier) -> None:
    """Raise an error where a model cannot be a base: it needs attention, trained for its labels."""
    if isinstance(base, GuidedClassifier):
        raise VeraxError("a guided model has no attention of its own: give its guide as the base")
    if "adversary" in base.record:
        raise VeraxError("this is an adversary: give the model that it was trained against")
    refuse_uniform(base)


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
