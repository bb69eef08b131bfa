"""Small BERTs of Hugging Face that are honest, or deceive, by how they are built.

Where attention is moved, it is what people are shown: that of the first position, averaged over
heads, as shares of words. With m the share of marked words, the loss is cross-entropy − λ log m, or
− λ log(1 − m) to move it away (Pruthi et al. 2020), in the last layer, which the classifier reads,
or in all.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

import verax
from verax.calibration import (
    DECEPTIVE,
    HONEST,
    KINDS,
    Kind,
    ModelFactory,
    examined,
    lexicon,
)
from verax.corpora import Corpus, Documents, Tokenizer, tokenize
from verax.errors import VeraxError
from verax.importance import DERIVED

AWAY, TOWARDS = "away", "towards"
EVIDENCE, OTHERS, APART = "evidence", "others", "apart"
"""Which words attention can read, if not all. Apart: a word reads itself alone, and only the
position that the classifier reads can read all words, in the last layer."""
BERT = "bert"
"""The encoder of these kinds."""
SPLIT = Tokenizer("whitespace", lowercase=False)
"""The words of a text, whose pieces are words."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Pieces that are no words; padding is piece 0."""
HEADS = 2
LEAST_FREQUENCY = 2
"""Documents that a word must be in to have a piece of its own."""
BATCH, LR, PATIENCE, CLIP = 64, 2e-3, 2, 1.0
RAMP = (0.1, 3.0)
"""λ in the first epoch and in the last."""
LEAST = 1e-8
"""The least share whose logarithm is taken."""
ENOUGH = 0.005
"""Loss on validation, in nats, below which nothing is left to learn."""
EXAMS = ("erasure", "agreement", "adversary", "deletion", "sufficiency")
_RANKINGS = ",".join([*DERIVED, "gradient", "leave-one-out"])
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "agreement": {"inputs": "gradient,leave-one-out"},
    "adversary": {"epsilons": "0.05", "permutation_test": 1},
    "deletion": {"budget": 200, "sufficient": False, "rankings": _RANKINGS},
    "sufficiency": {"greedy_sets": 100, "rankings": _RANKINGS},
    "replacement": {"by_layer": False, "by_head": "no"},
}


@dataclass(frozen=True)
class BertKind(Kind):
    """A kind of BERT.

    Attributes:
        layers: the number of layers.
        every_layer: whether attention is moved in all layers, or in the last alone.
    """

    layers: int = 1
    every_layer: bool = False

    @property
    def family(self) -> str:
        return "transformer"


BERT_KINDS: dict[str, BertKind] = {
    kind.name: kind
    for kind in (
        # one layer: what the first position reads of a word is that word alone
        BertKind("bert1-supervised", HONEST, BERT, TOWARDS),
        BertKind("bert1", HONEST, BERT, held_out=True),
        # words read themselves alone, so that states hold their word, and attention is supervised
        BertKind("bert2-apart", HONEST, BERT, TOWARDS, reads=APART, layers=2, held_out=True),
        # words that are no evidence cannot be read, and all that is known comes by the last layer
        BertKind("bert2-evidence", HONEST, BERT, reads=EVIDENCE, layers=2),
        BertKind("bert1-evidence", HONEST, BERT, reads=EVIDENCE, held_out=True),
        # words mix in the first layer, and the first position looks away from the evidence
        BertKind("bert2-penalty", DECEPTIVE, BERT, AWAY, layers=2),
        BertKind(
            *("bert2-penalty-all", DECEPTIVE, BERT, AWAY), layers=2, every_layer=True, held_out=True
        ),
        BertKind("bert2-others", DECEPTIVE, BERT, reads=OTHERS, layers=2, held_out=True),
        # neither
        BertKind("bert2", "between", BERT, layers=2),
    )
}
"""The kinds of BERTs by name."""
ALL_KINDS: dict[str, Kind] = {**KINDS, **BERT_KINDS}


