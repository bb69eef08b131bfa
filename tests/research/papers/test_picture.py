"""The scatter of published against measured, and the bars of all papers' verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_paper import PAPER, checked

from research.papers.picture import _ends, points, replicated, scatter


def test_a_point_for_each_number_beside_a_published_one() -> None:
    """sst is beyond seeds, imdb is not, yelp is not measured."""
    found = points(checked())
    assert found["panel"].tolist() == ["JS", "JS"]
    assert found["x"].tolist() == [0.9, 0.5]
    assert found["y"].tolist() == pytest.approx([0.5, 0.5])
    assert found["kind"].tolist() == ["farther than seeds explain", "as published, within seeds"]


def test_measures_that_are_not_named_are_not_drawn() -> None:
    own = replace(checked(), paper=replace(PAPER, scatter={"F1": ["F1"]}))
    assert points(own).empty
    assert scatter(own) is None
    assert scatter(replace(checked(), paper=replace(PAPER, scatter={}))) is None


def test_where_nothing_is_published_sides_of_claims_are_drawn() -> None:
    """Claim 1 compares with a bound, so that it has one side."""
    own = replace(checked(), paper=replace(PAPER, scatter={"JS": [1]}))
    assert points(own).empty


@pytest.mark.slow
def test_the_picture_is_the_same_every_time_and_says_what_it_shows() -> None:
    first, second = (scatter(checked()) for _ in range(2))
    assert first is not None
    assert second is not None
    svg = first.svg("light")
    assert svg == second.svg("light")
    assert ">Published against measured</title>" in svg
    moved = scatter(checked(value=0.6))
    assert moved is not None
    assert moved.svg("light") != svg


def test_axes_end_at_round_numbers_beyond_the_points() -> None:
    for values in ([0.12, 0.87], [-90.0, 3.0], [84.2, 96.0], [0.5, 0.5]):
        low, high = _ends(values)
        assert low <= min(values)
        assert high >= max(values)


def test_bars_change_with_the_verdicts() -> None:
    assert replicated([checked()]).svg("light") != replicated([checked(value=0.3)]).svg("light")
