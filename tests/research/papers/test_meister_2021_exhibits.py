"""Tables and figures of Meister et al.: what is published lands beside what is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
from made_up_results import Numbers, made_up_results

from research.papers import PaperResults, paper
from research.papers.exhibits import MEASURED
from research.papers.meister_2021 import models as models_of
from research.papers.meister_2021 import symlog
from research.papers.results import SUMMARY

PAPER = paper("meister-2021")

NAMES = ["table1", "table2", "figure1", "figure2", "figure3", "figure4", "appendixc"]
NAMES += ["appendixc-transformer", "accuracy"]
ON_ITEMS = "influence@norm"
SHARES = {"test_accuracy": 0.8, "test_f1": 0.75}
LAMS = (-10.0, 0.5, 0.9)


def numbers(configuration: Mapping[str, Any]) -> Numbers:
    """Entropy over λ −10, 0, 0.5, 0.9 is 0.75, 0.65, 0.6, 0.56: one straight line but at −10."""
    if configuration["part"].startswith("adversaries"):
        return {
            ("adversary", "epsilon=0.05", "jsd"): 0.6,
            ("adversary", "any_output", "jsd"): 0.7,
            ("adversary", "any_output", "delta_accuracy"): -5.0,
            ("adversary.search", "epsilon=0.05", "jsd"): 0.5,
            ("adversary.documents", "accuracy", "value"): 81.0,
            ("adversaries", "lambda=1", "jsd"): 0.55,
            ("adversaries", "lambda=1", "f1"): 79.0,
            ("adversaries.seeds", "mean", "tvd"): 0.1,
        }
    lam = configuration["lam"]
    entropy = 0.75 if lam < 0 else 0.65 - 0.1 * lam
    found = {
        ("dispersion.entropy", ON_ITEMS, "mean"): 0.9,
        ("dispersion.entropy", ON_ITEMS, "sd"): 0.05,
        ("dispersion.entropy", ON_ITEMS, "pooled_sd"): 0.06,
        ("dispersion.entropy", "gradient", "mean"): entropy,
        ("dispersion.entropy", "leave-one-out", "mean"): 0.5 - entropy / 10,
        ("dispersion.documents", "support_share", "value"): 0.3 - 0.2 * lam / 10,
        ("dispersion.documents", "accuracy", "value"): 82.0,
    }
    for place, table in enumerate(("agreement", "agreement.on_support")):
        for importance in ("gradient", "leave-one-out"):
            found[table, f"inputs:attention:{importance}", "tau"] = 0.4 + place / 10
            found[table, f"items:attention:{importance}", "tau"] = 0.8 + place / 10
        found[table, "inputs:attention:gradient-detached", "median"] = 0.3
        found[table, "items:attention:gradient-detached", "tau"] = 1.0
        found[table, "items:attention:leave-one-out-renormalised", "tau"] = 0.7
    return found


def configurations(corpus: str) -> list[dict[str, Any]]:
    own = {"part": "sst", "corpus": corpus, "encoder": "bilstm", **SHARES}
    found = [{**own, "projection": name, "lam": 0.0} for name in ("softmax", "sparsemax")]
    found += [{**own, "projection": "sparsegen", "lam": lam} for lam in LAMS]
    found += [{**model, "part": "adversaries"} for model in found[:2]]
    of_transformer = {"part": "adversaries-transformer-imdb", "encoder": "transformer"}
    return [*found, *({**model, **of_transformer} for model in found[:2])]


RESULTS = made_up_results(
    [*configurations("rotten_tomatoes"), *configurations("sst")], numbers, spread=0.001
)
MADE = {exhibit.name: exhibit.make(RESULTS) for exhibit in PAPER.exhibits}


def only(table: pd.DataFrame, **where: Any) -> pd.Series:
    """The one row that has these labels."""
    for name, value in where.items():
        table = table[table[name] == value]
    assert len(table) == 1, where
    return table.iloc[0]


def test_all_are_there() -> None:
    assert [exhibit.name for exhibit in PAPER.exhibits] == NAMES
    assert PAPER.exhibit("2").name == "table2"


@pytest.mark.parametrize("name", NAMES)
def test_columns(name: str) -> None:
    made = MADE[name]
    labels = {
        "table1": ["projection"],
        "table2": ["importance"],
        "figure1": ["projection", "lam", "symlog", "of", "importance", "among"],
        "figure2": ["projection", "lam", "symlog", "importance"],
        "figure3": ["projection", "lam", "symlog", "importance", "among"],
        "figure4": ["projection", "lam", "symlog", "of", "importance", "among"],
        "appendixc": ["projection", "other attention"],
        "appendixc-transformer": ["projection", "other attention"],
        "accuracy": ["projection", "lam", "symlog"],
    }
    assert list(made) == ["corpus", "model", *labels[name], "measure", *MEASURED]
    assert not made.duplicated(["corpus", "model", *labels[name], "measure"]).any()


@pytest.mark.parametrize("name", NAMES)
def test_of_nothing_there_are_published_numbers_alone(name: str) -> None:
    cells = pd.DataFrame({"cell": [], "part": [], "seed": [], "corpus": []})
    nothing = PaperResults(cells, pd.DataFrame({column: [] for column in SUMMARY}))
    made = PAPER.exhibit(name).make(nothing)
    assert made["value"].isna().all()
    assert len(made) == {"table1": 24, "table2": 18}.get(name, 0)


def test_table_1_has_theirs_beside_ours() -> None:
    at = {"corpus": "sst", "model": "BiLSTM", "projection": "sparsemax"}
    mean, sd = (only(MADE["table1"], **at, measure=name) for name in ("mean", "sd"))
    assert (mean["published"], mean["value"]) == (0.91, pytest.approx(0.9))
    assert (sd["published"], sd["value"]) == (0.07, pytest.approx(0.05))
    assert (mean["seeds"], mean["over"], len(mean["cells"].split())) == (3, "seeds", 3)
    assert mean["beyond"]  # 0.01 away, where seeds spread by 0.001
    pooled = only(MADE["table1"], **at, measure="pooled sd")
    assert math.isnan(pooled["published"])


@pytest.mark.parametrize(
    ("corpus", "model", "projection", "published"),
    [
        ("imdb", "Transformer", "softmax", 0.76),
        ("20news_sports", "BiLSTM", "softmax", 0.75),
        ("sst", "Transformer", "sparsemax", 0.63),
    ],
)
def test_table_1_shows_what_is_missing(
    corpus: str, model: str, projection: str, published: float
) -> None:
    at = {"corpus": corpus, "model": model, "projection": projection}
    row = only(MADE["table1"], **at, measure="mean")
    assert row["published"] == published
    assert math.isnan(row["value"])
    assert row["over"] == "none"


def test_table_1_has_corpora_of_our_own() -> None:
    at = {"corpus": "rotten_tomatoes", "model": "BiLSTM", "projection": "softmax"}
    row = only(MADE["table1"], **at, measure="mean")
    assert math.isnan(row["published"])
    assert row["value"] == pytest.approx(0.9)


def test_table_2_by_hand() -> None:
    """Entropy falls all along λ, with the support it rises."""
    at = {"corpus": "sst", "model": "BiLSTM", "importance": "gradient"}
    for kind in ("τ-b", "Spearman"):
        row = only(MADE["table2"], **at, measure=f"{kind} with λ")
        assert (row["published"], row["value"]) == (-0.866, pytest.approx(-1))
        assert only(MADE["table2"], **at, measure=f"{kind} with the support")["value"] == 1
    pearson = only(MADE["table2"], **at, measure="Pearson with λ")
    assert -1 < pearson["value"] < -0.9
    assert len(pearson["cells"].split()) == 3 * 4
    at["importance"] = "leave-one-out"
    row = only(MADE["table2"], **at, measure="τ-b with λ")
    assert math.isnan(row["published"])
    assert row["value"] == pytest.approx(1)
    there = {"corpus": "imdb", "model": "Transformer", "importance": "gradient"}
    missing = only(MADE["table2"], **there, measure="τ-b with λ")
    assert missing["published"] == -0.830
    assert math.isnan(missing["value"])


def test_figure_1_tells_items_from_inputs_and_all_from_the_support() -> None:
    made = MADE["figure1"]
    at = {"corpus": "sst", "projection": "softmax", "importance": "gradient", "measure": "τ-b"}
    found = {
        (of, among): only(made, **at, of=of, among=among)["value"]
        for of in ("inputs", "items")
        for among in ("all items", "items with weight")
    }
    assert list(found.values()) == pytest.approx([0.4, 0.5, 0.8, 0.9])
    detached = made[made["importance"] == "gradient-detached"]
    assert set(detached["of"]) == {"inputs"}  # of items it is attention itself
    assert set(made["published"].isna()) == {True}


def test_figure_2_has_softmax_off_the_axis() -> None:
    at = {"corpus": "sst", "importance": "gradient", "measure": "mean"}
    dense = only(MADE["figure2"], **at, projection="softmax")
    assert math.isnan(dense["lam"])
    assert math.isnan(dense["symlog"])
    sparse = only(MADE["figure2"], **at, lam=0.9)
    assert sparse["value"] == pytest.approx(0.56)


def test_figure_3_runs_along_lam() -> None:
    made = MADE["figure3"]
    curve = made[(made["corpus"] == "sst") & (made["measure"] == "share in the support")]
    assert list(curve["lam"]) == [-10, 0, 0.5, 0.9]
    assert list(curve["symlog"]) == pytest.approx([-math.log10(11), 0, 0.5, 0.9])
    assert list(curve["value"]) == pytest.approx([0.5, 0.3, 0.29, 0.282])
    assert set(made["measure"]) == {"τ-b", "share in the support", "accuracy"}


def test_figure_4_has_both_ways_to_leave_an_item_out() -> None:
    made = MADE["figure4"]
    at = {"corpus": "sst", "projection": "softmax", "among": "all items", "of": "items"}
    kinds = ("leave-one-out", "leave-one-out-renormalised")
    values = [only(made, **at, importance=kind)["value"] for kind in kinds]
    assert values == pytest.approx([0.8, 0.7])


def test_appendix_c_has_every_kind_of_other_attention() -> None:
    at = {"corpus": "sst", "model": "BiLSTM", "projection": "softmax"}
    for attention, measure, value in (
        ("none", "accuracy", 80.0),
        ("none", "F1", 75.0),
        ("none", "accuracy, of those examined", 81.0),
        ("post hoc, ε = 0.05", "JSD", 0.6),
        ("post hoc, any output", "Δ accuracy", -5.0),
        ("post hoc, searched, ε = 0.05", "JSD", 0.5),
        ("trained, λ = 1", "F1", 79.0),
        ("another seed", "TVD", 0.1),
    ):
        found = only(MADE["appendixc"], **at, **{"other attention": attention}, measure=measure)
        assert found["value"] == pytest.approx(value)


def test_accuracy_is_in_percent_and_of_every_model() -> None:
    made = MADE["accuracy"]
    assert len(made) == 2 * 5 * 3  # corpora, projections, measures
    at = {"corpus": "sst", "lam": -10.0}
    assert only(made, **at, measure="accuracy")["value"] == pytest.approx(80)
    assert only(made, **at, measure="F1")["value"] == pytest.approx(75)
    assert only(made, **at, measure="share in the support")["value"] == pytest.approx(0.5)


def test_models_come_from_dense_to_sparse() -> None:
    models = models_of(RESULTS)
    kind = {"corpus": "sst", "encoder": "BiLSTM"}
    found = [m for m in models if all(m.values[axis].name == kind[axis] for axis in kind)]
    assert [model.text("{corpus}, {encoder}, {projection.text}") for model in found] == [
        "sst, BiLSTM, softmax",
        "sst, BiLSTM, sparsegen λ = -10",
        "sst, BiLSTM, sparsemax",
        "sst, BiLSTM, sparsegen λ = 0.5",
        "sst, BiLSTM, sparsegen λ = 0.9",
    ]
    sparse = [model.values["projection"].is_sparse for model in found]
    assert sparse == [False, False, True, True, True]
    assert models[0].values["corpus"].name == "sst"  # the paper's come first


def test_symlog_rises_and_has_no_step() -> None:
    lams = [-100.0, -10.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 0.97]
    places = [symlog(lam) for lam in lams]
    assert places == sorted(places)
    assert places[3] == pytest.approx(0, abs=1e-8)


def test_deviations_are_told() -> None:
    assert "GloVe" in PAPER.words("deviations")


def test_appendix_c_is_made_for_either_encoder() -> None:
    for name, model in (("appendixc", "BiLSTM"), ("appendixc-transformer", "Transformer")):
        assert set(MADE[name]["model"]) == {model}
    at = {"corpus": "sst", "projection": "sparsemax", "other attention": "trained, λ = 1"}
    row = only(MADE["appendixc-transformer"], **at, measure="JSD")
    assert row["value"] == pytest.approx(0.55)
