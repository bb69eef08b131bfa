"""A Transformer that Verax did not train, as something to examine."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verax.corpora.batching import MAX_TOKENS, micro_batches
from verax.corpora.corpus import Documents
from verax.corpora.tokenizer import Tokenizer
from verax.errors import VeraxError, nearest
from verax.external.attention.routes import counted
from verax.external.attention.site import Handler, Route
from verax.external.external_classifier import ExternalClassifier, Texts
from verax.external.pieces import PieceBatch, PieceReader, ReadPieces
from verax.external.preparing import embedding, padding_id, padding_known, prepared
from verax.external.reading import ReadTexts, read_texts
from verax.external.readout import readout_rows
from verax.external.tail import Start, Tail
from verax.external.trace import Pass, TransformerTrace, WordTrace
from verax.models.kinds import ATTENTION, DELETE, MASK, TRANSFORMER, Watch
from verax.models.layers import fingerprint
from verax.time_limit import check_time

CPU_PIECES = 2048
"""Padded pieces of one pass on a CPU, at most."""
WEIGHTS_PER_TOKEN = 2_048
"""Attention weights held at once, for each token of the budget of padded tokens."""


class TransformerClassifier(ExternalClassifier):
    """A Hugging Face classifier whose attention can be captured, replaced and differentiated.

    Args:
        module: a model for sequence classification, or a bare encoder with `head`.
        reader: texts to pieces.
        classes: names of the classes.
        route: how its attention is captured and replaced.
        readout: the positions of the last states that the classifier reads: first, last or mean.
        head: a module from (batch, size) to logits, for a bare encoder.
        word_tokenizer: how texts are split into words.
        record: metadata saved with results.
    """

    kind = TRANSFORMER

    def __init__(
        self,
        module: Any,
        reader: PieceReader,
        classes: Sequence[str],
        *,
        route: Route,
        readout: str,
        head: nn.Module | None = None,
        word_tokenizer: Tokenizer | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(classes, word_tokenizer, record)
        self.module, self.reader, self.route = module, reader, route
        self.readout, self.head = readout, head
        self.layers = self.heads = 0
        self.pad = padding_id(module, reader.tokenizer)
        self._takes = set(inspect.signature(module.forward).parameters)

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    @property
    def fingerprint(self) -> str:
        """A hash of the weights as they are now, 16 hexadecimal digits."""
        return fingerprint(self.module, *([self.head] if self.head is not None else []))

    def describe(self) -> dict[str, Any]:
        config = self.module.config
        return {
            "kind": self.kind,
            "architecture": type(self.module).__name__,
            "layers": self.layers,
            "heads": self.heads,
            "readout": self.readout,
            "route": self.route.name,
            "max_length": self.reader.max_length,
            "hidden_size": getattr(config, "hidden_size", None),
        }

    # reading

    def encode(self, texts: Texts | Documents | ReadTexts, watch: Watch = iter) -> ReadPieces:
        """Return texts as words and pieces; what is over `max_length` pieces is cut off.

        Pairs, and texts that the tokenizer cuts off on the left, are refused where they are longer.
        """
        encoded = super().encode(texts, watch)
        assert isinstance(encoded, ReadPieces)
        return encoded

    def _encoded(self, texts: Texts | Documents) -> ReadPieces:
        read = self.read_cut(texts)
        self.reader.refuse_cut(read.pieces)
        return read

    def read_cut(self, texts: Texts | Documents | ReadTexts) -> ReadPieces:
        """Texts as words and pieces, cut off wherever the tokenizer does."""
        words = read_texts(texts, self.word_tokenizer)
        apart = self.reader.without_separator(words.texts, words.spans)
        pieces = self.reader(words.texts, apart)
        kept = [
            spans[: int(word.max(initial=-1)) + 1] if cut else spans
            for spans, word, cut in zip(apart, pieces.word, pieces.cut, strict=True)
        ]
        # what was cut off must not come in where words before it are taken out
        whole = [
            text[: spans[-1, 1]] if cut and len(spans) else text
            for text, spans, cut in zip(words.texts, kept, pieces.cut, strict=True)
        ]
        return ReadPieces(
            *(whole, kept, words.labels, words.ids, pieces.lengths),
            pieces=pieces,
            cut_at=self.reader.max_length,
        )

    def unknown_words(self, texts: Texts | Documents | ReadTexts) -> float:
        """The share of words with a piece that the tokenizer does not know."""
        unknown = getattr(self.reader.tokenizer, "unk_token_id", None)
        read = self.encode(texts)
        total = sum(len(spans) for spans in read.spans)
        if unknown is None or total == 0:
            return 0.0
        pairs = zip(read.pieces.input_ids, read.pieces.word, strict=True)
        many = sum(len(set(word[(ids == unknown) & (word >= 0)])) for ids, word in pairs)
        return many / total

    # passes

    @torch.no_grad()
    def trace_rows(self, read: ReadTexts, rows: NDArray[np.int64]) -> TransformerTrace:
        """A pass over the texts at `rows`, untouched."""
        assert isinstance(read, ReadPieces)
        words, pieces = read.piece_batch(rows, self.pad, False, self.device)
        return TransformerTrace(words, self.run(pieces).logits, pieces=pieces)

    def run(
        self,
        pieces: PieceBatch,
        handler: Handler | None = None,
        *,
        embedded: Tensor | None = None,
        states: bool = False,
        start: Start | None = None,
    ) -> Pass:
        """One pass.

        Args:
            pieces: what is read.
            handler: sees the attention of each layer, and may replace it.
            embedded: vectors to read instead of those of the pieces, (batch, pieces, size).
            states: keep the states of every layer.
            start: where to begin, instead of at the first layer; `tail` has it.

        Gradients are kept where they are enabled.
        """
        inputs: dict[str, Any] = {"attention_mask": pieces.mask.long()}
        inputs |= {name: values for name, values in pieces.more.items() if name in self._takes}
        opened: AbstractContextManager[None] = nullcontext()
        if handler is not None:
            skipped = 0 if start is None else start.layer
            opened = counted(self.route, handler, self.layers, skipped)
        with (
            prepared(self.module, self.head),
            padding_known(self.module, pieces, self.pad) as input_ids,
            embedding(self.module, input_ids, embedded),
            self._last_states() as seen,
            nullcontext() if start is None else start.skipping(),
            opened,
        ):
            output = self.module(
                input_ids=input_ids, **inputs, output_hidden_states=states, **self._more_flags()
            )
            last = seen[-1]
            logits = _logits(output) if self.head is None else self._decide(last, pieces)
        hidden = getattr(output, "hidden_states", None) if states else None
        if states and hidden is None:  # encoder–decoder
            hidden = (*output.encoder_hidden_states, *output.decoder_hidden_states)
        return Pass(logits, hidden, last)

    def tail(self, pieces: PieceBatch, layer: int) -> Tail:
        """Passes over a batch that begin at a layer: edits of it and later ones cost no more.

        Args:
            pieces: what is read.
            layer: the first layer that runs, counted from 0 as `Site.number` is.
        """
        return Tail(self, pieces, layer)

    def rows_within(
        self, pieces: PieceBatch | int, max_tokens: int = MAX_TOKENS, kept_layers: int = 1
    ) -> int:
        """How many texts a pass with a handler may hold at once, at least one.

        Their pieces stay within `max_tokens`, and heads · pieces² · texts · kept layers within
        `WEIGHTS_PER_TOKEN` times as many.

        Args:
            pieces: a batch, or the pieces of its longest text.
            max_tokens: padded tokens held at once.
            kept_layers: whose weights are held at once: all, where gradients are kept.
        """
        width = max(1, pieces if isinstance(pieces, int) else pieces.input_ids.shape[1])
        weights = max(1, self.heads) * width * width * max(1, kept_layers)
        return max(1, min(max_tokens // width, max_tokens * WEIGHTS_PER_TOKEN // weights))

    def batches(self, read: ReadTexts, max_tokens: int) -> list[NDArray[np.int64]]:
        cut: list[NDArray[np.int64]] = []
        for rows in super().batches(read, max_tokens):
            together = self.rows_within(int(read.lengths[rows].max(initial=1)), max_tokens)
            cut += [rows[i : i + together] for i in range(0, len(rows), together)]
        return cut

    def embed(self, pieces: PieceBatch) -> Tensor:
        """(batch, pieces, size): the vectors of the pieces, as the first layer's input."""
        return self.module.get_input_embeddings()(pieces.input_ids)

    def readout_rows(self, pieces: PieceBatch) -> Tensor:
        """(batch, pieces): how much of each position's last state the classifier reads."""
        return readout_rows(self.readout, pieces)

    def _decide(self, last: Tensor, pieces: PieceBatch) -> Tensor:
        assert self.head is not None
        rows = self.readout_rows(pieces).to(last.dtype)
        return self.head((rows.unsqueeze(1) @ last).squeeze(1))

    def _more_flags(self) -> dict[str, Any]:
        """What a pass is told beside its inputs: no cache, where the model knows of one."""
        if not hasattr(self.module.config, "use_cache"):
            return {}
        parameters = inspect.signature(self.module.forward).parameters
        takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
        return {"use_cache": False} if takes_any or "use_cache" in parameters else {}

    @contextmanager
    def _last_states(self) -> Iterator[list[Tensor]]:
        """The last states of each pass within."""
        seen: list[Tensor] = []
        base = self.module.base_model

        def keep(module: nn.Module, inputs: Any, output: Any) -> None:
            seen.append(output[0] if isinstance(output, tuple) else output.last_hidden_state)

        handle = base.register_forward_hook(keep)
        try:
            yield seen
        finally:
            handle.remove()

    # taking words away

    @property
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away."""
        has_mask = getattr(self.reader.tokenizer, "mask_token_id", None) is not None
        return (DELETE, MASK, ATTENTION) if has_mask else (DELETE, ATTENTION)

    @torch.no_grad()
    def logits_without(
        self,
        trace: WordTrace,
        rows: Tensor,
        removed: Tensor,
        operator: str = DELETE,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Tensor:
        if operator == DELETE:
            return super().logits_without(trace, rows, removed, operator, max_tokens, watch)
        if operator not in self.operators:
            raise VeraxError(
                f"operator {operator!r}: {nearest(operator, self.operators)}",
                code="option.unknown-value",
            )
        assert isinstance(trace, TransformerTrace)
        pieces = trace.pieces
        lengths = pieces.mask.sum(-1)[rows].cpu().numpy()
        longest_first = np.argsort(-lengths, kind="stable")
        logits = trace.logits.new_empty(len(rows), trace.logits.shape[-1])
        for places in watch(micro_batches(longest_first, lengths, self.at_once(max_tokens))):
            check_time()
            some = torch.from_numpy(places).to(rows.device)
            batch = pieces.take(rows[some], width=int(lengths[places[0]]))
            if operator == MASK:
                changed = batch.replaced_by(self.reader.tokenizer.mask_token_id, removed[some])
            else:
                changed = batch.masked_out(removed[some])
            logits[some] = self.run(changed).logits
        return logits

    def at_once(self, max_tokens: int) -> int:
        """The padded pieces of one pass: on a CPU more than its caches hold are slower."""
        return min(max_tokens, CPU_PIECES) if self.device.type == "cpu" else max_tokens

    @torch.no_grad()
    def logits_of_whatever(
        self, texts: list[str], max_tokens: int = MAX_TOKENS, watch: Watch = iter
    ) -> Tensor:
        pieces = self.reader(texts, [self.word_tokenizer.spans(text) for text in texts])
        logits = torch.zeros(len(texts), len(self.classes), device=self.device)
        longest_first = np.argsort(-pieces.lengths, kind="stable")
        for rows in watch(micro_batches(longest_first, pieces.lengths, self.at_once(max_tokens))):
            check_time()
            batch = pieces.batch(rows, self.pad, False, self.device)
            logits[torch.from_numpy(rows).to(self.device)] = self.run(batch).logits.float()
        return logits


def _logits(output: Any) -> Tensor:
    logits = getattr(output, "logits", None)
    if logits is None:
        raise VeraxError(
            "this model gives states and no logits: load it with "
            "AutoModelForSequenceClassification, or give head=…, readout=… and classes=…",
            code="model.wrong-output",
        )
    return logits
