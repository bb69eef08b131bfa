"""A Hugging Face classifier, its passes, and how these are edited or begun at a layer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verax.corpora.batching import MAX_TOKENS, micro_batches
from verax.corpora.corpus import Documents
from verax.corpora.tokenizer import Tokenizer
from verax.errors import VeraxError, nearest
from verax.external.pieces import PieceBatch, PieceReader, ReadPieces
from verax.external.reading import ReadTexts, WordBatch, read_texts
from verax.models.base import ExternalClassifier, Texts, WordTrace, evaluation_mode
from verax.models.kinds import ATTENTION, DELETE, MASK, TRANSFORMER, Watch
from verax.models.layers import fingerprint
from verax.models.transformers.hooks import (
    INTERFACE,
    AttentionCall,
    AttentionHook,
    Handler,
    attending_by,
    counted,
)
from verax.time_limit import check_time

CPU_PIECES = 2048
"""Padded pieces of one pass on a CPU, at most."""
WEIGHTS_PER_TOKEN = 2_048
"""Attention weights held at once, for each token of the budget of padded tokens."""
PLAIN = (None, "eager", "sdpa", INTERFACE)
"""Implementations of attention that run anywhere; others are kernels of some GPUs."""
FIRST, LAST, MEAN = "first", "last", "mean"
READOUTS = (FIRST, LAST, MEAN)


@dataclass(frozen=True, eq=False, repr=False)
class TransformerTrace(WordTrace):
    """Logits of a batch of texts, with the pieces that the Transformer read.

    pieces  input ids, their mask, and the word that each piece belongs to
    """

    pieces: PieceBatch


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over a batch of pieces.

    logits  (batch, classes)
    states  of the embeddings and after each layer, (batch, pieces, size) each, where asked for
    last    what the classifier reads, (batch, pieces, size): the last layer's states
    """

    logits: Tensor
    states: tuple[Tensor, ...] | None
    last: Tensor


