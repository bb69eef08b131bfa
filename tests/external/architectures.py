"""Sixteen architectures of Hugging Face from tiny configurations, with random weights."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import transformers

COMMON = {"vocab_size": 48, "num_labels": 2, "pad_token_id": 0}
ENDS = {"bos_token_id": 2, "eos_token_id": 3}
ENCODER = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 48,
}
DECODER = {**ENCODER, **ENDS, "num_attention_heads": 4, "num_key_value_heads": 2}
WIDE = {**DECODER, "head_dim": 4}

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "Bert": ENCODER,
    "DistilBert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
    "Roberta": ENCODER,
    "ModernBert": {**ENCODER, **ENDS, "cls_token_id": 2, "sep_token_id": 3}
    | {"global_attn_every_n_layers": 2, "local_attention": 6, "classifier_pooling": "mean"},
    "Electra": {**ENCODER, "embedding_size": 16},
    "Albert": {**ENCODER, "embedding_size": 16},
    "XLMRoberta": ENCODER,
    "Llama": WIDE,
    "Qwen2": DECODER,
    "Qwen3": WIDE,
    "GPT2": {**ENDS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 48},
    "Gemma2": {**WIDE, "sliding_window": 6, "query_pre_attn_scalar": 4},
    "GptOss": {**WIDE, "sliding_window": 6, "num_local_experts": 2, "num_experts_per_tok": 1},
    "T5": {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    | {"eos_token_id": 3, "decoder_start_token_id": 0},
    "DebertaV2": {**ENCODER, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "MPNet": {**ENCODER, "pad_token_id": 1},
}


def make_model(name: str, seed: int = 1, **options: Any) -> Any:
    """A model for sequence classification, with weights large enough for edits to matter."""
    settings = {**COMMON, **CONFIGURATIONS[name], **options}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = getattr(transformers, f"{name}Config")(**settings)
        with warnings.catch_warnings():  # DeBERTa's file scripts some functions
            warnings.simplefilter("ignore", DeprecationWarning)
            model = getattr(transformers, f"{name}ForSequenceClassification")(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(std=0.3)
    return model
