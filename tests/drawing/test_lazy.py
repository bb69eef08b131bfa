"""Exams, studies and reports load without altair, and need it only once something is drawn."""

from __future__ import annotations

import subprocess
import sys

_IMPORTS = """
import sys
sys.modules["altair"] = None
import verax.drawing.chart, verax.drawing.names
import verax.exams.examine, verax.studies, verax.papers
import verax.report.charts, verax.report.figures, verax.report.report, verax.cli
"""


def test_rooms_load_without_altair() -> None:
    done = subprocess.run([sys.executable, "-c", _IMPORTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
