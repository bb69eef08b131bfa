"""What was found, as a person would rather look at it: one offline page, charts, notebooks."""

from verax.report.notebook import Heat, heat
from verax.report.report import open_reported, report, report_page

__all__ = ["Heat", "heat", "open_reported", "report", "report_page"]
