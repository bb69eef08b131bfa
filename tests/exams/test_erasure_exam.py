"""The whole exam on a model that can be worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from summaries import numbers

import verax
from support.documents import per_document
from support.errors import raises
from support.internals import Lexicon
from verax.corpora import Corpus, Documents, Tokenizer, Vocabulary
from verax.exams.authoring import wide
from verax.models import AttentionClassifier, ModelOptions, make_classifier

# A word's weight before normalising, and its gap: logit of "no" less that of "yes".
WORDS = {
    "a": (4, 2.0),
    "b": (2, 1.0),
    "c": (1, -3.0),
    "d": (1, -1.0),
    "e": (4, 0.1),
    "f": (2, 3.0),
    "g": (1, -2.0),
    "h": (1, -1.0),
    "k": (1, 1.0),
    "l": (1, 2.0),
    "m": (1, -1.0),
}
BIAS = -1.0
TEXTS = ["a b c d", "e f g h", "k l", "m m", "a"]
# attention is (½, ¼, ⅛, ⅛) for the first two, (½, ½) for the next two


def look_up_model() -> AttentionClassifier:
    """Scores are ln(weight), so attention is weights over their sum; gaps are looked up.

    A word's vector is (√3 · ln weight, gap − bias, 0); the query picks the first, the head the
    second for "no". So ℓ = (gap, 0) and the bias is (−1, 0): with nothing attended it says "yes".
    """
    options = ModelOptions(
        encoder="none", attention="dot", embedding_size=3, head="softmax", boundaries=False
    ).resolved(2)
    model = make_classifier(options, Vocabulary(list(WORDS)), ["no", "yes"], Tokenizer())
    with torch.no_grad():
        for word, (weight, gap) in WORDS.items():
            row = model.vocabulary.rows[word]
            model.embedding.weight[row] = torch.tensor(
                [math.sqrt(3) * math.log(weight), gap - BIAS, 0.0]
            )
        model.attention.alignment.query.copy_(torch.tensor([1.0, 0.0, 0.0]))
        model.head.linear.weight.copy_(torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
        model.head.linear.bias.copy_(torch.tensor([BIAS, 0.0]))
    return model.eval()


def corpus_of(texts: list[str], classes: list[str]) -> Corpus:
    lexicon = Lexicon()
    labels = np.zeros(len(texts), dtype=np.int64)
    labels[-1] = 1
    split = Documents(texts, labels, np.arange(10, 10 + len(texts)), Tokenizer(), lexicon)
    return Corpus("by hand", classes, split, split, split)


@pytest.fixture(scope="module")
def verdict() -> verax.Verdict:
    return verax.examine(look_up_model(), corpus_of(TEXTS, ["no", "yes"]), draws=3)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def divergence(before: float, after: float) -> float:
    """JS of two decisions between two classes, from the gaps of their logits, by the book."""
    p, q = [sigmoid(before), sigmoid(-before)], [sigmoid(after), sigmoid(-after)]
    m = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return sum(
        x * math.log(x / z) / 2 + y * math.log(y / z) / 2 for x, y, z in zip(p, q, m, strict=True)
    )


def test_instances(verdict: verax.Verdict) -> None:
    """ "m m" decides yes; "a" is one item and is set aside. Labels are no but for the last."""
    found = per_document(verdict, "erasure_instances")
    assert found.index.tolist() == [10, 11, 12, 13, 14]
    assert found["items"].tolist() == [4, 4, 2, 2, 1]
    assert found["examined"].tolist() == [1, 1, 1, 1, 0]
    assert found["decision"].tolist() == [0, 0, 0, 1, 0]
    assert found["correct"].tolist() == [1, 1, 1, 0, 0]
    assert not found[["tied", "decision_differs"]].to_numpy().any()


def test_many_weights(verdict: verax.Verdict) -> None:
    """Gaps left, in units of weight: what stays of Σ α·gap decides; below zero says yes.

    "a b c d"  1 + 0.25 − 0.375 − 0.125 = 0.75. Without a −0.25: one item by every order, since a
               is first by attention (½), by gradient (gap − bias = 3, 2, −2, 0) and by product.
    "e f g h"  0.05 + 0.75 − 0.25 − 0.125 = 0.425. Attention erases e (0.375 left), then f: two.
               Gradient (1.1, 4, −1, 0) and product (0.55, 1, −⅛, 0) erase f: −0.325 left, one.
    "k l"      both say no: nothing flips it but the bias, once both are gone.
    "m m"      both and the bias say yes: never.
    """
    table = verdict.tables["erasure_many"]
    sizes = {"attention": [1, 2, 2], "gradient": [1, 1, 2], "product": [1, 1, 2]}
    masses = {"attention": [0.5, 0.75, 1], "gradient": [0.5, 0.25, 1], "product": [0.5, 0.25, 1]}
    excess = {"attention": [0, 1, 0], "gradient": [0, 0, 0], "product": [0, 0, 0]}
    for name, expected in sizes.items():
        found = wide(table[table["ranking"] == name])
        assert found.index.tolist() == [10, 11, 12, 13]
        assert found["size"].tolist()[:3] == expected
        assert found["fraction"].tolist()[:3] == [expected[0] / 4, expected[1] / 4, 1.0]
        assert found["mass"].tolist()[:3] == pytest.approx(masses[name], abs=1e-7)
        assert found["excess"].tolist()[:3] == excess[name]
        assert found["ratio"].tolist()[:3] == [
            s - e and s / (s - e) for s, e in zip(expected, excess[name], strict=True)
        ]
        assert found.loc[13].isna().all()


def test_minimal_sets(verdict: verax.Verdict) -> None:
    found = per_document(verdict, "erasure_minimal")
    assert found["size"].tolist()[:3] == [1, 1, 2]
    assert found["fraction"].tolist()[:3] == [0.25, 0.25, 1.0]
    assert found["mass"].tolist()[:3] == pytest.approx([0.5, 0.25, 1.0], abs=1e-7)
    assert found["everything"].tolist()[:3] == [0, 0, 1]
    assert found["rival"].tolist()[:3] == [1, 1, 1]
    assert found["certified"].tolist()[:3] == [1, 1, 1]
    assert found.loc[13].isna().all()


def test_random_rankings_take_what_chance_makes_them_take(verdict: verax.Verdict) -> None:
    """Of "k l" both must go in any order. Of "a b c d" a must go, with or without others."""
    table = verdict.tables["erasure_many"]
    assert sorted(table[table["ranking"] == "random"]["draw"].unique()) == [0, 1, 2]
    for draw in range(3):
        part = table[(table["ranking"] == "random") & (table["draw"] == draw)]
        found = wide(part.drop(columns=["ranking", "draw"]))
        assert found.loc[12, "size"] == 2
        assert 1 <= found.loc[10, "size"] <= 4
        assert found.loc[10, "mass"] >= 0.5
        assert np.isnan(found.loc[13, "size"])


def test_single_weights(verdict: verax.Verdict) -> None:
    """Erasing the top item of "a b c d" leaves −0.25 over a weight of ½: a gap of −½.

    What Δα is tells which other item chance took, and so what the rest must be.
    """
    table = verdict.tables["erasure_single"]
    gaps = {"a": 2.0, "b": 1.0, "c": -3.0, "d": -1.0, "e": 0.1, "f": 3.0, "g": -2.0, "h": -1.0}
    weights = dict(zip("abcdefgh", [0.5, 0.25, 0.125, 0.125] * 2, strict=True))

    def left(text: str, gone: str) -> float:
        kept = [w for w in text.split() if w != gone]
        return sum(weights[w] * gaps[w] for w in kept) / sum(weights[w] for w in kept)

    tops = {"attention": "ae", "gradient": "af", "product": "af"}
    for (top, rule), part in table.groupby(["top", "rule"], observed=True):
        found = wide(part.drop(columns=["top", "rule"]))
        for row, text in enumerate(TEXTS[:2]):
            own = tops[str(top)][row]
            measures = found.loc[10 + row]
            before = sum(weights[w] * gaps[w] for w in text.split())
            assert measures["js_top"] == pytest.approx(
                divergence(before, left(text, own)), abs=1e-7
            )
            assert measures["flips_top"] == (left(text, own) < 0)
            alpha = weights[own] - measures["delta_alpha"]
            others = [w for w in text.split() if weights[w] == pytest.approx(alpha, abs=1e-6)]
            if rule == "paper":
                others = [w for w in others if w != own]
            assert others
            possible = [divergence(before, left(text, w)) for w in others]
            assert any(measures["js_random"] == pytest.approx(p, abs=1e-7) for p in possible)
            assert measures["flips_random"] in {float(left(text, w) < 0) for w in others}
            assert measures["delta_js"] == measures["js_top"] - measures["js_random"]
        # erasing one of two that say the same but in strength changes no decision
        assert found.loc[[12, 13], ["flips_top", "flips_random"]].to_numpy().sum() == 0


def test_summary_is_the_papers_tables(verdict: verax.Verdict) -> None:
    documents = numbers(verdict, "erasure.documents")["value"]
    assert documents["accuracy"] == pytest.approx(60.0)
    assert documents["documents"] == 5
    assert documents["one_item"] == 1
    assert documents["examined"] == 4
    assert documents["no_ranking_flips"] == documents["no_erasure_flips"] == 1
    assert documents["all_weight_needed"] == 1
    fraction = numbers(verdict, "erasure.fraction")
    assert fraction.loc["attention", "median"] == 0.5
    assert fraction.loc["attention", "never_flips"] == 1
    assert fraction.loc["attention", "above_half"] == pytest.approx(100 / 3)
    assert fraction.loc["optimum", ["min", "q1", "median", "q3", "max"]].tolist() == [
        0.25,
        0.25,
        0.25,
        0.625,
        1.0,
    ]
    mass = numbers(verdict, "erasure.mass")
    assert mass.loc["attention", "mean"] == pytest.approx(0.75, abs=1e-6)
    excess = numbers(verdict, "erasure.excess")
    assert excess.loc["attention", "mean"] == pytest.approx(1 / 3)
    assert excess.loc["attention", "optimal"] == pytest.approx(200 / 3)
    assert excess.loc["product", "optimal"] == 100
    assert excess.loc["attention", "mean_ratio"] == pytest.approx(4 / 3)
    contingency = numbers(verdict, "erasure.contingency")
    assert contingency.loc["attention", ["both", "top_only"]].sum() == 25
    assert contingency.loc["gradient", ["both", "top_only"]].sum() == 50
    assert np.allclose(contingency.sum(axis=1), 100)
    pairs = numbers(verdict, "erasure.pairs")
    gradient = pairs.loc["attention:gradient"]
    assert gradient[["fewer", "same", "more"]].tolist() == [0, 2, 1]
    assert gradient["more_of_flips"] == pytest.approx(100 / 3)
    assert gradient["more_of_all"] == pytest.approx(25)
    negative = numbers(verdict, "erasure.negative_delta_js")
    assert negative["documents"].sum() == 4


def test_the_summary_has_intervals_and_counts(verdict: verax.Verdict) -> None:
    summary = verdict.summary()
    assert summary.columns.tolist() == [
        "exam",
        "table",
        "row",
        "column",
        "measure",
        "value",
        "low",
        "high",
        "n",
        "unit",
    ]
    # a gain is a ratio of means, which has no interval over a single document
    is_share = (summary["unit"] == "percent") & (summary["column"] != "gain")
    shares = summary[is_share & (summary["n"] > 0)]
    assert shares.loc[shares["exam"] == "erasure", "low"].notna().all()
    shares = shares[shares["low"].notna()]  # an F1 of 1, or one clustering, has no interval
    assert ((shares["low"] <= shares["value"]) & (shares["value"] <= shares["high"])).all()
    assert shares["low"].min() >= 0
    assert shares["high"].max() <= 100
    means = summary[(summary["column"] == "mean") & summary["low"].notna()]
    assert ((means["low"] <= means["value"]) & (means["value"] <= means["high"])).all()
    with raises("result.unknown-name", "contingenc"):
        verdict.summary("contingenc")


def test_one_item_documents_alone_leave_empty_tables_not_errors() -> None:
    verdict = verax.examine(look_up_model(), corpus_of(["a", "b", "c"], ["no", "yes"]))
    assert verdict.value("erasure.documents.one_item") == 3
    assert len(verdict.tables["erasure_many"]) == 0


@pytest.fixture(scope="module")
def drawn() -> list[pd.DataFrame]:
    """What erasing one item does, by seed."""
    corpus, model = corpus_of(TEXTS, ["no", "yes"]), look_up_model()
    return [
        verax.examine(model, corpus, "erasure", seed=seed, draws=1).tables["erasure_single"]
        for seed in range(12)
    ]


def choices(drawn: list[pd.DataFrame], top: str, rule: str) -> list[float]:
    """Δα of "e f g h" for a top item, over seeds: it tells which other item was drawn."""
    found = []
    for table in drawn:
        part = table[(table["top"] == top) & (table["rule"] == rule) & (table["id"] == 11)]
        found.append(part[part["measure"] == "delta_alpha"]["value"].item())
    return [round(value, 6) for value in found]


@pytest.mark.slow
def test_the_two_rules_draw_from_what_they_should(drawn: list[pd.DataFrame]) -> None:
    """By gradient f (¼) is on top, second in its text: e has ½, g and h ⅛.

    The paper's other item is e, g or h. The authors' is never e, the first, but may be f itself.
    """
    assert set(choices(drawn, "gradient", "paper")) == {-0.25, 0.125}
    assert set(choices(drawn, "gradient", "authors")) == {0.0, 0.125}


def test_each_top_item_has_a_draw_of_its_own(drawn: list[pd.DataFrame]) -> None:
    """f is on top by gradient and by product; sharing a draw they would always agree."""
    assert choices(drawn, "gradient", "paper") != choices(drawn, "product", "paper")


def test_a_tie_and_a_decision_that_single_precision_misses_are_counted() -> None:
    """ "c e e e e e …": a gap of zero is a tie; logits that round to the other side differ."""
    from support.internals import ErasureExam, ErasureOptions

    model = look_up_model()
    row = model.vocabulary.rows["k"]
    with torch.no_grad():  # k now says nothing either way, l hardly anything
        model.embedding.weight[row, 1] = -BIAS
        model.embedding.weight[model.vocabulary.rows["l"], 1] = 1e-4 - BIAS
    trace = model.trace(["k k", "l l"])
    turned = replace(trace, logits=trace.logits * torch.tensor([[1.0], [-1.0]]))
    exam = ErasureExam(ErasureOptions(), 0, {})
    exam.see(model, turned)
    found = wide(exam.tables()["erasure_instances"])
    assert found["tied"].tolist() == [1, 0]
    assert found["decision_differs"].tolist() == [0, 1]
