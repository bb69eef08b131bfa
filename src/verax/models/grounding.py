"""Grounding: what holds a state to the word it stands for (Tutek & Šnajder 2020).

concat    h_t = [rnn(e)_t ; e_t]
residual  h_t = rnn(e)_t + e_t
tying     h_t = rnn(e)_t, and the loss has δ · mean_t ‖h_t − e_t‖²
mlm       h_t = rnn(e)_t, and the loss has η · cross-entropy of words masked from a second reading

The first two change the states and live in the model; the last two change the loss, which the
training objective asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from verax.corpora.vocabulary import SPECIALS
from verax.models.hashed_dropout import HashedDropout
from verax.models.options import ModelOptions

_SELECT, _FATE, _WORD = 21, 22, 23


def ground(encoded: Tensor, embedded: Tensor, grounding: str) -> Tensor:
    """(…, tokens, hidden) and (…, tokens, embedding) → states."""
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
