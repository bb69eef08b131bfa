"""The gallery: which documents are kept, and that what is kept of them is true."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax
from torch import Tensor, nn

import verax
from support.documents import corpus_of, per_document
from support.errors import raises
from support.models import look_up_model
from verax.exams import load_verdict
from verax.exams.authoring import wide
from verax.exams.gallery import best_ranks
from verax.exams.gallery.surprise import by_length
from verax.importance import attention_gradient
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
SLOTS: list[dict[str, object]] = [
    {},
    {"encoder": "conv", "boundaries": False, "head": "softmax"},
    {"encoder": "none", "projection": "sparsemax"},
    {"encoder": "transformer", "classes": 3},
    {"hierarchical": True},
    {"hierarchical": True, "encoder": "conv", "head": "softmax"},
]


class Curved(nn.Module):
    """A head that is not affine, and does not say it is."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(size, 9), nn.Linear(9, 1)

    def forward(self, context: Tensor) -> Tensor:
        return self.outer(torch.tanh(20 * self.inner(context)))


def livelier(model: AttentionClassifier, times: float = 8.0) -> AttentionClassifier:
    """Untrained, but with decisions that differ and can be flipped."""
    with torch.no_grad():
        model.head.linear.weight.mul_(times)
    return model


def few(corpus: verax.Corpus, many: int) -> verax.Corpus:
    return replace(corpus, test=corpus.test.take(np.arange(many)))


def shown(verdict: verax.Verdict) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    names = ("documents", "items", "tokens")
    documents, items, tokens = (verdict.tables[f"gallery_{name}"] for name in names)
    return documents, items, tokens


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_the_yardstick_of_a_length_is_the_divergence_of_uniform_from_one(n: int) -> None:
    one = np.eye(n)[0]
    expected = jensenshannon(np.full(n, 1 / n), one) ** 2
    assert by_length(torch.tensor([n])).item() == pytest.approx(expected, abs=1e-12)


def test_best_ranks_are_scipys() -> None:
    def expected(values: np.ndarray) -> np.ndarray:
        ranks = stats.rankdata(-values, axis=0)
        return ranks.min(axis=1) + ranks.mean(axis=1) / 82

    values = np.random.default_rng(0).integers(0, 5, (40, 3)).astype(float)
    assert best_ranks(values) == pytest.approx(expected(values))
    values[3:7, 1] = np.nan
    lowest = np.where(np.isnan(values), -1, values)
    assert best_ranks(values) == pytest.approx(expected(lowest))


def test_what_is_extreme_in_one_way_comes_before_what_is_middling_in_all() -> None:
    values = np.array([[9.0, 0.0, 0.0], [5.0, 5.0, 5.0], [0.0, 9.0, 1.0], [1.0, 1.0, 9.0]])
    assert best_ranks(values).argmax() == 1


