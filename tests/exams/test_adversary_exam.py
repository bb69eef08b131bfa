"""The adversary exam: by hand, against brute force over edges, and its summary against pandas."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import expit, rel_entr
from summaries import numbers
from torch import Tensor, nn

import verax
from support.documents import corpus_of, per_document
from support.errors import raises
from support.internals import AdversaryExam, AdversaryOptions, epsilon_row
from support.internals import adversary_exam as exam_module
from support.internals import adversary_summarise as summarise
from support.models import look_up_model
from verax.exams import load_verdict
from verax.functional import Adversary, most_divergent, permuted
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
WORDS = {"a": (math.log(4), -2.0), "b": (math.log(2), -5.0), "c": (0.0, 8.0)}
WORDS |= {"k": (0.0, 1.0), "l": (0.0, 3.0)}
EPSILONS = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0]


class Curved(nn.Module):
    """A head that is not affine, and does not say it is."""

    def __init__(self, size: int, logits: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(size, 9), nn.Linear(9, logits)

    def forward(self, context: Tensor) -> Tensor:
        return self.outer(torch.tanh(3 * self.inner(context)))


def by_hand(**options: object) -> verax.Verdict:
    corpus = corpus_of(["a b c", "k l", "c", "a"], labels=[0, 1, 0, 0])
    return verax.examine(look_up_model(WORDS), corpus, "adversary", **options)  # type: ignore[arg-type]


def of(verdict: verax.Verdict, measure: str, epsilon: float, by: str = "best") -> list[float]:
    table = verdict.tables["adversary"]
    own = table[(table["epsilon"] == f"{epsilon:g}") & (table["by"] == by)]
    return own[own["measure"] == measure].sort_values("id")["value"].tolist()


def jsd(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    middle = (p + q) / 2
    return (rel_entr(p, middle) + rel_entr(q, middle)).sum(-1) / 2


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_three_words_by_hand(epsilon: float) -> None:
    """α = 4, 2, 1 sevenths and ℓ = −2, −5, 8: p = σ(−10/7), against every point of every edge."""
    found = by_hand()
    own, says = np.array([4, 2, 1]) / 7, np.array([-2.0, -5.0, 8.0])
    t = np.linspace(0, 1, 200_001)[:, None]
    points = np.concatenate(
        [t * np.eye(3)[i] + (1 - t) * np.eye(3)[j] for i, j in ((0, 1), (0, 2), (1, 2))]
    )
    moved = np.abs(expit(points @ says) - expit(-10 / 7))
    kept = moved <= epsilon
    best = jsd(points[kept], own).max()
    assert of(found, "jsd", epsilon)[0] == pytest.approx(best, abs=1e-5)
    assert of(found, "jsd", epsilon)[0] >= best - 1e-6
    assert of(found, "change", epsilon)[0] <= epsilon + 1e-9
    assert of(found, "upper_bound", epsilon) == of(found, "jsd", epsilon)
    assert of(found, "certified", epsilon) == [1.0] * 4


def test_the_same_words_and_single_ones() -> None:
    """ "k l" weighs both the same; "c" and "a" have one attention, theirs."""
    found = by_hand()
    for epsilon in EPSILONS:
        assert of(found, "jsd", epsilon)[2:] == [0.0, 0.0]
        assert of(found, "change", epsilon)[2:] == [0.0, 0.0]
        assert of(found, "kept", epsilon)[2:] == [1.0, 1.0]
    # all on either word: σ(1) = 0.731 and σ(3) = 0.953, from σ(2) = 0.881
    either = jsd(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    assert of(found, "jsd", 0.1)[1] == pytest.approx(either)
    assert of(found, "change", 0.1)[1] == pytest.approx(expit(3) - expit(2), abs=1e-6)
    assert of(found, "jsd", 0.05)[1] < either
    instances = per_document(found, "adversary_instances")
    assert instances["items"].tolist() == [3, 2, 1, 1]
    assert instances["decision"].tolist() == [0, 1, 1, 0]
    assert instances["correct"].tolist() == [1, 1, 0, 1]
    assert instances["max_weight"].tolist() == pytest.approx([4 / 7, 1 / 2, 1, 1])
    expected = [expit(10 / 7), expit(2), expit(8), expit(2)]
    assert instances["confidence"].tolist() == pytest.approx(expected, abs=1e-6)


def test_with_no_bound_all_weight_goes_to_the_least_attended() -> None:
    found = by_hand()
    farthest = jsd(np.array([0.0, 0.0, 1.0]), np.array([4, 2, 1]) / 7)
    assert of(found, "jsd", 1.0)[0] == pytest.approx(farthest)
    assert of(found, "kept", 1.0) == [0.0, 1.0, 1.0, 1.0]
    assert of(found, "correct", 1.0) == [0.0, 1.0, 0.0, 1.0]


def test_the_median_of_permutations(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(projection="sparsemax")
    found = verax.examine(model, planted, "adversary", permutation_test=16, seed=3, epsilons="0.1")
    medians = per_document(found, "adversary_instances")["permuted"]
    encoded = model.encode(planted.test)
    for trace in model.traces(encoded):
        orders = permuted(trace.weights, trace.mask, trace.batch.row_index, 3, 16)
        logits = (orders.double() * trace.item_logits.double().squeeze(-1)).sum(-1)
        moved = (torch.sigmoid(logits) - torch.sigmoid(trace.logits.double().squeeze(-1))).abs()
        expected = np.median(moved.detach().numpy(), axis=0)
        assert np.allclose(medians.loc[trace.ids], expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("head", ["auto", "softmax"])
@pytest.mark.parametrize("hierarchical", [False, True])
def test_a_search_never_gets_farther(
    classes: int, head: str, hierarchical: bool, make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model(classes, head=head, hierarchical=hierarchical, projection="sparsemax")
    with torch.no_grad():
        model.head.linear.weight.mul_(20)
    corpus = planted if classes == 2 else corpus_of(planted.test.texts[:20], model=model)
    told = {"search": True, "search_steps": 60, "restarts": 30, "sample": 20}
    found = verax.examine(model, corpus, "adversary", **told)
    for epsilon in EPSILONS:
        best, searched = (np.array(of(found, "jsd", epsilon, by)) for by in ("best", "search"))
        bound = np.array(of(found, "upper_bound", epsilon))
        assert (searched <= bound + 1e-12).all()
        assert (best <= bound + 1e-12).all()
        assert (np.array(of(found, "change", epsilon, "search")) <= epsilon).all()
        certified = np.array(of(found, "certified", epsilon)) == 1
        assert (certified == (bound - best <= 1e-12)).all()
        if classes == 2:
            assert certified.all()
    table = numbers(found, "adversary.search")
    assert (table["smallest_gap"] >= -1e-12).all()


def test_a_search_beyond_a_certificate_would_show(
    make_model: Make, planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an answer that falls short, and calls itself certified, the gap is below zero."""

    def short(weights: Tensor, *told: Any) -> Adversary:
        true = most_divergent(weights, *told)
        less = 0.3 * true.jsd
        return replace(true, jsd=less, upper_bound=less)

    monkeypatch.setattr(exam_module, "most_divergent", short)
    found = verax.examine(make_model(), planted, "adversary", search=True, sample=10)
    assert (numbers(found, "adversary.search")["smallest_gap"] < 0).all()
    for epsilon in EPSILONS:
        assert (np.array(of(found, "jsd", epsilon, "search")) > of(found, "jsd", epsilon)).any()