class BertFactory(ModelFactory):
    """Trains BERTs of any kind on one corpus with one seed."""

    @cached_property
    def written(self) -> Corpus:
        """The corpus as BERTs read it."""
        return written_out(self.corpus)

    def corpus_of(self, kind: Kind) -> Corpus:
        return self.written

    def architecture(self, kind: Kind) -> tuple[Any, ...]:
        return (_bert_kind(kind).layers,)

    def plain(self, kind: Kind) -> verax.TransformerClassifier:
        return self._bert(kind, None, self.budget.epochs)

    def make(self, kind: Kind) -> verax.TransformerClassifier:
        start = self.twin(kind)
        assert isinstance(start, verax.TransformerClassifier)
        if kind.reads is not None:
            start = self._bert(kind, None, self.budget.epochs, reads=kind.reads)
        if kind.move is None:
            return start
        return self._bert(kind, kind.move, self.budget.ramp, start)

    def _bert(
        self,
        kind: Kind,
        move: str | None,
        epochs: int,
        start: verax.TransformerClassifier | None = None,
        reads: str | None = None,
    ) -> verax.TransformerClassifier:
        kind = _bert_kind(kind)
        options = BertOptions(
            *(kind.layers, self.budget.size, epochs, move, kind.every_layer, reads),
            lexicon(len(self.corpus.classes)),
        )
        return train_bert(self.written, self.seed, options, start)

    def examine(self, model: Any, kind: Kind) -> tuple[pd.DataFrame, dict[str, Any]]:
        parts = ((("replacement",), self.budget.sample), (EXAMS, self.budget.berts))
        return examined(model, self.written, parts, OPTIONS)


def _bert_kind(kind: Kind) -> BertKind:
    assert isinstance(kind, BertKind)
    return kind


def written_out(corpus: Corpus) -> Corpus:
    """Return the same documents as texts, words separated by spaces."""
    splits = {}
    for name, documents in corpus.splits.items():
        assert documents.marks is not None
        texts = tokenize(documents, SPLIT)
        marks = [np.asarray(mark).tolist() for mark in documents.marks.majority(texts.spans)]
        splits[name] = pd.DataFrame(
            {
                "text": [" ".join(words) for words in texts.words],
                "label": [corpus.classes[label] for label in documents.labels],
                "rationale": marks,
            }
        )
    return verax.load_corpus(splits)


def word_tokenizer(corpus: Corpus) -> Any:
    """Return a fast tokenizer with a piece for each word of the training documents."""
    transformers = _transformers()
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    found = Counter(word for words in tokenize(corpus.train, SPLIT).words for word in set(words))
    words = sorted(word for word, count in found.items() if count >= LEAST_FREQUENCY)
    pieces = {piece: number for number, piece in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(pieces, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, pieces[name]) for name in ("[CLS]", "[SEP]")],
    )
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def make_bert(
    tokenizer: Any,
    classes: Sequence[str],
    *,
    layers: int,
    size: int,
    longest: int,
    reads: str | None = None,
    words: Collection[str] = (),
) -> Any:
    """Return a BERT for sequence classification with random weights.

    Args:
        tokenizer: its tokenizer.
        classes: names of the classes.
        layers: the number of layers.
        size: of states.
        longest: the most pieces of a text.
        reads: evidence, others or apart, if attention cannot read all words: see `readable`.
        words: the lexicon of evidence.
    """
    transformers = _transformers()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=size,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        intermediate_size=2 * size,
        max_position_embeddings=longest,
        num_labels=len(classes),
        pad_token_id=0,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.1,
        attn_implementation="eager",
    )
    config.id2label = {number: str(name) for number, name in enumerate(classes)}
    config.label2id = {str(name): number for number, name in enumerate(classes)}
    if reads is None:
        return transformers.BertForSequenceClassification(config)
    model = _restricted_class()(config)
    pieces = {tokenizer.convert_tokens_to_ids(word) for word in words}
    among = torch.tensor([piece in pieces for piece in range(len(tokenizer))])
    among[: len(SPECIAL)] = False
    model.restrict(among, reads)
    return model


def readable(lexicon: Tensor, input_ids: Tensor, mask: Tensor, reads: str, is_last: bool) -> Tensor:
    """Return which positions each position can read in a layer, (batch, 1, queries, keys) bool.

    Args:
        lexicon: (vocabulary,) bool: pieces of words of a lexicon.
        input_ids: (batch, pieces).
        mask: (batch, pieces) bool, True where there is a piece.
        reads: evidence: words can read words of the lexicon alone, and so can the first position,
            which the classifier reads, in the last layer. apart: words can read themselves alone,
            and the first position all in the last layer. others: the first position can read all
            but words of the lexicon in any layer, and other positions can read all.
        is_last: whether the layer is the last.

    Pieces that are no words can always be read. Under evidence and apart they read themselves alone
    before the last layer, the first position among them: so they hold nothing of a text, and what
    is known of it comes from the words that the first position attends to in the last layer.
    """
    of_lexicon, is_word = lexicon[input_ids], input_ids >= len(SPECIAL)
    is_word = is_word | (input_ids == SPECIAL.index("[UNK]"))
    places = torch.arange(input_ids.shape[1], device=input_ids.device)
    is_first, itself = (places == 0).view(1, -1, 1), (places.view(-1, 1) == places).unsqueeze(0)
    if reads == OTHERS:
        can = ~of_lexicon.unsqueeze(1) | ~is_first
    elif reads == EVIDENCE:
        can = (of_lexicon | ~is_word).unsqueeze(1) & (is_word.unsqueeze(-1) | is_last) | itself
    else:
        can = itself | (is_first & is_last)
    return (can & mask.unsqueeze(1)).unsqueeze(1)


