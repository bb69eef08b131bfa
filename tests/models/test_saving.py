"""Saved and loaded: the same logits bit for bit, the same bytes twice, and no pickle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import verax
from support.errors import raises
from support.internals import checksum_of
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoder": "conv", "attention": "dot", "projection": "sparsegen", "lam": -2.0},
        {"encoder": "transformer", "grounding": "mlm", "projection": "entmax"},
        {"hierarchical": True, "encoder": "bigru", "grounding": "concat", "head": "softmax"},
    ],
)
def test_a_loaded_model_has_the_same_logits_bit_for_bit(
    options: dict[str, object], make_model: Make, planted: verax.Corpus, tmp_path: Path
) -> None:
    model = make_model(**options)
    model.save(tmp_path / "model")
    loaded = verax.load(tmp_path / "model", device="cpu")
    assert not loaded.training
    assert loaded.options == model.options
    assert loaded.classes == model.classes
    assert loaded.vocabulary.words == model.vocabulary.words
    assert torch.equal(loaded.logits(planted.test), model.logits(planted.test))


def test_a_trained_model_keeps_history_record_and_test_scores(
    planted: verax.Corpus, tmp_path: Path
) -> None:
    model = verax.train(planted, encoder="none", epochs=2)
    model.save(tmp_path / "m")
    loaded = verax.load(tmp_path / "m")
    assert loaded.history.equals(model.history.astype(loaded.history.dtypes))
    assert loaded.record == model.record
    assert loaded.record["corpus"]["fingerprint"] == planted.fingerprint
    assert {p.name for p in (tmp_path / "m").iterdir()} == {
        "config.json",
        "vocabulary.json",
        "model.safetensors",
    }


@pytest.mark.slow
def test_the_same_training_saves_the_same_bytes(planted: verax.Corpus, tmp_path: Path) -> None:
    for name in ("a", "b"):
        verax.train(planted, epochs=1, dropout_embedding=0.3, seed=3).save(tmp_path / name)
    for file in ("config.json", "vocabulary.json", "model.safetensors"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_saving_again_replaces_and_leaves_nothing_behind(make_model: Make, tmp_path: Path) -> None:
    make_model().save(tmp_path / "m")
    make_model(encoder="conv").save(tmp_path / "m", overwrite=True)
    assert verax.load(tmp_path / "m").options.encoder == "conv"
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_saving_again_keeps_what_someone_put_beside_the_model(
    make_model: Make, tmp_path: Path
) -> None:
    make_model().save(tmp_path / "m")
    (tmp_path / "m" / "notes.txt").write_text("mine")
    with raises("output.occupied"):
        make_model().save(tmp_path / "m")
    assert (tmp_path / "m" / "notes.txt").read_text() == "mine"


def test_a_foreign_folder_is_not_overwritten(make_model: Make, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mum.txt").write_text("dear")
    with raises("output.occupied"):
        make_model().save(tmp_path / "letters")
    assert (tmp_path / "letters" / "mum.txt").read_text() == "dear"


def test_what_is_no_model_is_refused(make_model: Make, tmp_path: Path) -> None:
    with raises("model.missing"):
        verax.load(tmp_path)
    make_model().save(tmp_path / "m")
    weights = tmp_path / "m" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:100])
    with raises("model.unreadable"):
        verax.load(tmp_path / "m")
    weights.write_bytes(whole)
    config = tmp_path / "m" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "format": 99}))
    with raises("result.other-format", "99"):
        verax.load(tmp_path / "m")


def test_another_librarys_model_folder_is_neither_loaded_nor_overwritten(
    make_model: Make, tmp_path: Path
) -> None:
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "bert" / "model.safetensors").write_bytes(b"weights")
    with raises("model.missing"):
        verax.load(tmp_path / "bert")
    with raises("output.occupied"):
        make_model().save(tmp_path / "bert")
    assert (tmp_path / "bert" / "model.safetensors").read_bytes() == b"weights"


def test_a_config_with_parts_missing_is_told(make_model: Make, tmp_path: Path) -> None:
    make_model().save(tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    kept = {k: v for k, v in json.loads(config.read_text()).items() if k != "tokenizer"}
    config.write_text(json.dumps(kept))
    with raises("model.unreadable", "tokenizer"):
        verax.load(tmp_path / "m")


def test_loading_leaves_the_callers_generator_alone(make_model: Make, tmp_path: Path) -> None:
    make_model().save(tmp_path / "m")
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    verax.load(tmp_path / "m")
    assert torch.equal(torch.rand(3), expected)


def test_every_file_has_the_mode_of_the_others(make_model: Make, tmp_path: Path) -> None:
    make_model().save(tmp_path / "m")
    modes = {path.stat().st_mode for path in (tmp_path / "m").iterdir()}
    (tmp_path / "other").touch()
    assert modes == {(tmp_path / "other").stat().st_mode}


def spoilt(
    make_model: Make, folder: Path, change: Callable[[dict[str, torch.Tensor]], None]
) -> Path:
    """A saved model whose weights were changed, and its checksums with them."""
    make_model().save(folder)
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["files"]["model.safetensors"] = checksum_of((folder / "model.safetensors").read_bytes())
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (lambda v: v.fill_(float("nan")), ()),
        (lambda v: v.fill_(float("inf")), ()),
        (lambda v: v.to(torch.int8), ("torch.int8", "torch.float32")),
        (lambda v: v.double(), ("torch.float64", "torch.float32")),
        (lambda v: v.reshape(-1), ("torch.float32", "(12,)")),
    ],
)
def test_weights_that_are_not_of_the_model_are_refused(
    value: Callable[[torch.Tensor], torch.Tensor],
    names: tuple[str, ...],
    make_model: Make,
    tmp_path: Path,
) -> None:
    def change(weights: dict[str, torch.Tensor]) -> None:
        weights["head.linear.weight"] = value(weights["head.linear.weight"])

    with raises("model.unreadable", "head.linear.weight", *names):
        verax.load(spoilt(make_model, tmp_path / "m", change))


def test_weights_too_many_or_too_few_are_refused(make_model: Make, tmp_path: Path) -> None:
    with raises("model.unreadable"):
        verax.load(
            spoilt(make_model, tmp_path / "few", lambda w: w.pop("head.linear.bias") and None)
        )
    with raises("model.unreadable", "more"):
        verax.load(spoilt(make_model, tmp_path / "many", lambda w: w.update(more=torch.zeros(1))))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (lambda words: [*words[:-1], words[0]], "model.unreadable"),
        (lambda words: [*words[:-1], None], "model.unreadable"),
        (lambda words: dict.fromkeys(words), "model.unreadable"),
        (lambda words: [*words, "more"], "model.unreadable"),
        (lambda words: [], "model.unreadable"),
    ],
)
def test_vocabularies_that_are_not_of_the_model_are_refused(
    words: Callable[[list[str]], Any], code: str, make_model: Make, tmp_path: Path
) -> None:
    make_model().save(tmp_path / "m")
    file, config = tmp_path / "m" / "vocabulary.json", tmp_path / "m" / "config.json"
    file.write_text(json.dumps(words(json.loads(file.read_text()))))
    values = json.loads(config.read_text())
    values["files"]["vocabulary.json"] = checksum_of(file.read_bytes())
    config.write_text(json.dumps(values))
    with raises(code):
        verax.load(tmp_path / "m")


def test_sizes_that_the_weights_do_not_have_are_never_allocated(
    make_model: Make, tmp_path: Path
) -> None:
    """65,536 wide, the model would take 69 GB of weights."""
    make_model(encoder="bilstm").save(tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    values = json.loads(config.read_text())
    values["model"]["hidden_size"] = 2**16
    config.write_text(json.dumps(values))
    with raises("model.unreadable", "config.json"):
        verax.load(tmp_path / "m")
    values["model"]["hidden_size"] = 2**31
    config.write_text(json.dumps(values))
    with raises("model.unreadable", "hidden_size", "2147483648", "65536"):
        verax.load(tmp_path / "m")


def test_a_flipped_bit_of_the_weights_is_noticed(make_model: Make, tmp_path: Path) -> None:
    make_model().save(tmp_path / "m")
    file = tmp_path / "m" / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with raises("model.unreadable", "model.safetensors"):
        verax.load(tmp_path / "m")
