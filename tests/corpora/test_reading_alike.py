"""A trained model reads new texts as its corpus was read, whatever the tokenizer, saved or not."""

from __future__ import annotations

from pathlib import Path

import pytest

import verax
from verax.corpora import Tokenizer
from verax.exams.examine import load_trained_on

TEXTS = ["It's a 7-1 win!!! Great.", "well-made, but 90 minutes... of <br /> loss"]


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("digits-masked", ["it", "'s", "a", "qqq", "-", "qqq", "win", "!", "great", "."]),
        ("keras", ["it's", "a", "7", "1", "win", "great"]),
    ],
)
def test_the_tokenizer_survives_saving(
    kind: str, words: list[str], hierarchical: bool, tmp_path: Path
) -> None:
    rows = "".join(f'"{TEXTS[i % 2]} {i}",{i % 2}\n' for i in range(40))
    (tmp_path / "mine.csv").write_text("text,label\n" + rows)
    corpus = verax.load_corpus(tmp_path / "mine.csv")
    options = {"encoder": "none", "embedding_size": 4, "hidden_size": 4, "max_length": 8}
    model = verax.train(
        corpus, tokenizer=kind, hierarchical=hierarchical, epochs=1, device="cpu", **options
    )
    model.save(tmp_path / "model")
    loaded = verax.load(tmp_path / "model", device="cpu")
    assert loaded.word_tokenizer == Tokenizer(kind)
    assert loaded.encode([TEXTS[0]]).words == [words[:8]]
    assert loaded.describe() == model.describe()
    assert load_trained_on(loaded.record, "it").fingerprint == corpus.fingerprint
    assert loaded.predict(TEXTS).equals(model.predict(TEXTS))
    assert loaded.predict(corpus.test.texts).equals(loaded.predict(corpus.test))
