"""Explanations of Transformers: frames, and words in colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.internals import depends_on_target
from verax import TransformerClassifier
from verax.cli.explain import _print
from verax.importance import score, special_share
from verax.importance.explanation import has_sign
from verax.report import heat
from verax.report.explanation_page import explanation_page

NAMES = ["attention", "attention@2.1", "attention-gradient", "chefer", "leave-one-out"]


def test_a_row_per_word_as_the_text_has_it(bert: TransformerClassifier, texts: list[str]) -> None:
    frame = bert.explain(texts, NAMES, target="LABEL_1", max_tokens=40)
    trace = bert.trace(texts)
    assert frame["word"].tolist() == [word for words in trace.words for word in words]
    where = trace.mask.numpy()
    for name in NAMES:
        expected = score(name, bert, trace, signed=True, target=1).numpy()[where]
        np.testing.assert_allclose(frame[name], expected, atol=1e-5)
    shares = special_share(bert, trace)[:, -1].mean(-1).numpy()
    np.testing.assert_allclose(frame.groupby("text")["special_share"].first(), shares, atol=1e-6)
    assert (frame["target"] == "LABEL_1").all()
    assert has_sign("attention-gradient")
    assert depends_on_target("chefer")
    assert not depends_on_target("attention@2.1")


def test_usual_importances_and_ones_own(bert: TransformerClassifier, texts: list[str]) -> None:
    usual = bert.explain(texts[:2])
    assert usual.columns[-3:].tolist() == ["attention", "gradient", "leave-one-out"]
    mine = [np.arange(10.0), np.arange(2.0)]
    own = bert.explain(texts[:2], "leave-one-out", importances={"mine": mine})
    assert own["mine"].tolist() == [*range(10), 0, 1]
    assert "special_share" not in own  # nothing here is attention's


def test_the_share_of_special_tokens_is_told(
    bert: TransformerClassifier,
    texts: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    frame = bert.explain(texts[:2], ["attention", "rollout"])
    shares = frame.groupby("text")["special_share"].first()
    told = [f"{share:.1%} of the last layer's attention goes to special tokens" for share in shares]
    shown = heat(frame, "rollout")._repr_html_()
    page = explanation_page(frame)
    _print(frame[frame["text"] == 1], ["attention"])
    for words in told:
        assert words.replace("'", "&#39;") in shown
        assert page.count(words.replace("'", "&#39;")) == 1
    assert told[1] in capsys.readouterr().out
