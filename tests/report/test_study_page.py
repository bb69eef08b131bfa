"""The page of a study: what it is of, and every number over its seeds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from made_up_studies import MadeUpStudy
from test_charts import frame
from test_report_page import Elements
from test_study_pages import words

import verax.report.charts
from verax.exams import Verdict
from verax.exams.bounds import bounds
from verax.report import report_page
from verax.report.notebook import study_html
from verax.report.report import draw_study
from verax.studies.summaries import model_summaries


class WithDocuments(MadeUpStudy):
    """Kept with its tables by document."""

    def verdict(self, key: str) -> Verdict:
        own = self.summary()
        rows = pd.DataFrame(
            [{"id": n, "measure": m, "value": 0.6} for n in (0, 1) for m in ("alone", "confidence")]
        )
        return Verdict({"single_token": rows}, {"classes": ["a", "b"]}, own[own["cell"] == key])


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(MadeUpStudy())


@pytest.mark.slow
def test_it_says_what_it_is_of(page: str) -> None:
    seen = words(page)
    assert "is &lt;it&gt; so? · planted · 2 seeds · cells: 4 done" in seen
    about = seen.partition("What was examined the study made up")[2].replace(" ,", ",")
    for told in (
        *("planted (150 documents examined)", "configurations 2", "seeds 0, 1", "split test"),
        *("cells 4 done", "exams erasure, agreement, replacement, adversaries", "Verax 0.9"),
        *("PyTorch 2.0", "encoder conv", "lr 0.001"),
    ):
        assert told in about, told


def test_intervals_are_over_seeds_and_end_where_numbers_do(page: str) -> None:
    """Of 40 and 90 the mean is 65, and Student's interval 65 ± 12.7 · 25."""
    seen = words(page)
    assert (
        "Intervals are over 2 seeds (Student's t): 2 are few, and intervals wide; they are cut"
        in seen.replace("&#39;", "'")
    )
    assert "65.0% 0.0% to 100.0%" in seen
    assert "0.650 −1.000 to 1.000" in seen
    assert not re.search(r"−\d+\.\d%", seen)
    assert "150 to 150" not in seen


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("replacement.uniform.delta_accuracy", (-100, 100)),
        ("erasure.excess.attention.mean", (0, float("inf"))),
        ("single_token.all.confidence", (0, 1)),
        ("adversary.epsilon=0.05.jsd", (0, pytest.approx(0.693147, abs=1e-6))),
        ("adversaries.lambda=0.1.tvd", (0, 1)),
        ("adversaries.chosen.chosen.lambda", (0, float("inf"))),
        ("no.such.number", (-float("inf"), float("inf"))),
    ],
)
def test_how_far_a_number_can_go(measure: str, expected: Any) -> None:
    assert bounds(measure) == expected


def test_of_one_seed_intervals_are_its_own_over_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verax.report.charts, "charts_of", lambda verdicts: [])
    model, _ = model_summaries(MadeUpStudy(seeds=[0]))
    number = model.number("erasure.excess", "attention", "optimal")
    assert number is not None
    assert (number.value, number.low, number.high) == (40, 39, 41)
    assert "Intervals are over documents" in words(report_page(MadeUpStudy(seeds=[0])))


@pytest.fixture(scope="module")
def packed() -> tuple[list[Any], str]:
    """The charts of a study packed without its tables by document, and the note on these."""
    return draw_study(MadeUpStudy(), model_summaries(MadeUpStudy()))


@pytest.mark.slow
def test_charts_show_the_numbers_of_the_tables(packed: tuple[list[Any], str]) -> None:
    """The mean of seeds, 65, and not the 40 of the first."""
    study = WithDocuments()
    for has_documents, (charts, note) in (
        (False, packed),
        (True, draw_study(study, model_summaries(study))),
    ):
        by = {chart.name: chart for chart in charts}
        for name in ("erasure-optimal", "replacement-scores"):
            drawn: Any = by[name]
            own = frame(drawn)
            rows = own[own["row"].isin(["attention", "uniform"])]
            assert rows["value"].tolist() == [65, 65]
            assert rows["high"].tolist() == [100, 100]
            assert "mean over seeds" in drawn.reading
            assert "over documents" not in drawn.reading
        ranks: Any = by["agreement-means"]
        assert frame(ranks)["value"].tolist() == pytest.approx([0.65, 0.65])
        assert frame(ranks)["low"].tolist() == [-1, -1]
        assert ("single_token-alone" in by) == has_documents
        assert ("packed without" in note) == (not has_documents)
    assert "Documents of the first seed" in by["single_token-alone"].reading


def test_adversaries_of_a_study_are_drawn_and_named(
    page: str, packed: tuple[list[Any], str]
) -> None:
    by = {chart.name: chart for chart in packed[0] if chart.exam == "adversaries"}
    assert list(by) == ["adversaries-tvd", "adversaries-accuracy"]
    own = frame(by["adversaries-tvd"])
    own = own[own["model"] == "softmax"]
    assert own["jsd"].tolist() == pytest.approx([0.1, 0.4])
    assert own["value"].tolist() == pytest.approx([0.065, 0.065])
    assert "adversaries_" not in page
    assert "adversaries, one a λ" in page


@pytest.mark.slow
def test_many_models_are_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one seed 40 percent are optimal, which is against, and 40 survive, which is for."""
    monkeypatch.setattr(verax.report.charts, "charts_of", lambda verdicts: [])
    study = MadeUpStudy([f"p{n}" for n in range(9)], seeds=[0])
    judgements = [model.judgement for model in model_summaries(study)]
    assert all(one.speaks("for") and one.speaks("against") for one in judgements)
    page = words(report_page(study))
    assert "Of 9 models 9 are supported by some exams and contradicted by others." in page
    assert "Charts show the first 8 of 9 configurations." in page


def test_a_notebook_shows_a_study() -> None:
    shown = study_html(MadeUpStudy())
    assert shown == MadeUpStudy()._repr_html_()
    assert "is &lt;it&gt; so?" in shown
    assert '65.0% <span class="interval">0.0% to 100.0%</span>' in shown
    assert "over 2 seeds" in shown


@pytest.mark.slow
def test_in_a_browser_it_fits_a_phone(page: str, open_page: Callable[..., Any]) -> None:
    view = open_page(page, viewport={"width": 390, "height": 800})
    assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert Elements(page).of("figure")
