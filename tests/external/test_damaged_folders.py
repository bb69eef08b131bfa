"""Folders with damaged, foreign or missing parts: one line, exit code 2, before any number."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from architectures import make_model
from safetensors.torch import load, load_file, save_file

import verax
from support.errors import raises
from support.errors import refused as refused_command
from verax.cli import main

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    make_model("Bert").save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "model"
    copy.mkdir()
    for file in saved.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def refused(folder: Path, capsys: Any, code: str = "model.*", *names: object) -> None:
    """One line in Python and on the command line."""
    with raises(code, *names) as error:
        verax.from_transformers(folder)
    assert "\n" not in str(error.value)
    assert main(["predict", f"hf:{folder}", "the film was good", "--device", "cpu"]) == 2
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1
    assert not said.out


def configured(folder: Path, **config: Any) -> None:
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | config))


def as_sparse(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(20 * 2**30)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "empty": lambda file: file.write_bytes(b""),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-100]),
    "header cut": lambda file: file.write_bytes(file.read_bytes()[:50]),
    "junk appended": lambda file: file.write_bytes(file.read_bytes() + b"junk" * 10),
    "LFS pointer": lambda file: file.write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    ),
    "HTML": lambda file: file.write_text("<!DOCTYPE html><title>404</title>"),
    "random": lambda file: file.write_bytes(os.urandom(4096)),
    "huge header": lambda file: file.write_bytes(struct.pack("<Q", 2**60) + b"{}"),
    "pickle": lambda file: file.write_bytes(pickle.dumps({"weight": [1.0]})),
    "torch.save": lambda file: torch.save(load(file.read_bytes()), file),
    "sparse": as_sparse,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_weights_are_refused(damage: str, folder: Path, capsys: Any) -> None:
    DAMAGES[damage](folder / WEIGHTS)
    refused(folder, capsys, "model.unreadable", folder)


@pytest.mark.parametrize(
    "id2label",
    [
        *({"1": "a", "2": "b"}, {"0": "a", "2": "b"}, ["a", "b"], "ab", {"0": "pos", "1": "pos"}),
        *(3, {}, {"0": "a", "1": None}, {"0": ["a"], "1": "b"}, {"0": {"a": 1}, "1": "b"}),
    ],
)
def test_odd_names_of_classes_are_refused(id2label: Any, folder: Path, capsys: Any) -> None:
    configured(folder, id2label=id2label, label2id=None)
    refused(folder, capsys)


def test_names_of_classes_can_be_given_where_the_configuration_has_none(folder: Path) -> None:
    configured(folder, id2label={"1": "a", "2": "b"})
    assert verax.from_transformers(folder, classes=["neg", "pos"]).classes == ["neg", "pos"]


@pytest.mark.parametrize(
    "config",
    [
        {"quantization_config": "bitsandbytes"},
        {"quantization_config": [4]},
        {"vocab_size": "many"},
        {"max_position_embeddings": None},
        {"layer_norm_eps": "small"},
        {"pad_token_id": 9999},
        {"num_attention_heads": 0},
        {"vocab_size": 0},
        {"dtype": "float12"},
        {"hidden_act": "banana"},
        {"transformers_weights": "../outside.safetensors"},
        {"transformers_weights": "adapter_model.bin"},
    ],
)
def test_odd_configurations_are_refused(config: dict[str, Any], folder: Path, capsys: Any) -> None:
    configured(folder, **config)
    refused(folder, capsys)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", "null"),
        ("tokenizer.json", "{}"),
        ("tokenizer_config.json", "[]"),
        ("tokenizer_config.json", '{"tokenizer_class": 3}'),
        ("tokenizer_config.json", '{"model_max_length": "64"}'),
    ],
)
def test_odd_tokenizers_are_refused(name: str, content: str, folder: Path, capsys: Any) -> None:
    (folder / name).write_text(content)
    refused(folder, capsys)


def test_a_folder_without_a_tokenizer_is_refused(folder: Path, tokenizer: Any, capsys: Any) -> None:
    for file in folder.glob("tokenizer*.json"):
        file.unlink()
    refused(folder, capsys, "model.needs-tokenizer", folder)
    assert verax.from_transformers(folder, tokenizer).classes == ["LABEL_0", "LABEL_1"]


def test_a_tokenizer_of_special_tokens_only_is_refused(folder: Path, capsys: Any) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    special = {token["content"] for token in content["added_tokens"]}
    vocabulary = content["model"]["vocab"]
    content["model"]["vocab"] = {word: at for word, at in vocabulary.items() if word in special}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    refused(folder, capsys, "model.needs-tokenizer", folder)


def test_a_corpus_of_unknown_words_is_refused(folder: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.csv"
    corpus.write_text("text,label\n" + "qwx zzyq,LABEL_0\nvbnm qqq,LABEL_1\n" * 4)
    words = ["examine", f"hf:{folder}", "--corpus", str(corpus), "--exams", "replacement"]
    refused_command(words, "model.bad-vocabulary", corpus.stem)
    corpus.write_text("text,label\n" + "qwx good,LABEL_0\nvbnm qqq,LABEL_1\n" * 4)
    assert main(words) == 0


def test_pieces_without_an_embedding_are_refused(folder: Path, capsys: Any) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    content["model"]["vocab"]["beyond"] = rows
    (folder / "tokenizer.json").write_text(json.dumps(content))
    refused(folder, capsys, "model.bad-vocabulary", rows)


def shard(folder: Path, name: str, file: Path | None = None) -> None:
    """One shard under a name, by an index."""
    weights = folder / WEIGHTS
    names = dict.fromkeys(load_file(weights), name)
    target = file or folder / name
    target.write_bytes(weights.read_bytes())
    weights.unlink()
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": names}))


def test_an_index_of_safetensors_files_is_read(folder: Path, saved: Path) -> None:
    shard(folder, "part-1.safetensors")
    # an index for another format is not used
    other = folder / "pytorch_model.bin.index.json"
    other.write_text(json.dumps({"weight_map": {"a": "../../etc/passwd"}}))
    found = verax.from_transformers(folder)
    assert found.fingerprint == verax.from_transformers(saved).fingerprint


@pytest.mark.parametrize(
    "name", ["w.bin", "../outside.safetensors", "../../etc/passwd", "sub/w.safetensors", "w.pt"]
)
def test_an_index_of_other_files_is_refused(name: str, folder: Path, capsys: Any) -> None:
    shard(folder, name, folder / "inside.safetensors")
    refused(folder, capsys, "model.unsafe", folder / INDEX, f"'{name}'")


def test_an_index_is_not_followed_out_of_the_folder(
    folder: Path, tmp_path: Path, capsys: Any
) -> None:
    save_file({}, folder / "other.safetensors")
    shard(folder, "w.safetensors", tmp_path / "outside.safetensors")
    (folder / "w.safetensors").symlink_to(tmp_path / "outside.safetensors")
    refused(folder, capsys, "model.unsafe", folder / INDEX, "'w.safetensors'")
    absolute = str(tmp_path / "outside.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": {"a": absolute}}))
    refused(folder, capsys, "model.unsafe", folder / INDEX, f"'{absolute}'")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}']
)
def test_an_index_that_is_none_is_refused(content: str, folder: Path, capsys: Any) -> None:
    shard(folder, "w.safetensors")
    (folder / INDEX).write_text(content)
    refused(folder, capsys)


def test_the_pickle_that_an_index_names_is_not_opened(folder: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    shard(folder, "w.bin", folder / "inside.safetensors")
    (folder / "w.bin").write_bytes(pickle.dumps(Evil()))
    with raises("model.unsafe", folder / INDEX, "'w.bin'"):
        verax.from_transformers(folder)
    assert not (tmp_path / "ran").exists()
