"""Curves along λ, of trained adversaries, and how models differ from the first."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import pandas as pd
import pytest
from axes import axis_labels, check_labels
from made_up_studies import LAMS, made_up_adversaries, made_up_comparison, made_up_sweep
from test_charts import frame, marks
from vega import check_spec

from support.errors import raises
from support.internals import measure_title
from verax.exams import Verdict
from verax.report import Chart
from verax.report.charts import charts_of_other
from verax.report.figures import study_verdicts
from verax.studies import Adversaries, Comparison, Sweep


@functools.cache
def drawn_once(make: Callable[[], Sweep | Adversaries | Comparison]) -> list[Chart]:
    """The charts of a made-up result."""
    return charts_of_other(make())


@pytest.mark.slow
def test_means_along_lambda() -> None:
    """A value is 0.1 (k + id + seed), so that the mean at the k-th λ is 0.1 k + 0.1."""
    charts = {chart.name: chart for chart in drawn_once(made_up_sweep)}
    assert list(charts) == ["sweep-entropy", "sweep-tau", "sweep-accuracy"]
    drawn = frame(charts["sweep-entropy"])
    assert drawn["lam"].tolist() == list(LAMS)
    assert drawn["value"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert marks(charts["sweep-entropy"], "symbol") == len(LAMS)
    svg = charts["sweep-accuracy"].svg()
    labels = re.findall(r"<text [^>]*>([^<]*)</text>", svg)
    assert {"−100", "−1", "0", "0.97"} <= set(labels)
    assert set(frame(charts["sweep-accuracy"])["line"]) == {
        "accuracy",
        "share of items with weight",
    }


@pytest.mark.slow
def test_outputs_against_attention() -> None:
    charts = {chart.name: chart for chart in drawn_once(made_up_adversaries)}
    assert set(charts) == {"adversaries-tvd", "adversaries-accuracy"}
    drawn = frame(charts["adversaries-tvd"])
    own = drawn[drawn["kind"] == "adversaries, one a λ"]
    assert own["jsd"].tolist() == pytest.approx([0.1, 0.4])
    assert own["tvd"].tolist() == pytest.approx([0.0, 0.1])
    seeds = drawn[drawn["kind"] == "other seeds of the base"]
    assert seeds[["jsd", "tvd"]].to_numpy().ravel().tolist() == pytest.approx([0.2, 0.05])
    assert marks(charts["adversaries-tvd"], "symbol") == len(drawn)
    assert "chosen" in charts["adversaries-tvd"].svg()


@pytest.mark.slow
def test_differences_from_the_first() -> None:
    """Of four decisions two fewer survive."""
    comparison = made_up_comparison()
    charts = {chart.name: chart for chart in drawn_once(made_up_comparison)}
    assert set(charts) == {
        "comparison-decisions",
        "comparison-replacement",
        "comparison-agreement",
        "comparison-curves",
    }
    drawn = frame(charts["comparison-replacement"])
    measure = "replacement.uniform.survival"
    row = drawn[(drawn["model"] == "tied") & (drawn["row"] == f"↓ {measure_title(measure)}")]
    expected = comparison.table().set_index(["group", "measure"])
    own = expected.loc[("tied", measure)]
    assert row[["value", "low", "high"]].to_numpy().ravel().tolist() == pytest.approx(
        own[["difference", "low", "high"]].tolist()
    )
    assert row["value"].iloc[0] == pytest.approx(-50)
    # points and nats have an axis each, and 0 is marked on both
    svg = charts["comparison-replacement"].svg()
    assert svg.count("stroke-dasharray") == 2
    assert marks(charts["comparison-replacement"], "symbol") == 4
    ranks = frame(charts["comparison-agreement"])
    assert set(zip(ranks["panel"], ranks["row"], strict=True)) == {
        ("inputs", "↑ gradient"),
        ("items", "↑ gradient"),
    }


@pytest.mark.slow
def test_no_axis_says_the_same_twice_and_all_is_vega_lite() -> None:
    for make in (made_up_sweep, made_up_adversaries, made_up_comparison):
        for chart in drawn_once(make):
            check_labels(chart.name, chart.svg())
            check_spec(chart)


def test_words_of_the_text_are_on_the_axis() -> None:
    (chart,) = [c for c in drawn_once(made_up_comparison) if c.name == "comparison-curves"]
    assert frame(chart)["value"].tolist() == pytest.approx([0.9, 0.1, 0.8, 0.2])
    labels = re.findall(r">([^<>]*)</text>", chart.svg())
    assert {"fine", '&lt;b&gt;�"'} <= set(labels)


@pytest.mark.slow
def test_every_word_of_a_text_is_on_the_axis() -> None:
    words = [f"w{k % 13}" for k in range(30)]
    curves = pd.DataFrame({"model": "plain", "item": range(30), "text": words, "p": 0.5})
    comparison = made_up_comparison()
    given = Comparison(
        comparison.instances,
        comparison.numbers,
        comparison.manifest,
        curves.assign(**{"class": "good"}),
    )
    (chart,) = [c for c in charts_of_other(given) if c.name == "comparison-curves"]
    assert words in axis_labels(chart.svg())


class MadeUpStudy:
    """What `StudyResults` has that names are made of."""

    name = "made up"

    def __init__(self, cells: dict[str, tuple[str, int]]) -> None:
        self.done = list(cells)
        rows = [{"cell": key, "encoder": e, "seed": s} for key, (e, s) in cells.items()]
        self.cells = pd.DataFrame(rows).assign(corpus="sst")

    def table(self, name: str) -> pd.DataFrame:
        return pd.DataFrame(columns=["cell", "corpus", "seed", "encoder", "row", "value"])

    def verdict(self, key: str) -> Verdict:
        return Verdict({}, {"cell": key})


def test_cells_are_named_by_what_varies() -> None:
    study = MadeUpStudy({"k1": ("conv", 0), "k2": ("conv", 1), "k3": ("lstm", 0)})
    found = study_verdicts(study)  # type: ignore[arg-type]
    assert {name: verdict.manifest["cell"] for name, verdict in found.items()} == {
        "seed 0, conv": "k1",
        "seed 1, conv": "k2",
        "seed 0, lstm": "k3",
    }
    alone = study_verdicts(MadeUpStudy({"k1": ("conv", 0)}))  # type: ignore[arg-type]
    assert list(alone) == ["k1"]


def test_more_cells_than_a_chart_has_room_for() -> None:
    study = MadeUpStudy({f"k{n}": ("conv", n) for n in range(9)})
    with raises("chart.too-many"):
        study_verdicts(study)  # type: ignore[arg-type]
