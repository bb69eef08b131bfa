"""What a study takes out of a verdict, over verdicts whose every number was chosen."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from made_up import verdict_of

import verax
from support.documents import per_document
from support.errors import raises
from support.internals import Lexicon
from verax.corpora import Corpus, Documents
from verax.exams.authoring import wide
from verax.models import AttentionClassifier
from verax.studies import sweep_of

Make = Callable[..., AttentionClassifier]


def column(found: pd.DataFrame, measure: str) -> pd.DataFrame:
    return found[found["measure"] == measure].set_index("id")


def test_every_measure_of_every_document() -> None:
    nan = math.nan
    verdict = verdict_of(
        [0.8, nan, 0.4],
        [0.1, 0.3, nan],
        support=[1, 2, 4],
        correct=[1, 0, 1],
        influence=[0.9, 0.7, nan],
    )
    found = verdict.document_values()
    assert found.columns.tolist() == ["id", "measure", "value", "reason"]
    expected = {
        "decisions.accuracy": [1, 0, 1],
        "dispersion.documents.support": [1, 2, 4],
        "dispersion.documents.support_share": [0.1, 0.2, 0.4],
        "agreement.inputs:attention:gradient.tau": [0.1, 0.3, nan],
        "agreement.on_support.inputs:attention:gradient.tau": [-0.1, -0.3, nan],
        "dispersion.entropy.attention.mean": [0.4, nan, 0.2],
        "dispersion.entropy.gradient.mean": [0.8, nan, 0.4],
        "dispersion.entropy.influence@norm.mean": [0.9, 0.7, nan],
    }
    assert list(dict.fromkeys(found["measure"])) == list(expected)
    for measure, values in expected.items():
        own = column(found, measure)
        assert own.index.tolist() == [0, 1, 2]
        assert own["value"].tolist() == pytest.approx(values, nan_ok=True)


def test_a_value_or_a_reason() -> None:
    nan = math.nan
    found = verdict_of([0.8, nan], [nan, 0.3], influence=[nan, 0.5]).document_values()
    assert (found["value"].isna() == found["reason"].notna()).all()
    assert column(found, "dispersion.entropy.gradient.mean")["reason"][1] == "all zero"
    assert (
        column(found, "agreement.inputs:attention:gradient.tau")["reason"][0] == "second constant"
    )
    assert column(found, "dispersion.entropy.influence@norm.mean")["reason"][0] == "all zero"


def test_one_exam_is_enough() -> None:
    verdict = verdict_of([0.8, 0.6], [0.1, 0.2])
    for exam, start in (("agreement", "agreement."), ("dispersion", "dispersion.entropy.")):
        tables = {name: t for name, t in verdict.tables.items() if name.startswith(exam)}
        found = verax.Verdict(tables, {"exams": [exam]}).document_values()
        names = list(dict.fromkeys(found["measure"]))
        assert names[:3] == [
            "decisions.accuracy",
            "dispersion.documents.support",
            "dispersion.documents.support_share",
        ]
        assert all(name.startswith(start) for name in names[3:])
        assert len(names) > 3


def test_no_labels_means_no_accuracy() -> None:
    found = verdict_of([0.8, 0.6], [0.1, 0.2], correct=[math.nan, math.nan]).document_values()
    assert "decisions.accuracy" not in set(found["measure"])


def test_an_exam_without_measures_is_told() -> None:
    with raises("exam.not-applicable") as error:
        sweep_of({(0.0, 0): verax.Verdict({}, {"exams": ["erasure"]})})
    assert "\n" not in str(error.value)
    with raises("exam.not-applicable"):
        sweep_of({(0.0, 0): verax.Verdict({})})


@pytest.mark.slow
def test_of_a_model_they_are_the_tables_numbers(make_model: Make, planted: verax.Corpus) -> None:
    verdict = verax.examine(
        make_model(projection="sparsemax"), planted, ["agreement", "dispersion"], influence="both"
    )
    found = verdict.document_values()
    tables = verdict.tables
    instances = wide(tables["dispersion_instances"])
    assert column(found, "decisions.accuracy")["value"].tolist() == instances["correct"].tolist()
    for of, table in tables["dispersion"].groupby("of", observed=True):
        own = wide(table.drop(columns="of"))["entropy"]
        assert column(found, f"dispersion.entropy.{of}.mean")["value"].equals(own.rename("value"))
    for kind, table in tables["dispersion_influence"].groupby("kind", observed=True):
        own = wide(table.drop(columns="kind"))["entropy"]
        name = f"dispersion.entropy.influence@{kind}.mean"
        assert column(found, name)["value"].equals(own.rename("value"))
    labels = ["on", "first", "second", "over"]
    for (on, first, second, over), table in tables["agreement"].groupby(labels, observed=True):
        own = wide(table.drop(columns=labels))["kendall"].rename("value")
        table_id = "agreement" if over == "all" else "agreement.on_support"
        name = f"{table_id}.{on}:{first}:{second}.tau"
        assert column(found, name)["value"].equals(own)
    assert len(found) == found["measure"].nunique() * len(planted.test)


def test_one_word_is_the_reason_where_it_is_the_reason(make_model: Make) -> None:
    """A document of one word has no entropy of inputs, though its item is moved by its word."""
    model = make_model()
    texts = ["w1 w2 w3", "w4"]
    split = Documents(texts, np.zeros(2, np.int64), np.arange(2), model.word_tokenizer, Lexicon())
    corpus = Corpus("two", model.classes, split, split, split)
    found = verax.examine(model, corpus, ["agreement", "dispersion"]).document_values()
    missing = found[found["value"].isna()]
    assert set(missing["id"]) == {1}
    for measure in (
        "dispersion.entropy.gradient.mean",
        "dispersion.entropy.attention.mean",
        "agreement.items:attention:gradient.tau",
    ):
        assert column(missing, measure)["reason"].tolist() == ["one position"]
    assert column(missing, "dispersion.entropy.influence@norm.mean")["reason"].tolist() == [
        "one position"
    ]


# -- the other exams


@pytest.fixture(scope="module")
def trained(planted: verax.Corpus) -> AttentionClassifier:
    sizes = {"embedding_size": 8, "hidden_size": 8}
    return verax.train(planted, encoder="conv", epochs=2, lr=0.02, device="cpu", **sizes)


@pytest.mark.slow
def test_every_exam_has_measures_of_its_own(
    trained: AttentionClassifier, planted: verax.Corpus
) -> None:
    verdict = verax.examine(trained, planted, clusters=20, max_words=30)
    found = verdict.document_values()
    names = list(dict.fromkeys(found["measure"]))
    assert len(found) == len(names) * len(planted.test)
    assert (found["value"].isna() == found["reason"].notna()).all()
    others = ("agreement.", "dispersion.entropy.")
    assert [n for n in names if not n.startswith(others)] == [
        "decisions.accuracy",
        "dispersion.documents.support",
        "dispersion.documents.support_share",
        "erasure.fraction.attention.mean",
        "erasure.fraction.optimum.mean",
        "erasure.excess.attention.mean",
        "erasure.excess.attention.optimal",
        "erasure.excess.attention.optimal_in_part",
        "erasure.delta_js.attention.mean",
        "replacement.uniform.survival",
        "replacement.permuted.survival",
        "replacement.uniform.tvd",
        "replacement.permuted.tvd",
        "decisions.f1",
        "replacement.uniform.delta_f1",
        "replacement.permuted.delta_f1",
        "single_token.correct.mean_probability",
        "single_token.correct.agreeing",
        "single_token.correct.confidence",
        "single_token.correct.pooled_probability",
        *(
            f"adversary.epsilon={epsilon}.{what}"
            for epsilon in ("0.01", "0.05", "0.1", "0.25", "0.5")
            for what in ("jsd", "constraint_cost")
        ),
        "adversary.groups.all.permuted_change",
    ]
    means = found.groupby("measure")["value"].mean()
    for measure, scale in {
        "erasure.fraction.attention.mean": 1,
        "erasure.fraction.optimum.mean": 1,
        "erasure.delta_js.attention.mean": 1,
        "erasure.excess.attention.mean": 1,
        "erasure.excess.attention.optimal": 100,
        "erasure.excess.attention.optimal_in_part": 100,
        "replacement.uniform.survival": 100,
        "replacement.permuted.survival": 100,
        "replacement.uniform.tvd": 1,
        "replacement.permuted.tvd": 1,
        "single_token.correct.mean_probability": 1,
        "single_token.correct.confidence": 1,
        "single_token.correct.agreeing": 100,
    }.items():
        number = verdict.value(measure)
        assert scale * means[measure] == pytest.approx(number, nan_ok=True), measure


def test_a_decision_that_is_wrong_or_never_flips_is_left_out(
    trained: AttentionClassifier, planted: verax.Corpus
) -> None:
    verdict = verax.examine(trained, planted, ["erasure", "single_token"])
    found = verdict.document_values()
    correct = per_document(verdict, "single_token")["correct"]
    alone = column(found, "single_token.correct.mean_probability")
    assert set(alone["reason"].dropna()) == {"wrong decision"}
    assert alone["value"].notna().tolist() == (correct == 1).tolist()
    least = per_document(verdict, "erasure_minimal")["size"]
    optimal = column(found, "erasure.excess.attention.optimal")
    assert optimal["value"].notna().tolist() == least.notna().tolist()
    assert set(optimal["reason"].dropna()) <= {"no erasure flips it"}
    everything = per_document(verdict, "erasure_minimal")["everything"] == 1
    part = column(found, "erasure.excess.attention.optimal_in_part")
    assert part["value"].notna().tolist() == (least.notna() & ~everything).tolist()
    told = "flips only when all weight is erased"
    assert (part["reason"] == told).tolist() == (least.notna() & everything).tolist()
    # what something flips, but attention does not, counts against attention
    never = column(found, "erasure.fraction.attention.mean")["value"].isna() & least.notna()
    assert (optimal.loc[never, "value"] == 0).all()
    assert column(found, "decisions.accuracy")["value"].tolist() == correct.tolist()


def test_documents_of_one_item_are_left_out_of_erasure(make_model: Make) -> None:
    model = make_model()
    for texts in (["w1 w2 w3", "w4"], ["w4", "w5"]):
        split = Documents(
            texts, np.zeros(2, np.int64), np.arange(2), model.word_tokenizer, Lexicon()
        )
        corpus = Corpus("two", model.classes, split, split, split)
        found = verax.examine(model, corpus, "erasure").document_values()
        erasure = found[found["measure"].str.startswith("erasure")]
        for number, text in enumerate(texts):
            own = erasure[erasure["id"] == number]
            assert len(own) == 6
            if " " not in text:
                assert set(own["reason"]) == {"one item"}


def test_a_verdict_without_measures_has_none() -> None:
    assert verax.Verdict({}).document_values().columns.tolist() == [
        "id",
        "measure",
        "value",
        "reason",
    ]
