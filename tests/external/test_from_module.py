"""One's own module with one attention: a model of ours through it is itself again."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pandas as pd
import pytest
import torch
from torch import nn
from wrapped import untrained, wrapped

import verax
from support.errors import raises
from support.internals import FunctionHead

EXACT = ("erasure", "replacement", "adversary", "single_token", "information")
QUICK: dict[str, Any] = {"clusters": 20, "shuffles": 1, "permutations": 2, "progress": False}


@pytest.fixture(scope="module")
def planted() -> verax.Corpus:
    return verax.load_corpus("planted", documents=60, length=8)


@pytest.fixture(scope="module")
def recurrent(planted: verax.Corpus) -> Any:
    return untrained(planted, encoder="bilstm", projection="sparsemax")


@pytest.fixture(scope="module")
def expected(planted: verax.Corpus, recurrent: Any) -> verax.Verdict:
    return verax.examine(recurrent, planted, **QUICK)


def same(found: verax.Verdict, expected: verax.Verdict) -> None:
    for name, table in found.tables.items():
        pd.testing.assert_frame_equal(table, expected.tables[name], check_exact=True)


@pytest.mark.slow
def test_a_model_of_ours_by_its_parts_gives_every_table_bit_for_bit(
    planted: verax.Corpus, recurrent: Any, expected: verax.Verdict
) -> None:
    verdict = verax.examine(wrapped(recurrent), planted, **QUICK)
    assert list(verdict.tables) == list(expected.tables)
    same(verdict, expected)
    pd.testing.assert_frame_equal(verdict.summary(), expected.summary(), check_exact=True)
    ours = untrained(planted, encoder="none", projection="softmax")
    verdict = verax.examine(wrapped(ours), planted, **QUICK)
    same(verdict, verax.examine(ours, planted, **QUICK))


def test_functions_give_the_same_where_nothing_is_read_again(
    planted: verax.Corpus, recurrent: Any, expected: verax.Verdict
) -> None:
    own = wrapped(recurrent, "functions")
    same(verax.examine(own, planted, EXACT, **QUICK), expected)


def test_functions_give_the_importances_of_the_model(recurrent: Any) -> None:
    texts = ["good0_1 w1 w2 w3", "w5 good1_2 never-seen"]
    by = ["attention", "gradient", "gradient-input", "integrated-gradients", "leave-one-out"]
    expected = recurrent.explain(texts, by)
    found = wrapped(recurrent, "functions").explain(texts, by)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-4, atol=1e-6)


def test_items_are_weighed_again_as_the_model_does(recurrent: Any) -> None:
    own = wrapped(recurrent, "functions")
    from verax.importance import leave_one_out

    texts = ["good0_1 w1 w2 w3", "w5 good1_2", "w9"]
    expected = leave_one_out(recurrent, recurrent.trace(texts), "items")
    found = leave_one_out(own, own.trace(texts), "items")
    assert torch.allclose(found, expected, atol=1e-6)


def test_without_word_vectors_inputs_have_no_gradients(
    planted: verax.Corpus, recurrent: Any
) -> None:
    own = wrapped(recurrent, "without vectors")
    verdict = verax.examine(own, planted, ["agreement", "dispersion", "information"])
    assert verdict.manifest["exams"] == ["agreement", "dispersion"]
    plan = {row["exam"]: row for row in verdict.manifest["plan"]}
    assert "shows none" in plan["information"]["reason"]
    assert "without gradients of inputs" in plan["agreement"]["promise"]
    assert list(own.explain(["w1 w2"]).columns[-2:]) == ["attention", "leave-one-out"]
    with raises("importance.not-applicable"):
        own.explain(["w1 w2"], ["gradient"])


class Tanh(nn.Module):
    """A head that says it is affine, and is not."""

    affine = True

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, context: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.head(context))


def test_a_head_is_asked_whether_it_is_affine(planted: verax.Corpus, recurrent: Any) -> None:
    bent = copy.deepcopy(recurrent)
    bent.head = Tanh(bent.head)
    own = wrapped(bent)
    assert isinstance(own.head, FunctionHead)
    assert not own.head.affine
    assert wrapped(recurrent, "functions").head.affine
    bent.head.affine = False
    expected = verax.examine(bent, planted, ["replacement"], permutations=2)
    verdict = verax.examine(own, planted, ["replacement"], permutations=2)
    a, b = verdict.tables["replacement"], expected.tables["replacement"]
    pd.testing.assert_frame_equal(a, b, rtol=1e-5)


def _random(weights: torch.Tensor) -> torch.Tensor:
    return (weights + torch.rand_like(weights)).softmax(-1)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"attend": lambda s, m: m.float()}, ("model.wrong-output",)),
        (
            {"attend": lambda s, m: torch.ones(len(m), m.shape[1]) / m.shape[1]},
            ("model.wrong-output",),
        ),
        ({"attend": lambda s, m: m.float() / m.sum(-1, keepdim=True)}, ("model.not-affine",)),
        ({"attend": lambda s, m: s}, ("model.wrong-output",)),
        ({"attend": lambda s, m: _random(s[..., 0]) * m}, ("model.wrong-output",)),
        ({"encode": lambda e, m: e.sum(1)}, ("model.wrong-output",)),
        ({"encode": lambda e, m: e + 1 / 0}, ("model.failed",)),
        ({"encode": lambda e, m: e - e.mean(1, keepdim=True)}, ("model.batch-dependent",)),
        ({"head": lambda c: c}, ("model.class-names",)),
        ({"head": lambda c: c.sum()}, ("model.wrong-output",)),
        ({"head": lambda c: c[:, :2] / 0}, ("model.not-finite",)),
        ({"head": lambda c: torch.rand(len(c), 2)}, ("model.not-deterministic",)),
        ({"logits": None}, ("model.failed",)),
        ({"classes": "neg"}, ("model.class-names",)),
        ({"unknown": "<unk>"}, ("model.bad-vocabulary",)),
        ({"start": None}, ("option.conflict",)),
        ({"tokenizer": "pieces"}, ("option.unknown-value", "words")),
        ({"tokenizer": None}, ("option.unknown-value", "None")),
        ({"tokenizer": ["words"]}, ("option.unknown-value", "words")),
        ({"tokenizer": str.split}, ("model.wrong-output", "spans")),
        ({"classes": ["pos", "pos"]}, ("model.class-names", "pos")),
        ({"classes": None}, ("model.class-names", "None")),
        ({"padding": 2**70}, ("model.bad-vocabulary",)),
        ({"attend": lambda s, m: (m / m.sum(-1, keepdim=True)).double()}, ("model.failed",)),
        ({"head": lambda c: sys.exit(0)}, ("model.failed", "SystemExit")),
        ({"vocabulary": 3}, ("model.bad-vocabulary",)),
    ],
)
def test_what_does_not_add_up_is_refused_in_one_line(
    recurrent: Any, parts: dict[str, Any], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        wrapped(recurrent, "functions", **parts)
    assert "\n" not in str(error.value)


def test_a_module_in_training_mode_is_read_as_it_predicts_and_left_alone(recurrent: Any) -> None:
    class Dropping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vectors, self.drop = nn.Embedding(3, 4), nn.Dropout(0.9)
            self.out = nn.Linear(4, 2)

        def attend(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return mask / mask.sum(-1, keepdim=True)

        def forward(self, rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states = self.drop(self.vectors(rows))
            return self.out((self.attend(states, mask).unsqueeze(-1) * states).sum(1))

    module = Dropping().train()
    own = verax.from_module(
        module,
        vocabulary=["<pad>", "good", "bad"],
        classes=["neg", "pos"],
        embed=module.vectors,
        encode=lambda vectors, mask: module.drop(vectors),
        attend=module.attend,
        head=module.out,
    )
    assert torch.equal(own.logits(["good bad"]), own.logits(["good bad"]))
    assert module.training
    assert module.drop.training
    with raises("model.bad-vocabulary"):
        own.predict(["something good"])
    with raises("model.not-saveable"):
        own.save("nowhere")
