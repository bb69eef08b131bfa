"""Pieces know their words, and words can be taken away."""

from __future__ import annotations

import numpy as np
import torch

from verax import TransformerClassifier


def test_every_piece_lies_in_its_word(bert: TransformerClassifier, texts: list[str]) -> None:
    read = bert.encode(texts)
    for text, spans, ids, words in zip(
        read.texts, read.spans, read.pieces.input_ids, read.pieces.word, strict=True
    ):
        pieces = bert.reader.tokenizer.convert_ids_to_tokens(ids)
        for word, (start, stop) in enumerate(spans):
            joined = "".join(
                p.removeprefix("##") for p, w in zip(pieces, words, strict=True) if w == word
            )
            assert joined == text[start:stop].lower()
        assert [p for p, w in zip(pieces, words, strict=True) if w < 0] == ["[CLS]", "[SEP]"]


def test_deleting_a_word_is_reading_the_text_without_it(
    bert: TransformerClassifier, texts: list[str]
) -> None:
    trace = bert.trace(texts)
    removed = torch.zeros(1, trace.mask.shape[1], dtype=torch.bool)
    removed[0, 3] = True
    without = bert.logits_without(trace, torch.tensor([0]), removed)
    alone = bert.trace([texts[0].replace(" far", "")]).logits
    assert torch.allclose(without, alone, atol=1e-6)


def test_batches_change_nothing(bert: TransformerClassifier, texts: list[str]) -> None:
    together = bert.logits(texts)
    alone = torch.cat([bert.logits([text]) for text in texts])
    assert torch.allclose(together, alone, atol=1e-5)
    assert np.allclose(bert.logits(texts, max_tokens=20), together, atol=1e-5)
