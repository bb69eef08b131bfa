"""What one forward pass leaves behind: everything an exam may ask about."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from verax.errors import VeraxError

if TYPE_CHECKING:
    from verax.corpora.batch import Batch
    from verax.models.layers import Head


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """A frozen record of one batch's forward pass.

    Tokens are what is read, items what is attended. In a flat model they share positions (SOS and
    EOS are tokens, masked as items); in a hierarchical one tokens are words and items sentences.

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = verax.train(corpus, encoder="none", projection="uniform", epochs=1)
    >>> trace = model.trace(["w1 unseen", "w1 w2 w3 ."])
    >>> trace
    Trace(2 documents, 2 to 4 items, 2 classes)
    >>> trace.attended.tolist()  # SOS and EOS are read, but never attended
    [[False, True, True, False, False, False], [False, True, True, True, True, False]]
    >>> trace.words[0]
    ['w1', 'unseen']
    >>> dict(zip(trace.words[0], trace.weights[0, trace.attended[0]].tolist()))
    {'w1': 0.5, 'unseen': 0.5}

    ids            (batch,) numpy             the documents' ids
    labels         (batch,) or None
    tokens         (batch, tokens)            vocabulary rows
    token_mask     (batch, tokens) bool       all that is read
    mask           (batch, items) bool        the attended items
    batch          what was read
    embedded       (batch, tokens, embedding) word vectors, as the encoder got them
    states         (batch, tokens, size)      what the word encoder made of each token, grounded
    items          (batch, items, size)       what is attended: `states` itself in a flat model
    scores         (batch, items)             before projection; meaningless where masked
    weights        (batch, items)             α: on the simplex, zero where masked
    logits         (batch, classes)           one column means one sigmoid logit
    head           the map from context to logits, affine unless it was replaced by one that is not
    cache          what was worked out of this trace already, kept by whoever worked it out
    """

    ids: NDArray[np.int64]
    labels: Tensor | None
    tokens: Tensor
    token_mask: Tensor
    mask: Tensor
    batch: Batch
    embedded: Tensor
    states: Tensor
    items: Tensor
    scores: Tensor
    weights: Tensor
    logits: Tensor
    head: Head
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.logits)

    def __repr__(self) -> str:
        counts = self.mask.sum(-1)
        few, many = (int(counts.min()), int(counts.max())) if len(self) else (0, 0)
        return (
            f"Trace({_counted(len(self), 'document')}, "
            f"{f'{few} to ' if few != many else ''}{_counted(many, 'item')}, "
            f"{_counted(max(2, self.logits.shape[-1]), 'class')})"
        )

    @property
    def attended(self) -> Tensor:
        """(batch, items) bool: where attention may put weight; another name for `mask`.

        SOS, EOS and PAD are not attended: SOS and EOS are read, PAD is neither.
        """
        return self.mask

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of each document, as its text has them after tokenizing, never `<unk>`.

        In a flat model word k of document d is its k-th attended item: `trace.words[d]` goes with
        `trace.weights[d, trace.attended[d]]`. In a hierarchical one it is the k-th token, and items
        are sentences: `trace.item_of_token[d]` tells which sentence each is of.
        """
        texts = self.batch.texts
        if texts is None:
            raise VeraxError(
                "this trace is of numbers alone: its words are known where texts or documents of a "
                "corpus were read",
                code="text.missing",
            )
        return [texts.words_of(row) for row in self.batch.row_index.tolist()]

    @cached_property
    def item_logits(self) -> Tensor:
        """ℓ_i = W h_i + b, (batch, items, classes): what each item alone would say.

        Σ_i α_i ℓ_i = logits, because the head is affine and the weights sum to one. Zero where
        masked, so that a sum over items needs no mask.
        """
        return self.head(self.items) * self.mask.unsqueeze(-1)

    @property
    def item_of_token(self) -> Tensor:
        """(batch, tokens): the item each token belongs to, −1 for SOS, EOS and PAD."""
        return self.batch.item_of_token

    @property
    def bias(self) -> Tensor:
        """b, (classes,): the logits left when every item is erased; ∂logits/∂α_i = ℓ_i − b."""
        if self.is_affine:
            return self.head.bias
        return self.head(self.items.new_zeros(self.items.shape[-1]))

    @property
    def is_affine(self) -> bool:
        """Whether the head says it is an affine map, so that item logits tell all there is."""
        return bool(getattr(self.head, "affine", False))


def _counted(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
