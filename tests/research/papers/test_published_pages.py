"""The pages in results/ are those that `python -m research papers check all` makes."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest
from test_page import head, words

from research.papers import NAMES, Checked, check_paper, paper, published
from research.papers.page import overview, page, write_overview
from verax.studies import open_study

RESULTS = Path(__file__).parents[3] / "results"


@cache
def stored(name: str) -> Checked:
    return check_paper(paper(name), RESULTS / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_pages_come_from_results_and_the_first_screen_is_short(name: str, tmp_path: Path) -> None:
    made = stored(name).write(tmp_path)
    for file in made:
        there = RESULTS / name / file.relative_to(tmp_path)
        # what a stale page has wrong is one command away: python -m research papers check all
        assert there.read_bytes() == file.read_bytes(), there
    tables = {file.name for file in made if file.parent.name == "tables"}
    assert {file.name for file in (RESULTS / name / "tables").iterdir()} == tables
    first = head((RESULTS / name / "README.md").read_text(encoding="utf-8"))
    assert words(first) <= 250
    assert "](scatter.svg)" in first


def test_the_results_are_small_and_hold_no_page_that_a_command_makes() -> None:
    """At most 16 MB, of tracked files where this is a repository."""
    files = [path for path in RESULTS.rglob("*") if path.is_file()]
    if (RESULTS.parent / ".git").exists():
        command = ["git", "ls-files", "-z", "."]
        listed = subprocess.run(command, cwd=RESULTS, capture_output=True, text=True, check=True)
        files = [RESULTS / name for name in listed.stdout.split("\0") if name]
    assert len(files) > 300
    assert not [path for path in files if path.suffix == ".html"]
    assert sum(path.stat().st_size for path in files) <= 16_000_000


def test_every_stored_cell_is_there() -> None:
    """Probes, and the two studies of grounding and sparsity, among them."""
    folders = [path.parent for path in RESULTS.rglob("cells.parquet")]
    keys = [key for folder in folders for key in open_study(folder, every=True).done]
    assert len(keys) == 1674


def test_the_page_of_all_papers_has_a_sentence_of_each(tmp_path: Path) -> None:
    every = [stored(name) for name in NAMES]
    text = overview(every)
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == text
    assert text.count("\n- **[") == 5
    write_overview(every, tmp_path)
    for file in tmp_path.iterdir():
        assert file.read_bytes() == (RESULTS / file.name).read_bytes(), file.name


@pytest.mark.slow
def test_a_stored_value_changes_page_verdict_and_overview() -> None:
    """Attention that agrees with gradients on one corpus is against claim 1 of Jain & Wallace."""
    own = stored("jain-wallace-2019")
    before, line = page(own), overview([own])
    summary = own.results.summary.copy()
    cells = set(own.results.select(corpus="sst", encoder="bilstm")["cell"])
    row = "inputs:attention:gradient-input-detached"
    moved = (
        (summary["row"] == row) & summary["cell"].isin(cells) & (summary["table"] == "agreement")
    )
    summary.loc[moved & (summary["column"] == "tau"), "value"] += 0.6
    changed = Checked(own.paper, type(own.results)(own.results.cells, summary))
    vars(changed)["tables"] = own.tables  # they take long
    verdicts = [(one.claim.id, one.verdict) for one in own.judged]
    assert verdicts != [(one.claim.id, one.verdict) for one in changed.judged]
    assert head(page(changed)) != head(before)
    assert overview([changed]) != line


@pytest.mark.slow
def test_a_published_value_changes_page_and_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all 24 models of Serrano & Smith went the gradient's way, ours would be too few."""
    real, own = published.read_numbers, stored("serrano-smith-2019")
    before = page(own)
    name = "n_models_gradient_top1_flip_rate_lower_than_attention_top1"

    def changed(folder: Path, table: str, column: str = "value") -> dict[object, float]:
        return {
            key: 24.0 if key[-1] == name else n for key, n in real(folder, table, column).items()
        }

    monkeypatch.setattr(published, "read_numbers", changed)
    again = Checked(own.paper, own.results, own.probes)
    vars(again)["tables"] = own.tables  # which stay as they are, and take long
    assert "14 of 24" in before
    assert "24 of 24" in page(again)
    (now,) = (one for one in again.judged if one.claim.id == 17)
    (then,) = (one for one in own.judged if one.claim.id == 17)
    assert now.finding.parts[1].verdict != then.finding.parts[1].verdict
