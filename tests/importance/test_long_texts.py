"""Long texts: recurrences forget, so that time grows with the words; the numbers are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import verax
from support.internals import Lstm, long_texts, steps_of
from support.internals import deletion_recurrent as recurrent
from support.internals import jacobian_recurrent as walking
from verax.importance import influence, leave_one_out

WORDS = 150
MODELS: dict[str, dict[str, Any]] = {
    "lstm": {"encoder": "bilstm"},
    "gru": {"encoder": "bigru", "attention": "dot"},
    "residual": {"encoder": "bilstm", "grounding": "residual"},
    "concat, sparse": {"encoder": "bilstm", "grounding": "concat", "projection": "sparsemax"},
}


@pytest.fixture(scope="module", params=list(MODELS))
def model(request: pytest.FixtureRequest) -> Any:
    corpus = verax.load_corpus("planted", documents=80, classes=3)
    sizes = {"hidden_size": 8, "embedding_size": 8, "epochs": 1, "progress": False}
    return verax.train(corpus, **sizes, **MODELS[request.param])


@pytest.fixture(scope="module")
def text(model: Any) -> list[str]:
    words = [word for word in model.vocabulary.words if word.isalnum()]
    drawn = np.random.default_rng(0).integers(0, len(words), size=WORDS)
    return [words[place] for place in drawn]


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of more than 20 words is long, and walked over in blocks of 16."""
    for module in (recurrent, walking):
        monkeypatch.setattr(module, "LONG", 20)
    for module in (long_texts, walking):
        monkeypatch.setattr(module, "TOGETHER", 16)


@pytest.mark.slow
@pytest.mark.usefixtures("long")
def test_leave_one_out_of_a_long_text_is_that_of_reading_it_again(
    model: Any, text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = leave_one_out(model, model.trace([text]), signed=True)
    monkeypatch.setattr(recurrent, "fits", lambda model: False)
    again = leave_one_out(model, model.trace([text]), signed=True)
    assert float(again.abs().max()) > 1e-5
    assert torch.allclose(scores, again, rtol=0, atol=2e-6)


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("kind", ["norm", "frobenius"])
def test_influence_in_a_long_text_is_that_of_a_walk_to_its_end(
    model: Any, text: list[str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = influence(model, model.trace([text]), kind=kind).matrix
    monkeypatch.setattr(walking, "LONG", 10**9)
    whole = influence(model, model.trace([text]), kind=kind).matrix
    assert torch.allclose(fast, whole, rtol=1e-5, atol=1e-9 * float(whole.max()))


@pytest.mark.slow
@pytest.mark.usefixtures("long")
def test_no_deletion_is_followed_to_the_end_of_the_text(
    model: Any, text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as long a text takes twice as many steps, not four times as many."""
    steps: list[int] = []
    plain = long_texts.until_met

    def counted(direction: Any, block: Any) -> Any:
        changed = plain(direction, block)
        steps.append(changed.scores.shape[1])
        return changed

    monkeypatch.setattr(long_texts, "until_met", counted)
    totals = []
    for many in (2, 4):
        steps.clear()
        leave_one_out(model, model.trace([text * many]))
        totals.append(sum(steps))
    assert totals[1] < 2.5 * totals[0]


@pytest.mark.usefixtures("long")
def test_a_word_that_changes_nothing_changes_exactly_nothing() -> None:
    """With all weights of the encoder at zero all states are the same, whatever is deleted."""
    text = [f"w{number % 7}" for number in range(60)]
    corpus = verax.load_corpus("planted", documents=80)
    model = verax.train(
        corpus, encoder="bilstm", hidden_size=8, embedding_size=8, epochs=1, projection="uniform"
    )
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter.zero_()
    scores = leave_one_out(model, model.trace([text]))
    assert bool((scores == 0).all())


def test_states_have_met_within_rounding_and_not_beyond_it() -> None:
    module = torch.nn.LSTM(3, 4)
    steps = steps_of(module, rows=3, documents=1)
    assert isinstance(steps, Lstm)
    steps.hidden[:] = 0.5
    steps.cell[:] = 2.0
    assert steps.have_met(3)
    eps = torch.finfo(torch.float32).eps
    steps.cell[1] += 4 * eps
    assert steps.have_met(3)
    steps.cell[2] += 100 * eps
    assert steps.have_met(2)
    assert not steps.have_met(3)
    steps.cell[0] = torch.nan
    assert not steps.have_met(2)


def test_a_text_that_is_not_long_takes_the_way_it_always_took(
    model: Any, text: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recurrent, "long_text", None)
    assert leave_one_out(model, model.trace([text[:30]])).shape[0] == 1
