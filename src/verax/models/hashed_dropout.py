"""Randomness in training that depends on what it falls on, not on how the batch was cut.

A dropout mask drawn from a generator changes when a batch is split in two or padded further. Here
every draw is a hash of (seed, step, place in the network, document, position, feature), so a token
budget that splits a batch into micro-batches changes memory and nothing else, and CPU and GPU drop
the same units.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

# Odd 64-bit constants of a finaliser in the family of MurmurHash; negative as signed integers.
_A = -49064778989728563
_B = -4265267296055464877
_GOLDEN = -7046029254386353131
_BITS = 24


@dataclass(frozen=True, eq=False)
class HashedDropout:
    """Reproducible dropout: the random draws of one training step.

    Args:
        keys: (batch, …) long, one key per row to which dropout is applied, such as
            (batch, tokens).
        seed: a 64-bit integer, or a () long tensor that holds it, for training steps that are
            captured and replayed.

    A forward pass without a HashedDropout drops nothing, even in training mode.
    """

    keys: Tensor
    seed: int | Tensor

    @classmethod
    def of(cls, documents: Tensor, width: int, seed: int, step: int | Tensor) -> HashedDropout:
        """Keys for (batch, width) positions of the documents with the given keys."""
        places = torch.arange(width, device=documents.device)
        start = seed * _GOLDEN
        salt = _wrap(start) + step if isinstance(step, Tensor) else _wrap(start + step)
        return cls(_mix(documents.unsqueeze(-1) * _GOLDEN + places), salt)

    def rows(self) -> HashedDropout:
        """The same, with one key per document instead of one per position."""
        return replace(self, keys=self.keys[..., 0])

    def columns(self, width: int) -> HashedDropout:
        """The same, for `width` positions a document: other positions than the tokens'."""
        places = torch.arange(width, device=self.keys.device)
        return replace(self, keys=_mix(self.keys[:, :1] + (places + 1) * _B))

    def with_keys(self, keys: Tensor) -> HashedDropout:
        return replace(self, keys=keys)

    def uniform(self, place: int) -> Tensor:
        """One number in [0, 1) per key; `place` names where in the network it is used."""
        return _bits(self.keys + self._salt(place)).double() / 2**_BITS

    def uniforms(self, places: Iterable[int]) -> Tensor:
        """(places, …): `uniform` for each of them, all at once."""
        return ((self._mixed(places) >> 40) & (2**_BITS - 1)).double() / 2**_BITS

    def integers(self, places: Iterable[int]) -> Tensor:
        """(places, …): a whole number below 2⁶² per key, for each of them."""
        return (self._mixed(places) >> 2) & (2**62 - 1)

    def dropout(self, values: Tensor, p: float, place: int) -> Tensor:
        """`values` (…, features), each feature zeroed with probability p, the rest scaled up."""
        if p == 0:
            return values
        features = torch.arange(values.shape[-1], device=values.device) * _B
        kept = _bits(self.keys.unsqueeze(-1) + (features + self._salt(place))) >= int(p * 2**_BITS)
        return values * kept.to(values.dtype).mul_(1 / (1 - p))

    def _mixed(self, places: Iterable[int]) -> Tensor:
        salts = self._salts(list(places))
        return _mix(self.keys + salts.view(-1, *(1,) * self.keys.dim()))

    def _salt(self, place: int) -> int | Tensor:
        if isinstance(self.seed, Tensor):  # which overflows as `_wrap` does
            return (self.seed ^ _wrap(place * _A)) * _GOLDEN
        return _wrap((self.seed ^ place * _A) * _GOLDEN)

    def _salts(self, places: list[int]) -> Tensor:
        salts = [self._salt(place) for place in places]
        if isinstance(self.seed, Tensor):
            return torch.stack([salt for salt in salts if isinstance(salt, Tensor)])
        return self.keys.new_tensor(salts)


def _wrap(number: int) -> int:
    """A Python integer as 64-bit two's complement, the way tensors overflow."""
    return (number + 2**63) % 2**64 - 2**63


def _mix(h: Tensor) -> Tensor:
    h = (h ^ ((h >> 33) & 0x7FFFFFFF)).mul_(_A)
    h ^= (h >> 33).bitwise_and_(0x7FFFFFFF)
    h *= _B
    h ^= (h >> 33).bitwise_and_(0x7FFFFFFF)
    return h


def _bits(h: Tensor) -> Tensor:
    """The best 24 bits of the mixed hash."""
    return (_mix(h) >> 40) & (2**_BITS - 1)
