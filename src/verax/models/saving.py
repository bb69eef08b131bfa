"""A model as a folder: `config.json`, `vocabulary.json`, `model.safetensors`; no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as packed

from verax.corpora.tokenising import Tokeniser
from verax.corpora.vocabulary import Vocabulary
from verax.device import resolve_device
from verax.errors import VeraxError
from verax.files import json_text, replace_folder, write_bytes, write_text
from verax.models.classifier import AttentionClassifier
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.options import ENCODERS, PROJECTIONS, ModelOptions
from verax.options import build
from verax.portable import portable
from verax.results import saved_kind
from verax.scratch import recover
from verax.version import __version__

FORMAT = 1
_OWN_KEYS = {"format", "verax", "model", "classes", "tokeniser", "history"}
CONFIG, _VOCABULARY, _WEIGHTS = "config.json", "vocabulary.json", "model.safetensors"
FILES = {CONFIG, _VOCABULARY, _WEIGHTS}


def make_classifier(
    options: ModelOptions,
    vocabulary: Vocabulary,
    classes: list[str],
    tokeniser: Tokeniser | None = None,
) -> AttentionClassifier:
    """The classifier that resolved options describe, flat or hierarchical."""
    kind = HierarchicalClassifier if options.hierarchical else AttentionClassifier
    return kind(options, vocabulary, classes, tokeniser)


def save(model: AttentionClassifier, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a model; the folder appears, or with `overwrite` is replaced, all at once.

    Its corpus and its word vectors are named by their files' own names, without folders.
    """
    config = {
        "format": FORMAT,
        "verax": __version__,
        "model": asdict(model.options),
        "classes": model.classes,
        "tokeniser": asdict(model.tokeniser),
        **portable(model.record),
        "history": _rows(model.history),
    }
    weights = {name: value.contiguous().cpu() for name, value in model.state_dict().items()}

    def write(target: Path) -> None:
        write_text(target / CONFIG, json_text(config, indent=2, allow_nan=False) + "\n")
        words = json_text(list(model.vocabulary.words), indent=0)
        write_text(target / _VOCABULARY, words + "\n")
        # not by `save_file`, whose temporary file leaves the weights readable by their owner alone
        write_bytes(target / _WEIGHTS, packed(weights))

    replace_folder(folder, write, owned=is_only_a_model, overwrite=overwrite)


def load(folder: str | Path, device: str = "auto") -> AttentionClassifier:
    """The model saved in `folder`, in eval mode, with the same logits bit for bit.

    Args:
        folder: what `model.save` or `verax train --out` wrote.
        device: auto, cpu, cuda or cuda:1.
    """
    path = Path(folder)
    recover(path)
    if not is_model_folder(path):
        kind = saved_kind(path)
        if kind is not None:
            raise VeraxError(
                f"{folder} is a saved {kind}, not a model: give the folder of a model, or look at "
                f"this one with verax report {folder}"
            )
        raise VeraxError(f"{folder} is not a saved model: expected a folder that Verax wrote")
    config = _read_json(path / CONFIG)
    if config["format"] != FORMAT:
        raise VeraxError(
            f"{folder} has format {config['format']!r}, this Verax reads {FORMAT}: "
            f"load it with the Verax that made it ({config['verax']})"
        )
    missing = _OWN_KEYS - set(config)
    if missing:
        raise VeraxError(f"{path / CONFIG} lacks {', '.join(sorted(missing))}: save it again")
    _refuse_unregistered(path, config["model"])
    options = build(ModelOptions, config["model"])
    vocabulary = Vocabulary(_read_json(path / _VOCABULARY))
    tokeniser = Tokeniser(**config["tokeniser"])
    with torch.random.fork_rng(devices=[]):
        model = make_classifier(options, vocabulary, config["classes"], tokeniser)
    try:
        model.load_state_dict(load_file(path / _WEIGHTS))
    except (OSError, SafetensorError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise VeraxError(f"cannot load weights from {path / _WEIGHTS}: {first}") from error
    model.history = pd.DataFrame(config["history"]).infer_objects()
    numbers = model.history.select_dtypes("object").columns
    model.history[numbers] = model.history[numbers].astype(np.float64)
    model.record = with_files_beside({k: v for k, v in config.items() if k not in _OWN_KEYS}, path)
    return model.to(resolve_device(device)).eval()


def with_files_beside(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A saved record, in which the corpus and the vectors lie beside the model if they do.

    What is saved has a file's own name alone. It is looked for in the present folder first, and
    then in the one that the model's folder is in.
    """
    found = dict(record)
    for part, name in (("corpus", "corpus"), ("training", "vectors")):
        values = record.get(part)
        file = values.get(name) if isinstance(values, Mapping) else None
        if not isinstance(file, str) or PurePath(file).name != file or Path(file).exists():
            continue
        beside = folder.absolute().parent / file
        if beside.is_file():
            found[part] = {**dict(record[part]), name: str(beside)}
    return found


def is_model_folder(folder: Path) -> bool:
    """Whether Verax wrote it: other libraries keep a `config.json` beside their weights too."""
    if not all((folder / name).is_file() for name in FILES):
        return False
    config = _read_json(folder / CONFIG)
    return isinstance(config, dict) and {"format", "verax"} <= set(config)


def is_only_a_model(folder: Path) -> bool:
    """Whether a folder holds a saved model and nothing else, so that it may be replaced."""
    names = {path.name for path in folder.iterdir()}
    return names == FILES and is_model_folder(folder)


def _refuse_unregistered(folder: Path, options: Mapping[str, Any]) -> None:
    """A saved model may be of another package's encoder, which has to be there."""
    for slot, registry in (
        ("encoder", ENCODERS),
        ("sentence_encoder", ENCODERS),
        ("projection", PROJECTIONS),
    ):
        name = options.get(slot)
        if name is not None and name not in registry:
            raise VeraxError(
                f"{folder} has the {slot} {name!r}, which is not registered here: import the "
                f"module that registers it, or install its package; there are {', '.join(registry)}"
            )


def _rows(history: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON has it: no NaN, but null."""
    rows: list[dict[Any, Any]] = history.to_dict(orient="records")
    return [{str(k): None if v != v else v for k, v in row.items()} for row in rows]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VeraxError(f"cannot read {path}: {error}") from error
