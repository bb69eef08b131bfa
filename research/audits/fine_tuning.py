"""Fine-tuning of a Hugging Face encoder with an affine head, or training of the head alone.

- tying adds δ · mean_t ‖h_t − e_t‖² between last states and word embeddings to the loss.
- mlm adds η · cross-entropy of masked pieces, predicted by h · Eᵀ in a second forward pass.

Both are over pieces of words, without [CLS] and other special pieces (Tutek & Šnajder 2020). Word
embeddings are frozen under both, as in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from verax.corpora import Corpus, Documents
from verax.functional import tying_loss

NONE, TYING, MLM = "none", "tying", "mlm"


@dataclass(frozen=True)
class FineTuning:
    """Options of fine-tuning.

    Attributes:
        readout: which last states the head reads: their mean, or the last one.
        frozen: train the head alone, on states that are computed once.
        epochs: passes over the training documents.
        batch_size: documents per step.
        lr: AdamW's largest learning rate, after a linear warm-up and before a linear decay to zero.
        warm_up: the share of steps of the warm-up.
        weight_decay: of matrices.
        clip: the largest norm of the gradient.
        max_length: the most pieces of a text that are read.
        grounding: none, tying or mlm.
        strength: δ or η.
        masked: the share of pieces that the masked LM predicts.
    """

    readout: str = "mean"
    frozen: bool = False
    epochs: int = 3
    batch_size: int = 32
    lr: float = 5e-5
    warm_up: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    max_length: int = 128
    grounding: str = NONE
    strength: float = 0.0
    masked: float = 0.15


def fine_tune(
    encoder: Any, tokenizer: Any, corpus: Corpus, options: FineTuning, seed: int = 0
) -> tuple[nn.Linear, float]:
    """Train a head for the classes of a corpus, and the encoder with it unless it is frozen.

    Args:
        encoder: a Hugging Face model without a head, on the device to train on; it is changed.
        tokenizer: its fast tokenizer.
        corpus: training and validation documents.
        options: how to train.
        seed: of the head, of dropout, of masking and of the order of documents.

    Returns:
        The head, and its accuracy on validation documents, or on training documents if there are
        none. The encoder is left in eval mode.
    """
    device = next(encoder.parameters()).device
    devices = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices), _repeatable(device):
        torch.manual_seed(seed)
        head = nn.Linear(encoder.config.hidden_size, len(corpus.classes)).to(device)
        texts = _Texts(encoder, tokenizer, corpus.train, options.max_length, device)
        held_out = corpus.validation if len(corpus.validation) else corpus.train
        others = _Texts(encoder, tokenizer, held_out, options.max_length, device)
        if options.frozen:
            _train_head(encoder, head, texts, options, seed)
        else:
            _train_all(encoder, head, texts, options, seed, tokenizer)
        encoder.eval()
        states = _read_states(encoder, others, options)
        with torch.no_grad():
            right = (head(states).argmax(-1) == others.labels).double().mean()
    return head.eval(), float(right)


class _Texts:
    """The pieces of documents, and their labels on a device."""

    def __init__(
        self, encoder: Any, tokenizer: Any, documents: Documents, longest: int, device: torch.device
    ) -> None:
        read = tokenizer(list(documents.texts), truncation=True, max_length=longest)
        self.rows = [np.asarray(ids, dtype=np.int64) for ids in read["input_ids"]]
        self.lengths = np.array([len(row) for row in self.rows])
        pads = (encoder.config.pad_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id)
        self.pad = next((int(piece) for piece in pads if piece is not None), 0)
        self.device = device
        self.labels = torch.from_numpy(documents.labels).to(device)

    def batch(self, places: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return ids and mask of some documents, (batch, pieces)."""
        width = int(self.lengths[places].max())
        ids = np.full((len(places), width), self.pad)
        for row, place in enumerate(places):
            ids[row, : self.lengths[place]] = self.rows[place]
        mask = np.arange(width) < self.lengths[places][:, None]
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)


def _last_states(encoder: Any, ids: Tensor, mask: Tensor) -> Tensor:
    return encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state


def pooled(states: Tensor, mask: Tensor, readout: str) -> Tensor:
    """Return what the head reads of a batch.

    Args:
        states: (batch, pieces, size).
        mask: (batch, pieces) bool, True where there is a piece.
        readout: mean, or last.

    Returns:
        (batch, size)
    """
    rows = mask.to(states.dtype) / mask.sum(-1, keepdim=True).clamp(min=1)
    if readout == "last":
        places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
        last = places.masked_fill(~mask, -1).amax(-1, keepdim=True)
        rows = (places == last).to(states.dtype)
    return (rows.unsqueeze(1) @ states).squeeze(1)


@torch.no_grad()
def _read_states(encoder: Any, texts: _Texts, options: FineTuning) -> Tensor:
    """Return what the head reads of each document, (documents, size)."""
    read = torch.zeros(len(texts.rows), encoder.config.hidden_size, device=texts.device)
    order = np.argsort(-texts.lengths, kind="stable")
    size = 4 * options.batch_size
    for places in (order[at : at + size] for at in range(0, len(order), size)):
        ids, mask = texts.batch(places)
        states = _last_states(encoder, ids, mask)
        read[torch.from_numpy(places)] = pooled(states, mask, options.readout)
    return read


