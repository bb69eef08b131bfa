"""Hugging Face models out of folders and objects: what can be examined, and what is refused."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from torch import nn

from verax.errors import VeraxError

_WRAPPED = "_orig_mod"
"""Where a compiled module keeps the one that it was made of."""


def load_module(model: Any, tokenizer: Any, head: nn.Module | None) -> tuple[Any, Any, str]:
    """A model, its tokenizer and a name for it.

    Args:
        model: a Hugging Face model, or the folder of one.
        tokenizer: its tokenizer; that of the folder, unless given.
        head: given with a bare encoder.
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise VeraxError(
            "transformers is not installed: pip install 'verax[transformers]'"
        ) from error
    if isinstance(model, (str, Path)):
        return _from_folder(Path(model), tokenizer, head)
    model = getattr(model, _WRAPPED, model)
    if hasattr(model, "merge_and_unload"):
        raise VeraxError(
            "this model is wrapped in an adapter: merge it first (model = model.merge_and_unload())"
        )
    if not isinstance(model, nn.Module) or not hasattr(model, "base_model"):
        raise VeraxError(
            f"model is a {type(model).__name__}: expected a Hugging Face model, or the folder of "
            "one; your own module goes to verax.from_pooled, a function to verax.from_predict"
        )
    if tokenizer is None:
        raise VeraxError("a model given as an object needs its tokenizer: give tokenizer=…")
    return model, _checked(tokenizer), type(model).__name__


def _from_folder(folder: Path, tokenizer: Any, head: nn.Module | None) -> tuple[Any, Any, str]:
    import transformers

    _check_files(folder)
    kind = (
        transformers.AutoModelForSequenceClassification if head is None else transformers.AutoModel
    )
    how = {"local_files_only": True, "trust_remote_code": False}
    previous = logging.root.manager.disable
    bars: Any = transformers.utils.logging
    had_bars = bars.is_progress_bar_enabled()
    logging.disable(logging.WARNING)
    bars.disable_progress_bar()
    try:
        module, loaded = kind.from_pretrained(
            folder, use_safetensors=True, output_loading_info=True, **how
        )
        tokenizer = tokenizer or transformers.AutoTokenizer.from_pretrained(folder, **how)
    except (ValueError, OSError, KeyError, RuntimeError, ImportError, TypeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise VeraxError(f"{folder} cannot be loaded by transformers: {reason}") from error
    finally:
        logging.disable(previous)
        if had_bars:
            bars.enable_progress_bar()
    missing = sorted(loaded["missing_keys"])
    if missing and head is None:
        raise VeraxError(
            f"{folder} has no weights for {missing[0]}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + ", which would be random: give a model that was trained to classify, or head=…"
        )
    return module, _checked(tokenizer), folder.name


def _check_files(folder: Path) -> None:
    """Refuse folders that hold something else than the whole weights of a known architecture."""
    if (folder / "adapter_config.json").is_file():
        raise VeraxError(
            f"{folder} holds an adapter (LoRA) and no model: merge it into its model and save that "
            "(model.merge_and_unload().save_pretrained(folder))"
        )
    if not (folder / "config.json").is_file():
        raise VeraxError(
            f"{folder} holds no Hugging Face model: expected a folder with config.json"
        )
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise VeraxError(
            f"{folder / 'config.json'} is no JSON: save the model again with "
            "model.save_pretrained(folder)"
        ) from error
    if not isinstance(config, dict) or not isinstance(config.get("auto_map", {}), dict):
        raise VeraxError(
            f"{folder / 'config.json'} is not that of a model: save it again with "
            "model.save_pretrained(folder)"
        )
    if any(name.startswith("AutoModel") for name in config.get("auto_map", {})):
        raise VeraxError(
            f"{folder} needs code of its own (auto_map in config.json), which Verax does not run: "
            "load the model yourself and give it with its tokenizer"
        )
    if "quantization_config" in config:
        how = config["quantization_config"].get("quant_method", "in some way")
        raise VeraxError(
            f"the weights in {folder} are quantised ({how}): load the model yourself and give it "
            "with its tokenizer, or save it in full or half precision"
        )
    if not any(folder.glob("*.safetensors")):
        raise VeraxError(
            f"{folder} has no weights in safetensors: save the model again with "
            "model.save_pretrained(folder), which writes them"
        )


def _checked(tokenizer: Any) -> Any:
    if not getattr(tokenizer, "is_fast", False):
        raise VeraxError(
            f"tokenizer {type(tokenizer).__name__} does not tell where its pieces stand in a text: "
            "load a fast one (AutoTokenizer.from_pretrained(folder))"
        )
    return tokenizer
