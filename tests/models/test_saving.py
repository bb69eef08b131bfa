"""Saved and loaded: the same logits bit for bit, the same bytes twice, and no pickle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import verax
from verax.errors import VeraxError
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
    with pytest.raises(VeraxError, match="holds other files"):
        make_model().save(tmp_path / "m")
    assert (tmp_path / "m" / "notes.txt").read_text() == "mine"


def test_a_foreign_folder_is_not_overwritten(make_model: Make, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mum.txt").write_text("dear")
    with pytest.raises(VeraxError, match="holds other files"):
        make_model().save(tmp_path / "letters")
    assert (tmp_path / "letters" / "mum.txt").read_text() == "dear"


def test_what_is_no_model_is_refused(make_model: Make, tmp_path: Path) -> None:
    with pytest.raises(VeraxError, match="not a saved model"):
        verax.load(tmp_path)
    make_model().save(tmp_path / "m")
    weights = tmp_path / "m" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:100])
    with pytest.raises(VeraxError, match="has other contents than were written"):
        verax.load(tmp_path / "m")
    weights.write_bytes(whole)
    config = tmp_path / "m" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "format": 99}))
    with pytest.raises(VeraxError, match="format 99"):
        verax.load(tmp_path / "m")


def test_another_librarys_model_folder_is_neither_loaded_nor_overwritten(
    make_model: Make, tmp_path: Path
) -> None:
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "bert" / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(VeraxError, match="not a saved model"):
        verax.load(tmp_path / "bert")
    with pytest.raises(VeraxError, match="holds other files"):
        make_model().save(tmp_path / "bert")
    assert (tmp_path / "bert" / "model.safetensors").read_bytes() == b"weights"


def test_a_config_with_parts_missing_is_told(make_model: Make, tmp_path: Path) -> None:
    make_model().save(tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    kept = {k: v for k, v in json.loads(config.read_text()).items() if k != "tokeniser"}
    config.write_text(json.dumps(kept))
    with pytest.raises(VeraxError, match="has no 'tokeniser'"):
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
