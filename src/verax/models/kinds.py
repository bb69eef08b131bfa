"""Kinds of classifier: what a model lets one ask about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from verax.corpora.tokenizer import Tokenizer

POOLED = "pooled"
"""One attention over items, whose weighted mean a head reads; what Verax trains."""
TRANSFORMER = "transformer"
"""Attention in layers and heads, which can be captured, replaced and differentiated."""
PREDICT = "predict"
"""Probabilities of texts, and nothing else."""
KINDS = (POOLED, TRANSFORMER, PREDICT)

DELETE, MASK, ATTENTION = "delete", "mask", "attention"
"""Operators, ways to take words away: out of the text, which is read again; a token that stands for
no word in particular takes their place; nothing can attend to them.
"""

Watch = Callable[[Iterable[Any]], Iterable[Any]]


class TextClassifier(Protocol):
    """What `examine`, `explain`, `compare` and reports need of any model.

    kind       pooled, transformer or predict
    classes    names of the classes, in the order of logits
    word_tokenizer  splits texts into words
    record     what is known of the model's making
    attended   words or sentences: what attention weighs
    trained_here  whether Verax trained it
    """

    kind: str
    trained_here: bool
    classes: list[str]
    word_tokenizer: Tokenizer
    record: Mapping[str, Any]

    @property
    def attended(self) -> str: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def fingerprint(self) -> str: ...

    def describe(self) -> dict[str, Any]:
        """What the model is, in plain values: options, or architecture, layers and heads."""
        ...

    def encode(self, texts: Any, watch: Watch = ...) -> Any:
        """Texts, or documents of a corpus, as the model reads them.

        Whatever it is, it has `texts`, the `words` and their `spans` in each, and `lengths`.
        """
        ...

    def traces(self, texts: Any, max_tokens: int = ..., watch: Watch = ...) -> Iterator[Any]:
        """Forward passes, batch by batch within a budget of padded tokens."""
        ...

    def logits(self, texts: Any, max_tokens: int = ..., watch: Watch = ...) -> Tensor:
        """(documents, classes), in the order given."""
        ...

    def unknown_words(self, texts: Any) -> float:
        """The share of words that the model reads as unknown."""
        ...
