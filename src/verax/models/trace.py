"""What one forward pass leaves behind: everything an exam may ask about."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from verax.corpora.batch import Batch
    from verax.models.head import Head


@dataclass(frozen=True, eq=False)
class Trace:
    """A frozen record of one batch's forward pass.

    Tokens are what is read, items what is attended. In a flat model they share positions (SOS and
    EOS are tokens, masked as items); in a hierarchical one tokens are words and items sentences.

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
    head           the map from context to logits, affine unless someone put another in its place
    found          what was worked out of this trace already, kept by whoever worked it out
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
    found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.logits)

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
