"""Labels of points stand where nothing else does."""

from __future__ import annotations

import pytest

from verax.drawing.placing import Point, sides

SIZE = (400.0, 200.0)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(100, 100)], "above right"),
        ([(100, 100), (200, 20)], "above left"),  # the line rises to the right
        ([(395, 100), (390, 5)], "above left"),  # no room at the right
        ([(395, 5), (395, 100)], "below left"),
        ([(20, 100), (200, 20)], "below right"),
    ],
)
def test_a_label_stands_inside_and_off_the_line(points: list[Point], expected: str) -> None:
    strokes = [(points[0], points[1])] if len(points) > 1 else []
    assert sides({0: "a label"}, points, strokes, SIZE) == {0: expected}


def test_of_two_at_one_place_the_first_comes_first_and_one_that_is_needed_stands_anyway() -> None:
    points: list[Point] = [(100, 100), (101, 100), (102, 100)]
    labels = {0: "long enough", 1: "long enough", 2: "long enough"}
    crowd: list[Point] = [*points, *((x, y) for x in range(0, 400, 9) for y in range(0, 200, 9))]
    assert sides(labels, crowd, [], SIZE) == {}
    assert sides(labels, crowd, [], SIZE, needed=[1]) == {1: "above right"}
    found = sides(labels, points, [], SIZE)
    assert len(set(found.values())) == len(found)
