"""Jain & Wallace's tables and figures: the authors' numbers beside the right ones of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from made_up_results import crossed, made_up_results

from research.papers import PaperResults, paper
from research.papers.exhibits import MEASURED
from research.papers.results import SUMMARY

PAPER = paper("jain-wallace-2019")

GRADIENT = "inputs:attention:gradient-input-detached"
LOO = "inputs:attention:leave-one-out"
BETWEEN = "inputs:gradient-input-detached:leave-one-out"
TAUS = {GRADIENT: 0.3, LOO: 0.2, BETWEEN: 0.6}
SCORES = {"test_f1": 0.8, "test_macro_f1": 0.81, "test_accuracy": 0.82, "test_roc_auc": 0.9}


def results(sample: float | None = None) -> PaperResults:
    models = crossed(
        part=["sst"], corpus=["sst"], encoder=["bilstm", "mlp"], attention=["additive", "dot"]
    )
    extra = SCORES | ({} if sample is None else {"sample": sample})

    def numbers(model: Mapping[str, Any]) -> dict[tuple[str, str, str], float]:
        up = 0.1 if model["encoder"] == "mlp" else 0.0
        found = {("agreement", pair, "tau"): tau + up for pair, tau in TAUS.items()}
        found |= {("agreement", pair, "significant"): 40.0 for pair in TAUS}
        found |= {("agreement", pair, "sd"): 0.2 for pair in TAUS}
        found[("agreement.documents", "documents", "value")] = 1700.0
        found[("agreement.documents", "items", "value")] = 18.0
        for group in ("all", "max_weight=0.75-1", "class=1", "class=1,max_weight=0.75-1"):
            found[("adversary.groups", group, "documents")] = 10.0
            found[("adversary.groups", group, "permuted_change")] = 0.05
            found[("adversary.groups", group, "jsd@epsilon=0.05")] = 0.6
            found[("adversary.groups", group, "far@epsilon=0.05")] = 90.0
        found[("adversary.search", "epsilon=0.05", "jsd")] = 0.4
        found[("adversary.search", "epsilon=0.05", "far")] = 30.0
        return found

    return made_up_results([model | extra for model in models], numbers)


def made(name: str, given: PaperResults | None = None) -> pd.DataFrame:
    return PAPER.exhibit(name).make(results() if given is None else given)


def one(table: pd.DataFrame, **labels: str) -> pd.Series:
    """The one row of these labels."""
    for name, value in labels.items():
        table = table[table[name.replace("_", " ")] == value]
    assert len(table) == 1
    return table.iloc[0]


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", PAPER.exhibits, ids=lambda exhibit: exhibit.name)
def test_columns_are_labels_measure_and_what_was_measured(exhibit: Any) -> None:
    columns = list(made(exhibit.name))
    assert columns[-len(MEASURED) - 1 :] == ["measure", *MEASURED]
    assert columns[0] == "corpus"


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", PAPER.exhibits, ids=lambda exhibit: exhibit.name)
def test_with_nothing_only_published_numbers_are_there(exhibit: Any) -> None:
    cells = pd.DataFrame([{"cell": "a", "part": "sst", "corpus": "sst", "seed": 1}])
    table = exhibit.make(PaperResults(cells, pd.DataFrame(columns=SUMMARY)))
    assert table["value"].isna().all()
    assert table["published"].notna().all()
    assert table.empty == (exhibit.name in ("permutation", "adversary"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "published", "value"),
    [
        # by hand from outputs.csv and average.csv
        (("bilstm", "additive", "attention, gradient", "τ-b"), 0.3512, 0.3),
        (("bilstm", "additive", "attention, leave-one-out", "τ-b"), 0.2913, 0.2),
        (("bilstm", "dot", "attention, gradient", "τ-b"), 0.0735, 0.3),
        (("bilstm", "additive", "attention, gradient", "sd"), 0.2109, 0.2),
        (("bilstm", "additive", "attention, leave-one-out", "p ≤ 0.05"), 36.0, 40.0),
        (("mlp", "additive", "attention, gradient", "τ-b"), 0.6058, 0.4),
        (("mlp", "dot", "attention, gradient", "p ≤ 0.05"), 50.0, 40.0),
    ],
)
def test_correlations_stand_beside_those_of_the_same_model(
    labels: tuple[str, str, str, str], published: float, value: float
) -> None:
    names = dict(zip(("encoder", "attention", "pair", "measure"), labels, strict=True))
    row = one(made("table2"), corpus="sst", **names)
    assert row["published"] == pytest.approx(published)
    assert row["value"] == pytest.approx(value)
    assert row["seeds"] == 3


def test_gradients_and_leave_one_out_have_a_table_of_their_own() -> None:
    table = made("gradient_loo")
    assert set(table["pair"]) == {"gradient, leave-one-out"}
    row = one(table, corpus="sst", encoder="bilstm", attention="additive", measure="τ-b")
    assert (row["published"], row["value"]) == pytest.approx((0.6559, 0.6))


def test_corpora_that_are_not_at_hand_are_rows_without_a_value() -> None:
    table = made("table2")
    row = one(
        table,
        corpus="diab",
        encoder="bilstm",
        attention="additive",
        pair="attention, gradient",
        measure="τ-b",
    )
    assert row["published"] == pytest.approx(0.4171)
    assert pd.isna(row["value"])
    assert {"sst", "imdb", "20news_sports", "ag_news", "anemia", "diab"} == set(table["corpus"])


@pytest.mark.slow
def test_a_mean_that_the_authors_have_none_of_is_nan() -> None:
    """Of their Average with dot attention on IMDB only the share of p-values is a number."""
    table = made("table2")
    own = table[(table["corpus"] == "imdb") & (table["encoder"] == "mlp")]
    own = own[own["attention"] == "dot"]
    assert own["measure"].tolist() == ["p ≤ 0.05"]
    assert own["published"].tolist() == [84.0]


@pytest.mark.slow
def test_performance_is_in_shares_on_both_sides() -> None:
    labels = {"corpus": "sst", "encoder": "bilstm", "attention": "additive"}
    table = made("performance")
    expected = {"F1": (0.7835, 0.8), "macro F1": (0.8056, 0.81)}
    expected |= {"accuracy": (0.8081, 0.82), "ROC AUC": (0.9024, 0.9)}
    for measure, pair in expected.items():
        row = one(table, **labels, measure=measure)
        assert (row["published"], row["value"]) == pytest.approx(pair)


@pytest.mark.slow
def test_the_size_of_a_sampled_split_is_not_claimed() -> None:
    whole = one(made("table1"), corpus="sst", measure="test documents")
    assert (whole["published"], whole["value"]) == (863 + 862, 1700.0)
    sampled = made("table1", results(sample=1000.0))
    assert pd.isna(one(sampled, corpus="sst", measure="test documents")["value"])
    assert one(sampled, corpus="sst", measure="documents examined")["value"] == 1700.0
    assert one(sampled, corpus="sst", measure="words of a document")["value"] == 18.0


def test_groups_are_told_apart_by_class_and_largest_weight() -> None:
    table = made("permutation")
    own = table[(table["encoder"] == "bilstm") & (table["attention"] == "dot")]
    own = own[own["measure"] == "|Δŷ|"]
    assert list(zip(own["class"], own["max α"], strict=True)) == [
        ("all", "all"),
        ("all", "0.75–1"),
        ("1", "all"),
        ("1", "0.75–1"),
    ]


def test_the_exact_answer_stands_beside_the_search() -> None:
    table = made("adversary")
    own = table[(table["encoder"] == "bilstm") & (table["attention"] == "dot")]
    own = own[(own["class"] == "all") & (own["max α"] == "all")]
    found = {(row["by"], row["measure"]): row["value"] for _, row in own.iterrows()}
    assert found == pytest.approx(
        {
            ("exact", "JSD"): 0.6,
            ("exact", "JSD > 0.5, %"): 90.0,
            ("searched", "JSD"): 0.4,
            ("searched", "JSD > 0.5, %"): 30.0,
        }
    )


def test_the_paper_is_found_by_its_names() -> None:
    assert PAPER.exhibit("2").name == "table2"
    assert "GloVe" in PAPER.words("deviations")
    assert set(PAPER.studies()) == {"sst", "ag_news", "20news_sports", "imdb"}