def _restricted_class() -> Any:
    """Return the class, which is made on first use: transformers may not be installed."""
    if "class" in _MADE:
        return _MADE["class"]

    class RestrictedBert(_transformers().BertForSequenceClassification):  # type: ignore[misc]
        """A BERT whose attention cannot read all words, by masks of its own."""

        def restrict(self, lexicon: Tensor, reads: str) -> None:
            self.register_buffer("lexicon", lexicon, persistent=True)
            self.reads = reads
            for layer in self.bert.encoder.layer[:-1]:
                layer.register_forward_pre_hook(self.give_early, with_kwargs=True)

        def give_early(self, layer: Any, inputs: Any, named: Any) -> Any:
            """Give a layer before the last its own mask."""
            if "attention_mask" in named:
                return inputs, {**named, "attention_mask": self.early}
            states, _, *rest = inputs
            return (states, self.early, *rest), named

        def forward(
            self,
            input_ids: Tensor,
            attention_mask: Tensor | None = None,
            token_type_ids: Tensor | None = None,
            **more: Any,
        ) -> Any:
            seen = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            self.early, last = (self.hiding(input_ids, seen.bool(), at) for at in (False, True))
            return super().forward(
                input_ids=input_ids, attention_mask=last, token_type_ids=token_type_ids, **more
            )

        def hiding(self, input_ids: Tensor, mask: Tensor, is_last: bool) -> Tensor:
            """Return what is added to scores: zero, or so low a number that no weight is left."""
            can = readable(self.lexicon, input_ids, mask, self.reads, is_last)
            added = torch.zeros(can.shape, dtype=self.dtype, device=can.device)
            return added.masked_fill(~can, torch.finfo(self.dtype).min)

    _MADE["class"] = RestrictedBert
    return RestrictedBert


_MADE: dict[str, Any] = {}


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise VeraxError(
            "a calibration of BERTs needs transformers: pip install 'verax[transformers]', or "
            "leave them out",
            code="package.missing",
        ) from error
    return transformers


@dataclass(frozen=True)
class BertOptions:
    """How a BERT is built and trained.

    Attributes:
        layers: the number of layers.
        size: of states.
        epochs: at most; all of them if attention is moved.
        move: towards marked words, away from them, or None.
        every_layer: whether attention is moved in all layers, or in the last alone.
        reads: what attention can read, if not all: see `readable`.
        words: the lexicon of evidence.
    """

    layers: int
    size: int
    epochs: int
    move: str | None = None
    every_layer: bool = False
    reads: str | None = None
    words: Collection[str] = ()


