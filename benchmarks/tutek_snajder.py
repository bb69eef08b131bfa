"""Tutek & Šnajder's protocol, as several benchmarks train by it: corpora as read, and settings."""

from __future__ import annotations

from typing import Any

READING: dict[str, dict[str, Any]] = {
    "sst": {"text_column": "text_jw", "count_words_by": "whitespace", "min_words": 6},
    "imdb": {"min_words": 7, "max_words": 399},
}
TRAINING: dict[str, dict[str, Any]] = {
    "sst": {"tokenizer": "whitespace"},
    "imdb": {"min_df": 10},
}
PROTOCOL: dict[str, Any] = {
    "encoder": "bilstm",
    "hidden_size": 100,
    "class_weight": "balanced",
    "metric": "f1",
    "epochs": 8,
}
