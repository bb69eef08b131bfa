"""What a replayed step is made of gives what an ordinary step gives; graphs need a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import verax
from support.internals import EncodedDocuments, Loop, Objective, prepare
from verax.models import HashedDropout, ModelOptions
from verax.models.layers import room_for_selected
from verax.progress import Progress
from verax.training import TrainingOptions
from verax.training.cuda_graphs import rounded, step_inputs
from verax.training.loop import can_be_captured
from verax.training.train import classification


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=120)


def made(corpus: verax.Corpus, **options: Any) -> Loop:
    settings = TrainingOptions(batch_size=16)
    prepared = prepare(
        corpus,
        ModelOptions(**{"hidden_size": 20, "embedding_size": 20, **options}),
        settings,
        seed=3,
        device=torch.device("cpu"),
        display=Progress(False),
    )
    objective = classification(prepared)
    return Loop(prepared.model, prepared.train, prepared.validation, objective, settings, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"encoder": "bilstm"},
        {"encoder": "conv", "projection": "sparsemax", "dropout_head": 0.3},
        {"encoder": "bilstm", "grounding": "tying"},
        {"encoder": "bigru", "grounding": "mlm"},
    ],
    ids=str,
)
def test_a_step_from_the_buffer_is_the_loops_own(
    corpus: verax.Corpus, options: dict[str, Any]
) -> None:
    ordinary, replayed = made(corpus, **options), made(corpus, **options)
    for number, rows in enumerate(np.split(np.arange(48)[::-1].copy(), 3)):
        rows = rows[np.argsort(-ordinary.train.lengths[rows], kind="stable")]
        expected = ordinary.step(rows, number)
        width = rounded(int(ordinary.train.lengths[rows].max()))
        buffer = step_inputs(replayed.train, rows, number)
        found = replayed.take([replayed.train.laid_out(buffer[:3], width)], buffer[3, 0])
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    for one, other in zip(ordinary.model.parameters(), replayed.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def selection(
    corpus: verax.Corpus, share: float
) -> tuple[Objective, torch.Tensor, torch.Tensor, torch.Tensor]:
    objective = made(corpus, encoder="bilstm", grounding="mlm").objective
    random = torch.Generator().manual_seed(0)
    states = torch.randn(8, 40, 20, generator=random, requires_grad=True)
    tokens = torch.randint(0, len(objective.model.vocabulary), (8, 40), generator=random)
    selected = (torch.rand(8, 40, generator=random) < share) & (tokens > 0)
    return objective, states, tokens, selected


def test_the_masked_lm_is_the_same_in_a_fixed_room(corpus: verax.Corpus) -> None:
    objective, states, tokens, selected = selection(corpus, 0.15)
    assert 0 < int(selected.sum()) < room_for_selected(selected.numel(), 0.15) < selected.numel()
    embedding = objective.model.embedding.weight
    logits = (states[selected] @ embedding.T).log_softmax(-1)  # PAD's column counts here
    logits = logits - torch.log1p(-logits[:, :1].exp())  # and here no more
    expected = -logits[torch.arange(len(logits)), tokens[selected]].sum()
    found = objective._with_fixed_room(states, tokens, selected)
    torch.testing.assert_close(found, expected)
    (by,), (also_by,) = (
        torch.autograd.grad(value, states, retain_graph=True) for value in (found, expected)
    )
    torch.testing.assert_close(by, also_by)


def test_more_than_fit_do_not_go_unnoticed(corpus: verax.Corpus) -> None:
    objective, states, tokens, selected = selection(corpus, 0.9)
    assert bool(objective._with_fixed_room(states, tokens, selected).isnan())


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**40), st.integers(0, 50))
def test_noise_is_the_same_from_a_number_and_from_a_tensor(
    seed: int, step: int, place: int
) -> None:
    documents = torch.tensor([0, 7, 2**31])
    number = HashedDropout.of(documents, 4, seed, step)
    tensor = HashedDropout.of(documents, 4, seed, torch.tensor(step))
    assert torch.equal(number.uniform(place), tensor.uniform(place))
    assert torch.equal(number.integers([place, 3]), tensor.integers([place, 3]))
    values = torch.ones(3, 4, 5)
    assert torch.equal(number.dropout(values, 0.5, place), tensor.dropout(values, 0.5, place))


@given(st.integers(1, 100_000))
def test_widths_grow_by_an_eighth_at_most(width: int) -> None:
    found = rounded(width)
    assert width <= found <= max(8, width * 9 / 8 + 1, width + 7)
    assert rounded(found) == found


def test_there_are_few_widths() -> None:
    assert len({rounded(width) for width in range(1, 2049)}) <= 48


def test_a_batch_laid_out_by_the_device_is_the_batch(corpus: verax.Corpus) -> None:
    documents: EncodedDocuments = made(corpus, encoder="none").train
    rows = np.array([5, 3, 40])
    width = int(documents.lengths[rows].max())
    expected = documents.batch(rows, torch.device("cpu"))
    found = documents.laid_out(step_inputs(documents, rows, 0)[:3], width)
    for name in ("tokens", "token_mask", "mask", "labels", "row_index"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name


def test_only_a_gpu_replays(corpus: verax.Corpus) -> None:
    loop = made(corpus, encoder="none")
    assert loop.graphed is None
    assert not can_be_captured(loop.model, loop.objective)
