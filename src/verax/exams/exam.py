"""What every exam is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.encoded import EncodedDocuments
from verax.exams.own_importances import named
from verax.exams.tables import TableBuilder
from verax.importance import Importance
from verax.models.classifier import AttentionClassifier
from verax.models.trace import Trace


class Exam(ABC):
    """Sees every batch of a split, then gives its tables.

    `options_class` is a dataclass of `verax.options.option` fields: keywords of `examine` and flags
    of the command at once, so no two exams may call an option the same. An exam is made with
    (options, seed, importances, max_tokens).
    """

    name: str
    options_class: type

    def __init__(
        self,
        options: Any,
        seed: int,
        importances: Mapping[str, Importance],
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.options = options
        self.seed = seed
        self.importances = named(importances)
        self.max_tokens = max_tokens
        self.builder = TableBuilder()

    def begin(  # noqa: B027  most exams need no warning
        self, model: AttentionClassifier, documents: EncodedDocuments
    ) -> None:
        """Told once, before the first batch, what will be read."""

    @abstractmethod
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch; batches come in any order."""

    def conclude(  # noqa: B027  nor anything to do at the end
        self, watch: Callable[[str], Callable[[Iterable[Any]], Iterable[Any]]]
    ) -> None:
        """After the last batch: work that needs all of them; `watch(what)` shows how far it got."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """Name → tidy table: those of the ledger."""
        return self.builder.tables()
