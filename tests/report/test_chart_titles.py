"""Titles are words on charts and nothing else: other words leave every number where it is."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from made_up_studies import made_up_adversaries, made_up_comparison, made_up_sweep
from test_charts import frame

import verax
from verax.exams import Verdict, titles
from verax.report import Chart, charts_of
from verax.report.charts import charts_of_other


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    corpus = verax.load_corpus("planted", documents=60, length=12)
    model = verax.train(corpus, encoder="none", epochs=1)
    return verax.examine(model, corpus)


def drawn(verdict: Verdict) -> list[Chart]:
    """Charts of documents, of a summary alone, and of what is no verdict."""
    alone = Verdict({}, verdict.manifest, verdict.summary())
    others = (made_up_sweep(), made_up_adversaries(), made_up_comparison())
    charts = [*charts_of({"a": verdict, "b": verdict}), *charts_of({"alone": alone})]
    return charts + [chart for other in others for chart in charts_of_other(other)]


def numbers(chart: Chart) -> pd.DataFrame:
    return frame(chart).select_dtypes("number")


def reversed_title(title: Callable[..., str]) -> Callable[..., str]:
    return lambda *ids: title(*ids)[::-1]


@pytest.mark.slow
def test_other_titles_change_no_chart_but_its_words(
    verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn(verdict)
    names = [name for name in vars(titles) if name.endswith("_title")]
    assert {"row_title", "column_title"} <= set(names)
    for name in names:
        monkeypatch.setattr(titles, name, reversed_title(getattr(titles, name)))
    after = drawn(verdict)
    assert [chart.name for chart in after] == [chart.name for chart in before]
    for one, other in zip(before, after, strict=True):
        pd.testing.assert_frame_equal(numbers(one), numbers(other), obj=one.name)
    # the words are others, so that titles did come from there
    differ = {a.name for a, b in zip(before, after, strict=True) if not frame(a).equals(frame(b))}
    assert {"replacement-scores", "erasure-fraction", "comparison-replacement"} <= differ
