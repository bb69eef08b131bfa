"""Comprehensiveness and sufficiency by hand, for a look-up model and a function that says the same.

A word of weight w says ℓ. Of a text with the words K left, z = Σ_K w ℓ / Σ_K w, p = σ(z), and
without words z = 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from torch import Tensor

import verax
from support.documents import corpus_of, per_document
from support.errors import raises
from support.internals import MODEL_KINDS as KINDS
from support.internals import SUFFICIENCY_MEASURES as MEASURES
from support.internals import Models, direction_of, judged_rows, rankings_of
from support.internals import sufficiency_charts as charts
from support.models import look_up_model
from verax.exams import default_exams, load_limits
from verax.exams.authoring import ModelSummary, wide

WORDS = {"a": (4.0, 2.0), "b": (3.0, -2.0), "c": (2.0, 4.0), "d": (1.0, 0.0)}
"""Word → its weight and what it says."""
TEXTS = ["a b c d", "c", "d d", "c b a"]
HOW: dict[str, Any] = {"percentages": "25,50", "rankings": "random"}


def sure(words: str) -> float:
    """p of class yes with these words alone."""
    return float(expit(z_of(words)))


def z_of(words: str) -> float:
    weights = [WORDS[word][0] for word in words]
    says = [WORDS[word][1] for word in words]
    return float(np.average(says, weights=weights)) if weights else 0.0


def says(texts: list[str]) -> Any:
    p = np.array([sure("".join(w for w in text.split() if w in WORDS)) for text in texts])
    return np.stack([1 - p, p], axis=1)


def by_weight(model: Any, trace: Any) -> Tensor:
    import torch

    scores = torch.zeros(trace.mask.shape)
    for row, words in enumerate(trace.words):
        scores[row, : len(words)] = torch.tensor([WORDS[word][0] for word in words])
    return scores


@pytest.fixture(scope="module")
def verdicts() -> dict[str, verax.Verdict]:
    """The same model as one of ours and as a function."""
    ours = look_up_model({word: (math.log(w), say) for word, (w, say) in WORDS.items()})
    function = verax.from_predict(says, ["no", "yes"], words="whitespace")
    own = {"weight": by_weight, "again": by_weight}
    corpora = [corpus_of(TEXTS, [1, 1, 0, 1], model) for model in (ours, function)]
    how = {"exams": "sufficiency", "importances": own, "random_orders": 2, **HOW}
    how |= {"rankings": "random,attention"}
    return {
        "ours": verax.examine(ours, corpora[0], **how),
        "function": verax.examine(function, corpora[1], **{**how, "rankings": "random"}),
    }


def row(verdict: verax.Verdict, id: int, ranking: str) -> pd.DataFrame:
    """(percentages, measures) of one document."""
    table = verdict.tables["sufficiency"]
    chosen = table[(table["id"] == id) & (table["ranking"] == ranking)]
    return wide(chosen.astype({"percentage": str}), "percentage").loc[id]


@pytest.mark.parametrize("model", ["ours", "function"])
def test_measures_are_erasers_by_hand(verdicts: dict[str, verax.Verdict], model: str) -> None:
    """Of "a b c d": z = (8 − 6 + 8 + 0) / 10 = 1. By weight a, then b come first.

    25%, one word: without a, z = 2/6; a alone, z = 2. 50%, two: without a and b, z = 8/3; these
    alone, z = 2/7. All z are above 0: no decision changes, all are kept. All words do σ(1) − ½.
    """
    found = row(verdicts[model], 10, "weight")
    p, span = expit(1), expit(1) - 0.5
    comprehensiveness = [p - expit(1 / 3), p - expit(8 / 3)]
    sufficiency = [p - expit(2), p - expit(2 / 7)]
    assert found["comprehensiveness"].tolist() == pytest.approx(comprehensiveness, abs=1e-6)
    assert found["sufficiency"].tolist() == pytest.approx(sufficiency, abs=1e-6)
    normalised = found["normalised_comprehensiveness"].tolist()
    assert normalised == pytest.approx([comprehensiveness[0] / span, 0], abs=1e-6)
    normalised = found["normalised_sufficiency"].tolist()
    assert normalised == pytest.approx([1, 1 - sufficiency[1] / span], abs=1e-6)
    assert found["changed"].tolist() == [0, 0]
    assert found["kept"].tolist() == [1, 1]
    if model == "ours":
        pd.testing.assert_frame_equal(row(verdicts[model], 10, "attention"), found)


@pytest.mark.parametrize("model", ["ours", "function"])
def test_the_best_sets_by_hand(verdicts: dict[str, verax.Verdict], model: str) -> None:
    """Of "a b c d", one word: without c z = ¼, the least of 2/6, 16/7, ¼ and 10/9; c alone z = 4.

    Two: of the pairs left, ab 2/7, ac 16/6, ad 8/5, bc 2/5, bd −6/4, cd 8/3, the least is bd, which
    changes the decision, and the most cd. Greedy search finds both: c then a go; c then d stay. One
    word of four is known to be the best, two are not; of "c b a" 25% and 50% are one and two words
    of three, and all sets of either size are tried.
    """
    best = wide(
        verdicts[model].tables["sufficiency_best"].astype({"percentage": str}), "percentage"
    )
    p = expit(1)
    found = best.loc[10]
    assert found["comprehensiveness"].tolist() == pytest.approx(
        [p - expit(0.25), p - expit(-1.5)], abs=1e-6
    )
    assert found["sufficiency"].tolist() == pytest.approx(
        [p - expit(4), p - expit(8 / 3)], abs=1e-6
    )
    assert found["changed"].tolist() == [0, 1]
    assert found["kept"].tolist() == [1, 1]
    assert found["exact"].tolist() == [1, 0]
    assert found["size"].tolist() == [1, 2]
    assert best.loc[13]["exact"].tolist() == [1, 1]
    assert best.loc[13]["size"].tolist() == [1, 2]


@pytest.mark.parametrize("model", ["ours", "function"])
def test_what_is_left_out_is_counted(verdicts: dict[str, verax.Verdict], model: str) -> None:
    """The word c alone has no ranking; d d is decided as surely as nothing at all."""
    verdict = verdicts[model]
    counts = {
        name: verdict.value(f"sufficiency.documents.{name}")
        for name in ("documents", "one_word", "examined", "no_span", "not_searched")
    }
    assert counts == {
        "documents": 4,
        "one_word": 1,
        "examined": 3,
        "no_span": 1,
        "not_searched": 0,
    }
    assert verdict.number("sufficiency.weight.comprehensiveness").n == 3
    assert verdict.number("sufficiency.weight.normalised_comprehensiveness").n == 2
    values = verdict.document_values().set_index(["measure", "id"])
    for measure in MEASURES:
        of = values.loc[f"sufficiency.weight.{measure}"]
        assert of.loc[11, "reason"] == "one word"
        reason = of.loc[12, "reason"]
        if "normalised" in measure:
            assert reason == "decided as surely without words"
        else:
            assert pd.isna(reason)
    instances = per_document(verdict, "sufficiency_instances")
    assert instances["empty"].tolist() == pytest.approx([0.5] * 4, abs=1e-6)
    assert instances["probability"].tolist() == pytest.approx(
        [sure("abcd"), sure("c"), 0.5, sure("cba")], abs=1e-6
    )


def test_a_ranking_equal_to_another_has_equal_rows(verdicts: dict[str, verax.Verdict]) -> None:
    for verdict in verdicts.values():
        table = verdict.tables["sufficiency"]
        both = [
            table[table["ranking"] == name].drop(columns="ranking").reset_index(drop=True)
            for name in ("weight", "again")
        ]
        pd.testing.assert_frame_equal(*both)
        summary = verdict.summary()
        numbers = [
            summary[(summary["table"] == "sufficiency") & (summary["row"] == name)]
            .drop(columns=["row", "measure"])
            .reset_index(drop=True)
            for name in ("weight", "again")
        ]
        pd.testing.assert_frame_equal(*numbers)


def test_a_function_says_what_the_model_does(verdicts: dict[str, verax.Verdict]) -> None:
    for name in ("sufficiency_instances", "sufficiency_best"):
        tables = [one.tables[name] for one in verdicts.values()]
        # of words that are as good rounding chooses which are looked at further
        ours, function = (table[table["measure"] != "asked"] for table in tables)
        pd.testing.assert_frame_equal(ours, function, rtol=0, atol=2e-5)


def test_means_are_over_percentages_and_best_is_never_worse(
    verdicts: dict[str, verax.Verdict],
) -> None:
    verdict = verdicts["ours"]
    rankings = rankings_of(verdict.tables)
    best = rankings["best"]
    for name, one in rankings.items():
        for measure in ("comprehensiveness", "sufficiency", "changed", "kept"):
            at = [
                verdict.value(f"sufficiency.{measure}_at.{name}.at={percentage}")
                for percentage in ("25", "50")
            ]
            assert verdict.value(f"sufficiency.{name}.{measure}") == pytest.approx(np.mean(at))
        assert (one.values["comprehensiveness"] <= best.values["comprehensiveness"] + 1e-12).all()
        assert (one.values["sufficiency"] >= best.values["sufficiency"] - 1e-12).all()
        assert (one.values["changed"] <= best.values["changed"]).all()
        assert (one.values["kept"] <= best.values["kept"]).all()
    for measure, sign in (("comprehensiveness", 1), ("sufficiency", -1)):
        means = {n: sign * one.mean(measure).mean() for n, one in rankings.items()}
        gain = (means["weight"] - means["random"]) / (means["best"] - means["random"])
        assert verdict.value(f"sufficiency.weight.{measure}_gain") == pytest.approx(100 * gain)


def test_all_words_taken_out_and_all_left(verdicts: dict[str, verax.Verdict]) -> None:
    """At 100% nothing is left, or nothing is gone, and every ranking is as good as the best."""
    ours = look_up_model({word: (math.log(w), say) for word, (w, say) in WORDS.items()})
    corpus = corpus_of(TEXTS, [1, 1, 0, 1], ours)
    verdict = verax.examine(
        ours, corpus, "sufficiency", percentages="100", greedy_sets=0, rankings="attention"
    )
    instances = per_document(verdict, "sufficiency_instances")
    span = (instances["probability"] - instances["empty"])[instances["examined"] == 1]
    for one in rankings_of(verdict.tables).values():
        assert one.mean("comprehensiveness").tolist() == pytest.approx(span.tolist(), abs=1e-12)
        assert one.mean("sufficiency").tolist() == [0, 0, 0]
        assert one.mean("kept").tolist() == [1, 1, 1]
    assert verdict.value("sufficiency.best.exact") == 100
    assert verdict.value("sufficiency.documents.not_searched") == 3
    assert math.isnan(verdict.value("sufficiency.attention.comprehensiveness_gain"))
    assert verdict.value("sufficiency.attention.comprehensiveness_p") == 1


def test_documents_without_words_are_counted() -> None:
    ours = look_up_model({word: (math.log(w), say) for word, (w, say) in WORDS.items()})
    verdict = verax.examine(ours, corpus_of(["a b", "", "c"], [1, 0, 1], ours), "sufficiency")
    counts = [
        verdict.value(f"sufficiency.documents.{name}")
        for name in ("documents", "no_words", "one_word", "examined")
    ]
    assert counts == [3, 1, 1, 1]
    values = verdict.document_values().set_index(["measure", "id"])
    reasons = values.loc["sufficiency.attention.kept"]["reason"]
    assert reasons[[11, 12]].tolist() == ["no words", "one word"]


def test_only_documents_of_one_word_leave_counts_alone() -> None:
    ours = look_up_model({word: (math.log(w), say) for word, (w, say) in WORDS.items()})
    verdict = verax.examine(ours, corpus_of(["a", "c"], [1, 1], ours), "sufficiency")
    assert set(verdict.summary()["table"]) == {"sufficiency.documents"}
    assert verdict.value("sufficiency.documents.one_word") == 2
    assert list(verdict.judgement.rows) == []
    assert list(charts(Models({"mine": verdict}))) == []


@pytest.mark.slow
def test_charts_are_drawn(verdicts: dict[str, verax.Verdict]) -> None:
    names = ["sufficiency-curves", "sufficiency-normalised", "sufficiency-gain"]
    assert [chart.name for chart in charts(Models({"mine": verdicts["ours"]}))] == names
    assert [chart.name for chart in charts(Models(verdicts))] == names
    nothing = verax.Verdict({}, {})
    assert list(charts(Models({"none": nothing}))) == []


def summary_of(comprehensiveness: list[float], sufficiency: list[float], p: float) -> ModelSummary:
    """A made-up summary: both gains of chefer with their intervals, over 50 documents."""
    place = {"exam": "sufficiency", "table": "sufficiency", "row": "chefer", "n": 50}
    rows = [
        {**place, "column": f"{name}_gain", "unit": "percent", "value": v, "low": low, "high": high}
        for name, (v, low, high) in (
            ("comprehensiveness", comprehensiveness),
            ("sufficiency", sufficiency),
        )
    ]
    rows += [
        {**place, "column": f"{name}_p", "unit": "number", "value": p}
        for name in ("comprehensiveness", "sufficiency")
    ]
    frame = pd.DataFrame(rows)
    frame["measure"] = "sufficiency.chefer." + frame["column"]
    return ModelSummary("m", frame, {"documents": 100})


@pytest.mark.parametrize(
    ("comprehensiveness", "sufficiency", "p", "verdict", "measure"),
    [
        ([60, 50, 70], [40, 30, 50], 0.01, "for", "sufficiency"),
        ([60, 50, 70], [40, 30, 50], 0.2, "open", "sufficiency"),
        ([60, 50, 70], [5, 1, 9], 0.01, "against", "sufficiency"),
        ([5, 1, 9], [60, 50, 70], 0.01, "against", "comprehensiveness"),
        ([60, 50, 70], [30, 20, 40], 0.01, "open", "sufficiency"),
    ],
)
def test_a_score_is_judged_by_the_lesser_of_both(
    comprehensiveness: list[float], sufficiency: list[float], p: float, verdict: str, measure: str
) -> None:
    (judged,) = judged_rows(summary_of(comprehensiveness, sufficiency, p), load_limits("2026-11"))
    assert (judged.verdict, judged.subject) == (verdict, "chefer")
    assert judged.measure == f"sufficiency.chefer.{measure}_gain"


def test_few_documents_leave_it_open(verdicts: dict[str, verax.Verdict]) -> None:
    rows = judged_rows(verdicts["ours"].model_summary(), load_limits())
    assert [row.subject for row in rows] == ["attention", "weight", "again"]
    assert {row.verdict for row in rows} == {"open"}
    assert all(row.reason == "3 documents, 20 needed" for row in rows)


def test_between_models_only_what_is_normalised_has_a_direction() -> None:
    assert direction_of("sufficiency.chefer.normalised_sufficiency").better == "higher"
    raw = direction_of("sufficiency.chefer.comprehensiveness")
    assert (raw.better, raw.shown) == ("", True)
    assert "how sure the model is" in raw.note
    assert not direction_of("sufficiency.gradient.normalised_sufficiency").shown
    assert not direction_of("sufficiency.kept_at.chefer.at=5").shown


def test_it_is_taken_only_when_it_is_named() -> None:
    assert all("sufficiency" not in default_exams(kind) for kind in KINDS)


def test_what_cannot_be_is_refused_in_one_line() -> None:
    model = verax.from_predict(says, ["no", "yes"], words="whitespace")
    corpus = corpus_of(TEXTS, [1, 1, 0, 1], model)
    for given, expected in (
        ({"percentages": "0,5"}, ("option.malformed", "percentages", "0,5", "100")),
        ({"percentages": "five"}, ("option.malformed", "five")),
        ({"percentages": ","}, ("option.malformed", "percentages", "1,5,10,20,50")),
        ({"operator": "mask"}, ("option.unknown-value", "mask")),
        ({"rankings": "rollouts"}, ("option.unknown-value", "rollouts")),
        ({"importances": {"best": by_weight}}, ("importance.name-taken", "best")),
        ({"greedy_sets": -1}, ("option.out-of-range", "greedy_sets")),
    ):
        with raises(*expected) as error:
            verax.examine(model, corpus, "sufficiency", **given)
        assert "\n" not in str(error.value)
