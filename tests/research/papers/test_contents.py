"""Every exhibit of ours is a table or figure of its paper, and so is every published number."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.__main__ import main
from research.papers import NAMES, paper, papers
from research.papers.page import contents_page

RESULTS = Path(__file__).parents[3] / "results"


@pytest.mark.parametrize("name", NAMES)
def test_exhibits_and_published_numbers_belong_to_tables_and_figures(name: str) -> None:
    own = paper(name)
    listed = own.contents
    exhibits = {exhibit.name for exhibit in own.exhibits}
    assert {made for content in listed for made in content.made} == exhibits
    folder = own.folder / "published"
    files = {f.name.removesuffix(".csv") for f in folder.iterdir()} if folder.is_dir() else set()
    assert {file for content in listed for file in content.published} == files
    for content in listed:
        assert content.made or content.note


def test_the_page_of_contents_is_made_from_them(capsys: pytest.CaptureFixture[str]) -> None:
    page = contents_page(papers())
    assert (RESULTS / "exhibits.md").read_text(encoding="utf-8") == page
    assert main(["papers", "contents", "--markdown"]) == 0
    assert capsys.readouterr().out == page


def test_contents_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "contents", "meister-2021"]) == 0
    out = capsys.readouterr().out
    assert "Appendix C" in out
    assert "appendixc-transformer" in out
    assert "Yahoo" not in out
