"""A batch of the documents that are shown, as rows of the gallery's tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.ragged import Ragged, positions_within
from verax.exams.erasure.states import ranks_from_below
from verax.exams.gallery.looking import Look
from verax.exams.single_token.tokens import alone
from verax.models.layers import probabilities, two_columns
from verax.models.trace import Trace

_HALVES = re.compile("[\ud800-\udfff]")


def document_rows(trace: Trace, look: Look) -> pd.DataFrame:
    """A row for each document; sizes are −1 where the decision never flips, `label` where none."""
    adversary, least = look.adversary, look.least
    columns = {
        "label": torch.full_like(least.size, -1) if trace.labels is None else trace.labels,
        "decision": look.states.decision,
        "items": trace.mask.sum(-1),
        "by_attention": look.flips.size[0],
        "by_gradient": look.flips.size[1],
        "least": least.size,
        "flips": least.size > 0,
        "everything": look.everything,
        "excess": look.excess,
        "jsd": adversary.jsd,
        "certified": adversary.certified,
        "tau": look.tau,
    }
    p = probabilities(trace.logits.double())
    columns |= {f"p_{c}": p[:, c] for c in range(p.shape[1])}
    frame = pd.DataFrame({name: values.cpu().numpy() for name, values in columns.items()})
    frame.insert(0, "id", trace.ids)
    return frame


def item_rows(
    trace: Trace, look: Look, deleted: Tensor, sentences: Ragged | None = None
) -> pd.DataFrame:
    """A row for each attended item, in order.

    sentences  how many tokens each sentence of each document of the batch has; None: items are the
               tokens
    """
    mask = trace.mask
    says = two_columns(trace.item_logits).float()
    by_attention, by_gradient = _places(look.orders)
    columns = {
        "weight": trace.weights.float(),
        "adversary": look.adversary.weights,
        "gradient": look.gradient,
        "deleted": deleted,
        "alone": alone(trace.item_logits, look.states.decision),
        "by_attention": by_attention,
        "by_gradient": by_gradient,
        "minimal": _places_in_the_smallest(look),
    }
    columns |= {f"logit_{c}": says[..., c] for c in range(says.shape[-1])}
    frame = pd.DataFrame({name: v[mask].cpu().numpy() for name, v in columns.items()})
    items = mask.sum(-1).cpu().numpy()
    item = positions_within(items)
    if sentences is None:
        first, lengths = item, np.ones_like(item)
    else:
        lengths = sentences.values.astype(np.int64)
        first = _before(lengths, sentences.lengths)
    for name, values in {"last": first + lengths, "first": first, "item": item}.items():
        frame.insert(0, name, values)
    frame.insert(0, "id", np.repeat(trace.ids, items))
    return frame


def token_rows(
    ids: NDArray[np.int64],
    words: Sequence[Sequence[str]],
    sentences: Ragged | None = None,
    marked: Ragged | None = None,
) -> pd.DataFrame:
    """A row for each token: its place, the item it belongs to, its text, and who marked it.

    words    the words of each document
    marked   the share of annotators who marked each token, NaN where nobody looked; None: no column
    Half a character (a lone surrogate) becomes �, which is what it would be shown as: no file could
    hold it.
    """
    counts = np.array([len(row) for row in words], dtype=np.int64)
    token = positions_within(counts)
    item = token
    if sentences is not None:
        within = positions_within(sentences.lengths)
        item = np.repeat(within, sentences.values.astype(np.int64))
    texts = [_HALVES.sub("\ufffd", word) for row in words for word in row]
    columns = {
        "id": np.repeat(ids, counts),
        "token": token,
        "item": item,
        "text": pd.Series(texts, dtype="str"),
    }
    return pd.DataFrame(columns if marked is None else {**columns, "marked": marked.values})


def _places(orders: Tensor) -> Tensor:
    """(…, items) orders from below → when each item goes, 0 the first."""
    width = orders.shape[-1]
    when = torch.arange(width - 1, -1, -1, device=orders.device).expand(orders.shape)
    return torch.empty_like(orders).scatter(-1, orders, when)


def _places_in_the_smallest(look: Look) -> Tensor:
    """(batch, items): when each goes that is in the smallest set, what favours the decision most
    over its rival first; −1 for all others.
    """
    least, terms = look.least, look.states.terms
    rival = least.rival.clamp(min=0)[None, :, None].expand(1, *least.members.shape)
    against = terms.gather(0, rival).squeeze(0)
    when = _places(ranks_from_below(against, least.members))
    return when.masked_fill(~least.members, -1)


def _before(lengths: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How much of its own row stands before each of the lengths; a row has `counts` > 0 of them."""
    before = np.cumsum(lengths) - lengths
    starts = np.cumsum(counts) - counts
    return before - np.repeat(before[starts], counts)
