"""Jain & Wallace's search for attention far from a document's own that says the same.

Theirs (2019, section 4.2.2, and their code for the constants): several attentions a document
descend on a loss, see `descent`; the farthest of them that keeps the prediction counts. The loss
is a sum over documents, so that what is found for one does not hang on its batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from verax.divergence import jensen_shannon
from verax.errors import VeraxError
from verax.exams.adversary.descent import (
    Answer,
    AnyHead,
    SearchOptions,
    SeveralClasses,
    Slope,
    TwoClasses,
    descend,
    start,
)
from verax.exams.adversary.most_divergent import change_of, checked_logits, checked_weights
from verax.exams.adversary.several import log_odds
from verax.models.layers import decisions, two_columns
from verax.options import check

__all__ = ["Answer", "Best", "SearchOptions", "SearchedAttentions", "search", "search_through"]

MAX_ITEMS = 2**17
"""Numbers of a kind that a thread holds at once: eight kinds stay in a cache, and documents of like
length are together. An accelerator would rather have more."""
_THEIRS = SearchOptions()


@dataclass(frozen=True, eq=False)
class Best:
    """The best attention of each document that a search ended with; float64.

    weights  (batch, items)    jsd, change  (batch,)
    logits   (batch, classes)  restart      (batch,) long, −1 where it is the document's own
    """

    weights: Tensor
    jsd: Tensor
    change: Tensor
    logits: Tensor
    restart: Tensor


@dataclass(frozen=True, eq=False)
class SearchedAttentions:
    """All attentions that a search ended with; float64.

    weights      (restarts, batch, items)    on the simplex, zero where masked
    jsd          (restarts, batch)           from the document's own weights, in nats
    change       (restarts, batch)           |Δp| of the class decided for
    logits       (restarts, batch, classes)  under the weights found
    own_weights  (batch, items)
    own_logits   (batch, classes)
    """

    weights: Tensor
    jsd: Tensor
    change: Tensor
    logits: Tensor
    own_weights: Tensor
    own_logits: Tensor

    def best(self, epsilon: float) -> Best:
        """The farthest attention of each document with |Δp| ≤ ε; its own where none is."""
        epsilon = check("epsilon", epsilon, float, {"minimum": 0, "maximum": 1})
        jsd, restart = self.jsd.masked_fill(~(self.change <= epsilon), 0.0).max(0)
        unmoved = jsd <= 0

        def chosen(values: Tensor, otherwise: Tensor) -> Tensor:
            index = restart.view(1, -1, *(1,) * (values.dim() - 2))
            picked = torch.take_along_dim(values, index, 0).squeeze(0)
            return torch.where(unmoved.view(-1, *(1,) * (picked.dim() - 1)), otherwise, picked)

        nothing = torch.zeros_like(jsd)
        return Best(
            chosen(self.weights, self.own_weights),
            chosen(self.jsd, nothing),
            chosen(self.change, nothing),
            chosen(self.logits, self.own_logits),
            restart.masked_fill(unmoved, -1),
        )


def search(
    weights: Tensor,
    item_logits: Tensor,
    mask: Tensor,
    keys: Tensor | None = None,
    seed: int = 0,
    options: SearchOptions = _THEIRS,
    max_items: int | None = None,
) -> SearchedAttentions:
    """The attentions that Jain & Wallace's search ends with, under an affine head.

    Args:
        weights: (batch, items) α; may be sparse.
        item_logits: (batch, items, classes) ℓ_i; one column is one sigmoid logit.
        mask: (batch, items) bool.
        keys: (batch,) long; a document's start depends on its key and the seed alone. Give
            `trace.batch.row_index`; the documents' positions, unless given.
        seed: of the starts.
        options: restarts, steps and the authors' other constants.
        max_items: restarts × batch × items that a thread, or the accelerator, holds at once; a
            longer document is held by itself.

    >>> weights = torch.tensor([[0.98, 0.01, 0.01]])
    >>> item_logits = torch.tensor([[[2.0], [2.0], [-1.0]]])
    >>> best = search(weights, item_logits, weights > 0).best(epsilon=0.05)
    >>> best.weights.round(decimals=1).tolist(), round(best.jsd.item(), 1)
    ([[0.0, 1.0, 0.0]], 0.7)
    """
    original, says = checked_weights(weights, mask), checked_logits(item_logits, mask)
    keys = _keys(mask, keys, options)
    if max_items is None:
        max_items = MAX_ITEMS if original.device.type == "cpu" else 2**24
    (batch, width, classes), restarts = says.shape, options.restarts
    attentions = SearchedAttentions(
        weights=original.new_zeros(restarts, batch, width),
        jsd=original.new_zeros(restarts, batch),
        change=original.new_zeros(restarts, batch),
        logits=original.new_zeros(restarts, batch, classes),
        own_weights=original,
        own_logits=torch.einsum("bi,bic->bc", original, says),
    )

    @torch.no_grad()
    def look(rows: Tensor, stop: int) -> None:
        part, spoken = (original[rows, :stop], mask[rows, :stop]), says[rows, :stop]
        head = _affine(spoken, attentions.own_logits[rows], options)
        ended = descend(start(keys[rows], stop, seed, options), *part, head, options)
        logits = torch.einsum("kbi,bic->kbc", ended, spoken)
        attentions.weights[:, rows, :stop] = ended
        attentions.jsd[:, rows] = jensen_shannon(ended, part[0])
        attentions.change[:, rows] = _change(logits, attentions.own_logits[rows])
        attentions.logits[:, rows] = logits

    _each(look, _chunks(mask, max_items // restarts), original.device)
    return attentions


@torch.no_grad()
def search_through(
    weights: Tensor,
    answer: Answer,
    mask: Tensor,
    keys: Tensor | None = None,
    seed: int = 0,
    options: SearchOptions = _THEIRS,
    max_items: int = 2**20,
) -> SearchedAttentions:
    """The attentions that the search ends with, under any head that can be differentiated.

    Args:
        answer: (restarts, batch, items) weights, float64 → (restarts, batch, classes) logits; for
            any number of restarts, and always the whole batch.
        max_items: restarts × batch × items of one call of `answer`; at least one restart.

    The other arguments are those of `search`, and so are the results where the head is affine.
    """
    original = checked_weights(weights, mask)
    keys = _keys(mask, keys, options)
    own_logits = answer(original.unsqueeze(0)).squeeze(0).double()
    if own_logits.dim() != 2 or len(own_logits) != len(original):
        raise VeraxError(
            f"the answer to weights of shape {(1, *original.shape)} has shape "
            f"{(1, *own_logits.shape)}: expected (1, {len(original)}, classes)",
            code="tensor.wrong-shape",
        )
    at_once = max(1, max_items // max(1, original.numel()))
    head = AnyHead(answer, own_logits, at_once, options)
    ended = descend(start(keys, original.shape[1], seed, options), original, mask, head, options)
    logits = torch.cat([answer(some) for some in ended.split(at_once)]).double()
    change = _change(logits, own_logits)
    return SearchedAttentions(
        ended, jensen_shannon(ended, original), change, logits, original, own_logits
    )


def _affine(says: Tensor, own_logits: Tensor, options: SearchOptions) -> Slope:
    if says.shape[-1] > 2:
        return SeveralClasses(says, own_logits, options)
    z, before = (two_columns(logits) for logits in (says, own_logits))
    return TwoClasses(z[..., 1] - z[..., 0], before[..., 1] - before[..., 0], options)


def _change(logits: Tensor, before: Tensor) -> Tensor:
    """(restarts, batch, classes) and (batch, classes) → |Δp| of the class decided for."""
    decided, odds = decisions(before), two_columns(before)
    after = log_odds(two_columns(logits), decided.expand(logits.shape[:-1]))
    return change_of(after, log_odds(odds, decided))


def _chunks(mask: Tensor, max_items: int) -> Iterator[tuple[Tensor, int]]:
    """Rows that are as long together, and how far they reach."""
    places = torch.arange(1, mask.shape[1] + 1, device=mask.device)
    reach, order = (mask * places).amax(-1).sort(stable=True)
    reach = reach.cpu()
    begin = 0
    while begin < len(order):
        items = reach[begin:] * torch.arange(1, len(order) - begin + 1)
        size = max(1, int(torch.searchsorted(items, max_items, right=True)))
        yield order[begin : begin + size], int(reach[begin + size - 1])
        begin += size


def _each(
    look: Callable[[Tensor, int], None], chunks: Iterator[tuple[Tensor, int]], device: torch.device
) -> None:
    """Look at all chunks, on a processor with as many threads as torch has, each at its own.

    Were they to share a chunk, as torch would have it, they would wait for one another after every
    operation, for longer than it takes.
    """
    if device.type != "cpu":
        for chunk in chunks:
            look(*chunk)
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda chunk: look(*chunk), chunks))
    finally:
        torch.set_num_threads(threads)


def _keys(mask: Tensor, keys: Tensor | None, options: SearchOptions) -> Tensor:
    if options.restarts < 1:
        raise VeraxError(
            f"restarts is {options.restarts}: expected 1 or more", code="option.out-of-range"
        )
    if keys is None:
        return torch.arange(len(mask), device=mask.device)
    if keys.shape != mask.shape[:1] or keys.dtype != torch.long:
        raise VeraxError(
            f"keys is {keys.dtype} of shape {tuple(keys.shape)}: expected torch.int64 of shape "
            f"({len(mask)},), one for each document",
            code="tensor.wrong-shape",
        )
    return keys
