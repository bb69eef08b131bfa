"""The curves that the single_token exam keeps, against `token_curves` text by text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import verax
from support.errors import raises
from verax.exams import load_verdict, token_curves
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
COLUMNS = ["id", "item", "p", "weight"]
SLOTS: list[dict[str, object]] = [
    {},
    {"head": "softmax", "encoder": "conv", "boundaries": False},
    {"classes": 3, "projection": "sparsemax"},
    {"hierarchical": True, "classes": 3},
]


class Curved(nn.Module):
    """A head that is not affine."""

    def __init__(self, size: int, logits: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(size, 9), nn.Linear(9, logits)

    def forward(self, context: Tensor) -> Tensor:
        return self.outer(torch.tanh(20 * self.inner(context)))


@pytest.fixture(scope="module")
def mixed(planted: verax.Corpus) -> verax.Corpus:
    """Texts of different lengths, their ids in no order."""
    test = planted.test.take(np.arange(20))
    texts = [
        text if n % 3 else " ".join(text.split()[: 4 + n]) for n, text in enumerate(test.texts)
    ]
    ids = np.random.default_rng(0).permutation(np.arange(100, 200))[:20]
    test = type(test)(texts, test.labels, ids)
    return replace(planted, test=test)


def expected(model: AttentionClassifier, corpus: verax.Corpus, curves: int) -> pd.DataFrame:
    parts = []
    for place in np.argsort(corpus.test.ids)[:curves]:
        found = token_curves({"model": model}, corpus.test.texts[place])
        assert (found["class"] == found["decision"]).all()
        parts.append(found[["item", "p", "weight"]].assign(id=corpus.test.ids[place]))
    return pd.concat(parts, ignore_index=True)[COLUMNS]


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_tokens_are_those_of_token_curves(
    make_model: Make, mixed: verax.Corpus, slot: dict[str, object], curved: bool
) -> None:
    """Whatever the batches: SOS, EOS and padding are no items, and ids are taken from below."""
    model = make_model(**slot)
    if curved:
        torch.manual_seed(2)
        model.head = Curved(12, model.head.linear.out_features)  # type: ignore[assignment]
    for max_tokens in (60, 10**5):
        verdict = verax.examine(model, mixed, "single_token", curves=7, max_tokens=max_tokens)
        found = verdict.tables["single_token_tokens"]
        assert found.columns.tolist() == COLUMNS
        assert [str(kind) for kind in found.dtypes] == ["int64", "int64", "float64", "float64"]
        pd.testing.assert_frame_equal(found, expected(model, mixed, 7), atol=1e-6, rtol=1e-5)
        means = found.groupby("id")["p"].mean()
        table = verdict.tables["single_token"]
        own = table[table["measure"] == "alone"].set_index("id")["value"]
        np.testing.assert_allclose(means, own.iloc[:7])  # which comes by id, too


def test_none_are_kept_unless_asked_for(make_model: Make, mixed: verax.Corpus) -> None:
    model = make_model()
    plain = verax.examine(model, mixed, "single_token")
    assert list(plain.tables) == plain.manifest["tables"] == ["single_token"]
    assert plain.manifest["options"] == {"single_token": {"curves": 0}}
    more = verax.examine(model, mixed, "single_token", curves=1)
    assert list(more.tables) == more.manifest["tables"] == ["single_token", "single_token_tokens"]
    pd.testing.assert_frame_equal(more.tables["single_token"], plain.tables["single_token"])
    pd.testing.assert_frame_equal(more.summary(), plain.summary())
    with raises("option.out-of-range", "curves"):
        verax.examine(model, mixed, "single_token", curves=-1)


def test_more_than_there_are_is_all_of_them(make_model: Make, mixed: verax.Corpus) -> None:
    model = make_model(encoder="conv")
    found = verax.examine(model, mixed, "single_token", curves=1000).tables["single_token_tokens"]
    pd.testing.assert_frame_equal(found, expected(model, mixed, 20), atol=1e-6, rtol=1e-5)


def test_of_a_sample_the_first_are_kept(make_model: Make, mixed: verax.Corpus) -> None:
    verdict = verax.examine(make_model(), mixed, "single_token", curves=3, sample=6)
    drawn = sorted(verdict.tables["single_token"]["id"].unique())
    assert len(drawn) == 6
    assert verdict.tables["single_token_tokens"]["id"].unique().tolist() == drawn[:3]


def test_they_survive_the_disk(make_model: Make, mixed: verax.Corpus, tmp_path: Path) -> None:
    verdict = verax.examine(make_model(), mixed, "single_token", curves=2)
    verdict.save(tmp_path / "v")
    again = load_verdict(tmp_path / "v").tables["single_token_tokens"]
    pd.testing.assert_frame_equal(again, verdict.tables["single_token_tokens"])
