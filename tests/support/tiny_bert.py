"""A tiny tokenizer, a tiny BERT with weights large enough to matter, and texts for them."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = [
    *("the", "a", "film", "plot", "acting", "story", "was", "is", "not", "never", "far", "too"),
    *("very", "good", "bad", "great", "awful", "dull", "better", "worse", "than", "i", "had"),
    *("hoped", "and", "but", "it", "they", ".", ",", "!", "no", "yes", "un"),
    *("##s", "##ed", "##er", "##watch", "##able"),
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = [
    "The film was far better than I had hoped.",
    "not good",
    "Unwatchable! The acting was awful, the story dull.",
    "great",
    "It was not bad, but the plot is never good and the actings too dull.",
]


def make_tokenizer() -> Any:
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    named = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def make_bert(seed: int = 0, **options: Any) -> Any:
    """A small BERT with random weights, large enough for attention to differ from uniform."""
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 48,
        "num_labels": 2,
        **options,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = transformers.BertConfig(vocab_size=len(SPECIAL) + len(WORDS), **sizes)
        model = transformers.BertForSequenceClassification(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(std=0.35)
    return model
