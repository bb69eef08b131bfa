"""Wiegreffe & Pinter's tables and figures, from results that nobody ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from made_up_results import crossed, made_up_results

from research.papers import PaperResults, paper
from research.papers.axes import Point
from research.papers.exhibits import MEASURED
from research.papers.results import SUMMARY
from research.papers.wiegreffe_pinter_2019 import chosen

PAPER = paper("wiegreffe-pinter-2019")

CONTROLS = {
    "base": 85.0,
    "uniform": 82.0,
    "mlp-uniform": 78.0,
    "mlp-own": 80.0,
    "mlp-guided-by-base": 83.0,
    "mlp-guided-by-adversary": 70.0,
}
NUMBERS = {
    **{("adversaries.controls", name, "f1"): value for name, value in CONTROLS.items()},
    ("adversaries", "lambda=1", "jsd"): 0.6,
    ("adversaries", "lambda=1", "tvd"): 0.3,
    ("adversaries", "lambda=0", "jsd"): 0.1,
    ("adversaries", "lambda=0", "tvd"): 0.02,
    ("adversaries.seeds", "seed=3", "jsd"): 0.14,
    ("adversaries.seeds", "mean", "jsd"): 0.15,
    ("adversaries.seeds", "mean", "tvd"): 0.05,
    ("adversary", "epsilon=0.05", "jsd"): 0.62,
    ("adversary", "epsilon=0.05", "change"): 0.04,
    ("adversary", "any_output", "jsd"): 0.69,
}
RESULTS = made_up_results(crossed(part=["main"], corpus=["sst", "imdb"]), lambda _: NUMBERS)


@pytest.mark.parametrize("exhibit", PAPER.exhibits, ids=lambda exhibit: exhibit.name)
def test_columns_are_labels_measure_and_what_was_measured(exhibit: Any) -> None:
    table = exhibit.make(RESULTS)
    assert list(table)[-len(MEASURED) - 1 :] == ["measure", *MEASURED]
    assert next(iter(table)) == "corpus"
    assert set(table["corpus"]) == {"sst", "imdb"}
    assert table["published"].isna().all()


@pytest.mark.parametrize("exhibit", PAPER.exhibits, ids=lambda exhibit: exhibit.name)
@pytest.mark.parametrize("cells", [[], [{"cell": "a", "part": "main", "corpus": "sst", "seed": 1}]])
def test_with_nothing_there_is_nothing(exhibit: Any, cells: list[dict[str, Any]]) -> None:
    table = exhibit.make(PaperResults(pd.DataFrame(cells), pd.DataFrame(columns=SUMMARY)))
    assert table.empty
    assert list(table) == ["measure", *MEASURED]


@pytest.mark.parametrize(
    ("name", "label", "expected"),
    [
        ("table2", "attention", {"trained": 85.0, "uniform": 82.0}),
        (
            "table3",
            "weights",
            {"uniform": 78.0, "its own": 80.0, "of the base": 83.0, "of an adversary": 70.0},
        ),
    ],
)
def test_controls_have_the_names_of_what_they_attend_by(
    name: str, label: str, expected: dict[str, float]
) -> None:
    table = PAPER.exhibit(name).make(RESULTS)
    own = table[(table["corpus"] == "imdb") & (table["measure"] == "F1")]
    assert dict(zip(own[label], own["value"], strict=True)) == pytest.approx(expected)


def test_a_control_without_the_base_counts_once_for_models_that_came_out_alike() -> None:
    results = made_up_results([{"part": "main", "corpus": "sst"}], lambda _: NUMBERS, spread=0)
    again = results.cells["cell"].iloc[1]
    moved = (results.summary["cell"] == again) & (results.summary["row"] == "mlp-uniform")
    results.summary.loc[moved, "value"] = 80.0
    seeds = {}
    for name, label in (("table2", "attention"), ("table3", "weights")):
        table = PAPER.exhibit(name).make(results)
        own = table[table["measure"] == "F1"]
        seeds |= {(name, k): v for k, v in zip(own[label], own["seeds"], strict=True)}
    assert seeds == {
        ("table2", "trained"): 3,
        ("table2", "uniform"): 1,
        ("table3", "uniform"): 2,
        ("table3", "its own"): 1,
        ("table3", "of the base"): 3,
        ("table3", "of an adversary"): 3,
    }


def test_seeds_are_rows_and_so_is_their_mean() -> None:
    table = PAPER.exhibit("figure 3").make(RESULTS)
    own = table[(table["corpus"] == "sst") & (table["measure"] == "JSD")]
    assert dict(zip(own["seed"], own["value"], strict=True)) == pytest.approx(
        {"3": 0.14, "mean": 0.15}
    )


def test_the_curve_goes_by_lambda_with_its_yardsticks_beside_it() -> None:
    table = PAPER.exhibit("figure5").make(RESULTS)
    own = table[table["corpus"] == "sst"]
    points = own.pivot(index=["by", "at"], columns="measure", values="value")
    assert list(own["at"].drop_duplicates()) == ["λ = 0", "λ = 1", "mean", "ε = 0.05"]
    expected = {
        ("adversaries", "λ = 0"): (0.1, 0.02),
        ("adversaries", "λ = 1"): (0.6, 0.3),
        ("other seeds", "mean"): (0.15, 0.05),
        ("by document", "ε = 0.05"): (0.62, 0.04),
    }
    for point, pair in expected.items():
        assert tuple(points.loc[point, ["JSD", "TVD"]]) == pytest.approx(pair)


def test_the_paper_is_found_by_its_names() -> None:
    assert PAPER.exhibit("3").name == "table3"
    assert "JSD" in PAPER.words("deviations")
    assert set(PAPER.studies()) == {"main", "imdb", "controls"}


def test_controls_of_their_own_count_before_those_beside_adversaries() -> None:
    """Two bases and their adversaries, and two models of each control: 7 more in F1 than there."""
    models = {
        ("bilstm", "softmax"): "base",
        ("bilstm", "uniform"): "uniform",
        ("mlp", "uniform"): "mlp-uniform",
        ("mlp", "softmax"): "mlp-own",
    }
    configurations = [
        {"part": "main", "corpus": "sst", "encoder": "bilstm", "projection": "softmax"},
        *(
            {"part": "controls", "corpus": "sst", "encoder": encoder, "projection": projection}
            for encoder, projection in models
        ),
    ]

    def numbers(own: Mapping[str, Any]) -> dict[tuple[str, str, str], float]:
        if own["part"] == "main":
            return {**NUMBERS, ("adversaries.chosen", "chosen", "lambda"): 1.0}
        name = models[own["encoder"], own["projection"]]
        return {("replacement", "trained", "f1"): CONTROLS[name] + 7}

    results = made_up_results(configurations, numbers, seeds=(1, 2), spread=0.0)
    for name, labels in (("table2", ["trained", "uniform"]), ("table3", ["uniform", "its own"])):
        table = PAPER.exhibit(name).make(results)
        column = "attention" if name == "table2" else "weights"
        rows = table[table["measure"] == "F1"].set_index(column)["value"]
        before = ["base", "uniform"] if name == "table2" else ["mlp-uniform", "mlp-own"]
        assert rows[labels].tolist() == [CONTROLS[control] + 7 for control in before]
        if name == "table3":
            assert rows["of the base"] == CONTROLS["mlp-guided-by-base"]
    # cells of controls have no part in what adversaries do, and a seed counts once
    number = Point(results).number(chosen("jsd"))
    assert number is not None
    assert (number.seeds, len(number.cells)) == (2, 2)
