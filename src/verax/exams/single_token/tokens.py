"""What each token says alone: its probability, kept for some documents, and curves of one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from verax.errors import VeraxError, nearest
from verax.exams.item_evidence import ItemEvidence
from verax.models.classifier import AttentionClassifier
from verax.models.layers import decisions, probabilities


def alone(item_logits: Tensor, classes: Tensor) -> Tensor:
    """(batch, items) float64: P(class | item alone), for a class of each document, (batch,).

    Meaningless where masked.
    """
    says = item_logits.double()
    if says.shape[-1] == 1:
        sign = (2 * classes - 1).unsqueeze(-1)
        return torch.sigmoid(says.squeeze(-1) * sign)
    place = classes.view(-1, 1, 1).expand(*says.shape[:2], 1)
    return probabilities(says).gather(-1, place).squeeze(-1)


class Tokens:
    """The items of the documents with the `first` smallest ids, in whatever order these come.

    id      of the document
    item    its place among the attended items, from 0
    p       probability of the class decided for, had attention been on this item alone
    weight  the attention it gets
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self._ids = np.zeros(0, dtype=np.int64)
        self._parts: list[pd.DataFrame] = []
        self._held = 0

    def add(self, evidence: ItemEvidence, p: Tensor) -> None:
        """Take some documents; p (batch, items), meaningless where masked."""
        self._ids = np.sort(np.concatenate([self._ids, evidence.ids]))[: self.first]
        rows = np.flatnonzero(evidence.ids <= self._ids[-1])
        if not len(rows):
            return
        chosen = torch.from_numpy(rows).to(p.device)
        mask, alone, weights = (
            t[chosen].cpu().numpy() for t in (evidence.mask, p, evidence.weights)
        )
        document = np.broadcast_to(evidence.ids[rows, None], mask.shape)
        columns = {
            "id": document[mask],
            "item": (mask.cumsum(-1) - 1)[mask],
            "p": alone[mask].astype(np.float64),
            "weight": weights[mask].astype(np.float64),
        }
        self._parts.append(pd.DataFrame(columns))
        self._held += len(rows)
        if self._held > 2 * self.first:  # smaller ids came later: let go of what they displaced
            self._parts, self._held = [self.table()], len(self._ids)

    def table(self) -> pd.DataFrame:
        """A row for each item, by id and place."""
        whole = pd.concat(self._parts, ignore_index=True)
        whole = whole[whole["id"].isin(self._ids)]
        return whole.sort_values("id", kind="stable", ignore_index=True)


COLUMNS = ["model", "item", "text", "p", "weight", "class", "decision", "confidence"]


@torch.no_grad()
def token_curves(
    models: Mapping[str, AttentionClassifier], text: str | Sequence[str], of: str | None = None
) -> pd.DataFrame:
    """Return what each model would predict from each item alone (Tutek & Šnajder 2020, figs. 2–7).

    One row per model and attended item, all models on the same axis:

    item, text   its position, from 0, and its word, or its sentence in a hierarchical model
    p            probability of `class` if all attention were on this item
    weight       its attention weight
    class        `of`; by default the decision of the first model, so that curves are comparable
    decision     the model's decision on the whole text
    confidence   its probability of `class` on the whole text
    """
    if not isinstance(models, Mapping) or not models:
        raise VeraxError(
            "no model to draw a curve of: give a mapping from names to models", code="option.empty"
        )
    parts: list[pd.DataFrame] = []
    for name, model in models.items():
        trace = model.trace([text])
        decided = int(decisions(trace.logits)[0])
        if of is None:
            of = model.classes[decided]
        if of not in model.classes:
            raise VeraxError(
                f"model {name!r} has no class {of!r}: {nearest(of, model.classes)}",
                code="model.unknown-class",
            )
        place = model.classes.index(of)
        mask = trace.mask[0]
        p = alone(trace.item_logits, torch.full_like(trace.batch.row_index, place))[0][mask]
        texts = _texts(trace.words[0], trace.item_of_token[0].tolist(), int(mask.sum()))
        parts.append(
            pd.DataFrame(
                {
                    "model": name,
                    "item": range(len(p)),
                    "text": texts,
                    "p": p.cpu().numpy(),
                    "weight": trace.weights[0][mask].double().cpu().numpy(),
                    "class": of,
                    "decision": model.classes[decided],
                    "confidence": float(probabilities(trace.logits.double())[0, place]),
                },
                columns=COLUMNS,
            )
        )
        if parts[-1]["text"].tolist() != parts[0]["text"].tolist():
            raise VeraxError(
                f"models {next(iter(models))!r} and {name!r} attend different items of this text: "
                "curves on one axis need the same tokenizer, and words or sentences in both",
                code="model.incomparable",
            )
    return pd.concat(parts, ignore_index=True)


def _texts(tokens: Sequence[str], item_of_token: list[int], items: int) -> list[str]:
    """The words of each item; item_of_token is −1 for SOS, EOS and PAD."""
    places = [item for item in item_of_token if item >= 0]
    first = min(places, default=0)  # in a flat model, items stand behind SOS
    grouped: list[list[str]] = [[] for _ in range(items)]
    for word, item in zip(tokens, places, strict=True):
        grouped[item - first].append(word)
    return [" ".join(words) for words in grouped]
