"""Hugging Face models out of folders and objects: what can be examined, and what is refused."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

from torch import nn

from verax.errors import VeraxError, foreign_code

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
            "transformers is not installed: pip install 'verax[transformers]'",
            code="package.missing",
        ) from error
    if isinstance(model, (str, Path)):
        return _from_folder(Path(model), tokenizer, head)
    model = getattr(model, _WRAPPED, model)
    if hasattr(model, "merge_and_unload"):
        raise VeraxError(
            "this model is wrapped in an adapter: merge it first (model = "
            "model.merge_and_unload())",
            code="model.adapter",
        )
    if not isinstance(model, nn.Module) or not hasattr(model, "base_model"):
        raise VeraxError(
            f"model is a {type(model).__name__}: expected a Hugging Face model, or the folder of "
            "one; your own module goes to verax.from_pooled, a function to verax.from_predict",
            code="model.wrong-type",
        )
    if tokenizer is None:
        raise VeraxError(
            "a model given as an object needs its tokenizer: give tokenizer=…",
            code="model.needs-tokenizer",
        )
    return model, _checked(tokenizer), type(model).__name__


def _from_folder(folder: Path, tokenizer: Any, head: nn.Module | None) -> tuple[Any, Any, str]:
    import transformers

    kind = (
        transformers.AutoModelForSequenceClassification if head is None else transformers.AutoModel
    )
    how = {"local_files_only": True, "trust_remote_code": False}
    previous = logging.root.manager.disable
    bars: Any = transformers.utils.logging
    had_bars = bars.is_progress_bar_enabled()
    logging.disable(logging.WARNING)
    bars.disable_progress_bar()
    advice = "save model and tokenizer there again with save_pretrained, or download them again"
    try:
        with (
            foreign_code(
                f"{folder} cannot be loaded by transformers", advice, code="model.unreadable"
            ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # of torch, about layers of size 0
            _check_files(folder)
            module, loaded = kind.from_pretrained(
                folder, use_safetensors=True, output_loading_info=True, **how
            )
            if tokenizer is None:
                tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **how)
                _check_vocabulary(folder, tokenizer)
    finally:
        logging.disable(previous)
        if had_bars:
            bars.enable_progress_bar()
    missing = sorted(loaded["missing_keys"])
    if missing and head is None:
        raise VeraxError(
            f"{folder} has no weights for {missing[0]}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + ", which would be random: give a model that was trained to classify, or head=…",
            code="model.untrained-weights",
        )
    return module, _checked(tokenizer), folder.name


def _check_files(folder: Path) -> None:
    """Refuse folders that hold something else than the whole weights of a known architecture."""
    if (folder / "adapter_config.json").is_file():
        raise VeraxError(
            f"{folder} holds an adapter (LoRA) and no model: merge it into its model and save that "
            "(model.merge_and_unload().save_pretrained(folder))",
            code="model.adapter",
        )
    if not (folder / "config.json").is_file():
        raise VeraxError(
            f"{folder} holds no Hugging Face model: expected a folder with config.json",
            code="model.missing",
        )
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise VeraxError(
            f"{folder / 'config.json'} is no JSON: save the model again with "
            "model.save_pretrained(folder)",
            code="model.unreadable",
        ) from error
    if not isinstance(config, dict) or not isinstance(config.get("auto_map", {}), dict):
        raise VeraxError(
            f"{folder / 'config.json'} is not that of a model: save it again with "
            "model.save_pretrained(folder)",
            code="model.unreadable",
        )
    if any(name.startswith("AutoModel") for name in config.get("auto_map", {})):
        raise VeraxError(
            f"{folder} needs code of its own (auto_map in config.json), which Verax does not run: "
            "load the model yourself and give it with its tokenizer",
            code="model.unsafe",
        )
    quantised = config.get("quantization_config")
    if quantised is not None:
        how = quantised.get("quant_method") if isinstance(quantised, dict) else None
        raise VeraxError(
            f"the weights in {folder} are quantised ({how or 'in some way'}): load the model "
            "yourself and give it with its tokenizer, or save it in full or half precision",
            code="model.quantized",
        )
    if not any(folder.glob("*.safetensors")):
        raise VeraxError(
            f"{folder} has no weights in safetensors: save the model again with "
            "model.save_pretrained(folder), which writes them",
            code="model.unsafe",
        )
    if (own := config.get("transformers_weights")) is not None:
        _check_named(folder / "config.json", own, (".safetensors", ".safetensors.index.json"))
    for index in folder.glob("*.safetensors.index.json"):
        for name in set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()):
            _check_named(index, name)


def _check_named(file: Path, name: Any, suffixes: tuple[str, ...] = (".safetensors",)) -> None:
    """Refuse weights other than a safetensors file in the folder of the file that names them.

    transformers opens any file that an index names, and unpickles one with another suffix.
    """
    folder = file.parent.resolve()
    beside = (folder, folder.parent.parent / "blobs")  # where the cache of the Hub keeps files
    is_plain = isinstance(name, str) and name.endswith(suffixes) and Path(name).name == name
    if not is_plain or (folder / name).resolve().parent not in beside:
        raise VeraxError(
            f"{file} names the weights {name!r}: expected *.safetensors files in the same folder, "
            "no links to other places; save the model again with model.save_pretrained(folder)",
            code="model.unsafe",
        )


def _check_vocabulary(folder: Path, tokenizer: Any) -> None:
    """Refuse a folder without a vocabulary, for which transformers makes an empty one."""
    names = ["tokenizer.json", *getattr(tokenizer, "vocab_files_names", {}).values()]
    if not any((folder / name).is_file() for name in names):
        raise VeraxError(
            f"{folder} has no tokenizer ({' or '.join(dict.fromkeys(names))}): save it there with "
            "tokenizer.save_pretrained(folder), or give tokenizer=…",
            code="model.needs-tokenizer",
        )
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise VeraxError(
            f"the tokenizer in {folder} has no words, only special tokens: save the one that the "
            "model was trained with, by tokenizer.save_pretrained(folder)",
            code="model.needs-tokenizer",
        )


def _checked(tokenizer: Any) -> Any:
    if not getattr(tokenizer, "is_fast", False):
        raise VeraxError(
            f"tokenizer {type(tokenizer).__name__} does not tell where its pieces stand in a text: "
            "load a fast one (AutoTokenizer.from_pretrained(folder))",
            code="model.needs-tokenizer",
        )
    return tokenizer
