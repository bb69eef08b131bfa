"""A model as a folder: `config.json`, `vocabulary.json`, `model.safetensors`; no pickle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load as unpacked
from safetensors.torch import save as packed
from torch import Tensor

from verax.corpora.saved import CONFIG as CORPUS
from verax.corpora.vocabulary import Vocabulary
from verax.device import enough_memory, resolve_device
from verax.errors import VeraxError
from verax.files import json_text, replace_folder, write_bytes
from verax.models.classifier import AttentionClassifier
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.options import ENCODERS, PROJECTIONS, ModelOptions
from verax.options import build, check_path, saved_options
from verax.portable import portable
from verax.results import saved_kind
from verax.schema import (
    CHECKSUMS,
    COUNT,
    any_text,
    check_sums,
    checked_json,
    checksum_of,
    declared,
    flag,
    listed,
    mapping,
    maybe,
    number,
    parse_json,
    plain,
    record,
    text,
    warn_unless,
    whole,
)
from verax.scratch import recover
from verax.version import __version__

FORMAT = 2
_OWN_KEYS = {"format", "verax", "model", "classes", "history", "files"}
CONFIG, _VOCABULARY, _WEIGHTS = "config.json", "vocabulary.json", "model.safetensors"
FILES = {CONFIG, _VOCABULARY, _WEIGHTS}
_EPOCH = record({}, {"epoch": COUNT, "selected": flag}, others=maybe(number()))
OF_CONFIG = record(
    {
        "format": whole(FORMAT),
        "verax": text,
        "model": saved_options(ModelOptions),
        "classes": listed(text, 1, once=True),
        "history": listed(_EPOCH),
        "files": CHECKSUMS,
    },
    {
        "training": declared("training"),
        "corpus": CORPUS,
        "vectors": maybe(mapping(plain)),
        "test": mapping(maybe(number())),
        "strength": maybe(mapping(plain)),
        "candidate": mapping(plain),
    },
)
"""The schema of `config.json`: what the model is, how it was made, checksums of the other files."""
OF_VOCABULARY = listed(any_text, 1, once=True)
"""The schema of `vocabulary.json`: words, none of them twice."""


def make_classifier(
    options: ModelOptions,
    vocabulary: Vocabulary,
    classes: list[str],
) -> AttentionClassifier:
    """The classifier that resolved options describe, flat or hierarchical."""
    kind = HierarchicalClassifier if options.hierarchical else AttentionClassifier
    with enough_memory("lower hidden_size, embedding_size or max_vocabulary"):
        return kind(options, vocabulary, classes)


def save(model: AttentionClassifier, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a model; the folder appears, or with `overwrite` is replaced, all at once.

    Its corpus and its word vectors are named by their files' own names, without folders.
    """
    files = model_files(model)

    def write(target: Path) -> None:
        for name, data in files.items():
            write_bytes(target / name, data)

    replace_folder(folder, write, owned=is_only_a_model, overwrite=overwrite)


def model_files(model: AttentionClassifier) -> dict[str, bytes]:
    """The files that `save` writes, by name."""
    weights = {name: value.contiguous().cpu() for name, value in model.state_dict().items()}
    words = json_text(list(model.vocabulary.words), indent=0) + "\n"
    # not by `save_file`, whose temporary file leaves the weights readable by their owner alone
    files = {_VOCABULARY: words.encode("utf-8"), _WEIGHTS: packed(weights)}
    config = {
        "format": FORMAT,
        "verax": __version__,
        "model": asdict(model.options),
        "classes": model.classes,
        **portable(model.record),
        "history": _rows(model.history),
        "files": {name: checksum_of(data) for name, data in files.items()},
    }
    warn_unless(OF_CONFIG, config, CONFIG)
    warn_unless(OF_VOCABULARY, list(model.vocabulary.words), _VOCABULARY)
    text = json_text(config, indent=2, allow_nan=False) + "\n"
    return {CONFIG: text.encode("utf-8"), **files}


