"""One word's state alone, read by the model's own head: by hand, and where it does not apply."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

import verax
from support.errors import raises
from support.tiny_bert import make_bert
from verax import TransformerClassifier
from verax.exams import plan


class MeanBert(transformers.BertPreTrainedModel):
    """A BERT whose classifier reads the mean of its states, through a layer that is not affine."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.bert = transformers.BertModel(config, add_pooling_layer=False)
        self.inner, self.outer = nn.Linear(16, 9), nn.Linear(9, 2)
        self.post_init()

    def decide(self, mean: Tensor) -> Tensor:
        return self.outer(torch.tanh(self.inner(mean)))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **more: Any) -> Any:
        output = self.bert(input_ids, attention_mask=attention_mask, **more)
        weights = attention_mask.unsqueeze(-1).float()
        mean = (output.last_hidden_state * weights).sum(1) / weights.sum(1)
        return SequenceClassifierOutput(
            logits=self.decide(mean), hidden_states=output.hidden_states
        )


@pytest.fixture(scope="module", params=["model", "head"])
def mean_model(request: pytest.FixtureRequest, tokenizer: Any) -> TransformerClassifier:
    """The same model, whole, or as an encoder with a head."""
    source = make_bert(3)
    torch.manual_seed(0)
    whole = MeanBert(source.config).eval()
    whole.bert.load_state_dict(source.bert.state_dict(), strict=False)
    if request.param == "model":
        return verax.from_transformers(whole, tokenizer)
    head = nn.Sequential(whole.inner, nn.Tanh(), whole.outer)
    bare: dict[str, Any] = {"head": head, "readout": "mean", "classes": ["LABEL_0", "LABEL_1"]}
    return verax.from_transformers(whole.bert, tokenizer, **bare)


@torch.no_grad()
def by_hand(model: TransformerClassifier, text: str) -> Tensor:
    """(words, classes): probabilities by the mean of each word's states, through the head."""
    trace: Any = model.trace([text])
    bert = model.module if model.head is not None else model.module.bert
    states = bert(trace.pieces.input_ids).last_hidden_state[0]
    decide = model.head or model.module.decide
    words = trace.pieces.word[0]
    means = [states[words == word].mean(0) for word in range(int(words.max()) + 1)]
    return decide(torch.stack(means)).softmax(-1)


def test_a_word_alone_is_its_state_through_the_head(
    mean_model: TransformerClassifier, texts: list[str]
) -> None:
    assert mean_model.readout == "mean"
    verdict = verax.examine(mean_model, texts, "single_token", curves=5)
    tokens = verdict.tables["single_token_tokens"]
    numbers = verdict.tables["single_token"].pivot(index="id", columns="measure", values="value")
    for row, text in enumerate(texts):
        decided = int(mean_model.trace([text]).logits.argmax())
        expected = by_hand(mean_model, text)[:, decided].double()
        p = torch.from_numpy(tokens.loc[tokens["id"] == row, "p"].to_numpy().copy())
        assert torch.allclose(p, expected, atol=1e-5)
        assert numbers.loc[row, "alone"] == pytest.approx(float(expected.mean()), abs=1e-5)
        assert numbers.loc[row, "items"] == len(expected)
    judged = verdict.judgement.rows[0]
    assert judged.measure == "single_token.all.mean_probability"
    assert judged.label == "mean probability of the decision by the state of a single word"


def test_a_long_word_is_the_mean_of_its_pieces(mean_model: TransformerClassifier) -> None:
    """`unwatchable` has three pieces: three of five shares of the mean are its."""
    verdict = verax.examine(mean_model, ["unwatchable"], "single_token", curves=1)
    assert verdict.tables["single_token_tokens"]["weight"].tolist() == [3 / 5]


def test_nothing_depends_on_batches(
    mean_model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    one, same, small = (
        verax.examine(mean_model, reviews, "single_token", max_tokens=size).tables["single_token"]
        for size in (16_384, 16_384, 15)
    )
    pd.testing.assert_frame_equal(one, same, check_exact=True)
    pd.testing.assert_frame_equal(one, small, atol=1e-5, rtol=0)


def test_no_state_is_read_alone_where_one_has_seen_all(bert: TransformerClassifier) -> None:
    (planned,) = plan(bert, ["single_token"])
    assert planned.exam is None
    assert planned.reason == (
        "the classifier reads one state, the first position's, which has seen all words: no word "
        "is read by itself"
    )
    with raises("exam.not-applicable", "single_token"):
        verax.examine(bert, ["good"], "single_token")


def test_the_model_is_left_as_it_was(mean_model: TransformerClassifier) -> None:
    before = mean_model.trace(["very good"]).logits
    verax.examine(mean_model, ["very good"], "single_token", curves=1)
    assert torch.equal(mean_model.trace(["very good"]).logits, before)
