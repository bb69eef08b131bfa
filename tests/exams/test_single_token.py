"""The single_token exam and its curves: by hand where a model is looked up, else item by item."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from summaries import numbers
from torch import Tensor, nn

import verax
from support.documents import corpus_of, per_document, tokens_of
from support.errors import raises
from support.internals import SingleTokenExam, SingleTokenOptions, alone
from support.internals import single_token_summarise as summarise
from support.models import look_up_model
from verax.corpora import Tokenizer
from verax.exams import load_verdict, token_curves
from verax.exams.authoring import wide
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
MEASURES = ["items", "correct", "confidence", "alone", "agreeing", "least", "most"]


class Curved(nn.Module):
    """A head that is not affine, and does not say it is."""

    def __init__(self, size: int, logits: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(size, 9), nn.Linear(9, logits)

    def forward(self, context: Tensor) -> Tensor:
        return self.outer(torch.tanh(20 * self.inner(context)))


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


# -- by hand

WORDS = {"a": (math.log(4), -2.0), "b": (math.log(2), -5.0), "c": (0.0, 6.0)}
WORDS |= {"k": (0.0, 1.0), "l": (0.0, 3.0)}


@pytest.fixture(scope="module")
def verdict() -> verax.Verdict:
    """Labels make the first two decisions right and the last two wrong."""
    corpus = corpus_of(["a b c", "k l", "a", "k k k k"], labels=[0, 1, 1, 0])
    return verax.examine(look_up_model(WORDS), corpus, "single_token")


def test_items_alone_by_hand(verdict: verax.Verdict) -> None:
    """p of the class decided for; α = 4, 2, 1 sevenths in the first, equal in the others.

    "a b c"    z = −12/7: class 0, of which a, b, c alone give σ(2), σ(5), σ(−6): c disagrees
    "k l"      z = 2: class 1, σ(1) and σ(3)
    "a"        z = −2: class 0, σ(2)
    "k k k k"  z = 1: class 1, σ(1) four times
    """
    s = sigmoid
    expected = [
        [3, 1, s(12 / 7), (s(2) + s(5) + s(-6)) / 3, 2 / 3, s(-6), s(5)],
        [2, 1, s(2), (s(1) + s(3)) / 2, 1, s(1), s(3)],
        [1, 0, s(2), s(2), 1, s(2), s(2)],
        [4, 0, s(1), s(1), 1, s(1), s(1)],
    ]
    found = per_document(verdict, "single_token")
    assert found.columns.tolist() == MEASURES
    assert found.index.tolist() == [10, 11, 12, 13]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_summary_by_hand(verdict: verax.Verdict) -> None:
    """By document, and pooled: of the right two, five tokens; of all four, ten."""
    s = sigmoid
    first, second, third, fourth = (s(2) + s(5) + s(-6)) / 3, (s(1) + s(3)) / 2, s(2), s(1)
    shown = numbers(verdict, "single_token")
    assert shown.index.tolist() == ["correct", "wrong", "all"]
    column = "mean_probability"
    assert shown[column].tolist() == pytest.approx(
        [
            (first + second) / 2,
            (third + fourth) / 2,
            (first + second + third + fourth) / 4,
        ],
        abs=1e-6,
    )
    total = 3 * first + 2 * second, third + 4 * fourth
    assert shown["pooled_probability"].tolist() == pytest.approx(
        [total[0] / 5, total[1] / 5, sum(total) / 10], abs=1e-6
    )
    assert abs(shown[column] - shown["pooled_probability"]).min() > 0.005
    sd = [np.std([first, second], ddof=1), np.std([third, fourth], ddof=1)]
    assert shown["sd"].tolist()[:2] == pytest.approx(sd, abs=1e-6)
    right = shown.loc["correct"]
    assert right["confidence"] == pytest.approx((s(12 / 7) + s(2)) / 2, abs=1e-6)
    assert right["agreeing"] == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert right["least"] == pytest.approx((s(-6) + s(1)) / 2, abs=1e-6)
    assert right["most"] == pytest.approx((s(5) + s(3)) / 2, abs=1e-6)
    assert shown["documents"].tolist() == [2, 2, 4]


def test_intervals_are_students_over_documents(verdict: verax.Verdict) -> None:
    rows = verdict.summary().set_index(["row", "column"])
    values = per_document(verdict, "single_token")["alone"]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = rows.loc[("all", "mean_probability"), ["low", "high"]].tolist()
    assert found == pytest.approx([expected.low, expected.high])
    pooled = rows.loc[("all", "pooled_probability")]
    assert pooled["low"] < pooled["value"] < pooled["high"]
    assert rows.loc[("correct", "agreeing"), "unit"] == "percent"
    assert rows.loc[("correct", "mean_probability"), "n"] == 2


def test_where_all_decisions_are_right_no_number_is_given_of_wrong_ones() -> None:
    corpus = corpus_of(["a b c", "k l"], labels=[0, 1])
    shown = numbers(verax.examine(look_up_model(WORDS), corpus, "single_token"), "single_token")
    assert shown.loc["wrong"].drop("documents").isna().all()
    assert shown["documents"].tolist() == [2, 0, 2]


def test_a_logit_of_nothing_is_for_the_lower_class() -> None:
    """z = 0 decides for class 0, alone and all together: the tie has one rule."""
    corpus = corpus_of(["o o"], labels=[0])
    verdict = verax.examine(look_up_model({"o": (0.0, 0.0)}), corpus, "single_token")
    found = per_document(verdict, "single_token").iloc[0]
    assert found[["correct", "confidence", "alone", "agreeing"]].tolist() == [1, 0.5, 0.5, 1]


# -- against the head, item by item

SLOTS: list[dict[str, object]] = [
    {},
    {"head": "softmax", "encoder": "conv"},
    {"classes": 3, "projection": "sparsemax"},
    {"hierarchical": True},
    {"hierarchical": True, "classes": 3},
]


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_each_item_is_put_to_the_head_alone(
    make_model: Make, planted: verax.Corpus, slot: dict[str, object], curved: bool
) -> None:
    """Items of a flat model are words, not SOS or EOS; of a hierarchical one, sentences."""
    model = make_model(**slot).double()
    if curved:
        torch.manual_seed(2)
        model.head = Curved(12, model.head.linear.out_features).double()  # type: ignore[assignment]
    corpus = replace(planted, test=planted.test.take(np.arange(12)))
    verdict = verax.examine(model, corpus, "single_token")
    found = per_document(verdict, "single_token")
    for place, text in enumerate(tokens_of(corpus.test)):
        trace = model.trace([text])
        items = 3 if slot.get("hierarchical") else len(text)
        first = 0 if slot.get("hierarchical") else 1
        z = trace.logits[0]
        says = torch.stack([model.head(trace.items[0, first + i]) for i in range(items)])
        if len(z) == 1:
            z, says = (torch.cat([torch.zeros_like(x), x], -1) for x in (z, says))
        decision = int(z.argmax())
        p = says.softmax(-1)[:, decision]
        expected = [
            items,
            float(decision == corpus.test.labels[place]),
            z.softmax(-1)[decision].item(),
            p.mean().item(),
            (says.argmax(-1) == decision).double().mean().item(),
            p.min().item(),
            p.max().item(),
        ]
        assert found.iloc[place].tolist() == pytest.approx(expected, abs=1e-6)


def test_only_items_that_say_the_same_agree_under_any_attention(
    make_model: Make, planted: verax.Corpus
) -> None:
    """An affine head: where all items agree, every weighting of them decides the same."""
    model = make_model(classes=3)
    leaks = wide(verax.examine(model, planted, "single_token").tables["single_token"])
    table = verax.examine(model, planted, "replacement").tables["replacement"]
    survived = table[table["measure"] == "survived"].groupby("id")["value"].min()
    assert (survived[leaks["agreeing"] == 1] == 1).all()
    assert (leaks["least"] <= leaks["alone"] + 1e-12).all()
    assert (leaks["alone"] <= leaks["most"] + 1e-12).all()


@pytest.mark.slow
@given(st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=8), st.booleans())
def test_the_two_classes_of_one_logit_share_what_there_is(says: list[float], first: bool) -> None:
    words = {f"w{number}": (0.0, say) for number, say in enumerate(says)}
    trace = look_up_model(words).trace([list(words)])
    of_one, of_other = (alone(trace.item_logits, torch.tensor([c]))[0] for c in (first, not first))
    torch.testing.assert_close(of_one + of_other, torch.ones(len(says), dtype=torch.float64))
    expected = torch.tensor(says, dtype=torch.float64).sigmoid()
    torch.testing.assert_close(of_one if first else of_other, expected, atol=1e-9, rtol=1e-5)


def test_each_document_may_be_asked_about_a_class_of_its_own(make_model: Make) -> None:
    trace = make_model(classes=4).trace([["w1", "w2"], ["w3"], ["w4", "w5"]])
    found = alone(trace.item_logits, torch.tensor([3, 0, 2]))
    assert found.dtype == torch.float64
    for row, decided in enumerate((3, 0, 2)):
        expected = trace.item_logits[row].double().softmax(-1)[:, decided]
        torch.testing.assert_close(found[row], expected)


# -- what must not matter


@pytest.mark.parametrize("slot", [{}, {"hierarchical": True, "classes": 3}], ids=str)
def test_the_token_budget_and_the_seed_change_no_number(
    make_model: Make, planted: verax.Corpus, slot: dict[str, object]
) -> None:
    model = make_model(**slot)
    whole = verax.examine(model, planted, "single_token").tables["single_token"]
    for how in ({"max_tokens": 60}, {"seed": 9}):
        other = verax.examine(model, planted, "single_token", **how).tables["single_token"]  # type: ignore[arg-type]
        pd.testing.assert_frame_equal(whole, other, atol=1e-5)


def test_tables_survive_the_disk(verdict: verax.Verdict, tmp_path: Path) -> None:
    verdict.save(tmp_path / "v")
    again = load_verdict(tmp_path / "v")
    assert list(again.tables) == ["single_token"]
    pd.testing.assert_frame_equal(again.tables["single_token"], verdict.tables["single_token"])
    pd.testing.assert_frame_equal(again.summary(), verdict.summary())


def test_without_labels_all_decisions_are_one_row(make_model: Make) -> None:
    model = make_model()
    exam = SingleTokenExam(SingleTokenOptions(), 0, {})
    exam.see(model, model.trace(["w1 w2 w3", "w4 w5"]))
    tables = exam.tables()
    assert wide(tables["single_token"])["correct"].isna().all()
    summary = summarise(tables)
    assert summary["row"].unique().tolist() == ["all"]
    assert summary.loc[summary["column"] == "mean_probability", "value"].notna().all()


# -- curves

TEXT = "w1 w2 unheard-of good0_1 . w3 w4 ."


def test_a_curve_by_hand() -> None:
    """Class 0 is decided for; p is of it at every word, c's far below a half."""
    found = token_curves({"mine": look_up_model(WORDS)}, "a b c")
    assert found.columns.tolist() == [
        "model",
        "item",
        "text",
        "p",
        "weight",
        "class",
        "decision",
        "confidence",
    ]
    assert found["model"].tolist() == ["mine"] * 3
    assert found["item"].tolist() == [0, 1, 2]
    assert found["text"].tolist() == ["a", "b", "c"]
    assert found["p"].tolist() == pytest.approx([sigmoid(2), sigmoid(5), sigmoid(-6)])
    assert found["weight"].tolist() == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert found["confidence"].tolist() == pytest.approx([sigmoid(12 / 7)] * 3)
    assert found[["class", "decision"]].drop_duplicates().to_numpy().tolist() == [["no", "no"]]
    other = token_curves({"mine": look_up_model(WORDS)}, ["a", "b", "c"], of="yes")
    np.testing.assert_allclose(other["p"], 1 - found["p"])
    np.testing.assert_allclose(other["confidence"], 1 - found["confidence"])
    assert other[["class", "decision"]].drop_duplicates().to_numpy().tolist() == [["yes", "no"]]


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_p_is_what_the_head_says_of_that_item(
    make_model: Make, slot: dict[str, object], curved: bool
) -> None:
    """SOS and EOS are read, but are no part of the curve; unknown words are, as they stand."""
    model = make_model(**slot)
    if curved:
        torch.manual_seed(2)
        model.head = Curved(12, model.head.linear.out_features)  # type: ignore[assignment]
    words = model.word_tokenizer(TEXT)
    texts, first = words, 1
    if slot.get("hierarchical"):
        stop = words.index(".") + 1
        texts, first = [" ".join(words[:stop]), " ".join(words[stop:])], 0
    found = token_curves({"m": model}, TEXT, of="1")
    assert found["text"].tolist() == texts
    assert found["weight"].sum() == pytest.approx(1, abs=1e-6)
    trace = model.trace([TEXT])
    for place, row in found.iterrows():
        says = model.head(trace.items[0, first + int(place)])
        if len(says) == 1:
            says = torch.cat([torch.zeros(1), says])
        assert row["p"] == pytest.approx(says.softmax(-1)[1].item(), abs=1e-6)
        assert row["weight"] == pytest.approx(trace.weights[0, first + int(place)].item())
    shares = model.predict([TEXT])
    assert found["confidence"].tolist() == pytest.approx([shares["p_1"][0]] * len(texts), abs=1e-6)
    assert (found["decision"] == shares["label"][0]).all()


