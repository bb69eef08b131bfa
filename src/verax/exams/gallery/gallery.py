"""The gallery: which documents to show, and all that a page needs to question their attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from verax.budget import tokens_within
from verax.corpora.batching import MAX_TOKENS, reading_batches
from verax.corpora.corpus import Documents
from verax.corpora.encoded import EncodedDocuments
from verax.corpora.ragged import Ragged
from verax.errors import VeraxError
from verax.exams.gallery.deleting import change_without
from verax.exams.gallery.keeping import document_rows, item_rows, token_rows
from verax.exams.gallery.looking import EPSILON, look_at
from verax.exams.gallery.surprise import best_measures, best_ranks, surprises
from verax.models.classifier import AttentionClassifier
from verax.models.layers import two_columns
from verax.models.trace import Trace
from verax.options import check
from verax.time_limit import OutOfTimeError, TimeLimit, within

Rows = NDArray[np.int64]


def checked_wish(wanted: Any) -> tuple[int, list[int] | None]:
    """How many documents to show, and their ids where these are named."""
    if isinstance(wanted, Iterable) and not isinstance(wanted, str):
        named = list(dict.fromkeys(check("gallery", number, int, {}) for number in wanted))
        return len(named), named
    return check("gallery", wanted, int, {"minimum": 0}), None


def refuse_unknown(named: list[int] | None, ids: Rows) -> None:
    """Refuse ids of documents that are not examined."""
    unknown = set(named or []) - set(ids.tolist())
    if unknown:
        raise VeraxError(
            f"gallery names document {min(unknown)}, which is not among those examined: name "
            "ids of the split, or say how many documents to show",
            code="option.unknown-value",
        )


def known_shares(documents: Documents, places: Ragged) -> Ragged | None:
    """The share of annotators who marked each word; NaN where nobody looked, None without marks.

    Args:
        documents: those that are shown.
        places: where their words stand, values (words, 2).
    """
    if documents.marks is None:
        return None
    shares = documents.marks.shares(places)
    nobody = (documents.marks.annotators == 0)[places.row_of_value]
    return Ragged(np.where(nobody, np.nan, shares.values), places.offsets)


class Gallery:
    """The most surprising documents of a split, or those named, with their text.

    While the split is read, three numbers are kept of each document (`surprises`). Then those with
    the best rank in any of the three are read again (of equal ranks the lower id), and deleted
    from, which costs most, word by word. Gives three tables:

    gallery_documents  in the order to show them; rank, ranked_by (the measure in which it ranks
                       best: excess, jsd or tau), label, decision, items, the sizes at which the
                       decision flips (by_attention, by_gradient, least), flips, everything, excess,
                       jsd, certified, tau, and p_0, p_1, … of the classes, the model's own
    gallery_items      for each attended item: its tokens [first, last), weight, adversary (its
                       weight there), gradient, deleted (change of p by true deletion), alone (p_t),
                       logit_0, … (ℓ_i, the bias included), and when it goes, from 0: by_attention,
                       by_gradient, minimal (−1 where it is not in the smallest set)
    gallery_tokens     item and text of each token; where the corpus has rationales, marked: the
                       share of annotators who marked it, NaN where nobody looked at the document

    A sigmoid's one logit z is kept as two, 0 and z. Weights and item logits are float32, as a page
    gets them; decisions, orders and sets are from these in float64.
    """

    def __init__(self, documents: int | Sequence[int], max_tokens: int = MAX_TOKENS) -> None:
        self.size, self.named = checked_wish(documents)
        self.max_tokens = max_tokens
        self._rows: list[Rows] = []
        self._surprises: list[NDArray[np.float64]] = []
        self._tables: dict[str, pd.DataFrame] = {}
        self._manifest: dict[str, Any] = {}

    def begin(
        self, model: AttentionClassifier, documents: Documents, encoded: EncodedDocuments
    ) -> None:
        """Told once what will be read; `encoded` is `documents` as the model reads them."""
        self._model, self._documents, self._encoded = model, documents, encoded
        refuse_unknown(self.named, documents.ids)

    @property
    def _tokens(self) -> int:
        """Padded tokens that are looked at together."""
        return tokens_within(self.max_tokens, len(self._model.classes))

    @property
    def is_open(self) -> bool:
        """Whether there is one: it is made of item logits, which tell all for an affine head."""
        return self.size > 0 and bool(getattr(self._model.head, "affine", False))

    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Take one batch; batches come in any order."""
        if self.named is not None or not self.is_open:
            return
        self._rows.append(trace.batch.row_index.cpu().numpy())
        self._surprises.append(surprises(look_at(model, trace)).cpu().numpy())

    def settle(self) -> None:
        """Nothing is put off."""

    def mark(self) -> int:
        """How many batches were seen; for `back_to`."""
        return len(self._rows)

    def back_to(self, mark: int) -> None:
        """Forget the batches that were seen after a mark."""
        del self._rows[mark:], self._surprises[mark:]

    def conclude(
        self,
        watch: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]] = lambda _: iter,
        limit: TimeLimit | None = None,
    ) -> None:
        """Choose the documents and read them again; `watch(what)` shows how far it got.

        Within a limit of time the shortest are read first, and those that it does not allow are not
        shown.
        """
        if not self.is_open:
            self._manifest = {
                "documents": 0,
                "note": "no gallery: the model's head is not affine, so that item logits do not "
                "tell what an erasure would do",
            }
            return
        rows, ranks, measures = self._chosen()
        batches = reading_batches(self._encoded.lengths[rows], self._tokens)
        if limit is not None:
            batches = batches[::-1]
        parts = []
        for number, some in enumerate(watch("gallery")(batches)):
            try:
                with within(limit) if limit is not None else nullcontext():
                    parts.append(self._keep(rows[some]))
            except OutOfTimeError:
                kept = np.sort(np.concatenate([*batches[:number], np.zeros(0, np.int64)]))
                rows, ranks, measures = rows[kept], ranks[kept], [measures[k] for k in kept]
                break
        if not len(rows):
            self._manifest = {
                "documents": 0,
                "note": "no gallery: there was no time to look at the documents to show",
            }
            return
        documents, items, tokens = (
            pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True)
        )
        order = self._documents.ids[rows]
        ranked: dict[str, list[Any]] = {"ranked_by": measures, "rank": ranks.tolist()}
        for name, values in ranked.items():
            documents.insert(1, name, documents["id"].map(dict(zip(order, values, strict=True))))
        frames = {"documents": documents, "items": items, "tokens": tokens}
        place = pd.Series(np.arange(len(order)), index=order)
        for name, table in frames.items():
            by = np.argsort(place[table["id"]].to_numpy(), kind="stable")
            self._tables[f"gallery_{name}"] = table.take(by).reset_index(drop=True)
        bias = two_columns(self._model.head.bias.detach().float()).tolist()
        self._manifest = {"documents": len(rows), "epsilon": EPSILON, "bias": bias}

    def _chosen(self) -> tuple[Rows, NDArray[np.float64], list[str]]:
        """Rows of the split, in the order to show them, their ranks, and what these are by."""
        if self.named is not None:
            place = {int(number): row for row, number in enumerate(self._documents.ids)}
            rows = np.array([place[number] for number in self.named], dtype=np.int64)
            return rows, np.full(len(rows), np.nan), [""] * len(rows)
        if not self._rows:  # no time to look at any
            return np.zeros(0, np.int64), np.zeros(0), []
        rows, surprise = np.concatenate(self._rows), np.concatenate(self._surprises)
        ranks, measures = best_ranks(surprise), best_measures(surprise)
        best = np.lexsort([self._documents.ids[rows], ranks])[: self.size]
        return rows[best], ranks[best], [measures[place] for place in best]

    @torch.no_grad()
    def _keep(self, rows: Rows) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        model, encoded = self._model, self._encoded
        trace = model(encoded.batch(rows, model.device))
        look = look_at(model, trace)
        deleted = change_without(model, trace, self.max_tokens)
        sentences = None if encoded.sentences is None else encoded.sentences.take(rows)
        shown = self._documents.take(rows)
        marked = None
        if shown.marks is not None:
            marked = known_shares(shown, encoded.spans.take(rows))
        return (
            document_rows(trace, look),
            item_rows(trace, look, deleted, sentences),
            token_rows(trace.ids, trace.words, sentences, marked),
        )

    def tables(self) -> dict[str, pd.DataFrame]:
        return dict(self._tables)

    def manifest(self) -> dict[str, Any]:
        """How many documents there are, ε, the bias; or a note that says why there are none."""
        return dict(self._manifest)
