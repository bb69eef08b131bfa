"""Where labels of points stand, so that neither lines nor other points run through them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from verax.drawing.rendering import PAPER

Point = tuple[float, float]
_SIDES: Mapping[str, tuple[int, int]] = {
    "above right": (1, -1),
    "above left": (-1, -1),
    "below right": (1, 1),
    "below left": (-1, 1),
}
_BESIDE, _OFF = 7, 12
"""Pixels from a point to the begin of its label, and to the middle of its line."""
_LETTER, _HALF, _MARK = 7.5, 9.0, 6.0


def sides(
    labels: Mapping[int, str],
    points: Sequence[Point],
    strokes: Sequence[tuple[Point, Point]],
    size: Point,
    needed: Sequence[int] = (),
) -> dict[int, str]:
    """For each place of a point that has a label, on which side of it that stands.

    labels   by place among the points, those that matter most first
    points   in pixels from the upper left, and `strokes` from one pixel to another
    size     of the picture: no label leaves it
    needed   those that have a label even where none stands free

    What has no free side is left out.
    """
    line = np.concatenate([_along(*ends) for ends in strokes]) if strokes else np.zeros((0, 2))
    chosen: dict[int, str] = {}
    taken: list[NDArray[np.float64]] = []
    for place, label in labels.items():
        others = np.array([p for k, p in enumerate(points) if k != place]).reshape(-1, 2)
        inside = []
        for side in _SIDES:
            box = _box(points[place], label, side)
            if (box[0] < 0).any() or (box[1] > size).any():
                continue
            inside.append((side, box))
            near = np.array([[-_MARK, -_MARK], [_MARK, _MARK]])
            if not (
                _within(line, box).any()
                or _within(others, box + near).any()
                or any((box[0] < b[1]).all() and (b[0] < box[1]).all() for b in taken)
            ):
                chosen[place] = side
                taken.append(box)
                break
        else:
            if place in needed and inside:
                chosen[place], box = inside[0]
                taken.append(box)
    return chosen


def label_sides(
    points: NDArray[np.float64],
    domains: tuple[Point, Point],
    size: Point,
    labels: Mapping[int, str],
    joined: Iterable[int],
    needed: Sequence[int] = (),
) -> list[str]:
    """For each point, on which side of it its label stands; empty where it has none.

    points   x, y, and the ends of an interval of y, in the units of the axes; (points, 4)
    domains  where the two axes begin and end
    size     of the picture, in pixels
    joined   the points that one line joins, in its order

    Labels, and those that are needed, are as `sides` has them.
    """
    (left, right), (bottom, top) = domains
    x = size[0] * (points[:, 0] - left) / (right - left)
    y, low, high = size[1] * (top - np.clip(points[:, 1:], bottom, top)).T / (top - bottom)
    places = list(zip(x.tolist(), y.tolist(), strict=True))
    strokes = [(places[a], places[b]) for a, b in itertools.pairwise(joined)]
    strokes += [((x[k], low[k]), (x[k], high[k])) for k in np.flatnonzero(~np.isnan(low))]
    chosen = sides(labels, places, strokes, size, needed)
    return [chosen.get(place, "") for place in range(len(places))]


def texts(base: alt.Chart, label: str) -> Iterator[Any]:
    """Layers that write `label` where the column `side` says, on a rim of paper."""
    for side, (right, below) in _SIDES.items():
        where = alt.FieldEqualPredicate(field="side", equal=side)
        written = base.transform_filter(where).encode(text=f"{label}:N")
        put: dict[str, Any] = {
            "dx": _BESIDE * right,
            "dy": _OFF * below,
            "align": "left" if right > 0 else "right",
        }
        yield written.mark_text(stroke=PAPER, strokeWidth=4, strokeJoin="round", **put)
        yield written.mark_text(**put)


def _box(point: Point, label: str, side: str) -> NDArray[np.float64]:
    """The upper left and the lower right corner of a label."""
    right, below = _SIDES[side]
    x, y = point[0] + _BESIDE * right, point[1] + _OFF * below
    ends = sorted((x, x + right * _LETTER * len(label)))
    return np.array([[ends[0], y - _HALF], [ends[1], y + _HALF]])


def _along(begin: Point, end: Point) -> NDArray[np.float64]:
    return np.linspace(begin, end, 60)


def _within(points: NDArray[np.float64], box: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(((points > box[0]) & (points < box[1])).all(-1))
