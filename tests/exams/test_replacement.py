"""The replacement exam: by hand, against the model run again, and against scikit-learn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score
from summaries import numbers
from torch import Tensor, nn

import verax
from support.documents import corpus_of, per_document, tokens_of
from support.errors import raises
from support.internals import ReplacementExam, ReplacementOptions
from support.internals import replacement_summarise as summarise
from support.models import look_up_model
from verax.exams import load_verdict
from verax.exams.authoring import wide
from verax.functional import permuted
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
WORDS = {"a": (math.log(4), -2.0), "b": (math.log(2), -5.0), "c": (0.0, 8.0)}
WORDS |= {"k": (0.0, 1.0), "l": (0.0, 3.0)}


class Curved(nn.Module):
    """A head that is not affine, and does not say it is."""

    def __init__(self, size: int, logits: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(size, 9), nn.Linear(9, logits)

    def forward(self, context: Tensor) -> Tensor:
        return self.outer(torch.tanh(20 * self.inner(context)))


def decided(verdict: verax.Verdict, kind: str, measure: str = "decision") -> pd.DataFrame:
    """A row per document in order of id, a column per draw."""
    table = verdict.tables["replacement"]
    own = table[(table["attention"] == kind) & (table["measure"] == measure)]
    return own.pivot(index="id", columns="draw", values="value")


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


# -- by hand


def by_hand(**options: object) -> verax.Verdict:
    corpus = corpus_of(["a b c", "k l", "c", "a"], labels=[0, 1, 0, 0])
    return verax.examine(look_up_model(WORDS), corpus, "replacement", **options)  # type: ignore[arg-type]


def test_decisions_by_hand() -> None:
    """With α = 4, 2, 1 sevenths and ℓ = −2, −5, 8:

    "a b c"  trained −10/7: class 0; uniform ⅓: class 1; permuted: Σ α_π(i) ℓ_i over six orders.
    "k l"    equal weights, z = 2 whatever becomes of them.
    "c", "a" one item: z = 8 and −2.
    """
    verdict = by_hand()
    assert decided(verdict, "trained")[0].tolist() == [0, 1, 1, 0]
    assert decided(verdict, "uniform")[0].tolist() == [1, 1, 1, 0]
    assert decided(verdict, "trained", "survived")[0].tolist() == [1] * 4
    assert decided(verdict, "uniform", "survived")[0].tolist() == [0, 1, 1, 1]
    assert decided(verdict, "trained", "tvd")[0].tolist() == [0] * 4
    moved = sigmoid(1 / 3) - sigmoid(-10 / 7)
    found = decided(verdict, "uniform", "tvd")[0].tolist()
    assert found == pytest.approx([moved, 0, 0, 0], abs=1e-6)


def test_permutations_by_hand() -> None:
    """Of six orders, those with z > 0 change the decision; all six come up, equally often."""
    verdict = by_hand(permutations=600)
    alpha = np.array([4, 2, 1]) / 7
    z = [float(alpha[list(order)] @ [-2, -5, 8]) for order in itertools.permutations(range(3))]
    distances = sorted(abs(sigmoid(x) - sigmoid(-10 / 7)) for x in z)
    drawn = decided(verdict, "permuted", "tvd").loc[10].to_numpy()
    nearest = np.abs(drawn[:, None] - distances).argmin(1)
    np.testing.assert_allclose(drawn, np.array(distances)[nearest], atol=1e-6)
    assert stats.chisquare(np.bincount(nearest, minlength=6)).pvalue > 1e-3
    by_distance = {abs(sigmoid(x) - sigmoid(-10 / 7)): float(x > 0) for x in z}
    expected = [by_distance[distances[n]] for n in nearest]
    assert decided(verdict, "permuted").loc[10].tolist() == expected
    for identity, decision in ((11, 1), (12, 1), (13, 0)):
        assert (decided(verdict, "permuted").loc[identity] == decision).all()
        np.testing.assert_allclose(decided(verdict, "permuted", "tvd").loc[identity], 0, atol=1e-7)


def test_the_summary_by_hand() -> None:
    """Labels 0, 1, 0, 0. Trained 0, 1, 1, 0: F1 ⅔, 3 of 4 right. Uniform 1, 1, 1, 0: ½, 2 of 4."""
    verdict = by_hand()
    shown = numbers(verdict, "replacement")
    assert shown.index.tolist() == ["trained", "uniform", "permuted"]
    assert shown["f1"]["trained"] == pytest.approx(200 / 3)
    assert shown["f1"]["uniform"] == pytest.approx(50)
    assert shown["delta_f1"].tolist()[:2] == pytest.approx([0, 50 - 200 / 3])
    assert shown["accuracy"].tolist()[:2] == pytest.approx([75, 50])
    assert shown["delta_accuracy"].tolist()[:2] == pytest.approx([0, -25])
    assert shown["positive"].tolist()[:2] == pytest.approx([50, 75])
    assert shown["survival"].tolist()[:2] == pytest.approx([100, 75])
    moved = sigmoid(1 / 3) - sigmoid(-10 / 7)
    assert shown["tvd"].tolist()[:2] == pytest.approx([0, moved / 4], abs=1e-6)
    documents = numbers(verdict, "replacement.documents")["value"]
    assert documents.to_dict() == {
        "documents": 4,
        "one_item": 2,
        "decision_differs": 0,
    }


def test_units_and_how_many_documents() -> None:
    rows = by_hand().summary()
    assert (rows["exam"] == "replacement").all()
    assert (rows["n"] == 4).all()
    units = rows[rows["table"] == "replacement"].groupby("column")["unit"].unique()
    assert {name: unit.tolist() for name, unit in units.items()} == {
        "f1": ["percent"],
        "accuracy": ["percent"],
        "survival": ["percent"],
        "positive": ["percent"],
        "delta_f1": ["points"],
        "delta_accuracy": ["points"],
        "tvd": ["number"],
    }


def test_with_one_item_every_attention_is_the_trained_one() -> None:
    model = look_up_model({"a": (1.0, 0.5), "b": (2.0, -0.5)})
    verdict = verax.examine(model, corpus_of(["a", "b", "a"], labels=[1, 1, 0]), "replacement")
    table = verdict.tables["replacement"]
    assert (table.loc[table["measure"] == "survived", "value"] == 1).all()
    assert (table.loc[table["measure"] == "tvd", "value"] == 0).all()
    assert verdict.value("replacement.documents.one_item") == 3
    shown = numbers(verdict, "replacement")
    assert shown[["delta_f1", "delta_accuracy"]].to_numpy().ravel().tolist() == pytest.approx(
        [0] * 6
    )


# -- against the model, run again

SLOTS: list[dict[str, object]] = [
    {},
    {"head": "softmax", "encoder": "conv", "projection": "sparsemax"},
    {"classes": 3, "encoder": "none", "attention": "dot"},
    {"hierarchical": True},
    {"hierarchical": True, "classes": 3, "projection": "sparsegen", "lam": 0.5},
]


@pytest.fixture
def sharp(make_model: Make) -> Make:
    """A small model whose attention and decisions differ from document to document."""

    def made(curved: bool = False, **options: object) -> AttentionClassifier:
        model = make_model(**options)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "alignment" in name:
                    parameter.mul_(8)
                elif options.get("encoder") != "none" and not name.startswith("head"):
                    parameter.mul_(3)
        torch.manual_seed(3)
        if curved:
            head = model.head.linear
            model.head = Curved(head.in_features, head.out_features)  # type: ignore[assignment]
        return model.double()

    return made


def centred(model: AttentionClassifier, corpus: verax.Corpus) -> AttentionClassifier:
    """With decisions for every class: the mean logits are taken off the head's bias."""
    last = model.head.outer if isinstance(model.head, Curved) else model.head.linear
    with torch.no_grad():
        last.bias -= model.logits(corpus.test).mean(0)
    return model


