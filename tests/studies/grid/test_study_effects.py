"""Options without effect: put at their defaults they give the same model, so they are one cell."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import verax
from support.internals import names
from verax.models import ModelOptions
from verax.studies import read_study
from verax.training import TrainingOptions
from verax.training.options import deciding_option, warnings_about

SMALL = {"hidden_size": 8, "embedding_size": 8, "epochs": 1, "dropout_embedding": 0.2}


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    return verax.load_corpus("planted", documents=60, length=12, sentences=2)


def cell_of(options: dict[str, Any]) -> Any:
    source = {
        "corpora": {"planted": {"documents": 60, "length": 12, "sentences": 2}},
        "models": options,
        "seeds": 4,
    }
    (cell,) = read_study(source).cells
    return cell


TRAINED: dict[str, dict[str, torch.Tensor]] = {}
"""By the options exactly as they were given: many pairs are held against the same model."""


def weights(corpus: verax.Corpus, options: dict[str, Any]) -> dict[str, torch.Tensor]:
    asked = repr(sorted(options.items()))
    if asked not in TRAINED:
        model = verax.train(corpus, seed=4, device="cpu", **options)
        TRAINED[asked] = dict(model.state_dict())
    return TRAINED[asked]


# each pair: options that say something without effect, and the same without saying it
IDLE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"lam": 0.5}, {}),
    ({"alpha": 1.2}, {}),
    ({"projection": "entmax", "lam": 0.5}, {"projection": "entmax"}),
    ({"projection": "sparsegen", "alpha": 3}, {"projection": "sparsegen"}),
    ({"strength": 3}, {}),
    ({"grounding": "residual", "strength": 3}, {"grounding": "residual"}),
    ({"grounding": "tying", "mask_probability": 0.5}, {"grounding": "tying"}),
    ({"grounding": "mlm", "strengths": "1,2"}, {"grounding": "mlm"}),
    ({"heads": 3, "feedforward_size": 5}, {}),
    ({"encoder": "conv", "heads": 3}, {"encoder": "conv"}),
    ({"dropout_encoder": 0.5}, {}),
    ({"query_init": "default"}, {}),
    ({"attention": "dot", "attention_size": 3}, {"attention": "dot"}),
    ({"tokenizer": "as-written", "lowercase": False}, {"tokenizer": "as-written"}),
    ({"sentence_encoder": "conv", "dropout_sentence": 0.5}, {}),
    ({"dropout_head_on": "context"}, {}),
    ({"encoder": "none", "hidden_size": 30}, {"encoder": "none", "hidden_size": 40}),
    ({"vectors_epochs": 3}, {}),
    ({"tokenizer": "as-written", "lowercase": False}, {"tokenizer": "as-written"}),
    ({"plateau_patience": 3}, {}),
    # what is chosen automatically, and the same said
    ({"layers": 1}, {}),
    ({"encoder": "transformer", "layers": 2}, {"encoder": "transformer"}),
    ({"encoder": "conv", "layers": 1}, {"encoder": "conv"}),
    ({"encoder": "conv", "dropout_encoder": 0.3}, {"encoder": "conv"}),
    ({"head": "sigmoid"}, {"head": "auto"}),
    ({"boundaries": True}, {}),
    ({"hierarchical": True, "boundaries": False}, {"hierarchical": True}),
    ({"hierarchical": True, "sentence_encoder": "bilstm"}, {"hierarchical": True}),
    ({"grounding": "tying", "strength": 1}, {"grounding": "tying"}),
    (
        {"grounding": "tying", "strength": "auto", "strengths": " 2, 0.50"},
        {"grounding": "tying", "strength": "auto", "strengths": "0.5,2.0,2"},
    ),
]


def told(options: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in options.items())


@pytest.mark.slow
@pytest.mark.parametrize(("said", "unsaid"), IDLE, ids=[told(said) for said, _ in IDLE])
def test_what_has_no_effect_is_one_cell_and_one_model(
    corpus: verax.Corpus, said: dict[str, Any], unsaid: dict[str, Any]
) -> None:
    one, other = cell_of({**SMALL, **said}), cell_of({**SMALL, **unsaid})
    assert one == other
    assert one.key == other.key
    by_said = weights(corpus, {**SMALL, **said})
    by_cell = weights(corpus, {**one.model, **one.training})
    by_unsaid = weights(corpus, {**SMALL, **unsaid})
    assert by_said.keys() == by_cell.keys() == by_unsaid.keys()
    for name, values in by_said.items():
        assert torch.equal(values, by_cell[name]), name
        assert torch.equal(values, by_unsaid[name]), name


# each pair differs in one option that does have an effect here
ALIVE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"projection": "sparsegen", "lam": 0.5}, {"projection": "sparsegen"}),
    ({"projection": "entmax", "alpha": 1.2}, {"projection": "entmax"}),
    ({"grounding": "tying", "strength": 3}, {"grounding": "tying"}),
    ({"grounding": "mlm", "mask_probability": 0.5}, {"grounding": "mlm"}),
    ({"encoder": "transformer", "heads": 2}, {"encoder": "transformer"}),
    ({"encoder": "transformer", "feedforward_size": 5}, {"encoder": "transformer"}),
    ({"encoder": "conv", "dropout_encoder": 0.6}, {"encoder": "conv"}),
    ({"attention": "dot", "query_init": "default"}, {"attention": "dot"}),
    ({"attention_size": 3}, {}),
    ({"hierarchical": True, "sentence_encoder": "conv"}, {"hierarchical": True}),
    ({"hierarchical": True, "dropout_sentence": 0.5}, {"hierarchical": True}),
    ({"dropout_head": 0.5, "dropout_head_on": "context"}, {"dropout_head": 0.5}),
    ({"layers": 2}, {}),
    ({"max_length": 4}, {}),
    (
        {"hierarchical": True, "encoder": "none", "sentence_encoder": "mlp", "hidden_size": 6},
        {"hierarchical": True, "encoder": "none", "sentence_encoder": "mlp"},
    ),
    (
        {"hierarchical": True, "encoder": "bilstm", "sentence_encoder": "transformer", "layers": 1},
        {"hierarchical": True, "encoder": "bilstm", "sentence_encoder": "transformer"},
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), ALIVE, ids=[told(one) for one, _ in ALIVE])
def test_what_has_an_effect_is_another_cell_and_another_model(
    corpus: verax.Corpus, one: dict[str, Any], other: dict[str, Any]
) -> None:
    cells = [cell_of({**SMALL, **options}) for options in (one, other)]
    assert cells[0].key != cells[1].key
    models = [weights(corpus, {**SMALL, **options}) for options in (one, other)]
    for model, cell in zip(models, cells, strict=True):
        again = weights(corpus, {**cell.model, **cell.training})
        assert all(torch.equal(values, again[name]) for name, values in model.items())
    same = [
        models[0][name].shape == values.shape and torch.equal(models[0][name], values)
        for name, values in models[1].items()
        if name in models[0]
    ]
    assert not all(same) or models[0].keys() != models[1].keys()


def test_strengths_are_spelt_out_where_they_are_chosen_from() -> None:
    cell = cell_of({**SMALL, "grounding": "mlm", "strength": "auto"})
    assert cell.training["strengths"] == "0.1,0.3,1,3,5"
    assert cell_of({**SMALL, "grounding": "mlm"}).training["strengths"] is None


def test_a_cell_has_every_option_but_the_one_that_changes_nothing() -> None:
    cell = cell_of({})
    assert list(cell.model) == names(ModelOptions)
    assert list(cell.training) == [n for n in names(TrainingOptions) if n != "max_tokens"]


def test_everything_called_idle_is_tested() -> None:
    tested = {name for said, unsaid in IDLE for name in said if said.get(name) != unsaid.get(name)}
    idle = {name for name in names(ModelOptions, TrainingOptions) if deciding_option(name)}
    assert idle <= tested


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"encoder": "none", "hidden_size": 30}, ["hidden_size has no effect with encoder=none"]),
        ({"lam": 0.5}, ["lam has no effect with projection=softmax"]),
        ({"projection": "sparsegen", "lam": 0.5}, []),
        ({"dropout_sentence": 0.5}, ["dropout_sentence has no effect with hierarchical=false"]),
        ({"grounding": "tying", "strengths": [1, 2]}, ["strengths has no effect with strength=1"]),
        ({"plateau_patience": 2}, ["plateau_patience has no effect with plateau_factor=none"]),
        ({"encoder": "conv", "epochs": 2}, []),
    ],
)
def test_what_was_set_and_has_no_effect_is_named(
    options: dict[str, Any], expected: list[str]
) -> None:
    assert warnings_about(options, classes=2) == expected
