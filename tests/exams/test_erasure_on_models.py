"""The erasure exam on models that were trained, and on heads and importances of one's own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch
from summaries import numbers
from torch import nn

import verax
from support.documents import marked_in, per_document
from support.errors import raises
from verax.corpora import Corpus
from verax.functional import minimal_flip_sets
from verax.models import AttentionClassifier


@pytest.fixture(scope="module")
def train(planted: verax.Corpus) -> Callable[..., AttentionClassifier]:
    def make(**options: object) -> AttentionClassifier:
        sizes = {"hidden_size": 12, "embedding_size": 12, "epochs": 6, "lr": 1e-2}
        return verax.train(planted, **{**sizes, **options})

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"encoder": "conv"}, {"projection": "sparsemax"}, {"hierarchical": True}]
)
def test_results_do_not_depend_on_the_token_budget(
    train: Callable[..., AttentionClassifier], few: verax.Corpus, options: dict[str, object]
) -> None:
    model = train(**options)
    whole = verax.examine(model, few, "erasure", max_tokens=100_000)
    cut = verax.examine(model, few, "erasure", max_tokens=60)
    assert whole.tables["erasure_many"]["value"].notna().any()
    for name, table in whole.tables.items():
        other = cut.tables[name]
        assert table.drop(columns="value").equals(other.drop(columns="value"))
        assert np.allclose(table["value"], other["value"], atol=1e-5, equal_nan=True), name


def _named(corpus: verax.Corpus, model: AttentionClassifier) -> verax.Corpus:
    """The corpus under the class names of an untrained test model."""
    return Corpus(
        corpus.name, model.classes, corpus.train, corpus.validation, corpus.test, corpus.config
    )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_tables_and_another_does_not(
    train: Callable[..., AttentionClassifier], few: verax.Corpus
) -> None:
    model = train()
    one, two, other = (verax.examine(model, few, seed=s) for s in (0, 0, 1))
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, two.tables[name])
    assert not one.tables["erasure_many"].equals(other.tables["erasure_many"])
    assert one.tables["erasure_minimal"].equals(other.tables["erasure_minimal"])


def test_hierarchical_models_are_examined_at_their_sentences(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(hierarchical=True)
    verdict = verax.examine(model, _named(planted, model), "erasure")
    items = per_document(verdict, "erasure_instances")["items"]
    assert verdict.manifest["attended"] == "sentences"
    assert items.max() <= planted.test.sentences.lengths.max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distractors", "documents", "training"),
    [
        (1, 1200, {"epochs": 8, "lr": 3e-3}),
        (0, 3000, {"epochs": 20, "lr": 5e-3, "weight_decay": 1e-3}),
    ],
)
def test_without_an_encoder_the_minimal_set_lies_inside_the_planted_evidence(
    distractors: int, documents: int, training: dict[str, float]
) -> None:
    """What must go to change a decision is what was planted.

    With a word of the other class in the text there is something left to decide otherwise. Without
    one, noise words decide once the evidence is gone; only where training has shrunk their say
    below the bias's does a decision hang on the evidence alone.
    """
    corpus = verax.load_corpus("planted", distractors=distractors, documents=documents)
    model = verax.train(corpus, encoder="none", boundaries=False, seed=0, **training)
    assert model.record["test"]["accuracy"] > 0.95
    inside = flips = 0
    rationales = marked_in(corpus.test)
    assert rationales is not None
    place = {int(i): n for n, i in enumerate(corpus.test.ids)}
    for trace in model.traces(corpus.test):
        found = minimal_flip_sets(trace.weights, trace.item_logits, trace.mask, trace.bias)
        for row in torch.nonzero(found.size > 0).flatten().tolist():
            evidence = rationales[place[int(trace.ids[row])]].astype(bool)
            members = found.members[row, : len(evidence)].numpy()
            inside += not (members & ~evidence).any()
            flips += 1
    assert flips > 100
    assert inside / flips >= 0.95


class Curved(nn.Module):
    """A head with a hidden layer."""

    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, 7), nn.Tanh(), nn.Linear(7, classes))

    def forward(self, context: torch.Tensor, noise: object = None) -> torch.Tensor:
        made: torch.Tensor = self.layers(context)
        return made


@pytest.mark.parametrize("classes", [2, 3])
def test_a_head_that_is_not_affine_is_searched_and_said_to_be(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus, classes: int
) -> None:
    model = make_model(classes, head="softmax")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model.head = Curved(model.head.linear.in_features, classes)  # type: ignore[assignment]
    corpus = _named(planted, model)
    verdict = verax.examine(model, corpus, "erasure")
    minimal = per_document(verdict, "erasure_minimal")
    there = minimal["size"].notna()
    assert (minimal.loc[there, "certified"] == 0).all()
    excess = verdict.tables["erasure_many"].query("measure == 'excess'")["value"].dropna()
    assert (excess >= 0).all()
    assert verdict.value("erasure.documents.not_certified") == there.sum()


def test_a_head_that_only_says_it_is_affine_is_found_out(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(2, head="softmax")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        liar = Curved(model.head.linear.in_features, 2)
        for parameter in liar.parameters():
            parameter.mul_(20)
    liar.affine = True  # type: ignore[assignment]
    liar.bias = torch.zeros(2)  # type: ignore[assignment]
    model.head = liar  # type: ignore[assignment]
    with raises("model.not-affine"):
        verax.examine(model, _named(planted, model), "erasure")


def test_an_importance_of_ones_own_is_ranked_too(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model()

    def position(model: AttentionClassifier, trace: verax.Trace) -> torch.Tensor:
        places = torch.arange(trace.mask.shape[1]).float()
        return -places.expand(trace.mask.shape)

    verdict = verax.examine(
        model, _named(planted, model), "erasure", importances={"position": position}
    )
    assert "position" in numbers(verdict, "erasure.excess").index
    assert "position" in numbers(verdict, "erasure.contingency").index
    assert verdict.manifest["importances"] == ["position"]


@pytest.mark.parametrize(
    ("name", "importance", "expected"),
    [
        ("mine", lambda m, t: t.weights[:, :-1], ("tensor.wrong-shape", "mine")),
        ("mine", lambda m, t: t.weights * math.nan, ("tensor.bad-values", "mine")),
        ("mine", lambda m, t: [1.0], ("importance.wrong-scores", "mine")),
        ("attention", lambda m, t: t.weights, ("importance.name-taken", "attention")),
        ("optimum", lambda m, t: t.weights, ("importance.name-taken", "optimum")),
        ("mine (2 draws)", lambda m, t: t.weights, ("plugin.invalid-name",)),
        ("mine", 3, ("importance.wrong-scores", "mine")),
    ],
)
def test_a_bad_importance_is_named(
    make_model: Callable[..., AttentionClassifier],
    planted: verax.Corpus,
    name: str,
    importance: Callable[..., torch.Tensor],
    expected: tuple[str, ...],
) -> None:
    model = make_model()
    with raises(*expected):
        verax.examine(model, _named(planted, model), "erasure", importances={name: importance})
