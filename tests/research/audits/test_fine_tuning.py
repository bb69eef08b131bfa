"""Fine-tuning of a Hugging Face encoder: it learns, repeats itself, and grounding does its work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import verax
from research.audits.fine_tuning import FineTuning, fine_tune, pooled
from support.tiny_bert import make_bert, make_tokenizer

OPTIONS = FineTuning(epochs=2, batch_size=8, lr=3e-3, max_length=16)


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    """Texts that say good or bad, which is their class."""
    ends = ["", " film", " plot", " and it was the story", " but they had hoped", " !", " , yes"]
    texts = [
        f"the {of} was {word}{end}"
        for of in ("film", "plot", "story", "acting")
        for word in ("good", "bad")
        for end in ends
    ]
    labels = ["pos" if "good" in text else "neg" for text in texts]
    return verax.load_corpus((texts, labels))


def encoder(seed: int = 0) -> Any:
    return make_bert(seed).bert


def weights(*modules: torch.nn.Module) -> torch.Tensor:
    """All parameters in one vector."""
    return torch.cat([p.detach().flatten() for module in modules for p in module.parameters()])


@pytest.mark.slow
def test_it_learns(corpus: verax.Corpus) -> None:
    _, accuracy = fine_tune(encoder(), make_tokenizer(), corpus, replace(OPTIONS, epochs=6))
    assert accuracy == 1.0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_weights(corpus: verax.Corpus) -> None:
    prints = []
    for seed in (0, 0, 1):
        model = encoder()
        head, _ = fine_tune(model, make_tokenizer(), corpus, OPTIONS, seed)
        prints.append(weights(model, head))
    assert torch.equal(prints[0], prints[1])
    assert not torch.equal(prints[0], prints[2])


def test_a_frozen_encoder_stays_and_its_head_is_affine_in_states(corpus: verax.Corpus) -> None:
    model, before = encoder(), weights(encoder())
    frozen = replace(OPTIONS, frozen=True, epochs=40, lr=1e-2)
    head, accuracy = fine_tune(model, make_tokenizer(), corpus, frozen)
    assert torch.equal(weights(model), before)
    classifier = verax.from_transformers(
        model, make_tokenizer(), "mean", head=head, classes=corpus.classes
    )
    right = (
        classifier.logits(corpus.validation.texts).argmax(-1).numpy() == corpus.validation.labels
    )
    assert right.mean() == pytest.approx(accuracy)


@pytest.mark.parametrize("readout", ["last", "mean"])
def test_what_the_head_reads(readout: str) -> None:
    states = torch.arange(12.0).view(2, 3, 2)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    expected = {
        "last": [[2.0, 3.0], [10.0, 11.0]],
        "mean": [[1.0, 2.0], [8.0, 9.0]],
    }
    assert pooled(states, mask, readout).tolist() == expected[readout]


def _distance(model: Any, corpus: verax.Corpus) -> float:
    """Mean ‖h − e‖² over pieces of words."""
    read = make_tokenizer()(corpus.train.texts, padding=True, return_tensors="pt")
    words = read["attention_mask"].bool() & (read["input_ids"] > 4)
    with torch.no_grad():
        states = model(read["input_ids"], read["attention_mask"]).last_hidden_state
        apart = (states - model.get_input_embeddings()(read["input_ids"])).square().sum(-1)
    return float(apart[words].mean())


@pytest.mark.slow
def test_tying_brings_states_to_their_words(corpus: verax.Corpus) -> None:
    plain, tied = encoder(), encoder()
    fine_tune(plain, make_tokenizer(), corpus, OPTIONS)
    fine_tune(tied, make_tokenizer(), corpus, replace(OPTIONS, grounding="tying", strength=1.0))
    assert _distance(tied, corpus) < 0.8 * _distance(plain, corpus)
    before = encoder().get_input_embeddings().weight
    assert torch.equal(tied.get_input_embeddings().weight, before)


@pytest.mark.slow
def test_a_masked_lm_trains_and_strength_zero_is_none(corpus: verax.Corpus) -> None:
    prints = {}
    for strength in (0.0, 1.0):
        model = encoder()
        options = replace(OPTIONS, grounding="mlm", strength=strength)
        fine_tune(model, make_tokenizer(), corpus, options)
        prints[strength] = weights(model)
    model = encoder()
    fine_tune(model, make_tokenizer(), corpus, OPTIONS)
    assert torch.equal(prints[0.0], weights(model))
    assert not torch.equal(prints[1.0], weights(model))
