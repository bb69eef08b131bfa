"""The whole exam on a model that can be worked out by hand, and on ones that were trained."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import verax
from verax.corpora.corpus import Corpus, Documents
from verax.corpora.tokenising import Lexicon, Tokeniser
from verax.corpora.vocabulary import Vocabulary
from verax.exams.erasure import minimal_flip_sets
from verax.exams.erasure.summary import summarise
from verax.exams.tables import tidy, wide
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
    model = make_classifier(options, Vocabulary(list(WORDS)), ["no", "yes"], Tokeniser())
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
    split = Documents(texts, labels, np.arange(10, 10 + len(texts)), Tokeniser(), lexicon)
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
    found = wide(verdict.tables["erasure_instances"])
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
    found = wide(verdict.tables["erasure_minimal"])
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
    documents = verdict.summary("documents")["value"]
    assert documents["accuracy"] == pytest.approx(60.0)
    assert documents["documents"] == 5
    assert documents["set aside: one item"] == 1
    assert documents["examined"] == 4
    assert documents["no ranking flips it"] == documents["no erasure flips it"] == 1
    assert documents["flips only when all weight is erased"] == 1
    fraction = verdict.summary("fraction")
    assert fraction.loc["attention", "median"] == 0.5
    assert fraction.loc["attention", "never flips"] == 1
    assert fraction.loc["attention", "above ½"] == pytest.approx(100 / 3)
    assert fraction.loc["optimum", ["min", "q1", "median", "q3", "max"]].tolist() == [
        0.25,
        0.25,
        0.25,
        0.625,
        1.0,
    ]
    mass = verdict.summary("mass")
    assert mass.loc["attention", "mean"] == pytest.approx(0.75, abs=1e-6)
    excess = verdict.summary("excess")
    assert excess.loc["attention", "mean"] == pytest.approx(1 / 3)
    assert excess.loc["attention", "optimal"] == pytest.approx(200 / 3)
    assert excess.loc["product", "optimal"] == 100
    assert excess.loc["attention", "mean ratio"] == pytest.approx(4 / 3)
    contingency = verdict.summary("contingency")
    assert contingency.loc["attention", ["both", "only top"]].sum() == 25
    assert contingency.loc["gradient", ["both", "only top"]].sum() == 50
    assert np.allclose(contingency.sum(axis=1), 100)
    pairs = verdict.summary("pairs")
    gradient = pairs.loc["attention : gradient"]
    assert gradient[["fewer", "same", "more"]].tolist() == [0, 2, 1]
    assert gradient["more, of flips"] == pytest.approx(100 / 3)
    assert gradient["more, of all"] == pytest.approx(25)
    negative = verdict.summary("negative_delta_js")
    assert negative["documents"].sum() == 4


def test_the_summary_has_intervals_and_counts(verdict: verax.Verdict) -> None:
    summary = verdict.summary()
    assert summary.columns.tolist() == [
        "exam",
        "table",
        "row",
        "column",
        "value",
        "low",
        "high",
        "n",
        "unit",
    ]
    shares = summary[(summary["unit"] == "percent") & (summary["n"] > 0)]
    assert ((shares["low"] <= shares["value"]) & (shares["value"] <= shares["high"])).all()
    means = summary[(summary["column"] == "mean") & summary["low"].notna()]
    assert ((means["low"] <= means["value"]) & (means["value"] <= means["high"])).all()
    with pytest.raises(verax.VeraxError, match="no table 'contingenc'"):
        verdict.summary("contingenc")


def test_one_item_documents_alone_leave_empty_tables_not_errors() -> None:
    verdict = verax.examine(look_up_model(), corpus_of(["a", "b", "c"], ["no", "yes"]))
    assert verdict.summary("documents")["value"]["set aside: one item"] == 3
    assert len(verdict.tables["erasure_many"]) == 0


def choices(seeds: int, top: str, rule: str) -> list[float]:
    """Δα of "e f g h" for a top item, over seeds: it tells which other item was drawn."""
    corpus, model = corpus_of(TEXTS, ["no", "yes"]), look_up_model()
    found = []
    for seed in range(seeds):
        table = verax.examine(model, corpus, seed=seed, draws=1).tables["erasure_single"]
        part = table[(table["top"] == top) & (table["rule"] == rule) & (table["id"] == 11)]
        found.append(part[part["measure"] == "delta_alpha"]["value"].item())
    return [round(value, 6) for value in found]


def test_the_two_rules_draw_from_what_they_should() -> None:
    """By gradient f (¼) is on top, second in its text: e has ½, g and h ⅛.

    The paper's other item is e, g or h. The authors' is never e, the first, but may be f itself.
    """
    assert set(choices(24, "gradient", "paper")) == {-0.25, 0.125}
    assert set(choices(24, "gradient", "authors")) == {0.0, 0.125}


def test_each_top_item_has_a_draw_of_its_own() -> None:
    """f is on top by gradient and by product; sharing a draw they would always agree."""
    assert choices(12, "gradient", "paper") != choices(12, "product", "paper")


def test_a_tie_and_a_decision_that_single_precision_misses_are_counted() -> None:
    """ "c e e e e e …": a gap of zero is a tie; logits that round to the other side differ."""
    from verax.exams.erasure.exam import ErasureExam, ErasureOptions

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


def made_up_tables() -> dict[str, pd.DataFrame]:
    """Four documents with numbers chosen so that every way to miscount them shows.

    sizes      attention 1, 4, never, never; gradient 2, 4, 3, never; least 1, 2, 3, none
    two draws  sizes 4, never, never, never and 2, 4, never, never
    ΔJS        −1, 2, 3, 4 at Δα of 0.05, 0.05, 0.15, 1
    """
    nan = math.nan
    ids, items = np.arange(4), 4.0
    names = ["attention", "gradient", "random", "random"]
    labels = [{"ranking": n, "draw": int(i == 3)} for i, n in enumerate(names)]
    sizes = np.array([[1, 4, nan, nan], [2, 4, 3, nan], [4, nan, nan, nan], [2, 4, nan, nan]])
    least = np.array([1.0, 2, 3, nan])
    many = np.stack([sizes, sizes / items, sizes / 10, sizes - least, sizes / least], -1)
    ones = np.ones(4)
    single = np.stack(
        [[0.05, 0.05, 0.15, 1.0], ones, ones, [-1.0, 2, 3, 4], [1, 1, 0, 0], [1, 0, 1, 0]], -1
    )
    minimal = np.stack([least, least / items, least / 10, [0, 0, 1, nan], ones, [1, 1, 1, nan]], -1)
    instances = np.stack([items * ones, ones, [1, 1, 0, 1], ones, [1, 1, 0, 0], [0, 1, 1, 1]], -1)
    measures = ["delta_alpha", "js_top", "js_random", "delta_js", "flips_top", "flips_random"]
    return {
        "erasure_single": tidy(
            ids, single[None], measures, [{"top": "attention", "rule": "paper"}]
        ),
        "erasure_many": tidy(ids, many, ["size", "fraction", "mass", "excess", "ratio"], labels),
        "erasure_minimal": tidy(
            ids,
            minimal[None],
            ["size", "fraction", "mass", "everything", "rival", "certified"],
        ),
        "erasure_instances": tidy(
            ids,
            instances[None],
            ["items", "examined", "correct", "decision", "tied", "decision_differs"],
        ),
    }


@pytest.fixture(scope="module")
def made_up() -> verax.Verdict:
    tables = made_up_tables()
    return verax.Verdict(tables, {}, summarise(tables))


def test_documents_are_counted_one_by_one(made_up: verax.Verdict) -> None:
    counts = made_up.summary("documents")["value"]
    assert counts["no ranking flips it"] == 1
    assert counts["no erasure flips it"] == 1
    assert counts["flips only when all weight is erased"] == 1
    assert counts["a tie, before or after the minimal erasure"] == 2
    assert counts["decision differs in double precision"] == 3
    assert counts["accuracy"] == 75


def test_negative_divergences_are_counted_where_they_are(made_up: verax.Verdict) -> None:
    assert made_up.summary("delta_js").loc["attention", "negative"] == 25
    bins = made_up.summary("negative_delta_js")
    assert bins["documents"].tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert bins["negative"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert bins["share"].iloc[0] == 50
    assert math.isnan(bins["share"].iloc[2])
    cells = made_up.summary("contingency").loc["attention"]
    assert cells.tolist() == [25, 25, 25, 25]


def test_what_a_ranking_never_flips_is_not_forgotten(made_up: verax.Verdict) -> None:
    """Attention is optimal for one of the three that can be flipped, not for one of its two."""
    excess = made_up.summary("excess")
    assert excess.loc["attention", "optimal"] == pytest.approx(100 / 3)
    assert excess.loc["gradient", "optimal"] == pytest.approx(100 / 3)
    assert excess.loc["attention", "never, though possible"] == 1
    assert excess.loc["attention", "mean"] == 1
    fraction = made_up.summary("fraction")
    assert fraction["flips"].to_dict() == {
        "attention": 2,
        "gradient": 3,
        "random": 1,
        "random (2 draws)": 2,
        "optimum": 3,
    }
    assert fraction.loc["attention", "never flips"] == 2
    # only the first document is flipped by all, random ones by their first draw
    assert fraction["common mean"].to_dict() == {
        "attention": 0.25,
        "gradient": 0.5,
        "random": 1.0,
        "random (2 draws)": 1.0,
        "optimum": 0.25,
    }


def test_draws_are_averaged_number_by_number(made_up: verax.Verdict) -> None:
    """Fractions 1 in the first draw, ½ and 1 in the second: means 1 and ¾; above ½: 100%, 50%."""
    fraction = made_up.summary("fraction").loc["random (2 draws)"]
    assert fraction["mean"] == pytest.approx(0.875)
    assert fraction["above ½"] == pytest.approx(75)
    excess = made_up.summary("excess").loc["random (2 draws)"]
    assert excess["mean"] == pytest.approx((3 + 1.5) / 2)
    assert excess["optimal"] == 0


def test_one_that_flips_beats_one_that_does_not(made_up: verax.Verdict) -> None:
    """Attention 1, 4, –, – against gradient 2, 4, 3, –: fewer, same, more, and neither."""
    pair = made_up.summary("pairs").loc["attention : gradient"]
    assert pair[["fewer", "same", "more"]].tolist() == [1, 1, 1]
    assert pair["fewer, of flips"] == pytest.approx(100 / 3)
    assert pair["more, of all"] == 25
    assert "attention : random (2 draws)" not in made_up.summary("pairs").index


# trained models


@pytest.fixture(scope="module")
def train(planted: verax.Corpus) -> Callable[..., AttentionClassifier]:
    def make(**options: object) -> AttentionClassifier:
        sizes = {"hidden_size": 12, "embedding_size": 12, "epochs": 6, "lr": 1e-2}
        return verax.train(planted, **{**sizes, **options})

    return make


@pytest.mark.parametrize(
    "options", [{"encoder": "conv"}, {"projection": "sparsemax"}, {"hierarchical": True}]
)
def test_results_do_not_depend_on_the_token_budget(
    train: Callable[..., AttentionClassifier], planted: verax.Corpus, options: dict[str, object]
) -> None:
    model = train(**options)
    whole = verax.examine(model, planted, max_tokens=100_000)
    cut = verax.examine(model, planted, max_tokens=60)
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


def test_the_same_seed_gives_the_same_tables_and_another_does_not(
    train: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = train()
    one, two, other = (verax.examine(model, planted, seed=s) for s in (0, 0, 1))
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, two.tables[name])
    assert not one.tables["erasure_many"].equals(other.tables["erasure_many"])
    assert one.tables["erasure_minimal"].equals(other.tables["erasure_minimal"])


def test_hierarchical_models_are_examined_at_their_sentences(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(hierarchical=True)
    verdict = verax.examine(model, _named(planted, model))
    items = wide(verdict.tables["erasure_instances"])["items"]
    assert verdict.manifest["attended"] == "sentences"
    assert items.max() <= planted.test.sentences.lengths.max()


@pytest.mark.parametrize(
    ("distractors", "training"),
    [(1, {"epochs": 8}), (0, {"epochs": 20, "lr": 5e-3, "weight_decay": 1e-3})],
)
def test_without_an_encoder_the_minimal_set_lies_inside_the_planted_evidence(
    distractors: int, training: dict[str, float]
) -> None:
    """What must go to change a decision is what was planted.

    With a word of the other class in the text there is something left to decide otherwise. Without
    one, noise words decide once the evidence is gone; only where training has shrunk their say
    below the bias's does a decision hang on the evidence alone.
    """
    corpus = verax.load_corpus("planted", distractors=distractors)
    model = verax.train(corpus, encoder="none", boundaries=False, seed=0, **training)
    assert model.record["test"]["accuracy"] > 0.95
    inside = flips = 0
    rationales = corpus.test.rationales
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
    verdict = verax.examine(model, corpus)
    minimal = wide(verdict.tables["erasure_minimal"])
    there = minimal["size"].notna()
    assert (minimal.loc[there, "certified"] == 0).all()
    excess = verdict.tables["erasure_many"].query("measure == 'excess'")["value"].dropna()
    assert (excess >= 0).all()
    counts = verdict.summary("documents")["value"]
    assert counts["minimal set searched for, not certified"] == there.sum()


def test_a_head_that_only_says_it_is_affine_is_found_out(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(2, head="softmax")
    liar = Curved(model.head.linear.in_features, 2)
    with torch.no_grad():
        for parameter in liar.parameters():
            parameter.mul_(20)
    liar.affine = True  # type: ignore[assignment]
    liar.bias = torch.zeros(2)  # type: ignore[assignment]
    model.head = liar  # type: ignore[assignment]
    with pytest.raises(verax.VeraxError, match="says it is affine"):
        verax.examine(model, _named(planted, model))


def test_an_importance_of_ones_own_is_ranked_too(
    make_model: Callable[..., AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model()

    def position(model: AttentionClassifier, trace: verax.Trace) -> torch.Tensor:
        places = torch.arange(trace.mask.shape[1]).float()
        return -places.expand(trace.mask.shape)

    verdict = verax.examine(model, _named(planted, model), importances={"position": position})
    assert "position" in verdict.summary("excess").index
    assert "position" in verdict.summary("contingency").index
    assert verdict.manifest["importances"] == ["position"]


@pytest.mark.parametrize(
    ("name", "importance", "message"),
    [
        ("mine", lambda m, t: t.weights[:, :-1], "importance 'mine' is torch.float32 of shape"),
        ("mine", lambda m, t: t.weights * math.nan, "importance 'mine' has NaN"),
        ("mine", lambda m, t: [1.0], "importance 'mine' gave a list"),
        ("attention", lambda m, t: t.weights, "importance 'attention' is built in"),
        ("optimum", lambda m, t: t.weights, "importance 'optimum' is built in"),
        ("mine (2 draws)", lambda m, t: t.weights, "name it with letters"),
        ("mine", 3, "importance 'mine' is not a function"),
    ],
)
def test_a_bad_importance_is_named(
    make_model: Callable[..., AttentionClassifier],
    planted: verax.Corpus,
    name: str,
    importance: Callable[..., torch.Tensor],
    message: str,
) -> None:
    model = make_model()
    with pytest.raises(verax.VeraxError, match=message):
        verax.examine(model, _named(planted, model), importances={name: importance})
