"""Charts of verdicts, which each exam draws, all models on the same scales; of other results."""

from __future__ import annotations

from collections.abc import Mapping

from verax.drawing.chart import Chart
from verax.drawing.rendering import require_altair
from verax.exams.registry import EXAMS
from verax.exams.verdict import Verdict
from verax.papers import Checked
from verax.studies import Adversaries, Comparison, Sweep

__all__ = ["Chart", "charts_of", "charts_of_other", "charts_of_paper"]


def charts_of(verdicts: Mapping[str, Verdict]) -> list[Chart]:
    """Return every chart of some verdicts, exam by exam, with at most eight models on each.

    Exams without tables, or with nothing to draw, have no chart. Adversaries that were trained by
    a study come last.

    Args:
        verdicts: verdicts by the names of their models.
    """
    require_altair()
    # Altair is wanted only where a chart is, and takes a while to load
    from verax.drawing.series import Models
    from verax.report.charts.adversaries import charts_of_cells

    models = Models(verdicts)
    modules = [module for exam in EXAMS.values() if (module := exam.drawing()) is not None]
    charts = [chart for module in modules for chart in module.charts(models)]
    return [*charts, *charts_of_cells(models)]


def charts_of_other(result: Checked | Sweep | Adversaries | Comparison) -> list[Chart]:
    """The charts of a result that is no verdict."""
    if isinstance(result, Checked):
        return charts_of_paper(result)
    require_altair()
    from verax.report.charts import adversaries, comparison, sweep

    if isinstance(result, Sweep):
        return list(sweep.charts(result))
    if isinstance(result, Adversaries):
        return list(adversaries.charts(result))
    return list(comparison.charts(result))


def charts_of_paper(checked: Checked) -> list[Chart]:
    """The scatter of a paper, and the charts of its exhibits, whose names are their `exam`s."""
    require_altair()
    from verax.papers.picture import scatter
    from verax.report.charts.papers import exhibit_charts

    first = scatter(checked)
    return [
        *([] if first is None else [first]),
        *(
            chart
            for exhibit in checked.paper.exhibits
            for chart in exhibit_charts(exhibit.name, exhibit.title, checked.tables[exhibit.name])
        ),
    ]