def shares(logits: Tensor) -> Tensor:
    """Probabilities of every class, two for one logit."""
    if logits.shape[-1] == 1:
        return torch.stack([1 - logits.sigmoid(), logits.sigmoid()], -1).squeeze(-2)
    return logits.softmax(-1)


@pytest.mark.slow
@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_decisions_are_the_models_own_with_its_weights_replaced(
    sharp: Make,
    planted: verax.Corpus,
    slot: dict[str, object],
    curved: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every document read alone again, its attention replaced inside the model's own pass."""
    corpus = replace(planted, test=planted.test.take(np.arange(8)))
    model = centred(sharp(curved, **slot), corpus)
    verdict = verax.examine(model, corpus, "replacement", permutations=3, seed=5)
    kinds, measures = ("trained", "uniform", "permuted"), ("decision", "survived", "tvd")
    found = {k: {m: decided(verdict, k, m) for m in measures} for k in kinds}
    assert 0 < found["permuted"]["survived"].to_numpy().mean() < 1
    for place, text in enumerate(tokens_of(corpus.test)):
        trace = model.trace([text])
        n = int(trace.mask.sum())
        draws = permuted(trace.weights, trace.mask, torch.tensor([place]), 5, 3)
        replaced = {("trained", 0): trace.weights, ("uniform", 0): trace.mask.double() / n}
        replaced |= {("permuted", draw): draws[draw] for draw in range(3)}
        own = shares(trace.logits[0])
        for (kind, draw), weights in replaced.items():
            with monkeypatch.context() as patched:
                patched.setattr(model.attention, "weigh", lambda s, m, weights=weights: weights)
                new = shares(model.trace([text]).logits[0])
            identity = corpus.test.ids[place]
            decision, survived, tvd = (found[kind][m].loc[identity, draw] for m in measures)
            assert decision == new.argmax()
            assert survived == (new.argmax() == own.argmax())
            assert tvd == pytest.approx(float((new - own).abs().sum()) / 2, abs=1e-6)
    instances = per_document(verdict, "replacement_instances")
    assert instances["classes"].unique().tolist() == [slot.get("classes", 2)]
    items = model.trace(tokens_of(corpus.test)).mask.sum(-1)
    assert instances["items"].tolist() == items.tolist()
    assert instances["label"].tolist() == corpus.test.labels.tolist()
    right = decided(verdict, "trained")[0].to_numpy() == corpus.test.labels
    assert instances["correct"].tolist() == right.tolist()
    assert (instances["decision_differs"] == 0).all()


@pytest.mark.parametrize("slot", SLOTS[:3], ids=str)
def test_the_summary_is_scikit_learns(
    sharp: Make, planted: verax.Corpus, slot: dict[str, object]
) -> None:
    """F1 of class 1, or macro over all the model's classes; draws averaged."""
    model = centred(sharp(**slot), planted)
    verdict = verax.examine(model, planted, "replacement")
    labels = planted.test.labels
    classes = int(str(slot.get("classes", 2)))
    score = "f1" if classes == 2 else "macro_f1"
    of = [1] if classes == 2 else list(range(classes))
    shown = numbers(verdict, "replacement")
    expected: dict[str, tuple[float, float]] = {}
    for kind in ("trained", "uniform", "permuted"):
        draws = decided(verdict, kind).to_numpy().T
        assert len(draws) == (10 if kind == "permuted" else 1)
        found = [
            f1_score(labels, row, labels=of, average="macro", zero_division=0.0) for row in draws
        ]
        right = [accuracy_score(labels, row) for row in draws]
        expected[kind] = 100 * float(np.mean(found)), 100 * float(np.mean(right))
        survived = decided(verdict, kind, "survived").to_numpy().mean()
        assert shown.loc[kind, "survival"] == pytest.approx(100 * survived)
        tvd = decided(verdict, kind, "tvd").to_numpy().mean()
        assert shown.loc[kind, "tvd"] == pytest.approx(tvd)
        assert ("positive" in shown) == (classes == 2)
        if classes == 2:
            assert shown.loc[kind, "positive"] == pytest.approx(100 * draws.mean())
    for row, (f1, accuracy) in expected.items():
        assert shown.loc[row, [score, "accuracy"]].tolist() == pytest.approx([f1, accuracy])
        differences = [f1 - expected["trained"][0], accuracy - expected["trained"][1]]
        found = shown.loc[row, [f"delta_{score}", "delta_accuracy"]].tolist()
        assert found == pytest.approx(differences, abs=1e-9)


def test_intervals_of_shares_are_wilsons_and_of_means_students(
    sharp: Make, planted: verax.Corpus
) -> None:
    """Whether a document is right is a share; how often, over ten draws, is a mean."""
    model = centred(sharp(), planted)
    verdict = verax.examine(model, planted, "replacement")
    rows = verdict.summary().query("table == 'replacement'").set_index(["row", "column"])
    n, labels = len(planted.test), planted.test.labels[:, None]
    for kind in ("trained", "uniform"):
        right = int((decided(verdict, kind).to_numpy() == labels).sum())
        expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
        found = rows.loc[(kind, "accuracy"), ["low", "high"]].tolist()
        assert found == pytest.approx([100 * expected.low, 100 * expected.high])
    survived = decided(verdict, "permuted", "survived").mean(axis=1)
    expected = stats.ttest_1samp(survived, 0).confidence_interval(0.95)
    found = rows.loc[("permuted", "survival"), ["low", "high"]].tolist()
    assert found == pytest.approx([100 * expected.low, min(100, 100 * expected.high)])
    tvd = decided(verdict, "uniform", "tvd")[0]
    expected = stats.ttest_1samp(tvd, 0).confidence_interval(0.95)
    found = rows.loc[("uniform", "tvd"), ["low", "high"]].tolist()
    assert found == pytest.approx([max(0, expected.low), expected.high])


def test_what_is_so_by_definition_has_no_interval(sharp: Make, planted: verax.Corpus) -> None:
    """Trained attention is no distance from itself: no other documents would have made it one."""
    verdict = verax.examine(centred(sharp(), planted), planted, "replacement")
    rows = verdict.summary().query("table == 'replacement'").set_index(["row", "column"])
    for column, value in (("tvd", 0), ("survival", 100), ("delta_f1", 0)):
        found, low, high = rows.loc[("trained", column), ["value", "low", "high"]]
        assert found == value
        assert math.isnan(low) or low == value
        assert math.isnan(high) or high == value


def test_intervals_of_differences_are_paired(sharp: Make, planted: verax.Corpus) -> None:
    """Student's interval of how often each document is right, less whether it was."""
    model = centred(sharp(), planted)
    verdict = verax.examine(model, planted, "replacement")
    labels = planted.test.labels[:, None]
    right = {
        kind: (decided(verdict, kind).to_numpy() == labels).mean(1)
        for kind in ("trained", "permuted")
    }
    rows = verdict.summary().query("table == 'replacement'").set_index(["row", "column"])
    difference = right["permuted"] - right["trained"]
    expected = stats.ttest_1samp(difference, 0).confidence_interval(0.95)
    found = rows.loc[("permuted", "delta_accuracy"), ["low", "high"]].tolist()
    assert found == pytest.approx([100 * expected.low, 100 * expected.high])
    own = rows.loc[("trained", "delta_accuracy")]
    assert own["value"] == 0
    assert own[["low", "high"]].isna().all()


@pytest.mark.slow
def test_permuting_hurts_a_model_that_looks_at_the_evidence() -> None:
    """Without an encoder only planted words speak: away from these, attention decides nothing."""
    corpus = verax.load_corpus(
        "planted", documents=300, evidence=2, distractors=1, vocabulary=40, lexicon=3
    )
    model = verax.train(corpus, encoder="none", embedding_size=12, epochs=8, lr=3e-2, seed=1)
    verdict = verax.examine(model, corpus, "replacement")
    shown = numbers(verdict, "replacement")
    assert shown.loc["trained", "f1"] > 90
    assert shown.loc["trained", "f1"] == pytest.approx(100 * model.record["test"]["f1"])
    assert (shown.loc[["uniform", "permuted"], "delta_f1"] < -20).all()
    assert (shown.loc[["uniform", "permuted"], "tvd"] > 0.2).all()


@pytest.mark.parametrize("slot", [{"attention": "dot"}, {"attention": "dot", "classes": 3}])
def test_constant_attention_changes_nothing(
    sharp: Make, planted: verax.Corpus, slot: dict[str, object]
) -> None:
    model = sharp(**slot)
    with torch.no_grad():
        model.attention.alignment.query.zero_()
    verdict = verax.examine(centred(model, planted), planted, "replacement")
    table = verdict.tables["replacement"]
    assert (table.loc[table["measure"] == "survived", "value"] == 1).all()
    np.testing.assert_allclose(table.loc[table["measure"] == "tvd", "value"], 0, atol=1e-9)
    shown = numbers(verdict, "replacement")
    score = "f1" if len(model.classes) == 2 else "macro_f1"
    np.testing.assert_allclose(shown[[f"delta_{score}", "delta_accuracy"]], 0, atol=1e-9)
    assert shown["survival"].tolist() == pytest.approx([100] * 3)


# -- options, and what must not matter


def test_so_many_permutations_fewer_the_first_of_more(sharp: Make, planted: verax.Corpus) -> None:
    model = sharp()
    many, few = (
        verax.examine(model, planted, "replacement", permutations=n, seed=2) for n in (10, 3)
    )
    assert decided(few, "permuted").equals(decided(many, "permuted")[[0, 1, 2]])
    assert numbers(few, "replacement").index.tolist()[-1] == "permuted"
    assert few.manifest["options"] == {"replacement": {"permutations": 3}}
    for kind in ("trained", "uniform"):
        assert decided(many, kind).columns.tolist() == [0]


def test_the_seed_decides_permutations_and_nothing_else(sharp: Make, planted: verax.Corpus) -> None:
    model = sharp()
    one, again, other = (verax.examine(model, planted, "replacement", seed=s) for s in (0, 0, 1))
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, again.tables[name])
    for kind in ("trained", "uniform"):
        assert decided(one, kind, "tvd").equals(decided(other, kind, "tvd"))
    assert not decided(one, "permuted", "tvd").equals(decided(other, "permuted", "tvd"))


