"""Charts of verdicts, which each exam draws, all models on the same scales; of other results."""

from __future__ import annotations

from collections.abc import Mapping

from verax.drawing.chart import Chart
from verax.drawing.rendering import require_altair
from verax.exams.registry import EXAMS
from verax.exams.verdict import Verdict
from verax.studies import Adversaries, Comparison, Sweep

__all__ = ["Chart", "charts_of", "charts_of_other"]


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


def charts_of_other(result: Sweep | Adversaries | Comparison) -> list[Chart]:
    """The charts of a result that is no verdict."""
    require_altair()
    from verax.report.charts import adversaries, comparison, sweep

    if isinstance(result, Sweep):
        return list(sweep.charts(result))
    if isinstance(result, Adversaries):
        return list(adversaries.charts(result))
    return list(comparison.charts(result))
