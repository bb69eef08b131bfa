"""The gallery of a model without items: documents with what each score says of their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import torch

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Documents
from verax.corpora.ragged import Ragged
from verax.exams.agreement.ranks import kendall_tau_b
from verax.exams.gallery.gallery import checked_wish, known_shares, refuse_unknown
from verax.importance import score
from verax.importance.transformers import DERIVED
from verax.models.kinds import TRANSFORMER
from verax.models.layers import decisions, probabilities
from verax.time_limit import TimeLimit

LEFT_OUT = "leave-one-out"


class ScoredGallery:
    """Documents whose scores of words disagree most with leave-one-out, or those named.

    Attention is held against leave-one-out by Kendall's τ-b; of a model without attention the first
    documents are kept. Only the documents to show stay in memory. Gives two tables:

    gallery_texts  in the order to show them: label (−1 where there is none), decision, words, tau,
                   and p_0, p_1, … of the classes
    gallery_words  for each word: place, text, and a column for each score, signed where it takes
                   sides; where the corpus has rationales, marked: the share of annotators who
                   marked it, NaN where nobody looked at the document

    Args:
        documents: how many to show, or which ids.
        seed: of scores that are drawn.
        max_tokens: padded tokens held at once.
    """

    def __init__(self, documents: Any, seed: int = 0, max_tokens: int = MAX_TOKENS) -> None:
        self.size, self.named = checked_wish(documents)
        self.seed, self.max_tokens = seed, max_tokens
        self._kept: list[tuple[float, int, dict[str, Any], pd.DataFrame]] = []

    def begin(self, model: Any, documents: Documents, encoded: Any) -> None:
        """Told once what will be read."""
        refuse_unknown(self.named, documents.ids)
        self._marked = None
        if self.size and documents.marks is not None:
            self._marked = known_shares(documents, Ragged.of(encoded.spans, width=2))
        self._names = [*DERIVED, "gradient", LEFT_OUT] if model.kind == TRANSFORMER else [LEFT_OUT]

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Look at one batch, and keep what is to be shown of it."""
        if self.size == 0:
            return
        how: dict[str, Any] = {"signed": True, "seed": self.seed, "max_tokens": self.max_tokens}
        if self.named is not None and not set(self.named) & set(trace.ids.tolist()):
            return
        scores = {n: score(n, model, trace, **how) for n in self._names}
        tau = torch.full((len(trace),), torch.nan, dtype=torch.float64)
        if "attention" in scores:
            tau = kendall_tau_b(scores["attention"], scores[LEFT_OUT].abs(), trace.mask).cpu()
        decided, p = decisions(trace.logits).tolist(), probabilities(trace.logits.double()).cpu()
        labels = [-1] * len(trace) if trace.labels is None else trace.labels.tolist()
        for row, number in enumerate(trace.ids.tolist()):
            if self.named is not None and number not in self.named:
                continue
            surprise = -float(tau[row]) if not torch.isnan(tau[row]) else -np.inf
            about = {"id": number, "label": labels[row], "decision": decided[row]}
            about |= {"words": len(trace.words[row]), "tau": float(tau[row])}
            about |= {f"p_{c}": float(share) for c, share in enumerate(p[row])}
            mask = trace.mask[row]
            columns = {name: values[row][mask].cpu().numpy() for name, values in scores.items()}
            frame = pd.DataFrame({"id": number, "place": np.arange(int(mask.sum())), **columns})
            frame.insert(2, "text", pd.Series(trace.words[row], dtype=object))
            if self._marked is not None:
                frame["marked"] = self._marked[int(trace.batch.row_index[row])]
            self._kept.append((surprise, number, about, frame))
        self._kept.sort(key=lambda kept: (-kept[0], kept[1]))
        del self._kept[self.size :]

    def settle(self) -> None:
        """Nothing is put off."""

    def mark(self) -> list[Any]:
        """What is kept now; for `back_to`."""
        return list(self._kept)

    def back_to(self, mark: list[Any]) -> None:
        """Forget what was seen after a mark."""
        self._kept = list(mark)

    def conclude(
        self,
        watch: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]] = lambda _: iter,
        limit: TimeLimit | None = None,
    ) -> None:
        """Nothing is left to do: what is shown was kept."""

    def tables(self) -> dict[str, pd.DataFrame]:
        if not self._kept:
            return {}
        if self.named is not None:
            place = {number: where for where, number in enumerate(self.named)}
            self._kept.sort(key=lambda kept: place[kept[1]])
        documents = pd.DataFrame([about for _, _, about, _ in self._kept])
        words = pd.concat([frame for *_, frame in self._kept], ignore_index=True)
        return {"gallery_texts": documents, "gallery_words": words}

    def manifest(self) -> dict[str, Any]:
        """How many documents there are, and by which scores."""
        return {"documents": len(self._kept), "scores": self._names}
