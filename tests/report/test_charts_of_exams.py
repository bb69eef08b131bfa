"""Charts of made-up tables: every number drawn can be counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from axes import axis_labels
from test_charts import frame, marks

from support.internals import adversary_summarise as summarise_adversary
from support.internals import replacement_summarise as summarise_replacement
from verax.exams import Verdict
from verax.exams.authoring import summary_frame
from verax.report import Chart, charts_of

JSD = {0.01: [0.02, 0.03, 0.31, 0.69], 1.0: [0.3, 0.4, 0.5, 0.69]}


def tidy_rows(measures: dict[str, Any], **labels: Any) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"id": range(len(values)), **labels, "measure": name, "value": values})
        for name, values in measures.items()
    ]
    return pd.concat(parts, ignore_index=True).astype({"value": float})


def named(verdicts: dict[str, Verdict]) -> dict[str, Chart]:
    return {chart.name: chart for chart in charts_of(verdicts)}


def agreement(values: list[float]) -> Verdict:
    pair = {"on": "inputs", "first": "attention", "second": "gradient", "over": "all"}
    return Verdict({"agreement": tidy_rows({"kendall": values}, **pair)})


def test_a_histogram_is_shares_of_documents() -> None:
    """Bins are a tenth wide; −1 is in the first, 1 in the last, what is not known in none."""
    charts = named({"a": agreement([-1, 1, 1, 0.25, np.nan]), "b": agreement([0.05])})
    drawn = frame(charts["agreement-histogram"]).set_index(["model", "edge"])["share"]
    assert drawn["a", -1.0] == 25
    assert drawn["a", 0.9] == 50
    assert drawn["a", 0.2] == 25
    assert drawn["a", 1.0] == 50  # the end of the last step
    assert drawn["b"].to_dict() == {e: 100.0 * (e == 0.0) for e in drawn["b"].index}
    assert drawn["a"].iloc[:-1].sum() == pytest.approx(100)


def test_a_box_has_the_numbers_of_the_documents() -> None:
    """Quartiles of 0, 0.1, …, 0.4 and −0.9: whiskers leave out what is far away."""
    chart = named({"a": agreement([0, 0.1, 0.2, 0.3, 0.4, -0.9])})["agreement-tau"]
    box = frame(chart).iloc[0]
    assert box["median"] == pytest.approx(0.15)
    assert (box["q1"], box["q3"]) == pytest.approx((0.025, 0.275))
    assert (box["whisker_low"], box["whisker_high"]) == pytest.approx((0.0, 0.4))
    assert box["row"] == "gradient"
    assert box["panel"] == "attention and importances of inputs"


def test_attention_itself_is_not_drawn() -> None:
    pair = {"on": "items", "first": "attention", "second": "gradient-detached", "over": "all"}
    assert named({"a": Verdict({"agreement": tidy_rows({"kendall": [1, 1]}, **pair)})}) == {}


def test_entropies_are_drawn_by_name() -> None:
    tables = {
        "dispersion": tidy_rows({"entropy": [0.1, 0.2]}, of="attention"),
        "dispersion_influence": tidy_rows({"entropy": [0.6, 0.9]}, kind="norm"),
    }
    cell = {"table": "dispersion.entropy", "row": "attention", "column": "mean", "value": 0.15}
    summary = summary_frame("dispersion", [{**cell, "n": 2}])
    charts = named({"a": Verdict(tables, {}, summary)})
    drawn = frame(charts["dispersion-entropy"]).set_index("row")
    assert drawn.loc["attention", "mean"] == 0.15
    assert drawn.loc["gradient on an item's magnitude", "median"] == pytest.approx(0.75)
    assert set(frame(charts["dispersion-histogram"])["panel"]) == set(drawn.index)


def fragile(labels: list[int], uniform: list[int]) -> Verdict:
    own = {"decision": labels, "survived": [1] * len(labels), "tvd": [0] * len(labels)}
    kept = [float(a == b) for a, b in zip(labels, uniform, strict=True)]
    other = {"decision": uniform, "survived": kept, "tvd": [0.1] * len(labels)}
    sizes = {"items": [3] * len(labels), "classes": [2] * len(labels), "label": labels}
    tables = {
        "replacement": pd.concat(
            [
                tidy_rows(own, attention="trained", draw=0),
                tidy_rows(other, attention="uniform", draw=0),
            ],
            ignore_index=True,
        ),
        "replacement_instances": tidy_rows({**sizes, "decision_differs": [0] * len(labels)}),
    }
    return Verdict(tables, {}, summarise_replacement(tables))


def test_bars_under_each_attention() -> None:
    """Of four right decisions uniform attention turns one: 75% stay, and are right."""
    chart = named({"a": fragile([1, 1, 0, 0], [1, 0, 0, 0])})["replacement-scores"]
    drawn = frame(chart).set_index(["panel", "row"])["value"].to_dict()
    assert drawn == {
        ("F1", "trained"): 100,
        ("F1", "uniform"): pytest.approx(200 / 3),
        ("accuracy", "trained"): 100,
        ("accuracy", "uniform"): 75,
        ("decisions that survive", "uniform"): 75,
    }
    assert marks(chart, "rect") == marks(chart, "symbol") == 5


def opposed() -> Verdict:
    parts = []
    for epsilon, jsd in JSD.items():
        rest = {"change": [0.0] * 4, "kept": [1] * 4, "correct": [1, 1, 1, 0]}
        bounds = {"certified": [1] * 4, "upper_bound": jsd}
        told = {"epsilon": str(epsilon), "by": "best"}
        parts.append(tidy_rows({"jsd": jsd, **rest, **bounds}, **told))
    instances = {
        "items": [5] * 4,
        "classes": [2] * 4,
        "label": [0] * 4,
        "correct": [1] * 4,
        "decision": [0] * 4,
        "max_weight": [0.5] * 4,
        "confidence": [0.8] * 4,
        "permuted": [0.1] * 4,
        "farthest": [0.69] * 4,
    }
    tables = {"adversary": pd.concat(parts), "adversary_instances": tidy_rows(instances)}
    return Verdict(tables, {}, summarise_adversary(tables))


@pytest.mark.slow
def test_divergence_and_what_it_costs() -> None:
    charts = named({"a": opposed()})
    drawn = frame(charts["adversary-jsd"])
    assert set(drawn["panel"]) == {"ε = 0.01"}
    assert drawn.set_index("edge")["share"][[0.0, 0.3, 0.65]].tolist() == [50, 25, 25]
    mean = frame(charts["adversary-epsilon"]).set_index("row")["value"]
    assert mean.to_dict() == pytest.approx({"0.01": 0.2625, "any output": 0.4725})
    curve = frame(charts["adversary-accuracy"]).sort_values("place")
    assert curve["row"].tolist() == ["own", "epsilon=0.01", "any_output"]
    assert curve["jsd"].tolist() == pytest.approx([0, 0.2625, 0.4725])
    assert curve["accuracy"].tolist() == [100, 75, 75]
    lowest = 10 * (curve["low"].min() // 10)
    assert f"{lowest:.0f}" in axis_labels(charts["adversary-accuracy"].svg())[1]
    assert lowest > 0


def test_tokens_alone_overlaid() -> None:
    tokens = pd.DataFrame({"id": 7, "item": range(3), "p": [0.1, 0.5, 0.9], "weight": 1 / 3})
    values = tidy_rows({"alone": [0.31, 0.33], "confidence": [0.9, 0.9], "items": [3, 3]})
    verdict = Verdict({"single_token": values, "single_token_tokens": tokens})
    charts = named({"a": verdict, "b": verdict})
    drawn = frame(charts["single_token-tokens"])
    assert drawn[drawn["model"] == "b"]["value"].tolist() == [0.1, 0.5, 0.9]
    assert drawn["place"].tolist() == [1, 2, 3, 1, 2, 3]
    assert set(drawn["panel"]) == {"document 7"}
    assert marks(charts["single_token-tokens"], "line") == 2
    shares = frame(charts["single_token-alone"])
    alone = shares[(shares["model"] == "a") & shares["panel"].str.startswith("a token")]
    assert alone.set_index("edge")["share"][0.3] == 100


def test_long_documents_are_drawn_as_means_of_neighbours() -> None:
    tokens = pd.DataFrame({"id": 7, "item": range(2000), "p": np.arange(2000) / 2000})
    drawn = frame(named({"a": Verdict({"single_token_tokens": tokens})})["single_token-tokens"])
    assert len(drawn) == 200
    assert drawn["value"].iloc[0] == pytest.approx(np.mean(np.arange(10) / 2000))


def test_information_stands_between_its_bounds() -> None:
    cells = {"information": 4.0, "word_entropy": 5.5, "shuffled": 3.0}
    rows = [
        {"table": "information", "row": "frequent", "column": c, "value": v, "n": 9}
        for c, v in cells.items()
    ]
    chart = named({"a": Verdict({}, {}, summary_frame("information", rows))})["information-bars"]
    assert frame(chart)["value"].tolist() == [4.0, 3.0, 5.5]
    assert (marks(chart, "rect"), marks(chart, "symbol")) == (1, 2)