def _orders(count: int, options: FineTuning, seed: int) -> Iterator[list[NDArray[np.int64]]]:
    """Yield the batches of each epoch."""
    for epoch in range(options.epochs):
        order = np.random.Generator(np.random.PCG64([seed, epoch])).permutation(count)
        step = options.batch_size
        yield [order[at : at + step] for at in range(0, count, step)]


def _optimiser(
    parameters: Sequence[nn.Parameter], count: int, options: FineTuning
) -> tuple[torch.optim.Optimizer, Any]:
    """Return AdamW and the schedule of its learning rate."""
    decayed = [p for p in parameters if p.dim() > 1]
    plain = [p for p in parameters if p.dim() <= 1]
    groups: list[dict[str, Any]] = [{"params": decayed}, {"params": plain, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=options.lr, weight_decay=options.weight_decay)
    steps = options.epochs * -(-count // options.batch_size)
    rising = max(1, round(options.warm_up * steps))

    def share(step: int) -> float:
        return min((step + 1) / rising, (steps - step) / max(1, steps - rising))

    return adam, torch.optim.lr_scheduler.LambdaLR(adam, share)


def _train_head(
    encoder: Any, head: nn.Linear, texts: _Texts, options: FineTuning, seed: int
) -> None:
    """Train the head alone, on standardized states that are computed once."""
    encoder.eval()
    states = _read_states(encoder, texts, options)
    centre, spread = states.mean(0), states.std(0).clamp(min=1e-6)
    scaled = (states - centre) / spread
    adam, plan = _optimiser(list(head.parameters()), len(texts.rows), options)
    for batches in _orders(len(texts.rows), options, seed):
        for places in batches:
            some = torch.from_numpy(places).to(texts.device)
            loss = functional.cross_entropy(head(scaled[some]), texts.labels[some])
            adam.zero_grad()
            loss.backward()
            adam.step()
            plan.step()
    with torch.no_grad():  # W ((h − c) / s) + b = (W / s) h + (b − (W / s) c)
        head.weight.div_(spread)
        head.bias.sub_(head.weight @ centre)


def _train_all(
    encoder: Any,
    head: nn.Linear,
    texts: _Texts,
    options: FineTuning,
    seed: int,
    tokenizer: Any,
) -> None:
    embedding = encoder.get_input_embeddings()
    is_grounded = options.grounding != NONE and options.strength > 0
    if is_grounded:
        embedding.weight.requires_grad_(False)
    parameters = [p for p in (*encoder.parameters(), *head.parameters()) if p.requires_grad]
    adam, plan = _optimiser(parameters, len(texts.rows), options)
    special = torch.tensor(sorted(tokenizer.all_special_ids), device=texts.device)
    known = torch.from_numpy(np.unique(np.concatenate(texts.rows))).to(texts.device)
    known = known[~torch.isin(known, special)]
    random = torch.Generator(device=texts.device).manual_seed(seed)
    encoder.train()
    for batches in _orders(len(texts.rows), options, seed):
        for places in batches:
            ids, mask = texts.batch(places)
            states = _last_states(encoder, ids, mask)
            some = torch.from_numpy(places).to(texts.device)
            logits = head(pooled(states, mask, options.readout))
            loss = functional.cross_entropy(logits, texts.labels[some])
            words = mask & ~torch.isin(ids, special)
            if is_grounded and options.grounding == TYING:
                apart = tying_loss(states, embedding(ids), words)
                loss = loss + options.strength * apart / words.sum().clamp(min=1)
            elif is_grounded:
                piece = tokenizer.mask_token_id
                masked = _masked_lm(encoder, ids, mask, words, known, piece, options.masked, random)
                loss = loss + options.strength * masked
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, options.clip)
            adam.step()
            plan.step()
    embedding.weight.requires_grad_(True)


def _masked_lm(
    encoder: Any,
    ids: Tensor,
    mask: Tensor,
    words: Tensor,
    known: Tensor,
    mask_piece: int,
    share: float,
    random: torch.Generator,
) -> Tensor:
    """Return the mean cross-entropy of selected pieces among those of the training texts.

    As in Devlin et al. (2019), 80% of the selected pieces are masked, 10% replaced by a random
    piece and 10% kept.
    """
    drawn, fate = (torch.rand(ids.shape, generator=random, device=ids.device) for _ in range(2))
    selected = words & (drawn < share)
    places = torch.randint(len(known), ids.shape, generator=random, device=ids.device)
    read = torch.where(selected & (fate < 0.8), mask_piece, ids)
    read = torch.where(selected & (fate >= 0.8) & (fate < 0.9), known[places], read)
    states = _last_states(encoder, read, mask)[selected]
    logits = states @ encoder.get_input_embeddings().weight[known].T
    targets = torch.searchsorted(known, ids[selected])
    return functional.cross_entropy(logits, targets, reduction="sum") / max(1, len(targets))


@contextmanager
def _repeatable(device: torch.device) -> Iterator[None]:
    """Use deterministic algorithms on a GPU; torch warns where there is none."""
    if device.type != "cuda":
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)
