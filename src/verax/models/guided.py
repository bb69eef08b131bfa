"""A classifier whose attention is another model's (Wiegreffe & Pinter 2019, section 3.4)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.vocabulary import Vocabulary
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.layers import fingerprint
from verax.models.options import READING, ModelOptions


class GuidedClassifier(AttentionClassifier):
    """Pools its own items by the weights that a guide gives the same text.

    Whether attention holds something beyond the model it was trained in: a model that sees each
    word by itself looks where the guide does. The guide is any flat classifier with the same
    vocabulary, tokenizer and boundaries. A copy of it is kept, which is read without dropout and
    without a gradient, follows the model from device to device, and is no part of its parameters
    or state.
    It has attention parameters and does not use them; its projection is the guide's.
    """

    words_are_items = False
    known_readout = None

    def __init__(
        self,
        options: ModelOptions,
        vocabulary: Vocabulary,
        classes: Sequence[str],
        *,
        guide: AttentionClassifier,
    ) -> None:
        theirs = guide.options
        options = replace(options, projection=theirs.projection, lam=theirs.lam, alpha=theirs.alpha)
        super().__init__(options, vocabulary, classes)
        _refuse_strangers(self, guide)
        shared = {id(guide.vocabulary): guide.vocabulary}
        # in a tuple, or it would be a module of this one
        self._guide = (copy.deepcopy(guide, shared).eval(),)

    @property
    def guide(self) -> AttentionClassifier:
        return self._guide[0]

    @property
    def fingerprint(self) -> str:
        """A hash of its weights and of its guide's."""
        return fingerprint(self, self.guide)

    @torch.no_grad()
    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """The guide's scores and weights for this batch, whatever the items are."""
        read = self.guide(batch)
        return read.scores, read.weights

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        raise VeraxError(
            "a guided model cannot be saved, it needs another to tell it where to look: "
            "save its guide, and train it again",
            code="model.not-saveable",
        )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> GuidedClassifier:
        self.guide._apply(fn, recurse)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self


def _refuse_strangers(model: AttentionClassifier, guide: AttentionClassifier) -> None:
    """A guide must read the same tokens and attend the same items."""
    if guide.options.hierarchical or model.options.hierarchical:
        raise VeraxError(
            "a guide attends words, not sentences: hierarchical models cannot guide",
            code="model.unsuitable-guide",
        )
    if guide.vocabulary.words != model.vocabulary.words:
        raise VeraxError(
            "the guide has another vocabulary: build the model with the guide's",
            code="model.unsuitable-guide",
        )
    for name in READING:
        theirs, own = getattr(guide.options, name), getattr(model.options, name)
        if theirs != own:
            raise VeraxError(
                f"{name} is {own!r}, of the guide {theirs!r}: leave it as the guide has it",
                code="model.unsuitable-guide",
            )
    if bool(guide.options.boundaries) != bool(model.options.boundaries):
        raise VeraxError(
            f"boundaries is {model.options.boundaries}, of the guide {guide.options.boundaries}: "
            "leave it as the guide has it",
            code="model.unsuitable-guide",
        )
