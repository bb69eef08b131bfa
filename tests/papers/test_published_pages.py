"""What lies in results/ is what `verax papers check` makes of the results there."""

from __future__ import annotations

from pathlib import Path

import pytest

from verax.papers import NAMES, check_paper, paper

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("name", NAMES)
def test_pages_come_from_results_and_claims_are_decided_or_lack_a_corpus(
    name: str, tmp_path: Path
) -> None:
    checked = check_paper(paper(name), RESULTS / name)
    made = checked.write(tmp_path)
    for file in made:
        there = RESULTS / name / file.relative_to(tmp_path)
        # what a stale page has wrong is one command away: verax papers check NAME
        assert there.read_bytes() == file.read_bytes(), there
    tables = {file.name for file in made if file.parent.name == "tables"}
    assert {file.name for file in (RESULTS / name / "tables").iterdir()} == tables
    for claim, finding in checked.findings:
        assert finding.verdict != "undecided" or "not at hand" in finding.why, claim
