"""`from_predict`: a function from texts to probabilities as something to examine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.tokenising import AS_WRITTEN, Tokeniser
from verax.errors import VeraxError, foreign_code, nearest
from verax.external.external_classifier import ExternalClassifier, class_names
from verax.external.reading import ReadTexts
from verax.external.trace import WordTrace
from verax.models.kinds import DELETE, MASK, PREDICT, Watch
from verax.options import check
from verax.time_limit import check_time

GIVES = ("probabilities", "logits")
PROBES = ("a", "good film", "not a good film.", "It was late; nobody had read the last page.")
"""Texts with which every function is checked first: alone, in batches and in two orders."""
FULL = 64
"""The most of these texts in the batch that checks how full batches are answered."""
LEAST = 1e-12
"""Probabilities below this count as this, so that they have a logarithm."""
_SUM, _SAME = 1e-3, 1e-4

Predict = Callable[[list[str]], Any]


def from_predict(
    function: Predict,
    classes: Sequence[str],
    *,
    words: str = AS_WRITTEN,
    gives: str = "probabilities",
    max_batch: int = 64,
    name: str | None = None,
    mask: str | None = None,
) -> PredictClassifier:
    """A classifier of which nothing is known but what it says: for the exams of inputs.

    Args:
        function: takes a list of texts, and gives a row of numbers for each and a column for each
            class: an array, a tensor, or lists.
        classes: names of the classes, in the order of the columns.
        words: how texts are cut into words: as-written or whitespace.
        gives: probabilities or logits: what the numbers are.
        max_batch: the most texts that the function gets at once.
        name: what results call the model; the function's own name, unless given.
        mask: what can stand for a word, such as [MASK]: where the operator mask shall be one of
            the ways to take words away.

    Returns:
        The classifier, once the function has answered for a few texts as it should: the right
        shape, finite numbers, rows that sum to one, and the same answer to a text in another order,
        alone and in batches.

    >>> import numpy as np
    >>> def by_length(texts):
    ...     long = np.array([min(len(text), 40) / 40 for text in texts])
    ...     return np.stack([1 - long, long], axis=1)
    >>> model = from_predict(by_length, ["short", "long"])
    >>> model.predict(["A text.", "A text that is not short, as texts go."]).label.tolist()
    ['short', 'long']
    """
    if not callable(function):
        raise VeraxError(
            f"cannot ask a {type(function).__name__}: expected a function from a list of texts to "
            "probabilities",
            code="model.wrong-type",
        )
    classes = class_names(classes)
    if gives not in GIVES:
        raise VeraxError(
            f"gives is {gives!r}: {nearest(gives, GIVES)}", code="option.unknown-value"
        )
    if words not in (AS_WRITTEN, "whitespace"):
        raise VeraxError(
            f"words {words!r}: use {AS_WRITTEN} or whitespace", code="option.unknown-value"
        )
    max_batch = check("max_batch", max_batch, int, {"minimum": 1})
    if mask is not None and not (isinstance(mask, str) and mask.strip()):
        raise VeraxError(
            f"mask is {mask!r}: give the string that stands for a word, as in [MASK]",
            code="option.wrong-type",
        )
    called = str(name or getattr(function, "__name__", type(function).__name__))
    return PredictClassifier(function, classes, words, gives, max_batch, called, mask)


class PredictClassifier(ExternalClassifier):
    """A function of texts, asked in batches; see `from_predict`.

    Logits are logarithms of its probabilities. Within a call of `logits_of_whatever` it is asked
    about each text once, however often the text is there.
    """

    kind = PREDICT

    def __init__(
        self,
        function: Predict,
        classes: Sequence[str],
        words: str,
        gives: str,
        max_batch: int,
        name: str,
        mask: str | None = None,
    ) -> None:
        tokeniser = Tokeniser(words, lowercase=False)
        super().__init__(classes, tokeniser, {"name": name})
        self._function, self._gives, self._max_batch = function, gives, max_batch
        self._mask = mask
        self._fingerprint = self._probed()

    @property
    def fingerprint(self) -> str:
        """A hash of what the function says of `PROBES`, to five decimals; it has no weights."""
        return self._fingerprint

    def describe(self) -> dict[str, Any]:
        """The function's name and what it gives."""
        return {"function": self.record["name"], "gives": self._gives}

    @property
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away; mask, where a string was named for it."""
        return (DELETE,) if self._mask is None else (DELETE, MASK)

    def logits_without(
        self,
        trace: WordTrace,
        rows: Tensor,
        removed: Tensor,
        operator: str = DELETE,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Tensor:
        if operator != MASK or self._mask is None:
            return super().logits_without(trace, rows, removed, operator, max_tokens, watch)
        pairs = zip(rows.tolist(), removed.cpu().numpy(), strict=True)
        texts = [trace.batch.masked(row, words, self._mask) for row, words in pairs]
        return self.logits_of_whatever(texts, max_tokens, watch)

    def trace_rows(self, read: ReadTexts, rows: NDArray[np.int64]) -> WordTrace:
        """What the function says of the texts at `rows`."""
        batch = read.batch(rows, self.device)
        return WordTrace(batch, self.logits_of_whatever(batch.texts))

    def logits_of_whatever(
        self, texts: list[str], max_tokens: int = MAX_TOKENS, watch: Watch = iter
    ) -> Tensor:
        """(texts, classes) in float64: each different text is asked about once."""
        once = list(dict.fromkeys(texts))
        parts = [once[i : i + self._max_batch] for i in range(0, len(once), self._max_batch)]
        answers = []
        for part in watch(parts):
            check_time()
            answers.append(self._ask(part))
        if not answers:
            return torch.zeros(0, len(self.classes), dtype=torch.float64)
        place = {text: number for number, text in enumerate(once)}
        return torch.cat(answers)[torch.tensor([place[text] for text in texts])]

    def _ask(self, texts: list[str]) -> Tensor:
        """(texts, classes): logits of what the function gave, once that is what it should be."""
        with foreign_code(f"the function failed on {len(texts)} texts"):
            given = self._function(list(texts))
        try:
            plain = given.detach().cpu().numpy() if isinstance(given, Tensor) else given
            numbers = torch.from_numpy(np.array(plain, dtype=np.float64))
        except (Exception, SystemExit, GeneratorExit) as error:  # of an array of any library
            raise VeraxError(
                f"the function gave a {type(given).__name__} that is no array of numbers: expected "
                f"a row for each text and a column for each of {len(self.classes)} classes",
                code="model.wrong-output",
            ) from error
        expected = (len(texts), len(self.classes))
        if tuple(numbers.shape) != expected:
            raise VeraxError(
                f"the function gave the shape {tuple(numbers.shape)}, expected {expected}: a row "
                "for each text, a column for each class",
                code="model.wrong-output",
            )
        if not bool(numbers.isfinite().all()):
            row = int((~numbers.isfinite()).any(-1).nonzero()[0])
            raise VeraxError(
                f"the function gave {numbers[row].tolist()} for {_short(texts[row])}: expected "
                "finite numbers",
                code="model.not-finite",
            )
        if self._gives == "logits":
            return numbers
        off = ((numbers.sum(-1) - 1).abs() > _SUM) | (numbers < -_SUM).any(-1)
        if bool(off.any()):
            row = int(off.nonzero()[0])
            raise VeraxError(
                f"the function gave {numbers[row].tolist()} for {_short(texts[row])}: expected "
                "probabilities that sum to one; for logits give gives='logits'",
                code="model.wrong-output",
            )
        return numbers.clamp(min=LEAST).log()

    def _probed(self) -> str:
        """Return a hash of the answers to a few texts, which must not depend on how they are asked.

        Each text is passed alone, in a small batch in two orders, and in a full one.
        """
        first = self._probabilities(PROBES)
        again = self._probabilities(PROBES[::-1]).flip(0)
        if (off := _off(first, again)) > _SAME:
            raise VeraxError(
                "the function gives a text another answer when asked again, or in another order "
                f"(off by {off:.2g}): switch off dropout and whatever is random (model.eval())",
                code="model.not-deterministic",
            )
        alone = self._probabilities(PROBES, at_once=1)
        full = max(len(PROBES), min(self._max_batch, FULL))
        repeated = (PROBES * full)[:full]
        for texts, answers in ((PROBES, first), (repeated, self._probabilities(repeated))):
            size = min(len(texts), self._max_batch)
            if (off := _off(alone[torch.arange(len(texts)) % len(PROBES)], answers)) > _SAME:
                copies = [self._probabilities([text] * size)[:1] for text in PROBES]
                why = "the texts beside it, as where padding is read"
                if _off(alone, torch.cat(copies)) > _SAME:
                    why = f"how many texts are passed at once (1 or {size})"
                raise VeraxError(
                    f"the function's answer to a text depends on {why} (off by {off:.2g}): answer "
                    "each text by itself, or give max_batch=1",
                    code="model.batch-dependent",
                )
        digest = hashlib.sha256("\0".join(self.classes).encode())
        digest.update((first * 1e5).round().long().numpy().tobytes())
        return digest.hexdigest()[:16]

    def _probabilities(self, texts: Sequence[str], at_once: int | None = None) -> Tensor:
        """(texts, classes): what the function says, asked in batches of at most `max_batch`."""
        size = at_once or self._max_batch
        parts = [self._ask(list(texts[i : i + size])) for i in range(0, len(texts), size)]
        return torch.cat(parts).softmax(-1)


def _off(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max())


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
