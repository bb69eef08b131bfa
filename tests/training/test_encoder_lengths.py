"""The lengths that an encoder is promised are those of its rows, in every kind of step.

Steps are replayed on a GPU alone. What a replayed step is made of runs here on the CPU, through the
same code; on a machine with a GPU the last test takes real steps, captured and replayed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import verax
from support.internals import Loop, prepare
from verax.functional import softmax
from verax.models import (
    ENCODERS,
    PROJECTIONS,
    AttentionClassifier,
    Encoder,
    HashedDropout,
    ModelOptions,
    register_encoder,
    register_projection,
)
from verax.progress import Progress
from verax.training import TrainingOptions
from verax.training.cuda_graphs import rounded, step_inputs
from verax.training.loop import can_be_captured
from verax.training.train import classification

BUILT_IN = ("bilstm", "bigru", "conv", "mlp", "none", "transformer")


class Checked(Encoder):
    """Says what it was given, and is right only if lengths are true."""

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, options.hidden_size)
        self.output_size = options.hidden_size
        self.calls = 0
        self.wrong: Tensor
        self.register_buffer("wrong", torch.zeros((), dtype=torch.long), persistent=False)

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        self.calls += 1
        # in place, so that a replayed step counts too
        self.wrong.add_((lengths.to(mask.device) != mask.sum(-1)).sum())
        inside = (
            torch.arange(inputs.shape[1], device=mask.device) < lengths.to(mask.device)[:, None]
        )
        return self.linear(inputs).tanh() * inside.unsqueeze(-1)


class Replayable(Checked):
    """Keeps what is wrong on the device, so that a step of it can be captured."""

    replayable = True


class Packed(Encoder):
    """Needs the lengths on the CPU."""

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.gru = nn.GRU(input_size, options.hidden_size, batch_first=True)
        self.output_size = options.hidden_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        assert torch.equal(lengths, mask.sum(-1).cpu())
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        width = inputs.shape[1]
        return pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=width)[0]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    kinds = {"checked": Checked, "replayable": Replayable, "packed": Packed}
    for name, kind in kinds.items():
        register_encoder(name)(kind)
    yield
    for name in kinds:
        ENCODERS.unregister(name)


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=120, length=20)


def made(corpus: verax.Corpus, device: str = "cpu", **options: object) -> Loop:
    settings = TrainingOptions(batch_size=16)
    sizes = {"hidden_size": 12, "embedding_size": 12, **options}
    prepared = prepare(
        corpus,
        ModelOptions(**sizes),  # type: ignore[arg-type]
        settings,
        seed=3,
        device=torch.device(device),
        display=Progress(False),
    )
    objective = classification(prepared)
    return Loop(prepared.model, prepared.train, prepared.validation, objective, settings, 3)


def checked_of(loop: Loop) -> Checked:
    assert isinstance(loop.model.encoder, Checked)
    return loop.model.encoder


@pytest.mark.parametrize("encoder", ["checked", "packed"])
def test_a_replayed_step_hands_over_true_lengths(corpus: verax.Corpus, encoder: str) -> None:
    """Padded to a rounded width, as all replayed batches are; the step is the loop's own."""
    ordinary, replayed = made(corpus, encoder=encoder), made(corpus, encoder=encoder)
    for number, rows in enumerate(np.split(np.arange(48), 3)):
        longest = int(ordinary.train.lengths[rows].max())
        width = rounded(longest) + 8
        assert width > longest
        expected = ordinary.step(rows, number)
        buffer = step_inputs(replayed.train, rows, number)
        found = replayed.take([replayed.train.laid_out(buffer[:3], width)], buffer[3, 0])
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    if encoder == "checked":
        seen = checked_of(replayed)
        assert seen.calls == 3
        assert int(seen.wrong) == 0


def test_lengths_of_a_batch_laid_out_by_the_device_are_in_its_geometry(
    corpus: verax.Corpus,
) -> None:
    """Whatever device it is on: a `meta` tensor stands for one whose values nobody may ask for."""
    documents = made(corpus, encoder="none").train
    geometry = step_inputs(documents, np.array([5, 3, 40]), 0)[:3]
    batch = documents.laid_out(geometry, 64)
    assert torch.equal(batch.lengths, batch.token_mask.sum(-1))
    there = documents.laid_out(geometry.to("meta"), 64)
    assert there.lengths.device.type == "meta"
    assert there.lengths.shape == (3,)


def test_only_what_says_so_is_replayed(
    corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    @register_projection("asking")
    def asking(scores: Tensor, mask: Tensor | None = None) -> Tensor:
        return softmax(scores, mask)

    loops = {name: made(corpus, encoder=name) for name in (*BUILT_IN, *ENCODERS.registered)}
    other = made(corpus, encoder="none", projection="asking")
    monkeypatch.setattr(AttentionClassifier, "device", torch.device("cuda"))
    try:
        fits = {name: can_be_captured(loop.model, loop.objective) for name, loop in loops.items()}
        assert all(fits[name] for name in (*BUILT_IN, "replayable"))
        assert not fits["checked"]
        assert not fits["packed"]
        assert not can_be_captured(other.model, other.objective)
    finally:
        PROJECTIONS.unregister("asking")


@pytest.mark.slow
@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("encoder", ["checked", "packed"])
def test_training_and_reading_hand_over_true_lengths(
    corpus: verax.Corpus, encoder: str, hierarchical: bool
) -> None:
    sizes = {"hidden_size": 12, "embedding_size": 12, "epochs": 1}
    model = verax.train(corpus, encoder=encoder, hierarchical=hierarchical, **sizes)
    model.explain(["w1 w2 . w3 w4 .", "w5"], by=["leave-one-out", "integrated-gradients"])
    encoders = [model.encoder, *([model.sentence_encoder] if hierarchical else [])]
    for one in encoders:
        if isinstance(one, Checked):
            assert one.calls > 0
            assert int(one.wrong) == 0


if torch.cuda.is_available():

    @pytest.mark.parametrize("encoder", ["checked", "packed", "replayable"])
    def test_lengths_are_true_on_a_gpu(corpus: verax.Corpus, encoder: str) -> None:
        loop, here = made(corpus, "cuda", encoder=encoder), made(corpus, encoder=encoder)
        assert (loop.graphed is not None) == (encoder == "replayable")
        for epoch in (1, 2, 3):
            torch.testing.assert_close(loop.epoch(epoch), here.epoch(epoch), rtol=1e-3, atol=1e-4)
        if loop.graphed is not None:
            assert loop.graphed.graphs
        if encoder != "packed":
            assert int(checked_of(loop).wrong) == 0

    @pytest.mark.parametrize("encoder", BUILT_IN)
    def test_built_in_encoders_are_replayed_on_a_gpu(corpus: verax.Corpus, encoder: str) -> None:
        loop, here = made(corpus, "cuda", encoder=encoder), made(corpus, encoder=encoder)
        for epoch in (1, 2, 3):
            torch.testing.assert_close(loop.epoch(epoch), here.epoch(epoch), rtol=1e-2, atol=1e-3)
        assert loop.graphed is not None
        assert loop.graphed.graphs
