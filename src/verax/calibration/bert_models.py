"""Small BERTs of Hugging Face over the words of a corpus, whole or with words they cannot read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from verax.calibration.kinds import EVIDENCE, OTHERS
from verax.corpora.corpus import Corpus
from verax.errors import VeraxError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Pieces that are no words; padding is piece 0."""
HEADS = 2
LEAST_FREQUENCY = 2
"""Documents that a word must be in to have a piece of its own."""


def word_tokenizer(corpus: Corpus) -> Any:
    """A fast tokenizer with a piece for each word of the training documents."""
    transformers = _transformers()
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    found = Counter(word for words in corpus.train.tokens for word in set(words))
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
    """A BERT for sequence classification with weights as they were drawn.

    Args:
        tokenizer: its pieces.
        classes: names of the classes.
        layers: how many.
        size: of states.
        longest: the most pieces of a text.
        reads: evidence, others or apart, where attention cannot read all: `readable`.
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
    """(batch, 1, queries, keys) bool: which positions each position can read in a layer.

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
    """The class is made on first use: transformers need not be installed for all else."""
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
            """A layer before the last gets its own mask in place of the last one's."""
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
            """What is added to scores: nothing, or so much less that no weight is left."""
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
