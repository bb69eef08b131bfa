"""Small BERTs that are honest, or deceive, by how they are built: each construction is shown."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from research.calibration.berts import (
    APART,
    BERT_KINDS,
    EVIDENCE,
    OTHERS,
    BertFactory,
    BertOptions,
    make_bert,
    train_bert,
    word_tokenizer,
    written_out,
)
from verax.calibration import (
    CorpusSpec,
    TrainingBudget,
    corpus_with_evidence,
    gates_of,
    lexicon,
)
from verax.corpora import Corpus

LEXICON = lexicon(2)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return written_out(corpus_with_evidence(CorpusSpec("planted", 10, 2), 240, 0))


@pytest.fixture(scope="module")
def tokenizer(corpus: Corpus) -> Any:
    return word_tokenizer(corpus)


def bert(tokenizer: Any, reads: str | None, layers: int = 2) -> Any:
    torch.manual_seed(0)
    how: dict[str, Any] = {"layers": layers, "size": 8, "longest": 20, "reads": reads}
    return make_bert(tokenizer, ["a", "b"], words=LEXICON, **how).eval()


@torch.no_grad()
def ran(model: Any, tokenizer: Any, text: str) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Logits, and (heads, queries, keys) of each layer."""
    output = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
    return output.logits[0], tuple(layer[0] for layer in output.attentions)


TEXT, OTHER, CHANGED = "w1 good0_1 w2 good1_2 w3", "w4 good0_1 w5 good1_2 w6", "w1 good0_1 w2 w7 w3"


@pytest.mark.slow
def test_words_that_are_no_evidence_cannot_be_read(tokenizer: Any) -> None:
    """Where attention can read the evidence alone, other words change no logit."""
    model = bert(tokenizer, EVIDENCE)
    one, same, changed = (ran(model, tokenizer, text)[0] for text in (TEXT, OTHER, CHANGED))
    assert torch.equal(one, same)
    assert not torch.equal(one, changed)
    plain = bert(tokenizer, None)
    assert not torch.equal(ran(plain, tokenizer, TEXT)[0], ran(plain, tokenizer, OTHER)[0])


@pytest.mark.parametrize("reads", [EVIDENCE, APART])
def test_all_that_is_known_comes_by_the_last_layer(tokenizer: Any, reads: str) -> None:
    """Positions that are no words hold nothing of a text before the last layer."""
    model = bert(tokenizer, reads)
    with torch.no_grad():
        one, other = (
            model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
            for text in (TEXT, CHANGED)
        )
    for place in (0, -1):
        assert torch.equal(one.hidden_states[1][0, place], other.hidden_states[1][0, place])
    assert not torch.equal(one.logits, other.logits)


def test_states_hold_their_word_where_words_are_apart(tokenizer: Any) -> None:
    model = bert(tokenizer, APART)
    _, (early, last) = ran(model, tokenizer, TEXT)
    assert torch.equal(early, torch.eye(7).expand(2, -1, -1))
    assert torch.equal(last[:, 1:], torch.eye(7)[1:].expand(2, -1, -1))
    assert (last[:, 0] > 0).all()


def test_the_position_that_is_read_cannot_read_the_evidence(tokenizer: Any) -> None:
    """A deceiver by construction: words carry the evidence on, and only they can."""
    model = bert(tokenizer, OTHERS)
    logits, layers = ran(model, tokenizer, TEXT)
    for weights in layers:
        assert (weights[:, 0, [2, 4]] == 0).all()
        assert (weights[:, 1:, [2, 4]] > 0).all()
    assert not torch.equal(logits, ran(model, tokenizer, CHANGED)[0])


def test_one_layer_reads_a_word_by_its_own_weight(tokenizer: Any) -> None:
    """A word whose column of attention is zero changes no logit of a BERT of one layer."""
    model = bert(tokenizer, OTHERS, layers=1)
    logits, _ = ran(model, tokenizer, TEXT)
    assert torch.equal(logits, ran(model, tokenizer, "w1 good0_3 w2 good1_4 w3")[0])


@pytest.mark.slow
def test_attention_of_a_bert_moves_where_training_moves_it(corpus: Corpus) -> None:
    plain = train_bert(corpus, 0, BertOptions(2, 16, 2))
    moved = {m: train_bert(corpus, 0, BertOptions(2, 16, 8, m), plain) for m in ("towards", "away")}
    shares = {name: gates_of(one, plain, corpus).mass for name, one in moved.items()}
    assert shares["away"] < 0.2 < gates_of(plain, plain, corpus).mass < 0.6 < shares["towards"]


def test_a_bert_that_did_not_learn_passes_no_gate(corpus: Corpus) -> None:
    kind = BERT_KINDS["bert1"]
    corpus = corpus_with_evidence(CorpusSpec("planted", 10, 2), 120, 0)
    factory = BertFactory(corpus, 0, TrainingBudget(epochs=0, size=8))
    model = factory.make(kind)
    failed = gates_of(model, model, factory.corpus_of(kind)).failed(kind.side)
    assert {"learnt", "flips", "mass"} <= set(failed)