@pytest.mark.parametrize("slot", [{}, {"hierarchical": True, "classes": 3}], ids=str)
def test_the_token_budget_changes_no_number(
    make_model: Make, planted: verax.Corpus, slot: dict[str, object]
) -> None:
    model = make_model(**slot)
    whole, cut = (verax.examine(model, planted, "replacement", max_tokens=n) for n in (10**5, 60))
    for name, table in whole.tables.items():
        other = cut.tables[name]
        assert table.drop(columns="value").equals(other.drop(columns="value"))
        np.testing.assert_allclose(table["value"], other["value"], atol=1e-5)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"permutations": 0}, ("option.out-of-range", "permutations")),
        ({"permutations": 1.5}, ("option.wrong-type", "permutations", "1.5")),
        ({"permutation": 3}, ("option.unknown", "permutations")),
    ],
)
def test_bad_options_are_one_line(
    make_model: Make, planted: verax.Corpus, options: dict[str, object], expected: tuple[str, ...]
) -> None:
    with raises(*expected):
        verax.examine(make_model(), planted, "replacement", **options)  # type: ignore[arg-type]


def test_tables_are_tidy_and_survive_the_disk(
    make_model: Make, planted: verax.Corpus, tmp_path: Path
) -> None:
    verdict = verax.examine(make_model(), planted, "replacement")
    assert list(verdict.tables) == ["replacement", "replacement_instances"]
    table = verdict.tables["replacement"]
    assert table.columns.tolist() == ["id", "attention", "draw", "measure", "value"]
    assert not table.drop(columns="value").duplicated().any()
    assert len(table) == len(planted.test) * (1 + 1 + 10) * 3
    verdict.save(tmp_path / "v")
    again = load_verdict(tmp_path / "v")
    for name, own in verdict.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], own)
    pd.testing.assert_frame_equal(again.summary(), verdict.summary())


