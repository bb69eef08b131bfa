"""Deletion, held against texts that are cut by hand and sets that are tried one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from torch import Tensor
from wrapped import untrained, wrapped

import verax
from support.documents import per_document
from support.errors import raises
from support.internals import (
    CHOOSING_EXAMINE,
    PREDICT,
    Models,
    WordTrace,
    best_prefix,
    first_changes,
    part_is_enough,
    prefix_sizes,
    pruned,
    ranked,
)
from support.internals import deletion_charts as charts
from verax import ExternalClassifier, TransformerClassifier
from verax.exams import default_exams
from verax.importance import DERIVED, logits_without_sets, logits_without_words, score
from verax.models import decisions
from verax.statistics import holm


def backwards(model: Any, trace: Any) -> Tensor:
    """The later a word, the more important."""
    return torch.arange(trace.mask.shape[1]).double().expand(trace.mask.shape)


def by_letters(model: Any, trace: Any) -> Tensor:
    """The longer a word, the more important."""
    scores = torch.zeros(trace.mask.shape)
    for row, words in enumerate(trace.words):
        scores[row, : len(words)] = torch.tensor([float(len(word)) for word in words])
    return scores


OWN = {"backwards": backwards, "letters": by_letters}
CHOSEN: dict[str, Any] = {"rankings": "random", "random_orders": 2}


@pytest.fixture(scope="module")
def model(make_classifier: Any) -> TransformerClassifier:
    """One that decides otherwise of the empty text than of most others."""
    return make_classifier(2)


@pytest.fixture(scope="module")
def verdict(model: TransformerClassifier, reviews: verax.Corpus) -> verax.Verdict:
    return verax.examine(model, reviews, "deletion", "all", importances=OWN, **CHOSEN)


class Predicting(ExternalClassifier):
    """A model that tells nothing but logits of texts, as another one has them."""

    kind = PREDICT
    fingerprint = ""

    def __init__(self, other: TransformerClassifier) -> None:
        super().__init__(other.classes, other.word_tokenizer)
        self.other = other

    def describe(self) -> dict[str, Any]:
        return {}

    def trace_rows(self, read: Any, rows: Any) -> Any:
        batch = read.batch(rows, self.device)
        return WordTrace(batch, self.logits_of_whatever(batch.texts))

    def logits_of_whatever(self, texts: list[str], *how: Any) -> Tensor:
        return self.other.logits_of_whatever(texts)


def sizes_of(verdict: verax.Verdict, ranking: str) -> pd.Series:
    table = verdict.tables["deletion"]
    chosen = table[(table["ranking"] == ranking) & (table["measure"] == "size")]
    return chosen[chosen["draw"] == 0].set_index("id")["value"]


@pytest.mark.slow
def test_sizes_are_those_of_texts_cut_by_hand(
    model: TransformerClassifier, reviews: verax.Corpus, verdict: verax.Verdict
) -> None:
    found = sizes_of(verdict, "backwards")
    documents = reviews.documents("all")
    for id, text in zip(documents.ids, documents.texts, strict=True):
        words = text.replace(".", " .").replace("!", " !").replace(",", " ,").split()
        cut = [" ".join(words[: len(words) - k]) for k in range(len(words) + 1)]
        decided = model.logits_of_whatever(cut).argmax(-1)
        changed = (decided != decided[0]).nonzero()
        np.testing.assert_equal(found[id], float(changed[0]) if len(changed) else np.nan)
    assert found.isna().any()
    assert found.nunique() > 3


def test_the_smallest_set_is_no_larger_than_any_ranking_finds(verdict: verax.Verdict) -> None:
    upper = per_document(verdict, "deletion_smallest")["upper"]
    size = per_document(verdict, "deletion", "ranking", "draw")["size"].unstack(["ranking", "draw"])
    assert (upper.isna() == size.isna().all(axis=1)).all()
    changed = upper.notna()
    assert changed.any()
    assert (upper[changed] <= size[changed].min(axis=1)).all()
    assert (upper[changed] < size[changed].min(axis=1)).any()  # something was pruned
    excess = per_document(verdict, "deletion", "ranking", "draw")["excess"].dropna()
    assert (excess >= 0).all()


def random_answers(seed: int, words: int) -> Any:
    """A decision that changes by an arbitrary, non-monotone rule; all words gone changes it."""
    answers = torch.rand(2**words, generator=torch.Generator().manual_seed(seed)) < 0.4
    answers[0], answers[-1] = False, True
    powers = 2 ** torch.arange(words)
    return lambda rows, removed: answers[(removed.long() * powers).sum(-1)]


@pytest.mark.parametrize("seed", range(5))
def test_of_a_pruned_set_no_word_can_return(seed: int) -> None:
    words, batch = 7, 6
    changes = random_answers(seed, words)
    orders = torch.stack([torch.randperm(words) for _ in range(3 * batch)]).view(3, batch, words)
    mask = torch.ones(batch, words, dtype=torch.bool)
    sizes = prefix_sizes(mask.sum(-1), 32)
    first = first_changes(orders, mask, sizes, changes)
    for ranking in range(3):
        for row in range(batch):
            sets = [orders[ranking, row, :k] for k in range(1, words + 1)]
            gone = [torch.zeros(words, dtype=torch.bool).index_fill(0, s, True) for s in sets]
            changed = [bool(changes(torch.tensor([row]), one[None])) for one in gone]
            assert int(first[ranking, row]) == changed.index(True) + 1
    best = best_prefix(orders, mask, first)
    assert (best.sum(-1) == first.min(0).values).all()
    left = pruned(best, changes)
    rows = torch.arange(batch)
    assert changes(rows, left).all()
    assert not (left & ~best).any()
    for row, word in left.nonzero().tolist():
        back = left[row].clone()
        back[word] = False
        assert not back.any() or not changes(torch.tensor([row]), back[None])


@pytest.mark.slow
def test_the_order_of_documents_changes_nothing(
    model: TransformerClassifier, reviews: verax.Corpus, verdict: verax.Verdict
) -> None:
    documents = reviews.documents("all")
    turned = verax.load_corpus(
        (documents.texts[20::-1], [reviews.classes[k] for k in documents.labels[20::-1]]),
    )
    how: dict[str, Any] = {"importances": OWN, "max_tokens": 200, **CHOSEN}
    again = verax.examine(model, turned, "deletion", "all", **how)
    for ranking in OWN:
        by_text = [
            dict(zip(part.texts, sizes_of(one, ranking).reindex(part.ids), strict=True))
            for one, part in ((verdict, documents), (again, turned.documents("all")))
        ]
        mine = {text: by_text[0][text] for text in by_text[1]}
        np.testing.assert_equal(by_text[1], mine)


@pytest.mark.slow
def test_only_probabilities_give_the_same_table(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    how: dict[str, Any] = {"importances": OWN, "sample": 12, **CHOSEN}
    tables = [
        verax.examine(one, reviews, "deletion", "all", **how).tables
        for one in (model, Predicting(model))
    ]
    for name in tables[0]:
        pd.testing.assert_frame_equal(tables[1][name], tables[0][name])


def test_differences_from_random_order_are_tested_in_pairs(verdict: verax.Verdict) -> None:
    rankings = ranked(verdict.tables)
    chance = rankings["random"].share
    n = int(part_is_enough(per_document(verdict, "deletion_smallest")).sum())
    p = []
    for name in OWN:
        share = rankings[name].share
        assert len(share) == n
        difference = chance - share
        test = scipy.stats.ttest_1samp(difference, 0.0).confidence_interval()
        found = verdict.number(f"deletion.{name}.fewer_than_random")
        assert found.value == pytest.approx(100 * difference.mean())
        assert (found.low, found.high) == pytest.approx((100 * test.low, 100 * test.high))
        flips = scipy.stats.permutation_test(
            (difference,), np.mean, permutation_type="samples", n_resamples=9999, rng=0
        )
        p.append(flips.pvalue)
    expected = holm(p)
    for name, one in zip(OWN, expected, strict=True):
        assert verdict.value(f"deletion.{name}.p") == pytest.approx(one, abs=0.03)
    least = per_document(verdict, "deletion_smallest")
    least = least[part_is_enough(least)]["share"]
    gain = (chance.mean() - rankings["letters"].share.mean()) / (chance.mean() - least.mean())
    assert verdict.value("deletion.letters.gain") == pytest.approx(100 * gain)


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["mask", "attention"])
def test_other_operators(
    model: TransformerClassifier, reviews: verax.Corpus, operator: str
) -> None:
    how: dict[str, Any] = {"importances": OWN, "sample": 6, **CHOSEN}
    verdict = verax.examine(model, reviews, "deletion", "all", operator=operator, **how)
    sizes = sizes_of(verdict, "backwards")
    documents = reviews.documents("all")
    for id, text in zip(documents.ids, documents.texts, strict=True):
        if id not in sizes.index:
            continue
        trace = model.trace([text])
        count = int(trace.mask.sum())
        removed = torch.arange(count) >= count - torch.arange(1, count + 1)[:, None]
        pieces = trace.pieces.take(torch.zeros(count, dtype=torch.long))
        if operator == "mask":
            changed = pieces.replaced_by(model.reader.tokenizer.mask_token_id, removed)
        else:
            changed = pieces.masked_out(removed)
        with torch.no_grad():
            logits = model.run(changed).logits
        other = (logits.argmax(-1) != trace.logits.argmax()).nonzero()
        np.testing.assert_equal(sizes[id], float(other[0]) + 1 if len(other) else np.nan)


@pytest.mark.slow
def test_long_documents_are_looked_at_evenly(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    how: dict[str, Any] = {"importances": OWN, "sample": 8, **CHOSEN}
    verdict = verax.examine(model, reviews, "deletion", "all", steps=3, **how)
    instances = per_document(verdict, "deletion_instances")
    assert (instances["resolution"] >= np.ceil(instances["words"] / 3) - 1).all()
    assert verdict.value("deletion.documents.coarse") == (instances["words"] > 3).sum()
    sizes = sizes_of(verdict, "letters").dropna()
    looked = {n: {n // 3, 2 * n // 3, n} for n in instances["words"].astype(int)}
    assert all(sizes[id] in looked[int(instances.loc[id, "words"])] for id in sizes.index)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"encoder": "conv"}, {"encoder": "conv", "hierarchical": True}]
)
def test_a_model_of_ours_takes_it_when_it_is_named(
    options: dict[str, Any], planted: verax.Corpus, make_model: Any
) -> None:
    ours = make_model(**options)
    with torch.no_grad():
        ours.head.linear.weight.mul_(30)
        ours.head.linear.bias.fill_(0.5)
    verdict = verax.examine(ours, planted, "deletion", sample=3, random_orders=1, steps=40)
    assert {row.subject for row in verdict.judgement.rows} == {"attention"}
    assert "deletion" not in default_exams(ours.kind)
    place = [
        int(np.flatnonzero(planted.test.ids == i)[0]) for i in sizes_of(verdict, "attention").index
    ]
    trace = ours.trace([planted.test.texts[k] for k in place])
    words = trace.batch.words
    # single words, one by one, as leave-one-out has them
    rows, places = words.nonzero(as_tuple=True)
    removed = torch.nn.functional.one_hot(places, words.shape[1]).bool()
    alone = logits_without_sets(ours, trace, rows, removed, max_tokens=200)
    assert torch.allclose(
        alone.double(), logits_without_words(ours, trace)[rows, places], atol=1e-5
    )
    everything = logits_without_sets(ours, trace, torch.tensor([0]), words[:1])
    assert torch.equal(everything[0], ours.head.bias)
    if not ours.options.hierarchical:
        expected = [by_hand(ours, planted.test.texts[k], "attention") for k in place]
        np.testing.assert_equal(sizes_of(verdict, "attention").to_numpy(), expected)
        assert np.isfinite(expected).any()


def by_hand(ours: Any, text: str, ranking: str) -> float:
    """The first size at which a model of ours changes its mind, words cut from its token list."""
    trace = ours.trace([text])
    words = ours.word_tokenizer(text)
    scores = score(ranking, ours, trace, signed=True)[0][trace.batch.words[0]]
    order = sorted(range(len(words)), key=lambda k: (-float(scores[k]), k))
    cut = [[w for k, w in enumerate(words) if k not in order[:n]] for n in range(len(words))]
    decided = decisions(torch.cat([ours.logits(cut), ours.head.bias[None]]))
    changed = (decided != decided[0]).nonzero()
    return float(changed[0]) if len(changed) else np.nan


def test_what_cannot_be_is_refused_in_one_line(
    bert: TransformerClassifier, reviews: verax.Corpus
) -> None:
    for given, expected in (
        ({"operator": "delte"}, ("option.unknown-value", "delte", "delete")),
        ({"rankings": "rollouts"}, ("option.unknown-value", "rollouts")),
    ):
        with raises(*expected) as error:
            verax.examine(bert, reviews, "deletion", **given)
        assert "\n" not in str(error.value)
    with raises("option.not-applicable", "test"):
        verax.choose_head(bert, reviews, "test")


@pytest.mark.slow
def test_a_head_is_chosen_on_other_documents_than_it_is_reported_on(
    model: TransformerClassifier, reviews: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[verax.Verdict] = []

    def spied(*args: Any, **how: Any) -> verax.Verdict:
        seen.append(verax.examine(*args, **how))
        return seen[-1]

    monkeypatch.setattr(CHOOSING_EXAMINE, spied)
    chosen = verax.choose_head(model, reviews, sample=None)
    (on,) = seen
    assert on.manifest["split"] == "validation"
    shares = on.summary()
    shares = shares[(shares["table"] == "deletion") & (shares["column"] == "share")]
    shares = shares[shares["row"] != "random"].set_index("row")["value"]
    assert len(shares) == 6
    assert shares[chosen] == shares.min()
    reported = verax.examine(model, reviews, "deletion", rankings=f"rollout,{chosen}")
    assert reported.manifest["split"] == "test"
    assert not set(reported.tables["deletion"]["id"]) & set(on.tables["deletion"]["id"])
    assert set(reported.judgement.subjects) == {"rollout", chosen}


@pytest.mark.slow
def test_by_default_every_score_is_judged(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    verdict = verax.examine(model, reviews, "deletion", random_orders=1)
    assert list(verdict.judgement.subjects) == list(DERIVED)
    rows = list(dict.fromkeys(verdict.tables["deletion"]["ranking"]))
    assert rows[6:] == [
        *("gradient", "gradient-input", "integrated-gradients", "leave-one-out", "random"),
    ]
    told = verax.examine(Predicting(model), reviews, "deletion", random_orders=1)
    assert set(told.tables["deletion"]["ranking"]) == {"leave-one-out", "random"}
    assert list(told.judgement.rows) == []


@pytest.mark.slow
def test_ones_own_module_gives_the_tables_of_the_model_it_is() -> None:
    corpus = verax.load_corpus("planted", documents=60, length=8)
    ours = untrained(corpus, encoder="bilstm", projection="sparsemax")
    how: dict[str, Any] = {"random_orders": 1, "sample": 6}
    expected = verax.examine(ours, corpus, "deletion", **how)
    found = verax.examine(wrapped(ours), corpus, "deletion", **how)
    for name, table in expected.tables.items():
        pd.testing.assert_frame_equal(found.tables[name], table)
    bare = verax.examine(wrapped(ours, "without vectors"), corpus, "deletion", **how)
    rankings = set(bare.tables["deletion"]["ranking"])
    assert rankings == {"attention", "leave-one-out", "random"}
    np.testing.assert_array_equal(sizes_of(bare, "attention"), sizes_of(expected, "attention"))


def test_charts_are_drawn_of_scores(verdict: verax.Verdict) -> None:
    drawn = list(charts(Models({"mine": verdict})))
    names = ["share", "curves", "bounds", "exact", "gain"]
    assert [chart.name for chart in drawn] == [f"deletion-{name}" for name in names]


def test_what_was_cut_off_does_not_come_in_where_words_go(make_classifier: Any) -> None:
    short = make_classifier(2, how={"max_length": 8})
    trace = short.trace(["the film was far too dull and the plot is very bad .", "it was bad"])
    assert trace.words[0] == ["the", "film", "was", "far", "too", "dull"]
    removed = torch.zeros(1, trace.mask.shape[1], dtype=torch.bool)
    removed[0, :2] = True
    left = short.logits_without(trace, torch.tensor([0]), removed)
    assert torch.allclose(left, short.logits(["was far too dull"]), atol=1e-6)
    assert torch.equal(trace.logits, short.trace([*trace.batch.texts]).logits)


def test_each_ranking_is_between_both_bounds(verdict: verax.Verdict) -> None:
    table = per_document(verdict, "deletion", "ranking", "draw").dropna()
    assert (table["excess"] <= table["excess_most"]).all()
    for name in OWN:
        least, most = (verdict.value(f"deletion.{name}.{n}") for n in ("excess", "excess_most"))
        assert 0 <= least <= most
    names = ("lower", "upper", "gap")
    lower, upper, gap = (verdict.value(f"deletion.smallest.smallest.{name}") for name in names)
    assert gap == pytest.approx(upper - lower)


@pytest.mark.slow
def test_a_verdict_need_not_ask_what_keeps_decisions(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    verdict = verax.examine(model, reviews, "deletion", sufficient=False, sample=4, **CHOSEN)
    assert "deletion_sufficient" not in verdict.tables
    tables = set(verdict.summary()["table"])
    assert "deletion.exact" in tables
    assert "deletion.sufficient" not in tables


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["delete", "mask", "attention"])
def test_ones_own_module_is_proven_as_the_model_it_is(operator: str) -> None:
    corpus = verax.load_corpus("planted", documents=60, length=8)
    ours = untrained(corpus, encoder="conv")
    how: dict[str, Any] = {"sample": 5, "operator": operator, "budget": 20, **CHOSEN}
    expected, others = (
        verax.examine(one, corpus, "deletion", **how).tables for one in (ours, wrapped(ours))
    )
    for name, table in expected.items():
        pd.testing.assert_frame_equal(others[name], table)
    assert "mask" not in wrapped(ours, unknown=None).operators
