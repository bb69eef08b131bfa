"""The Hugging Face reader, through datasets kept in a local folder: no network is touched."""

from __future__ import annotations

import socket
from pathlib import Path

import datasets
import pandas as pd
import pytest

from support.errors import raises
from support.internals import assemble
from verax.corpora import CorpusOptions
from verax.corpora.hub import read_hub

TEXTS = [f"text {i}" for i in range(20)]


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets.disable_progress_bars()


def labelled(labels: list[int]) -> datasets.Dataset:
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["up", "down"])}
    )
    return datasets.Dataset.from_dict({"text": TEXTS, "label": labels}, features=features)


def test_class_labels_come_by_name_and_an_unlabelled_test_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    labelled([i % 2 for i in range(20)]).to_parquet(folder / "train.parquet")
    labelled([-1] * 20).to_parquet(folder / "test.parquet")
    tables, order = read_hub(str(folder), None, "label")
    assert list(tables) == ["train"]
    assert order == ["up", "down"]
    assert assemble("hub", tables, CorpusOptions(), order).classes == ["up", "down"]
    assert tables["train"]["label"].tolist() == ["up", "down"] * 10
    assert tables["train"]["text"].tolist() == TEXTS


def test_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    labelled([0, 1, -1, 1] * 5).to_parquet(folder / "train.parquet")
    assert (
        read_hub(str(folder), None, "label")[0]["train"]["label"].tolist()
        == ["up", "down", "down"] * 5
    )


def test_plain_csv_splits_become_a_corpus(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        frame = pd.DataFrame({"text": TEXTS, "label": [i % 2 for i in range(20)]})
        frame.to_csv(folder / f"{split}.csv", index=False)
    tables, order = read_hub(str(folder), None, "label")
    assert order is None
    assert sorted(tables) == ["test", "train", "validation"]
    corpus = assemble("hub", tables, CorpusOptions())
    assert corpus.classes == ["0", "1"]
    assert corpus.train.texts == TEXTS


def test_a_dataset_without_train_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    labelled([0, 1] * 10).to_parquet(folder / "test.parquet")
    with raises("corpus.wrong-splits"):
        read_hub(str(folder), None, "label")


def test_what_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    with raises("corpus.not-at-hand") as error:
        read_hub(str(tmp_path / "missing"), None, "label")
    assert "\n" not in str(error.value)
