"""Explanations of a chosen class, and scores of one's own, held to captum and to arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, IntegratedGradients

import verax
from support.errors import raises
from support.internals import depends_on_target
from verax.importance import IMPORTANCES, score
from verax.models import AttentionClassifier, probabilities

Make = Callable[..., AttentionClassifier]
TEXTS = ["w1 good0_3 . w2 w3", "good1_2 w2 w3 w4 ."]
TAKE_TARGET = ["gradient-input", "integrated-gradients", "leave-one-out"]


def probability(model: AttentionClassifier, batch: object, y: int) -> Callable[..., torch.Tensor]:
    """p_y as a function of word vectors, of as many copies of one document as come."""

    def p(embedded: torch.Tensor) -> torch.Tensor:
        from support.internals import repeated

        copies = len(embedded) // len(batch.tokens)  # type: ignore[attr-defined]
        trace = model.run(repeated(batch, copies), embedded)  # type: ignore[arg-type]
        return probabilities(trace.logits)[:, y]

    return p


@pytest.mark.parametrize("y", [0, 1, 2])
def test_scores_towards_a_class_are_captums(make_model: Make, y: int) -> None:
    """Gradient × input and integrated gradients of p_y, from word vectors of zero."""
    model = make_model(encoder="conv", classes=3, boundaries=False)
    trace = model.trace(TEXTS)
    embedded = trace.embedded.clone().requires_grad_()
    p = probability(model, trace.batch, y)
    target = torch.full((2,), y)
    ours = score("gradient-input", model, trace, signed=True, target=target)
    theirs = InputXGradient(p).attribute(embedded).sum(-1)
    torch.testing.assert_close(ours.float(), theirs, rtol=1e-4, atol=1e-6)
    ours = score("integrated-gradients", model, trace, signed=True, target=target)
    theirs = IntegratedGradients(p).attribute(
        embedded, baselines=torch.zeros_like(embedded), n_steps=50, method="gausslegendre"
    )
    torch.testing.assert_close(ours.float(), theirs.sum(-1).float(), rtol=1e-3, atol=1e-6)


def test_leave_one_out_towards_a_class_is_the_fall_of_its_probability(make_model: Make) -> None:
    model = make_model(encoder="bilstm", classes=3)
    table = model.explain(TEXTS, "leave-one-out", target=2)
    whole = model.predict(TEXTS)["p_2"]
    for text, rows in table.groupby("text"):
        words = TEXTS[int(str(text))].split()
        shorter = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        expected = whole[text] - model.predict(shorter)["p_2"]
        np.testing.assert_allclose(rows["leave-one-out"], expected, atol=1e-6)


@pytest.mark.parametrize("encoder", ["conv", "bilstm", "none"])
def test_the_decided_class_is_the_default_and_two_classes_are_opposites(
    make_model: Make, encoder: str
) -> None:
    model = make_model(encoder=encoder)
    names = ["attention", "gradient", *TAKE_TARGET]
    default = model.explain(TEXTS[:1], names)
    decided, other = default["label"][0], "1" if default["label"][0] == "0" else "0"
    same = model.explain(TEXTS[:1], names, target=decided)
    assert same[names].equals(default[names])
    against = model.explain(TEXTS[:1], names, target=int(other))
    assert set(against["target"]) == {other}
    np.testing.assert_allclose(against["target_probability"], 1 - default["probability"], rtol=1e-5)
    for name in names:
        sign = 1 if name in ("attention", "gradient") else -1
        np.testing.assert_allclose(against[name], sign * default[name], rtol=1e-5, atol=1e-9)


def test_which_importances_depend_on_the_class_is_known() -> None:
    same = {name for name in IMPORTANCES.registered if not depends_on_target(name)}
    assert {"attention", "random"} == same & {"attention", "random", "gradient", *TAKE_TARGET}


def test_attention_gradients_take_a_class_too(make_model: Make) -> None:
    """Summed over all classes, the gradients of probabilities are zero."""
    model = make_model(encoder="none", classes=3)
    trace = model.trace(TEXTS)
    for name in ("attention-gradient", "attention-product"):
        parts = [score(name, model, trace, "items", target=torch.full((2,), y)) for y in range(3)]
        assert not torch.equal(parts[0], parts[1])
        torch.testing.assert_close(sum(parts), torch.zeros_like(parts[0]), rtol=0, atol=1e-7)


def test_scores_of_ones_own_in_every_form(make_model: Make) -> None:
    model = make_model(encoder="conv")
    texts = ["w1 w2", "w3 w4 w5"]
    expected = [1.0, 2.0, 3.0, 4.0, 5.0]
    with_boundaries = torch.tensor([[9.0, 1, 2, 9, 0], [9, 3, 4, 5, 9]])
    forms = {
        "lists": [[1, 2], [3, 4, 5]],
        "arrays": [np.array([1.0, 2]), np.array([3.0, 4, 5])],
        "tensors": [torch.tensor([9.0, 1, 2, 9]), torch.tensor([9.0, 3, 4, 5, 9])],
        "padded": np.array([[1.0, 2, 0], [3, 4, 5]]),
        "attribution": with_boundaries,
        "of-vectors": (with_boundaries.unsqueeze(-1) / 4).expand(-1, -1, 4).requires_grad_(),
        "function": lambda model, trace: trace.tokens.double() * 0,
    }
    table = model.explain(texts, importances=forms)
    for name in forms:
        assert table[name].tolist() == (expected if name != "function" else [0.0] * 5)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1, 2]], ("importance.wrong-scores",)),
        ([[1], [1, 2, 3]], ("importance.wrong-scores", "0")),
        (np.zeros((2, 4)), ("importance.wrong-scores", "0")),
        ([[1, np.nan], [1, 2, 3]], ("importance.wrong-scores", "0")),
        ([["a", "b"], [1, 2, 3]], ("importance.wrong-scores",)),
        (np.zeros((2, 3, 4, 5)), ("importance.wrong-scores",)),
        (np.arange(5.0), ("importance.wrong-scores",)),
        (np.array(3.0), ("importance.wrong-scores",)),
        (3, ("importance.wrong-scores",)),
        (lambda model, trace: trace.tokens[:, :1], ("importance.wrong-scores",)),
    ],
)
def test_what_is_wrong_with_them_is_one_line(
    make_model: Make, values: object, expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        make_model(encoder="none").explain(["w1 w2", "w3 w4 w5"], importances={"mine": values})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("hierarchical", [False, True])
def test_exams_take_arrays_of_words(
    make_model: Make, planted: verax.Corpus, hierarchical: bool
) -> None:
    """Gradients by word as arrays, in a sample, rank as the gradients themselves do."""
    model = make_model(encoder="none", hierarchical=hierarchical)
    table = model.explain(planted.test.texts, "gradient")
    mine = [rows["gradient"].to_numpy() for _, rows in table.groupby("text")]
    verdict = verax.examine(
        model,
        planted,
        ["agreement", "erasure"],
        importances={"mine": mine},
        sample=20,
        inputs="gradient",
        items="gradient",
    )
    level = "inputs" if hierarchical else "items"
    other = verdict.value(f"agreement.{level}:attention:mine.tau")
    assert other == pytest.approx(verdict.value("agreement.inputs:attention:gradient.tau"))
    assert "mine" in set(verdict.tables["erasure_many"]["ranking"])
    with raises("importance.wrong-scores", "mine"):
        verax.examine(model, planted, "erasure", importances={"mine": mine[:1]})


def test_a_class_there_is_not_is_one_line(make_model: Make) -> None:
    for target in ("positive", 2, -1, True, 0.5):
        with raises("model.unknown-class"):
            make_model().explain(TEXTS, target=target)


@pytest.mark.parametrize("name", ["gradient", *TAKE_TARGET, "attention-gradient"])
def test_functions_take_a_class_by_name_or_number(make_model: Make, name: str) -> None:
    model = make_model(encoder="none", classes=3)
    trace = model.trace(TEXTS)
    importance = IMPORTANCES[name].function
    expected = importance(model, trace, target=torch.tensor([2, 2]))
    level = "items" if name == "attention-gradient" else "inputs"
    for target in ("2", 2, np.int64(2), ["2", 2], np.array([2, 2]), torch.tensor(2)):
        assert torch.equal(importance(model, trace, target=target), expected)
        assert torch.equal(score(name, model, trace, level, target=target), expected)
    for target in ("positive", 3, [0, 3], torch.tensor([0.0, 1.0]), 1.5):
        with raises("model.unknown-class") as error:
            importance(model, trace, target=target)
        assert "\n" not in str(error.value)
    with raises("tensor.wrong-shape", "target"):
        importance(model, trace, target=[0])
