"""Tutek & Šnajder's protocol, as several benchmarks train by it: corpora as read, and settings."""

from __future__ import annotations

from typing import Any

READING: dict[str, dict[str, Any]] = {
    "sst": {"text_column": "text_jw", "tokeniser": "whitespace", "min_length": 6},
    "imdb": {"min_length": 7, "max_length": 399},
}
TRAINING: dict[str, dict[str, Any]] = {"imdb": {"min_df": 10}}
PROTOCOL: dict[str, Any] = {
    "encoder": "bilstm",
    "hidden_size": 100,
    "class_weight": "balanced",
    "metric": "f1",
    "epochs": 8,
}