def load(folder: str | Path, device: str = "auto") -> AttentionClassifier:
    """The model saved in `folder`, in eval mode, with the same logits bit for bit.

    Args:
        folder: what `model.save` or `verax train --out` wrote.
        device: auto, cpu, cuda or cuda:1.
    """
    path = Path(check_path("the folder of a model", folder))
    recover(path)
    if not is_model_folder(path):
        kind = saved_kind(path)
        if kind is not None:
            raise VeraxError(
                f"{folder} is a saved {kind}, not a model: give the folder of a model, or look at "
                f"this one with verax report {folder}",
                code="result.wrong-kind",
            )
        raise VeraxError(
            f"{folder} is not a saved model: expected a folder that Verax wrote",
            code="model.missing",
        )
    config = read_config(path)
    with _unreadable(f"cannot load {folder}", "save the model again"):
        data = {name: _bytes(path / name) for name in (_VOCABULARY, _WEIGHTS)}
        check_sums(data, config["files"])
        words = checked_json(data[_VOCABULARY], OF_VOCABULARY, _VOCABULARY)
    _refuse_unregistered(path, config["model"])
    options = build(ModelOptions, config["model"])
    options.refuse_the_impossible(len(config["classes"]))

    def made() -> AttentionClassifier:
        with torch.random.fork_rng(devices=[]):
            return make_classifier(options, Vocabulary(words), config["classes"])

    with _unreadable(
        f"cannot load weights from {path / _WEIGHTS}", "they are not of this config.json"
    ):
        weights = unpacked(data[_WEIGHTS])
        with torch.device("meta"):  # shapes alone: a model of another size is never allocated
            _check_weights(made(), weights)
    model = made()
    model.load_state_dict(weights)
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


def read_config(folder: Path) -> dict[str, Any]:
    """The `config.json` of a saved model, without its weights."""
    with _unreadable(f"cannot load {folder}", "save the model again"):
        config = parse_json(_bytes(folder / CONFIG))
        if config["format"] != FORMAT:
            raise VeraxError(
                f"{folder} has format {config['format']!r:.60}, this Verax reads {FORMAT}: "
                f"load it with the Verax that made it ({config['verax']!r:.60})",
                code="result.other-format",
            )
        OF_CONFIG(config, CONFIG)
        return dict(config)


def is_model_folder(folder: Path) -> bool:
    """Whether Verax wrote it: other libraries keep a `config.json` beside their weights too."""
    if not all((folder / name).is_file() for name in FILES):
        return False
    with _unreadable(f"cannot read {folder / CONFIG}", "save the model again"):
        config = parse_json(_bytes(folder / CONFIG))
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
                "module that registers it, or install its package; there are "
                f"{', '.join(registry)}",
                code="plugin.not-registered",
            )


def _rows(history: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON has it: no NaN, but null."""
    rows: list[dict[Any, Any]] = history.to_dict(orient="records")
    return [{str(k): None if v != v else v for k, v in row.items()} for row in rows]


@contextmanager
def _unreadable(start: str, remedy: str) -> Iterator[None]:
    """Turn errors of files with other contents than Verax wrote into one that can be read."""
    try:
        yield
    except VeraxError:
        raise
    except (SafetensorError, ValueError, KeyError, RuntimeError, OverflowError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise VeraxError(f"{start}: {first}; {remedy}", code="model.unreadable") from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise VeraxError(f"cannot read {path}: {error.strerror}", code="file.unreadable") from error


def _check_weights(expected: AttentionClassifier, weights: Mapping[str, Tensor]) -> None:
    """Raise a `ValueError` unless weights are finite, and those of a model of these options."""
    own = expected.state_dict()
    for name in sorted(own.keys() | weights.keys()):
        if name not in weights:
            raise ValueError(f"{name} is missing")
        if name not in own:
            raise ValueError(f"{name!r:.60} is not of this model")
        found, needed = (f"{t.dtype} of shape {tuple(t.shape)}" for t in (weights[name], own[name]))
        if found != needed:
            raise ValueError(f"{name} is {found}, expected {needed}")
        if weights[name].is_floating_point() and not bool(weights[name].isfinite().all()):
            raise ValueError(f"{name} has values that are not finite")
