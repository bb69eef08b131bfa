"""The parts of a classifier beside its encoder: dropout, attention, head and grounding."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from verax.corpora.vocabulary import SPECIALS
from verax.models.projections import project

if TYPE_CHECKING:
    from verax.models.options import ModelOptions

# Odd 64-bit constants of a finaliser in the family of MurmurHash; negative as signed integers.
_A = -49064778989728563
_B = -4265267296055464877
_GOLDEN = -7046029254386353131
_BITS = 24
# Places in the network, which tell random draws of one step apart.
_HEAD = 1
_SELECT, _FATE, _WORD = 21, 22, 23


@dataclass(frozen=True, eq=False)
class HashedDropout:
    """Reproducible dropout: the random draws of one training step.

    A dropout mask drawn from a generator changes when a batch is split in two or padded further.
    Here every draw is a hash of (seed, step, place in the network, document, position, feature), so
    a token budget that splits a batch into micro-batches changes memory and nothing else, and CPU
    and GPU drop the same units.

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


class Additive(nn.Module):
    """a_i = v · tanh(W h_i + b), with v free of bias (Bahdanau et al. 2015; Jain & Wallace 2019).

    W maps an item to `attention_size`: half an item's size in Jain & Wallace and Tutek & Šnajder,
    the whole in Serrano & Smith.
    """

    def __init__(self, item_size: int, attention_size: int | None) -> None:
        super().__init__()
        attention_size = attention_size or max(1, item_size // 2)
        self.transform = nn.Linear(item_size, attention_size)
        self.query = nn.Linear(attention_size, 1, bias=False)

    def forward(self, items: Tensor) -> Tensor:
        """(batch, items, size) → (batch, items)"""
        return self.query(torch.tanh(self.transform(items))).squeeze(-1)


class Dot(nn.Module):
    """a_i = q · h_i / √size, or without that division, with a learned query q.

    q is drawn from N(0, 1); PyTorch's default for a linear map, U(−1/√size, 1/√size), can be
    chosen instead: attention then tends to stay uniform (Tutek & Šnajder 2020, appendix C).
    """

    def __init__(self, item_size: int, query_init: str, scaled: bool = True) -> None:
        super().__init__()
        self.scale = math.sqrt(item_size) if scaled else 1.0
        self.query = nn.Parameter(torch.empty(item_size))
        if query_init == "normal":
            nn.init.normal_(self.query)
        else:
            bound = 1 / math.sqrt(item_size)
            nn.init.uniform_(self.query, -bound, bound)

    def forward(self, items: Tensor) -> Tensor:
        """(batch, items, size) → (batch, items)"""
        return items @ self.query / self.scale


class Attention(nn.Module):
    """An alignment and a projection, pooling items into one context vector."""

    def __init__(self, item_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.alignment: nn.Module
        if options.attention == "additive":
            self.alignment = Additive(item_size, options.attention_size)
        else:
            scaled = options.attention == "dot"
            self.alignment = Dot(item_size, options.query_init, scaled)
        self.projection = options.projection
        self.lam = options.lam
        self.alpha = options.alpha

    def weigh(self, scores: Tensor, mask: Tensor) -> Tensor:
        """(batch, items) scores to weights on the simplex; again after an item is taken away."""
        return project(self.projection, scores, mask, lam=self.lam, alpha=self.alpha)

    def forward(self, items: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, items, size) → scores and weights, both (batch, items)."""
        scores = self.alignment(items)
        return scores, self.weigh(scores, mask)


def pool(weights: Tensor, items: Tensor) -> Tensor:
    """Return the attention-weighted sum of the items, Σ_i α_i h_i.

    Args:
        weights: (batch, items).
        items: (batch, items, size).

    Returns:
        (batch, size).
    """
    return (weights.unsqueeze(-2) @ items).squeeze(-2)


class Head(nn.Module):
    """logits = W context + b, one a class; or a single logit whose sigmoid is P(class 1).

    Because it is affine and weights sum to one, logits = Σ α_i (W h_i + b). A head of another kind
    can stand in its place, `model.head = mine`; exams then go through it instead of item logits,
    unless it has an attribute `affine` that is true.
    """

    affine = True

    def __init__(self, size: int, classes: int, one_logit: bool, dropout: float, on: str) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 1 if one_logit else classes)
        self.one_logit = one_logit
        self.dropout = dropout
        self.dropout_on = on

    @property
    def bias(self) -> Tensor:
        """(classes,): the logits when nothing is attended."""
        return self.linear.bias

    def forward(self, context: Tensor, noise: HashedDropout | None = None) -> Tensor:
        """(…, size) → (…, classes). With a HashedDropout, one key per row of the batch."""
        if noise is None or self.dropout == 0:
            return self.linear(context)
        if self.dropout_on == "context":
            return self.linear(noise.dropout(context, self.dropout, _HEAD))
        return noise.dropout(self.linear(context), self.dropout, _HEAD)

    def initialise_xavier(self) -> None:
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)


def two_columns(logits: Tensor) -> Tensor:
    """One sigmoid logit z as the two it stands for, (0, z); more classes stay as they are."""
    if logits.shape[-1] != 1:
        return logits
    return torch.cat([torch.zeros_like(logits), logits], dim=-1)


def probabilities(logits: Tensor) -> Tensor:
    """(…, classes) logits → probabilities of every class; one logit gives two columns.

    >>> probabilities(torch.tensor([[0.0]]))
    tensor([[0.5000, 0.5000]])
    """
    if logits.shape[-1] == 1:
        return torch.cat([torch.sigmoid(-logits), torch.sigmoid(logits)], dim=-1)
    return torch.softmax(logits, dim=-1)


def decisions(logits: Tensor) -> Tensor:
    """(…, classes) logits → the class decided for; a tie goes to the lower class."""
    if logits.shape[-1] == 1:
        return (logits.squeeze(-1) > 0).long()
    return logits.argmax(dim=-1)


def ground(encoded: Tensor, embedded: Tensor, grounding: str) -> Tensor:
    """(…, tokens, hidden) and (…, tokens, embedding) → states held to their words.

    concat    h_t = [rnn(e)_t ; e_t]
    residual  h_t = rnn(e)_t + e_t
    tying     h_t = rnn(e)_t, and the loss has δ · mean_t ‖h_t − e_t‖²
    mlm       h_t = rnn(e)_t, and the loss has η · cross-entropy of words masked from a second
              reading

    The first two change the states; the last two change the loss, which is computed by the training
    objective (Tutek & Šnajder 2020).
    """
    if grounding == "concat":
        return torch.cat([encoded, embedded], dim=-1)
    if grounding == "residual":
        return encoded + embedded
    return encoded


def grounded_size(encoded_size: int, options: ModelOptions) -> int:
    return encoded_size + (options.embedding_size if options.grounding == "concat" else 0)


def make_mask_vector(options: ModelOptions) -> nn.Parameter | None:
    """The one parameter a masked LM adds: the vector read in place of a masked word."""
    if options.grounding != "mlm":
        return None
    return nn.Parameter(torch.randn(options.embedding_size) * options.embedding_size**-0.5)


def tying_loss(states: Tensor, embedded: Tensor, words: Tensor) -> Tensor:
    """Return the tying loss Σ_t ‖h_t − e_t‖² (Tutek & Šnajder 2020), summed over words.

    Args:
        states: (batch, tokens, size), the encoder states h.
        embedded: (batch, tokens, size), the word embeddings e.
        words: (batch, tokens) bool, the words to sum over; divide by their number for the mean.
    """
    return ((states - embedded) * words.unsqueeze(-1)).square().sum()


@dataclass(frozen=True, eq=False)
class Masking:
    """Which words a masked LM must predict, and what it reads in their place.

    selected  (batch, tokens) bool
    masked    (batch, tokens) bool   of these, the ones replaced by the mask vector
    tokens    (batch, tokens) long   what is read otherwise: some random, some unchanged
    """

    selected: Tensor
    masked: Tensor
    tokens: Tensor


def mask_words(
    tokens: Tensor, words: Tensor, vocabulary_size: int, probability: float, noise: HashedDropout
) -> Masking:
    """Devlin et al.'s rule: of the words selected, 80% masked, 10% random, 10% left as they are."""
    selected = words & (noise.uniform(_SELECT) < probability)
    fate = noise.uniform(_FATE)
    first = len(SPECIALS)
    random_words = first + (noise.uniform(_WORD) * (vocabulary_size - first)).long()
    replaced = selected & (fate >= 0.8) & (fate < 0.9)
    return Masking(
        selected=selected,
        masked=selected & (fate < 0.8),
        tokens=torch.where(replaced, random_words, tokens),
    )


def mlm_loss(states: Tensor, targets: Tensor, embedding: Tensor) -> Tensor:
    """Return the masked language modelling loss: the cross-entropy of h · Eᵀ at each selected word.

    There is no bias and there are no new parameters. The softmax is over the whole vocabulary
    except PAD.

    Args:
        states: (selected, size), the encoder states at the selected words.
        targets: (selected,) long, the words to predict.
        embedding: (vocabulary, size), the word embeddings.

    Returns:
        (selected,) losses; training minimises their mean.
    """
    logits = states @ embedding.T
    logits[:, 0] = -torch.inf
    return functional.cross_entropy(logits, targets, reduction="none")


def room_for_selected(tokens: int, probability: float) -> int:
    """More places than a masked LM will ever select of so many tokens: 8 sd above the mean."""
    spread = math.sqrt(tokens * probability * (1 - probability))
    return min(tokens, math.ceil(tokens * probability + 8 * spread) + 8)


def fingerprint(*modules: nn.Module) -> str:
    """16 hexadecimal digits over name, shape, type and bytes of everything in the modules' states.

    The same for the same numbers, on any device, before saving and after loading.

    >>> layer = nn.Linear(2, 1)
    >>> before = fingerprint(layer)
    >>> len(before), before == fingerprint(layer)
    (16, True)
    >>> _ = layer.weight.data.add_(1)
    >>> before == fingerprint(layer)
    False
    """
    digest = hashlib.sha256()
    for module in modules:
        for name, value in module.state_dict().items():
            values = value.detach().cpu().contiguous()
            digest.update(f"{name}\0{tuple(values.shape)}\0{values.dtype}\0".encode())
            digest.update(values.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
