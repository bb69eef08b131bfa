"""Scores of one's own as an importance: arrays, tensors, an attribution of captum's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.errors import VeraxError
from verax.models.kinds import POOLED
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace

Scores = NDArray[np.float64]


class ArrayImportance:
    """Scores of words that are known beforehand, as a function of (model, trace).

    Args:
        name: of the importance, for messages.
        values: a list with an array for each document, or one array or tensor for all of them,
            (documents, words) with padding at the end; a third dimension, such as that of word
            vectors, is summed over. Each document has a score for each word, or, where the model
            reads SOS and EOS, for each token.
    """

    def __init__(self, name: str, values: Any) -> None:
        self.name, self._values = name, values
        self._by_id: dict[Any, Scores] = {}

    def bind(
        self, model: PooledClassifier, words: NDArray[np.int64], ids: NDArray[Any] | None = None
    ) -> ArrayImportance:
        """Check the scores against documents, and know them by id.

        Args:
            model: the model that reads the documents.
            words: (documents,) how many words each has.
            ids: what `trace.ids` calls the documents; 0, 1, 2, …, unless given.
        """
        boundaries = model.kind == POOLED and model.boundaries
        rows = per_document(self.name, self._values, words, boundaries)
        self._by_id = dict(
            zip(range(len(rows)) if ids is None else ids.tolist(), rows, strict=True)
        )
        return self

    def __call__(self, model: PooledClassifier, trace: Trace) -> Tensor:
        """(batch, tokens): each document's scores at its words, zero elsewhere."""
        table = np.zeros(trace.tokens.shape)
        scores = [self._by_id[document] for document in trace.ids.tolist()]
        table[trace.batch.words.cpu().numpy()] = np.concatenate(scores)
        return torch.from_numpy(table).to(trace.tokens.device)


def per_document(
    name: str, values: Any, words: NDArray[np.int64], boundaries: bool
) -> list[Scores]:
    """The scores of each document's words, checked; see `importance_of`."""
    is_list = isinstance(values, (Sequence, np.ndarray, Tensor)) and not isinstance(values, str)
    if not is_list or getattr(values, "ndim", 1) == 0:
        raise VeraxError(
            f"importance {name!r} has the type {type(values).__name__}: expected a function of "
            "(model, trace), or an array of scores for each text",
            code="importance.wrong-scores",
        )
    arrays = [_array(name, row) for row in values]
    if len(arrays) != len(words):
        raise VeraxError(
            f"importance {name!r} has scores for {_count(len(arrays), 'text')}, and there are "
            f"{len(words):,}: give an array for each, in their order",
            code="importance.wrong-scores",
        )
    is_padded = isinstance(values, (np.ndarray, Tensor)) and values.ndim > 1
    rooms = np.full_like(words, max(words, default=0)) if is_padded else words
    scores = []
    for number, (array, count, room) in enumerate(zip(arrays, words, rooms, strict=True)):
        first = int(boundaries and len(array) == room + 2)
        if len(array) != room + 2 * first:
            also = f", or {room + 2} with SOS and EOS" if boundaries else ""
            expected = "as the longest text has words" if is_padded else "one for each word"
            raise VeraxError(
                f"importance {name!r} has {_count(len(array), 'score')} for text {number}: "
                f"expected {room}, {expected}{also}",
                code="importance.wrong-scores",
            )
        score = array[first : first + count]
        if not np.isfinite(score).all():
            raise VeraxError(
                f"importance {name!r} has a score for text {number} that is not finite: give a "
                "number for each word",
                code="importance.wrong-scores",
            )
        scores.append(score)
    return scores


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _array(name: str, row: Any) -> Scores:
    """One document's scores as (words,) in float64."""
    try:
        plain = row.detach().cpu().numpy() if isinstance(row, Tensor) else row
        array = np.asarray(plain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise VeraxError(
            f"importance {name!r} is no array of numbers: {error}", code="importance.wrong-scores"
        ) from error
    if array.ndim == 0:
        raise VeraxError(
            f"importance {name!r} has one number where the scores of a text belong: give a list "
            "with one array per text: [scores]",
            code="importance.wrong-scores",
        )
    if array.ndim == 2:  # an attribution of word vectors
        array = array.sum(-1)
    if array.ndim != 1:
        raise VeraxError(
            f"importance {name!r} has {array.ndim} dimensions for a document: expected a score "
            "for each word",
            code="importance.wrong-scores",
        )
    return array
