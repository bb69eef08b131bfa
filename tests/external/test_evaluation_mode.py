"""Dropout and batch norm are in evaluation mode for the whole of a call, and restored after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import verax
from support.errors import raises
from verax.importance import attention_gradient, leave_one_out
from verax.training import train_adversary

WORDS = [f"w{number}" for number in range(12)]
TEXTS = [" ".join(WORDS[i % 12] for i in range(n, 3 * n, 2)) for n in range(3, 23)]
CORPUS = (TEXTS, ["neg", "pos"] * 10)
QUICK: dict[str, Any] = {"clusters": 5, "shuffles": 1, "permutations": 2, "progress": False}


class Dropping(nn.Module):
    """One attention over word vectors; dropout and batch norm in every part."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors, self.drop = nn.Embedding(14, 6), nn.Dropout(0.3)
        self.score = nn.Linear(6, 1)
        self.out = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(6), nn.Linear(6, 2))
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.mul_(2)
            self.out[1].running_mean.normal_()
            self.out[1].running_var.uniform_(0.5, 2)

    def encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        return self.drop(vectors)

    def attend(self, states: Tensor, mask: Tensor) -> Tensor:
        scores = self.score(self.drop(states)).squeeze(-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    def decide(self, context: Tensor) -> Tensor:
        return self.out(context)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        states = self.encode(self.vectors(rows), mask)
        return self.decide((self.attend(states, mask).unsqueeze(-1) * states).sum(1))


class Elsewhere(nn.Module):
    """A module whose parts are methods of another, which is no submodule of it."""

    def __init__(self, inner: Dropping) -> None:
        super().__init__()
        self.inner = (inner,)
        self.own = nn.Linear(1, 1)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        return self.inner[0](rows, mask)


HEADS: dict[str, Callable[[Dropping], Any]] = {
    "module": lambda module: module.out,
    "method": lambda module: module.decide,
    "function": lambda module: lambda context: module.out(context),
}


def made(
    head: str = "module",
    training: bool = True,
    whole: bool = True,
    kind: type[Dropping] = Dropping,
) -> tuple[Dropping, Any]:
    """The same module each time, its last layer in evaluation mode, and the classifier of it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        module = kind().train(training)
    module.out[2].eval()
    classifier = verax.from_module(
        module if whole else Elsewhere(module),
        vocabulary=["<pad>", "<unk>", *WORDS],
        unknown="<unk>",
        classes=["neg", "pos"],
        embed=module.vectors,
        encode=module.encode,
        attend=module.attend,
        head=HEADS[head](module),
        tokenizer="whitespace",
    )
    return module, classifier


def state(module: nn.Module) -> tuple[list[bool], dict[str, Tensor]]:
    values = {name: value.clone() for name, value in module.state_dict().items()}
    return [part.training for part in module.modules()], values


def is_as(module: nn.Module, before: tuple[list[bool], dict[str, Tensor]]) -> bool:
    modes, values = state(module)
    same = all(torch.equal(value, before[1][name]) for name, value in values.items())
    return same and modes == before[0]


@pytest.mark.parametrize("head", HEADS)
def test_examine_in_training_mode_gives_the_numbers_of_evaluation_mode(head: str) -> None:
    _, expected = made(head, training=False)
    module, classifier = made(head)
    before = state(module)
    assert before[0].count(True) > 4
    assert not all(before[0])
    assert classifier.head.affine
    assert expected.head.affine
    verdicts = [
        verax.examine(one, CORPUS, gallery=2, **QUICK) for one in (classifier, classifier, expected)
    ]
    assert "adversary" in verdicts[0].manifest["exams"]
    for name, table in verdicts[2].tables.items():
        for verdict in verdicts[:2]:
            pd.testing.assert_frame_equal(verdict.tables[name], table, check_exact=True)
    for verdict in verdicts[:2]:
        assert verdict.value("replacement.uniform.survival") == verdicts[2].value(
            "replacement.uniform.survival"
        )
    assert is_as(module, before)


def test_explain_predict_and_importances_are_those_of_evaluation_mode() -> None:
    _, expected = made("function", training=False)
    module, classifier = made("function")
    before = state(module)
    by = ["attention", "gradient", "integrated-gradients", "leave-one-out"]
    for _ in range(2):
        pd.testing.assert_frame_equal(classifier.explain(TEXTS, by), expected.explain(TEXTS, by))
        pd.testing.assert_frame_equal(classifier.predict(TEXTS), expected.predict(TEXTS))
        for scores in (
            attention_gradient,
            lambda model, trace: leave_one_out(model, trace, "items"),
        ):
            found, wanted = (scores(one, one.trace(TEXTS)) for one in (classifier, expected))
            assert torch.equal(found, wanted)
    assert is_as(module, before)


def test_modules_behind_methods_are_found_where_they_are_no_submodules() -> None:
    _, expected = made("method", training=False)
    module, classifier = made("method", whole=False)
    before = state(module)
    table = classifier.explain(TEXTS, "leave-one-out")
    pd.testing.assert_frame_equal(table, expected.explain(TEXTS, "leave-one-out"))
    assert is_as(module, before)


class Counting(Dropping):
    """Changes a buffer in each pass, also in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))

    def encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        self.passes += 1
        return super().encode(vectors, mask)