class TransformerClassifier(ExternalClassifier):
    """A Hugging Face classifier whose attention can be captured, replaced and differentiated.

    Args:
        module: a model for sequence classification, or a bare encoder with `head`.
        reader: texts to pieces.
        classes: names of the classes.
        hook: how its attention is captured and replaced.
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
        hook: AttentionHook,
        readout: str,
        head: nn.Module | None = None,
        word_tokenizer: Tokenizer | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(classes, word_tokenizer, record)
        self.module, self.reader, self.hook = module, reader, hook
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
            "route": self.hook.name,
            "max_length": self.reader.max_length,
            "hidden_size": getattr(config, "hidden_size", None),
        }

    def label_number(self, label: str) -> int | None:
        """The class that a label stands for: by name, or by number as in `config.label2id`."""
        number = super().label_number(label)
        if number is None and self.head is None and label.isdecimal():
            number = int(label) if int(label) < len(self.classes) else None
        return number

    # reading

    def encode(self, texts: Texts | Documents | ReadTexts, watch: Watch = iter) -> ReadPieces:
        """Return texts as words and pieces; what is over `max_length` pieces is cut off.

        Pairs, and texts that the tokenizer cuts off on the left, are refused where they are longer.
        """
        encoded = super().encode(texts, watch)
        assert isinstance(encoded, ReadPieces)
        return encoded

    def _encoded(self, texts: Texts | Documents, watch: Watch) -> ReadPieces:
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

    def batch(self, read: ReadPieces, rows: NDArray[np.int64]) -> tuple[WordBatch, PieceBatch]:
        """The texts at `rows` as words and as pieces."""
        return read.piece_batch(rows, self.pad, False, self.device)

    def forward(self, batch: tuple[WordBatch, PieceBatch]) -> TransformerTrace:
        """A pass over a batch, untouched."""
        words, pieces = batch
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
            opened = counted(self.hook, handler, self.layers, skipped)
        with (
            as_deployed(self.module, self.head),
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
            layer: the first layer that runs, counted from 0 as `AttentionCall.number` is.
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
    def logits_of_texts(
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


def readout_rows(readout: str, pieces: PieceBatch) -> Tensor:
    """(batch, pieces) float: how much of each position is read; rows sum to one."""
    mask = pieces.mask
    if readout == MEAN:
        return mask.float() / mask.sum(-1, keepdim=True).clamp(min=1)
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    if readout == FIRST:
        place = places.masked_fill(~mask, mask.shape[1]).amin(-1)
    else:
        place = places.masked_fill(~mask, -1).amax(-1)
    # a row without pieces reads none
    return (places == place.unsqueeze(-1)).float()


@contextmanager
def as_deployed(module: Any, head: nn.Module | None = None) -> Iterator[None]:
    """Within this, nothing is dropped, recomputed or left to special kernels.

    No parameter asks for a gradient: gradients are those of what was read. Afterwards the model is
    exactly as it was.
    """
    parts = [module, *([head] if head is not None else [])]
    wanted = [p for part in parts for p in part.parameters() if p.requires_grad]
    own = getattr(getattr(module, "config", None), "_attn_implementation", None)
    with ExitStack() as stack:
        stack.enter_context(evaluation_mode(*parts))
        if own not in PLAIN:
            stack.enter_context(attending_by(module, "eager"))
        try:
            for parameter in wanted:
                parameter.requires_grad_(False)
            yield
        finally:
            for parameter in wanted:
                parameter.requires_grad_(True)


def padding_id(module: Any, tokenizer: Any) -> int:
    """The piece to pad with: the model's own, else the tokenizer's, else its end of text."""
    own = _own_padding(module)
    ids = [own, getattr(tokenizer, "pad_token_id", None), getattr(tokenizer, "eos_token_id", None)]
    return next((int(piece) for piece in ids if piece is not None), 0)


@contextmanager
def padding_known(module: Any, pieces: PieceBatch, pad: int) -> Iterator[Tensor]:
    """The input ids of a batch whose padding the model knows as such.

    A model without a padding piece reads the last position of a lone text, whatever piece is
    there. So its batches are padded with a piece that none of their texts has, and for the time of
    the pass the configuration names it.
    """
    if _own_padding(module) is not None:
        yield pieces.input_ids
        return
    input_ids, config = pieces.input_ids, module.config.get_text_config()
    if bool((input_ids == pad)[pieces.mask].any()):
        is_used = torch.zeros(len(pieces.input_ids.unique()) + 1, dtype=torch.bool)
        is_used[input_ids[input_ids < len(is_used)].cpu()] = True
        other = int((~is_used).nonzero()[0])
        input_ids, pad = input_ids.masked_fill((input_ids == pad) & ~pieces.mask, other), other
    own = config.pad_token_id
    try:
        config.pad_token_id = pad
        yield input_ids
    finally:
        config.pad_token_id = own


def _own_padding(module: Any) -> int | None:
    """The padding piece that a model's configuration names; None where it names none."""
    config = module.config.get_text_config()
    pad = getattr(config, "pad_token_id", None)
    return pad if pad is not None and 0 <= pad < getattr(config, "vocab_size", pad + 1) else None