@pytest.mark.parametrize("classes", [2, 3])
def test_another_head_is_searched_and_certified_only_where_nothing_can_be_farther(
    classes: int, make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model(classes)
    torch.manual_seed(0)
    model.head = Curved(12, 1 if classes == 2 else classes)  # type: ignore[assignment]
    corpus = corpus_of(planted.test.texts[:12], model=model)
    told = {"search_steps": 60, "epsilons": "0.0005,1"}
    found = verax.examine(model, corpus, "adversary", **told)  # type: ignore[arg-type]
    assert set(found.tables["adversary"]["by"]) == {"best"}
    best, bound = (np.array(of(found, name, 0.0005)) for name in ("jsd", "upper_bound"))
    assert (best <= bound + 1e-12).all()
    certified = np.array(of(found, "certified", 0.0005)) == 1
    assert (certified == (bound - best <= 1e-12)).all()
    assert not certified.all()
    least = model.trace(planted.test.texts[:12])
    smallest = least.weights.masked_fill(~least.mask, 2).amin(-1).double().numpy()
    expected = math.log(2) + (smallest * np.log(smallest) - (1 + smallest) * np.log1p(smallest)) / 2
    assert np.allclose(bound, expected, atol=1e-6)
    # with any output all weight on the least attended is the answer
    assert np.allclose(of(found, "jsd", 1.0), expected, atol=1e-6)
    assert of(found, "certified", 1.0) == [1.0] * 12


def test_a_head_that_does_not_say_it_is_affine_is_asked_about_every_item(
    make_model: Make, planted: verax.Corpus
) -> None:
    """The same head, once as it is and once behind a wall: single items are found either way."""

    class Wall(nn.Module):
        def __init__(self, head: nn.Module) -> None:
            super().__init__()
            self.head = head

        def forward(self, context: Tensor) -> Tensor:
            return self.head(context)

    model = make_model()
    with torch.no_grad():
        model.head.linear.weight.mul_(20)
    corpus = corpus_of(planted.test.texts[:15], model=model)
    told = {"search_steps": 1, "restarts": 1}
    exact = verax.examine(model, corpus, "adversary", **told)  # type: ignore[arg-type]
    traces = list(model.traces(corpus.test))
    model.head = Wall(model.head)  # type: ignore[assignment]
    found = verax.examine(model, corpus, "adversary", **told)  # type: ignore[arg-type]
    for epsilon in EPSILONS:
        best = dict(zip(sorted(corpus.test.ids), of(found, "jsd", epsilon), strict=True))
        known = dict(zip(sorted(corpus.test.ids), of(exact, "jsd", epsilon), strict=True))
        for trace in traces:
            p = torch.sigmoid(trace.logits.double())
            alone = torch.sigmoid(trace.item_logits.double().squeeze(-1))
            own = trace.weights.double()
            vertex = math.log(2) + (torch.xlogy(own, own) - torch.xlogy(1 + own, 1 + own)) / 2
            kept = ((alone - p).abs() <= epsilon) & trace.mask
            least = vertex.masked_fill(~kept, 0.0).amax(-1)
            for document, value in zip(trace.ids, least.tolist(), strict=True):
                assert value - 1e-6 <= best[document] <= known[document] + 1e-6


def test_a_head_that_wrongly_says_it_is_affine(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    torch.manual_seed(0)
    model.head = Curved(12, 1)  # type: ignore[assignment]
    model.head.affine = True
    with raises("model.not-affine"):
        verax.examine(model, corpus_of(planted.test.texts[:5], model=model), "adversary")


@pytest.mark.slow
def test_what_a_search_may_claim(make_model: Make, planted: verax.Corpus) -> None:
    found = by_hand(search=True)
    assert of(found, "certified", 0.05, "search")[2:] == [1.0, 1.0]  # there is nothing else
    assert of(found, "certified", 0.05, "search")[0] == 0.0
    model = make_model()
    with torch.no_grad():
        model.head.linear.weight.mul_(30)
    found = verax.examine(model, planted, "adversary", search=True, search_steps=1)
    kept, change = (np.array(of(found, name, 1.0, "search")) for name in ("kept", "change"))
    confidence = per_document(found, "adversary_instances")["confidence"].to_numpy()
    lost = kept == 0
    assert 0 < lost.mean() < 1
    assert (change[lost] >= confidence[lost] - 0.5).all()


@pytest.mark.slow
def test_every_cell_is_what_its_head_says(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(3)
    with torch.no_grad():
        model.head.linear.weight.mul_(30)
    corpus = corpus_of(planted.test.texts[:20], model=model)
    told = {"search": True, "search_steps": 30, "epsilons": "0,0.05,0.1,0.5"}
    found = verax.examine(model, corpus, "adversary", **told)  # type: ignore[arg-type]
    shown, searched, groups = (
        numbers(found, f"adversary{name}") for name in ("", ".search", ".groups")
    )
    for epsilon in (0.0, 0.05, 0.1, 0.5):
        row = epsilon_row(epsilon)
        assert shown.loc[row, "upper_bound"] == pytest.approx(
            np.mean(of(found, "upper_bound", epsilon))
        )
        assert shown.loc[row, "change"] == pytest.approx(np.mean(of(found, "change", epsilon)))
        certified = 100 * np.mean(of(found, "certified", epsilon))
        assert shown.loc[row, "certified"] == pytest.approx(certified)
        values = np.array(of(found, "jsd", epsilon, "search"))
        assert searched.loc[row, "jsd"] == pytest.approx(values.mean())
        assert searched.loc[row, "nothing_found"] == pytest.approx(100 * (values == 0).mean())
        assert (f"jsd@{row}" in groups.columns) == (epsilon <= 0.1)
    assert searched.loc["epsilon=0", "nothing_found"] == 100
    cells = found.summary()
    jsd = cells[cells["column"] == "jsd"]
    assert len(jsd) == 8
    assert (jsd["low"] >= 0).all()
    assert (jsd["high"] <= math.log(2)).all()


def test_the_summary_is_of_the_tables(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    with torch.no_grad():
        model.head.linear.weight.mul_(30)
        model.attention.alignment.query.weight.mul_(300)
    found = verax.examine(model, planted, "adversary", search=True, search_steps=5)
    instances = per_document(found, "adversary_instances")
    shown = numbers(found, "adversary")
    groups = numbers(found, "adversary.groups")
    assert shown.index.tolist() == [*map(epsilon_row, EPSILONS[:-1]), "any_output"]
    for epsilon in EPSILONS:
        row = shown.loc[epsilon_row(epsilon)]
        values, kept, right = (np.array(of(found, n, epsilon)) for n in ("jsd", "kept", "correct"))
        assert row["jsd"] == pytest.approx(values.mean())
        assert row["sd"] == pytest.approx(values.std(ddof=1))
        assert row["median"] == pytest.approx(np.median(values))
        assert row["far"] == pytest.approx(100 * (values > 0.5).mean())
        assert row["decisions_kept"] == pytest.approx(100 * kept.mean())
        assert row["accuracy"] == pytest.approx(100 * right.mean())
        gain = 100 * (right.mean() - instances["correct"].mean())
        assert row["delta_accuracy"] == pytest.approx(gain, abs=1e-9)
        searched = np.array(of(found, "jsd", epsilon, "search"))
        gap = numbers(found, "adversary.search").loc[epsilon_row(epsilon)]
        assert gap["gap"] == pytest.approx((values - searched).mean())
        assert gap["largest_gap"] == pytest.approx((values - searched).max())
    place = pd.cut(instances["max_weight"], [0, 0.25, 0.5, 0.75, 1.01], right=False, labels=False)
    names = ["0-0.25", "0.25-0.5", "0.5-0.75", "0.75-1"]
    at = np.array(of(found, "jsd", 0.05))
    seen = 0
    for number, name in enumerate(names):
        for decided in (0, 1):
            chosen = ((place == number) & (instances["decision"] == decided)).to_numpy()
            if not chosen.any():
                assert f"class={decided},max_weight={name}" not in groups.index
                continue
            row = groups.loc[f"class={decided},max_weight={name}"]
            assert row["documents"] == chosen.sum()
            assert row["jsd@epsilon=0.05"] == pytest.approx(at[chosen].mean())
            assert row["far@epsilon=0.05"] == pytest.approx(100 * (at[chosen] > 0.5).mean())
            assert row["permuted_change"] == pytest.approx(instances["permuted"][chosen].mean())
            unmoved = (instances["permuted"][chosen] < 0.05).mean()
            assert row["permuted_unmoved"] == pytest.approx(100 * unmoved)
            seen += 1
    assert seen >= 3
    assert groups.loc["all", "documents"] == len(instances)
    assert "jsd@epsilon=0.25" not in groups.columns


def test_documents_of_one_item_are_counted_and_left_out() -> None:
    found = by_hand()
    assert found.value("adversary.documents.one_item") == 2
    assert found.value("adversary.groups.all.documents") == 2
    mean = np.mean(of(found, "jsd", 0.1)[:2])
    assert found.value("adversary.epsilon=0.1.jsd") == pytest.approx(mean)
    values = found.document_values()
    left_out = values[values["measure"] == "adversary.epsilon=0.1.jsd"]
    assert left_out["reason"].isna().tolist() == [True, True, False, False]
    assert left_out["reason"].tolist()[2:] == ["one item"] * 2


def test_where_one_class_is_decided_for_its_rows_are_not_repeated() -> None:
    corpus = corpus_of(["a b c", "a b", "a a b"])
    found = verax.examine(look_up_model(WORDS), corpus, "adversary")
    assert not any("class" in row for row in numbers(found, "adversary.groups").index)


def test_nothing_but_single_words() -> None:
    corpus = corpus_of(["a", "b"], labels=[0, 0])
    found = verax.examine(look_up_model(WORDS), corpus, "adversary")
    assert found.value("adversary.documents.one_item") == 2
    assert "adversary" not in set(found.summary()["table"])


@pytest.mark.slow
def test_budget_and_company_change_nothing(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    told = {"search": True, "search_steps": 10}
    first = verax.examine(model, planted, "adversary", **told)
    again = verax.examine(model, planted, "adversary", **told)
    small = verax.examine(model, planted, ["single_token", "adversary"], max_tokens=100, **told)
    for name in ("adversary", "adversary_instances"):
        pd.testing.assert_frame_equal(first.tables[name], again.tables[name])
        pd.testing.assert_frame_equal(first.tables[name], small.tables[name], atol=1e-5)


def test_a_saved_verdict_says_the_same(
    make_model: Make, planted: verax.Corpus, tmp_path: Path
) -> None:
    found = verax.examine(make_model(), planted, "adversary", sample=20)
    found.save(tmp_path / "verdict")
    loaded = load_verdict(tmp_path / "verdict")
    pd.testing.assert_frame_equal(summarise(loaded.tables), found.summary())


def test_without_labels_there_is_no_accuracy(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    exam = AdversaryExam(AdversaryOptions(), 0, {})
    for trace in model.traces(planted.test.texts[:9]):
        exam.see(model, trace)
    shown = summarise(exam.tables())
    assert "accuracy" not in set(shown["column"]) | set(shown["row"])
    assert shown[shown["column"] == "jsd"]["value"].notna().tolist() == [True] * 6


@pytest.mark.parametrize("given", ["", ",", "0.1,-0.1", "1.5", "much", "nan"])
def test_epsilons_that_are_none(given: str) -> None:
    with raises("option.*", "epsilons"):
        AdversaryOptions(epsilons=given)


def test_epsilons_rise_and_come_once() -> None:
    assert AdversaryOptions(epsilons=" 0.1, 0.01,0.1 ,1").bounds == [0.01, 0.1, 1.0]


@pytest.mark.slow
def test_a_comparison_judges_by_what_keeping_the_output_costs(
    make_model: Make, planted: verax.Corpus
) -> None:
    """How far the farthest is hangs on how peaked attention is; what it must give up does not."""
    models = {"softmax": make_model(), "sparse": make_model(projection="sparsemax")}
    found = verax.compare(models, planted, exams=["adversary"], sample=30)
    better = found.table().set_index("measure")["better"]
    assert better["adversary.epsilon=0.05.jsd"] == ""
    assert better["adversary.epsilon=0.05.constraint_cost"] == "higher"
    assert better["adversary.groups.all.permuted_change"] == "higher"
    assert "adversary.any_output.constraint_cost" not in better.index


def test_what_is_held_back(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    with torch.no_grad():
        model.head.linear.weight.mul_(30)
    found = verax.examine(model, planted, "adversary", sample=30)
    farthest = per_document(found, "adversary_instances")["farthest"].to_numpy()
    assert np.allclose(farthest, of(found, "jsd", 1.0))
    held = farthest - np.array(of(found, "jsd", 0.01))
    assert (held >= -1e-12).all()
    assert held.max() > 0
    shown = numbers(found, "adversary")["constraint_cost"]
    assert shown["epsilon=0.01"] == pytest.approx(held.mean())
    assert shown["any_output"] == pytest.approx(0, abs=1e-12)
    values = found.document_values().set_index("measure")["value"]
    assert np.allclose(values["adversary.epsilon=0.01.constraint_cost"], held)


def test_epsilons_next_to_each_other_are_told_apart(
    make_model: Make, planted: verax.Corpus
) -> None:
    close = "0.1,0.1000001,0.99999999"
    found = verax.examine(make_model(), planted, "adversary", sample=5, epsilons=close)
    rows = ["epsilon=0.1", "epsilon=0.1000001", "epsilon=0.99999999"]
    assert numbers(found, "adversary").index.tolist() == rows
