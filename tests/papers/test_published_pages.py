"""What lies in results/ is what `verax papers check` makes of the results there."""

from __future__ import annotations

from pathlib import Path

import pytest

from verax.papers import NAMES, check_paper, paper

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("name", NAMES)
def test_page_claims_and_tables_come_from_the_results_beside_them(
    name: str, tmp_path: Path
) -> None:
    made = check_paper(paper(name), RESULTS / name).write(tmp_path)
    for file in made:
        there = RESULTS / name / file.relative_to(tmp_path)
        # what a stale page has wrong is one command away: verax papers check NAME
        assert there.read_bytes() == file.read_bytes(), there
    tables = {file.name for file in made if file.parent.name == "tables"}
    assert {file.name for file in (RESULTS / name / "tables").iterdir()} == tables


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_is_decided_or_says_which_corpus_it_lacks(name: str) -> None:
    for claim, finding in check_paper(paper(name), RESULTS / name).findings:
        if finding.verdict == "undecided":
            assert "not at hand" in finding.why, claim
