"""Entropies of attention by layer and head: against SciPy, on attention that eager models give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

import verax
from support.errors import raises
from support.tiny_bert import make_bert
from verax import TransformerClassifier
from verax.importance import score


@pytest.fixture(scope="module")
def verdict(bert: TransformerClassifier, texts: list[str]) -> verax.Verdict:
    return verax.examine(bert, texts, "dispersion", entropy_of="")


@torch.no_grad()
def eager_rows(text: str, bert: TransformerClassifier) -> tuple[np.ndarray, np.ndarray]:
    """(layers, heads, words) attention of [CLS] by words, and (layers, heads) what is on none."""
    eager = make_bert(attn_implementation="eager")
    trace: Any = bert.trace([text])
    attentions = eager(trace.pieces.input_ids, output_attentions=True).attentions
    rows = torch.stack(attentions)[:, 0, :, 0].double().numpy()
    words = trace.pieces.word[0].numpy()
    each = [rows[..., words == word].sum(-1) for word in range(words.max() + 1)]
    return np.stack(each, -1), rows[..., words < 0].sum(-1)


def values(table: pd.DataFrame, measure: str, document: int, **labels: str) -> float:
    chosen = (table["measure"] == measure) & (table["id"] == document)
    for name, label in labels.items():
        chosen &= table[name] == label
    (value,) = table.loc[chosen, "value"]
    return float(value)


@pytest.mark.slow
def test_entropies_are_scipys(
    bert: TransformerClassifier, texts: list[str], verdict: verax.Verdict
) -> None:
    table = verdict.tables["dispersion_heads"]
    for document, text in enumerate(texts):
        rows, special = eager_rows(text, bert)
        words = rows.shape[-1]
        for layer in range(3):
            of_layer = {f"{layer + 1}": (rows[layer].mean(0), special[layer].mean())}
            of_heads = {
                f"{layer + 1}.{head + 1}": (rows[layer, head], special[layer, head])
                for head in range(2)
            }
            for place, (weights, share) in (of_layer | of_heads).items():
                entropy = values(table, "entropy", document, place=place)
                if words == 1:
                    assert np.isnan(entropy)
                else:
                    expected = stats.entropy(weights) / np.log(words)
                    assert entropy == pytest.approx(expected, abs=1e-5)
                found = values(table, "special", document, place=place)
                assert found == pytest.approx(share, abs=1e-5)


def test_the_models_attention_is_its_last_layers(verdict: verax.Verdict) -> None:
    layers = verdict.tables["dispersion_heads"]
    last = layers[(layers["place"] == "3") & (layers["measure"] == "entropy")]
    own = verdict.tables["dispersion"]
    own = own[(own["of"] == "attention") & (own["measure"] == "entropy")]
    assert np.array_equal(own["value"], last["value"], equal_nan=True)
    number = verdict.number("dispersion.entropy.attention.mean")
    assert number.value == verdict.value("dispersion.heads.3.entropy")
    assert number.n == 4
    assert verdict.value("dispersion.entropy.attention.out_one_position") == 1
    assert verdict.value("dispersion.heads.3.2.documents") == 4
    sentence = verdict.judgement.rows[0].sentence
    assert sentence.startswith("The last layer's attention has a normalised entropy of")


def test_documents_average_to_the_number_of_the_same_id(verdict: verax.Verdict) -> None:
    found = verdict.document_values().groupby("measure")["value"].mean()
    number = verdict.value("dispersion.entropy.attention.mean")
    assert found["dispersion.entropy.attention.mean"] == pytest.approx(number)


def test_importances_of_words_have_entropies_too(
    bert: TransformerClassifier, texts: list[str]
) -> None:
    verdict = verax.examine(bert, texts, "dispersion", entropy_of="gradient-input")
    table = verdict.tables["dispersion"]
    assert list(table["of"].cat.categories) == ["attention", "gradient-input"]
    for document in (0, 4):
        trace: Any = bert.trace([texts[document]])
        scores = score("gradient-input", bert, trace)[0].abs().numpy()  # type: ignore[arg-type]
        expected = stats.entropy(scores) / np.log(len(scores))
        found = values(table, "entropy", document, of="gradient-input")
        assert found == pytest.approx(expected, abs=1e-4)


def test_neither_batches_nor_chance_change_numbers(
    bert: TransformerClassifier, texts: list[str], verdict: verax.Verdict
) -> None:
    same, small = (
        verax.examine(bert, texts, "dispersion", entropy_of="", max_tokens=size)
        for size in (16_384, 10)
    )
    for name, table in verdict.tables.items():
        pd.testing.assert_frame_equal(same.tables[name], table, check_exact=True)
        pd.testing.assert_frame_equal(small.tables[name], table, atol=1e-5, rtol=0)


def test_what_is_asked_of_pooled_models_alone_is_refused(
    bert: TransformerClassifier, texts: list[str]
) -> None:
    with raises("option.unknown", "influence"):
        verax.examine(bert, texts, "dispersion", influence="norm")