@pytest.mark.slow
@pytest.mark.parametrize("slots", SLOTS[:4], ids=str)
def test_the_most_surprising_are_those_by_the_exams_own_tables(
    slots: dict[str, object], make_model: Make, planted: verax.Corpus
) -> None:
    """The choice made again, from what erasure, agreement and adversary say of all documents."""
    model = livelier(make_model(**slots))
    corpus = few(planted, 40)
    if slots.get("classes"):
        corpus = replace(corpus, classes=["0", "1"])
    exams = ["erasure", "agreement", "adversary"]
    told = {"inputs": "gradient", "items": "gradient", "epsilons": "0.05"}
    verdict = verax.examine(model, corpus, exams, gallery=12, **told)
    many = verdict.tables["erasure_many"]
    by = {
        name: wide(many[(many["ranking"] == name) & (many["draw"] == 0)])
        for name in ("attention", "gradient")
    }
    items = per_document(verdict, "erasure_instances")["items"]
    least = per_document(verdict, "erasure_minimal")["size"]
    excess = by["attention"]["size"].fillna(items) - least
    jsd = per_document(verdict, "adversary")["jsd"]
    tau = verdict.tables["agreement"]
    tau = wide(tau[(tau["on"] == "inputs") & (tau["over"] == "all")])["kendall"]
    lengths = {n: jensenshannon(np.full(int(n), 1 / n), np.eye(int(n))[0]) ** 2 for n in set(items)}
    ranks = [-excess, -(jsd - items.map(lengths)), tau]
    each = [r.rank(method="average", na_option="bottom") for r in ranks]
    mean = np.minimum.reduce(each) + sum(each) / 3 / (2 * (len(excess) + 1))
    expected = mean.reset_index(name="mean").sort_values(["mean", "id"])[:12]
    documents, _, _ = shown(verdict)
    assert documents["rank"].tolist() == pytest.approx(expected["mean"].tolist())
    assert documents["id"].tolist() == expected["id"].tolist()
    names = np.array(["excess", "jsd", "tau"])
    known = pd.concat([r.where(v.notna()) for r, v in zip(each, ranks, strict=True)], axis=1)
    best = pd.Series(names[known.fillna(np.inf).to_numpy().argmin(axis=1)], index=known.index)
    assert documents["ranked_by"].tolist() == best[documents["id"]].tolist()

    ids = documents["id"]
    minus = {"least": least, "by_attention": by["attention"]["size"]}
    minus["by_gradient"] = by["gradient"]["size"]
    for name, expect in minus.items():
        assert documents[name].tolist() == expect[ids].fillna(-1).tolist(), name
    for name, expect in {"jsd": jsd, "tau": tau, "excess": by["attention"]["excess"]}.items():
        assert documents[name].to_numpy() == pytest.approx(
            expect[ids].to_numpy(), abs=1e-5, nan_ok=True
        )
    everything = per_document(verdict, "erasure_minimal")["everything"]
    assert documents["everything"].tolist() == everything[ids].fillna(0).astype(bool).tolist()


@pytest.mark.parametrize("slots", SLOTS, ids=str)
def test_what_is_deleted_is_read_again(
    slots: dict[str, object], make_model: Make, planted: verax.Corpus
) -> None:
    model = livelier(make_model(**slots))
    verdict = verax.examine(model, few(planted, 12), "single_token", gallery=3)
    documents, items, tokens = shown(verdict)
    for _, row in documents.iterrows():
        words = tokens.loc[tokens["id"] == row["id"], "text"].tolist()
        own = items[items["id"] == row["id"]]
        label = model.classes[row["decision"]]
        spans = list(zip(own["first"], own["last"], strict=True))
        assert (spans[0][0], spans[-1][1]) == (0, len(words))
        assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))
        left = [words[:first] + words[last:] for first, last in spans]
        p = model.predict([words])[f"p_{label}"].iloc[0]
        after = model.predict(left)[f"p_{label}"].to_numpy()
        assert own["deleted"].to_numpy() == pytest.approx(after - p, abs=2e-6)
        assert p == pytest.approx(row[f"p_{row['decision']}"], abs=1e-6)
        says = own[[c for c in own if c.startswith("logit_")]].to_numpy(dtype=np.float64)
        alone = softmax(says, axis=-1)[:, row["decision"]]
        assert own["alone"].to_numpy() == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("slots", SLOTS, ids=str)
def test_items_are_the_traces_own_and_go_in_order(
    slots: dict[str, object], make_model: Make, planted: verax.Corpus
) -> None:
    model = livelier(make_model(**slots))
    documents, items, tokens = shown(
        verax.examine(model, few(planted, 12), "single_token", gallery=4)
    )
    assert items["weight"].dtype == items["logit_0"].dtype == np.float32
    for number, own in items.groupby("id"):
        mine = tokens[tokens["id"] == number]
        trace = model.trace([mine["text"].tolist()])
        there = trace.mask[0]
        assert own["item"].tolist() == list(range(int(there.sum())))
        assert own["weight"].to_numpy() == pytest.approx(trace.weights[0, there].numpy(), abs=1e-6)
        says = trace.item_logits[0, there].detach().numpy()
        columns = [f"logit_{c}" for c in range(len(model.classes))]
        if says.shape[1] == 1:
            assert (own["logit_0"] == 0).all()
            columns = ["logit_1"]
        assert own[columns].to_numpy() == pytest.approx(says, abs=1e-5)
        by_attention = own.sort_values("by_attention")["weight"].to_numpy()
        assert (np.diff(by_attention) <= 0).all()
        slopes = attention_gradient(model, trace)[0, there].numpy()
        assert (np.diff(slopes[own["by_gradient"].to_numpy().argsort()]) <= 1e-6).all()
        least = documents.set_index("id").loc[number, "least"]
        assert sorted(own["minimal"][own["minimal"] >= 0]) == list(range(max(least, 0)))
        assert mine["item"].tolist() == np.repeat(own["item"], own["last"] - own["first"]).tolist()