def test_several_models_share_the_axis_and_the_first_ones_class(make_model: Make) -> None:
    """Whether they read SOS and EOS or not, and whatever they decide themselves."""
    models = {
        "base": make_model(),
        "residual": make_model(grounding="residual"),
        "bare": make_model(boundaries=False, encoder="none"),
        "softmax": make_model(head="softmax", encoder="conv"),
    }
    with torch.no_grad():
        for name, say in (("base", 5.0), ("residual", -5.0)):
            models[name].head.linear.bias.fill_(say)
    found = token_curves(models, TEXT)
    assert found["model"].unique().tolist() == list(models)
    assert (found["class"] == "1").all()
    decisions = found.drop_duplicates("model").set_index("model")["decision"]
    assert decisions[["base", "residual"]].tolist() == ["1", "0"]
    for name, model in models.items():
        own = found[found["model"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, token_curves({name: model}, TEXT, of="1"))
        assert own["item"].tolist() == list(range(len(model.word_tokenizer(TEXT))))


def test_classes_are_matched_by_name() -> None:
    """A model that lists its classes the other way round has its curve for the same class."""
    one, other = look_up_model(WORDS), look_up_model(WORDS)
    other.classes = ["yes", "no"]
    found = token_curves({"one": one, "other": other}, "a b c", of="no")
    p = found.pivot(index="item", columns="model", values="p")
    np.testing.assert_allclose(p["other"], 1 - p["one"])
    assert found.drop_duplicates("model")["decision"].tolist() == ["no", "yes"]


def test_what_cannot_be_drawn(make_model: Make) -> None:
    flat, tall = make_model(), make_model(hierarchical=True)
    by_signs = make_model()
    by_signs.word_tokenizer = Tokenizer("words")  # unheard - of
    with raises("option.empty"):
        token_curves({}, TEXT)
    with raises("model.unknown-class", "b", "yse", "yes") as error:
        token_curves({"b": look_up_model(WORDS)}, "a b", of="yse")
    assert "\n" not in str(error.value)
    for other in (tall, by_signs):
        with raises("model.incomparable", "flat", "other"):
            token_curves({"flat": flat, "other": other}, TEXT)
    # where both make the same of a text, there is nothing to refuse
    assert len(token_curves({"flat": flat, "other": by_signs}, "w1 w2")) == 4
    with raises("text.empty"):
        token_curves({"flat": flat}, " ")


def test_a_class_that_only_some_models_know(make_model: Make) -> None:
    models = {"three": make_model(classes=3), "two": make_model()}
    with raises("model.unknown-class", "two", "2"):
        token_curves(models, TEXT, of="2")