@contextmanager
def embedding(module: Any, input_ids: Tensor, embedded: Tensor | None) -> Iterator[None]:
    """Within this, a model reads given vectors in place of those of its pieces.

    The model gets the pieces, too: those with a last-position readout look for padding in them.
    The decoder of a pair reads the pieces one position later.
    """
    if embedded is None:
        yield
        return
    weight = module.get_input_embeddings().weight
    calls = 0

    def give(part: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        nonlocal calls
        ids = inputs[0]
        if ids.shape != input_ids.shape:
            return None
        calls += 1
        if torch.equal(ids, input_ids):
            return embedded.to(output.dtype)
        if torch.equal(ids[:, 1:], input_ids[:, :-1]):
            return torch.cat([output[:, :1], embedded[:, :-1].to(output.dtype)], 1)
        calls -= 1
        return None

    parts = [part for part in module.modules() if getattr(part, "weight", None) is weight]
    handles = [p.register_forward_hook(give) for p in parts if isinstance(p, nn.Embedding)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
    if not calls:
        raise VeraxError(
            f"{type(module).__name__} does not look its pieces up in its embeddings: gradients of "
            "what it reads cannot be had",
            code="importance.not-applicable",
        )


@dataclass(frozen=True, eq=False)
class Start:
    """Where a pass begins.

    layer   the first that runs, from 0
    blocks  the modules of the layers before it
    output  what the last of these gave: states, or a tuple that begins with them
    """

    layer: int
    blocks: Sequence[nn.Module]
    output: Any

    def take(self, rows: Tensor) -> Start:
        """The same for some rows of the batch; one may be there many times."""
        return Start(self.layer, self.blocks, _taken(self.output, rows))

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """Within this, the earlier layers give what was kept; afterwards they are as they were."""
        with ExitStack() as stack:
            for block in self.blocks:
                stack.enter_context(_giving(block, self.output))
            yield


class Tail:
    """Passes over one batch that begin at a layer.

    They give the logits of full passes. A model whose layers cannot be skipped (ALBERT, which has
    one layer many times; encoder–decoders) runs full passes.

    Args:
        model: a classifier.
        pieces: what is read.
        layer: the first layer that runs, counted from 0 as `AttentionCall.number` is.

    Attributes:
        skipped: how many layers later passes leave out.
        logits: (batch, classes) of the batch, untouched.
    """

    def __init__(self, model: TransformerClassifier, pieces: PieceBatch, layer: int) -> None:
        if not 0 <= layer < model.layers:
            raise VeraxError(
                f"layer is {layer}: this model has layers 0 to {model.layers - 1}, counted from 0",
                code="option.out-of-range",
            )
        self.model, self.pieces, self.layer = model, pieces, layer
        self._start, self.logits = _started(model, pieces, layer)

    @property
    def skipped(self) -> int:
        return 0 if self._start is None else self._start.layer

    def run(self, handler: Handler | None = None, rows: Tensor | None = None) -> Pass:
        """One pass from the layer on.

        Args:
            handler: sees the attention of the layers that run, numbered as in full passes. One
                that edits earlier layers than `layer` is told nothing of those that are skipped.
            rows: (variants,) long: which texts of the batch are read, one perhaps many times; all,
                unless given.
        """
        pieces, start = self.pieces, self._start
        if rows is not None:
            pieces = pieces.take(rows)
            start = None if start is None else start.take(rows)
        return self.model.run(pieces, handler, start=start)


@torch.no_grad()
def _started(
    model: TransformerClassifier, pieces: PieceBatch, layer: int
) -> tuple[Start | None, Tensor]:
    """Where to begin for a layer, None where layers cannot be skipped; the untouched logits."""
    names: list[str] = []
    outputs: dict[int, Any] = {}

    def keep(module: nn.Module, inputs: Any, output: Any) -> None:
        outputs[id(module)] = output

    candidates = _blocks(model, layer)
    handles = [part.register_forward_hook(keep) for _, parts in candidates for part in parts[-1:]]

    def note(call: AttentionCall) -> None:
        names.append(call.name)

    try:
        whole = model.run(pieces, note).logits
    finally:
        for handle in handles:
            handle.remove()
    for name, parts in candidates:
        places = [f"{name}.{number}." for number in range(model.layers)]
        if not all(one.startswith(place) for one, place in zip(names, places, strict=True)):
            continue
        start = Start(layer, parts, outputs.get(id(parts[-1])))
        # what is wrong here would be wrong everywhere: layers that also feed something else
        if torch.allclose(model.run(pieces, start=start).logits, whole, rtol=1e-4, atol=1e-4):
            return start, whole
    return None, whole


def _blocks(model: TransformerClassifier, layer: int) -> list[tuple[str, Sequence[nn.Module]]]:
    """Lists of as many modules as there are layers, by name: those before a layer."""
    if layer == 0:
        return []
    every = model.module.named_modules()
    lists = [(name, part) for name, part in every if isinstance(part, nn.ModuleList)]
    return [(name, list(part)[:layer]) for name, part in lists if len(part) == model.layers]


@contextmanager
def _giving(block: nn.Module, output: Any) -> Iterator[None]:
    own = vars(block).get("forward")
    block.forward = lambda *args, **more: output
    try:
        yield
    finally:
        if own is None:
            del block.forward
        else:
            block.forward = own


def _taken(output: Any, rows: Tensor) -> Any:
    if isinstance(output, Tensor):
        return output[rows]
    return tuple(_taken(part, rows) for part in output) if isinstance(output, tuple) else output
