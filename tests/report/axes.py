"""What the axes of a drawing say."""

from __future__ import annotations

import html
import itertools
import re

_AXIS = re.compile(r'<g class="mark-text role-axis-label"[^>]*>(.*?)</g>', re.S)
_LABEL = re.compile(r"<text ([^>]*)>([^<]*)</text>")


def axis_labels(svg: str) -> list[list[str]]:
    """The labels of each axis that are shown, in order."""
    return [
        [html.unescape(said) for told, said in _LABEL.findall(axis) if 'opacity="0"' not in told]
        for axis in _AXIS.findall(svg)
    ]


def check_labels(name: str, svg: str) -> None:
    """No axis says the same of two places."""
    for labels in axis_labels(svg):
        assert len(set(labels)) == len(labels), (name, labels)


def check_steps(name: str, svg: str) -> None:
    """Numbers on an axis are evenly apart."""
    for labels in axis_labels(svg):
        try:
            numbers = [float(label.replace("−", "-").replace(",", "")) for label in labels]
        except ValueError:
            continue
        steps = [b - a for a, b in itertools.pairwise(numbers)]
        assert all(abs(step - steps[0]) < 1e-9 for step in steps), (name, labels)
