"""A trace in words: its short text, which positions are attended, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import verax
from support.documents import tokens_of
from support.errors import raises
from support.internals import VERSION_FILE, source_fingerprint
from verax.models import AttentionClassifier, GuidedClassifier

TEXTS = ["w1 Unheard-of W2 . w3 .", "w4"]


@pytest.mark.parametrize("hierarchical", [False, True])
def test_words_are_the_texts_own(
    make_model: Callable[..., AttentionClassifier], hierarchical: bool
) -> None:
    model = make_model(encoder="conv", hierarchical=hierarchical)
    trace = model.trace(TEXTS)
    assert trace.words == [["w1", "unheard-of", "w2", ".", "w3", "."], ["w4"]]
    assert [len(words) for words in trace.words] == trace.batch.words.sum(-1).tolist()
    attended = trace.attended.sum(-1).tolist()
    assert attended == ([2, 1] if hierarchical else [6, 1])
    assert not bool(trace.weights[~trace.attended].any())


def test_words_of_a_corpus_come_with_their_batch(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(encoder="none")
    tokens = dict(zip(planted.test.ids.tolist(), tokens_of(planted.test), strict=True))
    for trace in model.traces(planted.test, max_tokens=300):
        assert trace.words == [tokens[id] for id in trace.ids.tolist()]


def test_words_of_numbers_alone_are_not_known(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(encoder="none")
    encoded = model.encode(planted.test)
    geometry = torch.from_numpy(encoded.geometry(np.arange(3)))
    trace = model.trace(encoded.laid_out(geometry, 64))
    with raises("text.missing"):
        _ = trace.words


@pytest.mark.parametrize(
    ("classes", "texts", "expected"),
    [
        (2, ["a b", "c"], "Trace(2 documents, 1 to 2 items, 2 classes)"),
        (3, ["a b c"], "Trace(1 document, 3 items, 3 classes)"),
        (2, ["a"], "Trace(1 document, 1 item, 2 classes)"),
    ],
)
def test_its_text_is_a_line(
    make_model: Callable[..., AttentionClassifier], classes: int, texts: list[str], expected: str
) -> None:
    assert repr(make_model(classes, encoder="none").trace(texts)) == expected


def test_a_fingerprint_is_of_the_weights_alone(
    make_model: Callable[..., AttentionClassifier], tmp_path: Path
) -> None:
    model, twin = make_model(encoder="bilstm"), make_model(encoder="bilstm")
    assert model.fingerprint == twin.fingerprint
    assert len(model.fingerprint) == 16
    model.save(tmp_path / "model")
    assert verax.load(tmp_path / "model").fingerprint == model.fingerprint
    with torch.no_grad():
        twin.head.bias[0] = torch.nextafter(twin.head.bias[0], torch.tensor(torch.inf))
    assert twin.fingerprint != model.fingerprint
    assert model.double().fingerprint != make_model(encoder="bilstm").fingerprint


def test_a_guided_models_fingerprint_is_of_its_guide_too(
    make_model: Callable[..., AttentionClassifier],
) -> None:
    guides = [make_model(encoder="conv"), make_model(encoder="bilstm")]
    own = make_model(encoder="mlp")
    found = set()
    for guide in guides:
        torch.manual_seed(0)
        model = GuidedClassifier(
            own.options, own.vocabulary, own.classes, own.word_tokenizer, guide=guide
        )
        found.add(model.fingerprint)
    assert len(found) == 2


def test_the_source_has_a_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = source_fingerprint()
    assert len(found) == 16
    assert source_fingerprint() == found
    made = {}
    for name in ("one", "two"):
        package = tmp_path / name / "verax"
        (package / "room").mkdir(parents=True)
        ending = b"\n" if name == "one" else b"\r\n"
        (package / "room" / "file.py").write_bytes(b"x = 1" + ending)
        (package / "notes.txt").write_text(name)
        monkeypatch.setattr(VERSION_FILE, str(package / "version.py"))
        source_fingerprint.cache_clear()
        made[name] = source_fingerprint()
    assert made["one"] == made["two"] != found
    for name in ("file.py", "studies.yaml", "table1.csv", "limits.json"):
        (package / "room" / name).write_bytes(b"x = 2\n")
        source_fingerprint.cache_clear()
        made[name] = source_fingerprint()
    assert len(set(made.values())) == len(made) - 1
    monkeypatch.undo()
    source_fingerprint.cache_clear()
    assert source_fingerprint() == found
