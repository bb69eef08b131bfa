"""What a state is read for once the encoder is done: a score, and what it says.

Both begin with linear maps of the state, so a state of which one half is new costs that half.
"""

from __future__ import annotations

import torch
from torch import Tensor

from verax.models.layers import Additive, Dot
from verax.models.pooled import PooledClassifier


class Readout:
    """state ↦ features = state · weight + bias ↦ (score, W h: item logits without the bias).

    weight  (size, features): the alignment's map, then the head's
    bias    (features,)
    Additive attention's tanh is 2σ(2x) − 1, the 2 inside being folded into the weights.
    """

    def __init__(self, model: PooledClassifier) -> None:
        known = model.known_readout
        assert known is not None
        alignment, linear = known[0].alignment, known[1].linear
        self._query: Tensor | None = None
        if isinstance(alignment, Additive):
            transform = alignment.transform
            score, offset = 2 * transform.weight.T, 2 * transform.bias
            self._query = alignment.query.weight.squeeze(0)
        else:
            assert isinstance(alignment, Dot)
            score = (alignment.query / alignment.scale).unsqueeze(-1)
            offset = score.new_zeros(1)
        self.weight = torch.cat([score, linear.weight.T], dim=1)
        # the head's bias is added once, to the logits
        self.bias = torch.cat([offset, torch.zeros_like(linear.bias)])
        self._width = score.shape[1]
        self.classes = len(linear.bias)

    @staticmethod
    def fits(model: PooledClassifier) -> bool:
        """Whether a model is read out by linear maps that are known, and scores by itself."""
        return model.known_readout is not None

    def features(self, states: Tensor) -> Tensor:
        return states @ self.weight + self.bias

    def finish(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(…, features) → scores (…) and what is said (…, classes)."""
        scores, says = features[..., : self._width], features[..., self._width :]
        if self._query is None:
            return scores.squeeze(-1), says
        return 2 * (torch.sigmoid(scores) @ self._query) - self._query.sum(), says