def test_buffers_that_passes_change_are_restored() -> None:
    module, classifier = made(kind=Counting)
    before, fingerprint = state(module), classifier.fingerprint
    assert before[1]["passes"] > 0
    verdict = verax.examine(classifier, CORPUS, ["replacement"], progress=False)
    assert verdict.manifest["weights"] == fingerprint
    assert is_as(module, before)
    classifier.explain(TEXTS, "leave-one-out")
    assert is_as(module, before)


class Replacing(Dropping):
    """Puts another buffer in the place of its own in each pass, of another size."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(1))

    def encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        self.last = torch.ones(len(self.last) % 3 + 1)
        return super().encode(vectors, mask)


class Drifting(Dropping):
    """Moves its weights in each pass, by too little for another answer."""

    def encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        with torch.no_grad():
            self.score.weight.add_(1e-7)
        self.out[2].bias.data = self.out[2].bias.data + 1e-7
        return super().encode(vectors, mask)


@pytest.mark.parametrize("kind", [Replacing, Drifting])
def test_weights_and_buffers_that_passes_replace_are_restored(kind: type[Dropping]) -> None:
    module, classifier = made(kind=kind)
    before, fingerprint = state(module), classifier.fingerprint
    verdict = verax.examine(classifier, CORPUS, ["replacement"], progress=False)
    assert verdict.manifest["weights"] == classifier.fingerprint == fingerprint
    assert is_as(module, before)
    classifier.explain(TEXTS, "leave-one-out")
    assert is_as(module, before)


@pytest.mark.parametrize("leave", [SystemExit(0), GeneratorExit()])
def test_an_importance_that_ends_the_program_is_an_error(leave: BaseException) -> None:
    _, classifier = made()

    def leaving(model: Any, trace: Any) -> Tensor:
        raise leave

    with raises("model.failed", type(leave).__name__):
        verax.examine(classifier, CORPUS, ["agreement"], importances={"mine": leaving})
    with raises("model.failed", type(leave).__name__):
        classifier.explain(TEXTS, importances={"mine": leaving})


def test_modes_are_restored_after_an_error() -> None:
    module, classifier = made()
    before, seen = state(module), []

    def failing(model: Any, trace: Any) -> Tensor:
        seen.append(module.training or module.out[0].training)
        raise RuntimeError("no scores")

    with pytest.raises(RuntimeError, match="no scores"):
        verax.examine(classifier, CORPUS, ["agreement"], importances={"mine": failing})
    with pytest.raises(RuntimeError, match="no scores"):
        classifier.explain(TEXTS, importances={"mine": failing})
    assert seen == [False, False]
    assert is_as(module, before)


class Head(nn.Module):
    """A head with dropout for a model that Verax trained."""

    affine = False

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.drop, self.inner = nn.Dropout(0.5), inner

    @property
    def bias(self) -> Tensor:
        return self.inner.bias

    def forward(self, context: Tensor, *noise: Any) -> Tensor:
        return self.inner(self.drop(context))


def test_an_adversary_learns_from_the_base_in_evaluation_mode() -> None:
    corpus = verax.load_corpus("planted", documents=60, length=8)
    base = verax.train(corpus, encoder="none", epochs=1, progress=False)
    base.head = Head(base.head)
    histories = []
    for training in (False, True):
        base.head.train(training)
        other = train_adversary(base, corpus, lam=1.0, epochs=1, seed=1, progress=False)
        assert base.head.drop.training == training
        histories.append(other.history)
        histories.append(verax.examine(base, corpus, ["replacement"], progress=False).summary())
    pd.testing.assert_frame_equal(histories[2], histories[0], check_exact=True)
    pd.testing.assert_frame_equal(histories[3], histories[1], check_exact=True)
