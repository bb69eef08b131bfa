"""What was found, as a person would rather look at it: one offline page, charts, notebooks."""

from verax.drawing.chart import Chart
from verax.drawing.rendering import CATEGORIES as COLORS
from verax.drawing.rendering import INK
from verax.drawing.shapes import interval_chart, layer_head_chart, line_chart
from verax.report.charts import charts_of
from verax.report.figures import charts_in, write_figures
from verax.report.notebook import Heat, heat
from verax.report.report import open_reported, report, report_page

__all__ = [
    "COLORS",
    "INK",
    "Chart",
    "Heat",
    "charts_in",
    "charts_of",
    "heat",
    "interval_chart",
    "layer_head_chart",
    "line_chart",
    "open_reported",
    "report",
    "report_page",
    "write_figures",
]