# -- what is left out, and what is refused


def test_without_labels_decisions_survive_but_are_not_scored(make_model: Make) -> None:
    model = make_model()
    exam = ReplacementExam(ReplacementOptions(), 0, {})
    exam.see(model, model.trace(["w1 w2 w3", "w4 w5"]))
    tables = exam.tables()
    assert wide(tables["replacement_instances"])[["label", "correct"]].isna().all(axis=None)
    rows = summarise(tables).query("table == 'replacement'")
    scored = rows["column"].isin(["f1", "delta_f1", "accuracy", "delta_accuracy"])
    assert rows.loc[scored, ["value", "low", "high"]].isna().all(axis=None)
    assert rows.loc[~scored, "value"].notna().all()


def test_a_decision_that_rounding_makes_is_counted() -> None:
    """A head that is off by 2e-4 on contexts and not on items: as far as rounding may go."""
    model = look_up_model({"a": (0.0, 1e-4), "b": (0.0, 1e-4)})
    head = model.head.forward
    model.head.forward = lambda context: head(context) - 2e-4 * (context.dim() == 2)  # type: ignore[method-assign]
    verdict = verax.examine(model, corpus_of(["a b", "b"]), "replacement")
    assert verdict.value("replacement.documents.decision_differs") == 2
    assert per_document(verdict, "replacement_instances")["decision_differs"].tolist() == [1, 1]
    assert decided(verdict, "trained")[0].tolist() == [1, 1]
    for kind in ("trained", "uniform", "permuted"):
        assert (decided(verdict, kind, "survived") == 1).all(axis=None)


def test_a_head_that_wrongly_says_it_is_affine_is_refused(
    make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model()
    model.head = Curved(12, 1)  # type: ignore[assignment]
    model.head.affine = True
    with raises("model.not-affine"):
        verax.examine(model, planted, "replacement")
