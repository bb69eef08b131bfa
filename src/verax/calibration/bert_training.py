"""Training of a small BERT, by cross-entropy alone or with attention moved on or off marked words.

Moved is what people are shown: the attention of the first position, heads averaged, as shares among
words. With m the share of marked words the loss is cross-entropy − λ log m, or − λ log(1 − m) to
move it away (Pruthi et al. 2020), in the last layer, which the classifier reads, or in all.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from verax.calibration.bert_models import SPECIAL, make_bert, word_tokenizer
from verax.corpora.corpus import Corpus, Documents
from verax.external.loading import from_transformers
from verax.external.transformer import TransformerClassifier
from verax.training.loop import Diverged
from verax.training.marked import LEAST, RAMP, TOWARDS, marks_of

BATCH, LR, PATIENCE, CLIP = 64, 2e-3, 2, 1.0
ENOUGH = 0.005
"""Loss on validation, in nats, below which nothing is left to learn."""


@dataclass(frozen=True)
class BertOptions:
    """How a BERT is built and trained.

    layers      how many
    size        of states
    epochs      at most; all of them where attention is moved
    move        towards marked words, away from them, or None
    every_layer whether attention is moved in all layers, or in the last alone
    reads       what attention can read, where it cannot read all (`bert_models.readable`)
    words       the lexicon of evidence
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

    ids     (documents, pieces) long, 0 where there is none
    marked  (documents, pieces) bool
    labels  (documents,) long
    """

    ids: Tensor
    marked: Tensor
    labels: Tensor

    @classmethod
    def of(cls, documents: Documents, tokenizer: Any) -> Encoded:
        """The documents in the tokenizer's pieces, one a word, with their rationales."""
        unknown, first, last = (SPECIAL.index(name) for name in ("[UNK]", "[CLS]", "[SEP]"))
        pieces = tokenizer.get_vocab()
        texts, marks = list(documents.tokens), list(marks_of(documents))
        width = max(map(len, texts)) + 2
        ids = np.zeros((len(texts), width), dtype=np.int64)
        marked = np.zeros(ids.shape, dtype=bool)
        for row, (words, mark) in enumerate(zip(texts, marks, strict=True)):
            ids[row, : len(words) + 2] = [first, *(pieces.get(w, unknown) for w in words), last]
            marked[row, 1 : len(words) + 1] = np.asarray(mark) > 0
        labels = torch.from_numpy(documents.labels.astype(np.int64))
        return cls(torch.from_numpy(ids), torch.from_numpy(marked), labels)

    def batches(self, orders: Sequence[NDArray[np.int64]] | None = None) -> Iterator[Encoded]:
        """Parts of it, no wider than needed: by given rows, or in order."""
        rows = orders or np.array_split(np.arange(len(self.ids)), max(1, len(self.ids) // 128))
        for some in rows:
            at = torch.from_numpy(some)
            ids = self.ids[at]
            width = int((ids != 0).sum(-1).max())
            yield Encoded(ids[:, :width], self.marked[at][:, :width], self.labels[at])


def train_bert(
    corpus: Corpus, seed: int, options: BertOptions, start: TransformerClassifier | None = None
) -> TransformerClassifier:
    """A BERT trained on a corpus with rationales, ready to be examined.

    Args:
        corpus: what to train on.
        seed: of initialisation, dropout and the order of documents.
        options: how.
        start: a trained BERT of the same shape to begin from.

    Returns:
        The classifier, with the weights of its last epoch where attention is moved; else with
        those of the epoch with the least loss on validation.
    """
    tokenizer = word_tokenizer(corpus) if start is None else start.reader.tokenizer
    train, validation = (Encoded.of(part, tokenizer) for part in (corpus.train, corpus.validation))
    longest = 2 + max(
        max(map(len, d.tokens)) for d in (corpus.train, corpus.validation, corpus.test)
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
    return from_transformers(module, tokenizer, readout="first", words="whitespace", device="cpu")


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
                raise Diverged(f"the loss of a BERT is {float(loss)} in epoch {epoch + 1}")
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
    """Rows of each step: documents of like length together, steps in random order."""
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