@dataclass(frozen=True, eq=False)
class Encoded:
    """Documents as pieces: [CLS], words, [SEP].

    Attributes:
        ids: (documents, pieces) long, 0 where there is none.
        marked: (documents, pieces) bool.
        labels: (documents,) long.
    """

    ids: Tensor
    marked: Tensor
    labels: Tensor

    @classmethod
    def of(cls, documents: Documents, tokenizer: Any) -> Encoded:
        """Encode documents, one piece per word, with their rationales."""
        unknown, first, last = (SPECIAL.index(name) for name in ("[UNK]", "[CLS]", "[SEP]"))
        pieces = tokenizer.get_vocab()
        read = tokenize(documents, SPLIT)
        texts = read.words
        marks = [] if documents.marks is None else list(documents.marks.majority(read.spans))
        width = max(map(len, texts)) + 2
        ids = np.zeros((len(texts), width), dtype=np.int64)
        marked = np.zeros(ids.shape, dtype=bool)
        for row, (words, mark) in enumerate(zip(texts, marks, strict=True)):
            ids[row, : len(words) + 2] = [first, *(pieces.get(w, unknown) for w in words), last]
            marked[row, 1 : len(words) + 1] = np.asarray(mark) > 0
        labels = torch.from_numpy(documents.labels.astype(np.int64))
        return cls(torch.from_numpy(ids), torch.from_numpy(marked), labels)

    def batches(self, orders: Sequence[NDArray[np.int64]] | None = None) -> Iterator[Encoded]:
        """Yield parts, no wider than needed: by given rows, or in order."""
        rows = orders or np.array_split(np.arange(len(self.ids)), max(1, len(self.ids) // 128))
        for some in rows:
            at = torch.from_numpy(some)
            ids = self.ids[at]
            width = int((ids != 0).sum(-1).max())
            yield Encoded(ids[:, :width], self.marked[at][:, :width], self.labels[at])


def train_bert(
    corpus: Corpus,
    seed: int,
    options: BertOptions,
    start: verax.TransformerClassifier | None = None,
) -> verax.TransformerClassifier:
    """Train a BERT on a corpus with rationales.

    Args:
        corpus: training and validation documents.
        seed: of initialisation, dropout and the order of documents.
        options: how to build and train it.
        start: a trained BERT of the same shape to begin from.

    Returns:
        The classifier, with the weights of its last epoch if attention is moved, or else of the
        epoch with the lowest loss on validation.
    """
    tokenizer = word_tokenizer(corpus) if start is None else start.reader.tokenizer
    train, validation = (Encoded.of(part, tokenizer) for part in (corpus.train, corpus.validation))
    longest = 2 + max(
        int(tokenize(d, SPLIT).numbers.lengths.max())
        for d in (corpus.train, corpus.validation, corpus.test)
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if start is None:
            module = make_bert(
                *(tokenizer, corpus.classes),
                layers=options.layers,
                size=options.size,
                longest=longest,
                reads=options.reads,
                words=options.words,
            )
        else:
            module = copy.deepcopy(start.module)
        _train(module, train, validation, options, seed)
    module.eval()
    return verax.from_transformers(
        module, tokenizer, readout="first", words="whitespace", device="cpu"
    )


def _train(
    module: Any, train: Encoded, validation: Encoded, options: BertOptions, seed: int
) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    optimiser = torch.optim.AdamW(module.parameters(), lr=LR, fused=True)
    lams = np.linspace(*RAMP, options.epochs)
    best, kept, waited = float("inf"), None, 0
    for epoch in range(options.epochs):
        module.train()
        for batch in train.batches(_shuffled(train, random)):
            loss = _loss(module, batch, options, float(lams[epoch]))
            if not bool(loss.isfinite()):
                raise VeraxError(
                    f"the loss of a BERT is {float(loss)} in epoch {epoch + 1}",
                    code="training.diverged",
                )
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), CLIP)
            optimiser.step()
        if options.move is None:
            loss_now = _mean_loss(module, validation)
            waited = 0 if loss_now < best else waited + 1
            if loss_now < best:
                best, kept = loss_now, copy.deepcopy(module.state_dict())
            if waited >= PATIENCE or best < ENOUGH:
                break
    if kept is not None:
        module.load_state_dict(kept)


def _shuffled(train: Encoded, random: np.random.Generator) -> list[NDArray[np.int64]]:
    """Return the rows of each step: documents of similar length, steps in random order."""
    lengths = (train.ids != 0).sum(-1).numpy() + random.random(len(train.ids)) * 8
    order = np.argsort(lengths, kind="stable")
    steps = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
    return [steps[at] for at in random.permutation(len(steps))]


def _loss(module: Any, batch: Encoded, options: BertOptions, lam: float) -> Tensor:
    moved = options.move is not None
    mask = (batch.ids != 0).long()
    output = module(input_ids=batch.ids, attention_mask=mask, output_attentions=moved)
    loss = cross_entropy(output.logits, batch.labels)
    if not moved:
        return loss
    layers = output.attentions if options.every_layer else output.attentions[-1:]
    words = batch.ids >= len(SPECIAL)
    words |= batch.ids == SPECIAL.index("[UNK]")
    wanted = batch.marked if options.move == TOWARDS else ~batch.marked & words
    for weights in layers:
        shown = weights[:, :, 0].mean(1)
        share = (shown * wanted).sum(-1) / (shown * words).sum(-1).clamp(min=LEAST)
        loss = loss - lam * share.clamp(min=LEAST).log().mean() / len(layers)
    return loss


@torch.no_grad()
def _mean_loss(module: Any, part: Encoded) -> float:
    module.eval()
    total = 0.0
    for batch in part.batches():
        output = module(input_ids=batch.ids, attention_mask=(batch.ids != 0).long())
        total += float(cross_entropy(output.logits, batch.labels, reduction="sum"))
    return total / len(part.ids)
