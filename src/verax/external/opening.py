"""A classifier from what names it: a saved model, or `hf:` and a folder of Hugging Face's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verax.models.saving import load

HF = "hf:"
"""What comes before the folder of a Hugging Face model."""


def open_classifier(source: str | Path, device: str = "auto") -> Any:
    """The classifier that a name stands for.

    Args:
        source: the folder of a model that Verax saved, or `hf:FOLDER`.
        device: auto, cpu, cuda.
    """
    if isinstance(source, str) and source.startswith(HF):
        from verax.external.loading import from_transformers

        return from_transformers(source.removeprefix(HF), device=device)
    return load(source, device=device)
