"""Strengths in studies.yaml are those that the rules choose from the stored selection."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.papers import PaperResults, paper
from research.papers.tutek_snajder_2020 import chosen_strengths

PAPER = paper("tutek-snajder-2020")

RESULTS = Path(__file__).parents[3] / "results" / PAPER.name


@pytest.mark.slow
def test_strengths_are_chosen_from_the_stored_selection() -> None:
    stored = PaperResults.open(RESULTS / "selection")
    assert chosen_strengths(stored) == PAPER._studies["strengths"]


@pytest.mark.slow
def test_models_of_table_1_have_the_strengths_of_the_papers_rule() -> None:
    chosen = PAPER._studies["strengths"]["best"]
    cells = PaperResults.open(RESULTS).cells
    for corpus, by_attention in chosen.items():
        for attention, by_grounding in by_attention.items():
            for grounding, strength in by_grounding.items():
                own = cells[(cells["part"] == corpus) & (cells["attention"] == attention)]
                assert set(own.loc[own["grounding"] == grounding, "strength"]) == {strength}