@pytest.mark.slow
def test_batches_make_no_difference(make_model: Make, planted: verax.Corpus) -> None:
    model = livelier(make_model(encoder="conv"))
    whole, apart = (
        verax.examine(model, few(planted, 20), "single_token", gallery=6, max_tokens=budget)
        for budget in (10**5, 40)
    )
    assert shown(whole)[2].equals(shown(apart)[2])
    pd.testing.assert_frame_equal(shown(whole)[1], shown(apart)[1], rtol=1e-4, atol=1e-6)


WORDS = {"good": (1.0, 3.0), "bad": (2.0, -3.0), "film": (0.0, 0.5), "so": (3.0, 0.1)}


def test_documents_can_be_named_and_come_in_that_order(tmp_path: Path) -> None:
    model = look_up_model(WORDS)
    corpus = corpus_of(["so good film", "bad film", "good", "so bad film so good"])
    verdict = verax.examine(model, corpus, "single_token", gallery=[13, 11])
    documents, _, tokens = shown(verdict)
    assert documents["id"].tolist() == [13, 11]
    assert documents["rank"].isna().all()
    assert tokens["text"].tolist() == ["so", "bad", "film", "so", "good", "bad", "film"]
    verdict.save(tmp_path / "v")
    again = load_verdict(tmp_path / "v")
    for name, table in verdict.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table)
    assert again.manifest["gallery"] == {"documents": 2, "epsilon": 0.05, "bias": [0.0, 0.0]}
    all_of_them = verax.examine(model, corpus, "single_token", gallery=99)
    assert shown(all_of_them)[0]["id"].iloc[-1] == 12  # one item has one attention
    assert verdict.summary().equals(verax.examine(model, corpus, "single_token").summary())


def test_without_a_gallery_nothing_is_said_of_it() -> None:
    verdict = verax.examine(look_up_model(WORDS), corpus_of(["so good film"]), "single_token")
    assert "gallery" not in verdict.manifest
    assert list(verdict.tables) == ["single_token"]


def test_half_a_character_is_shown_as_what_it_is(tmp_path: Path) -> None:
    corpus = corpus_of(["good \ud800x film", "so bad"])
    verdict = verax.examine(look_up_model(WORDS), corpus, "single_token", gallery=2)
    assert any("\ufffd" in text for text in shown(verdict)[2]["text"])
    verdict.save(tmp_path / "v")


def test_a_head_that_is_not_affine_has_no_gallery_and_says_why(
    make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model()
    model.head = Curved(model.head.linear.in_features)  # type: ignore[assignment]
    verdict = verax.examine(model, few(planted, 5), "single_token", gallery=3)
    assert not any(name.startswith("gallery") for name in verdict.tables)
    assert "not affine" in verdict.manifest["gallery"]["note"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (-1, ("option.out-of-range", "gallery")),
        ("many", ("option.wrong-type", "gallery", "many")),
        ([10, 99], ("option.unknown-value", "99")),
        (["x"], ("option.wrong-type", "gallery", "x")),
    ],
)
def test_bad_galleries_are_one_line(asked: object, expected: tuple[str, ...]) -> None:
    with raises(*expected):
        verax.examine(look_up_model(WORDS), corpus_of(["so good"]), "single_token", gallery=asked)  # type: ignore[arg-type]
