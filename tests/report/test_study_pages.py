"""Pages of sweeps, adversaries and comparisons: from the folders their commands write."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_studies import made_up_adversaries, made_up_comparison, made_up_sweep
from test_report_page import Elements

from support.errors import refused
from support.internals import page_text as text
from verax.cli import main
from verax.report import report_page
from verax.studies import Adversaries, Comparison, Sweep, load_comparison

Saved = Sweep | Adversaries | Comparison
OF = {
    "sweep": (made_up_sweep, Sweep.owns, {"verdict", "entropy", "agreement", "accuracy"}),
    "adversaries": (made_up_adversaries, Adversaries.owns, {"verdict", "curve"}),
    "comparison": (made_up_comparison, Comparison.owns, {"verdict", "exam-replacement"}),
}


@functools.cache
def page_of(kind: str) -> str:
    """The page of a made-up result, drawn once."""
    return report_page(OF[kind][0]())


def words(page: str) -> str:
    """What a reader sees, without the charts."""
    bare = re.sub(r"<svg.*?</svg>|<script.*?</script>|<style.*?</style>", "", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", bare).split())


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF)
def test_a_folder_becomes_a_page_that_may_stand_in_it(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, owns, parts = OF[kind]
    found: Saved = make()
    found.save(tmp_path / "saved")
    target = tmp_path / "saved" / "report.html"
    assert main(["report", str(tmp_path / "saved"), "-o", str(target)]) == 0
    assert str(target) in capsys.readouterr().out
    page = target.read_text(encoding="utf-8")
    assert page == page_of(kind)  # what is saved is all that is shown
    seen = Elements(page)
    ids = [str(section["id"]) for section in seen.of("section")]
    assert parts <= set(ids)
    assert len(ids) == len(set(ids))
    assert seen.of("figure")
    assert owns(tmp_path / "saved")
    found.save(tmp_path / "saved", overwrite=True)  # again, over itself and its page


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF)
def test_in_a_browser_charts_are_drawn_and_nothing_is_fetched(
    kind: str, open_page: Callable[..., Any]
) -> None:
    page = open_page(page_of(kind), viewport={"width": 390, "height": 800})
    drawn = page.locator("figure svg")
    for place in range(drawn.count()):
        assert drawn.nth(place).locator("path, line").count() > 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("kind", OF)
def test_without_a_drawing_library_tables_remain(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    page = report_page(OF[kind][0]())
    assert not Elements(page).of("figure")
    assert text("pip install 'verax[report]'") in page
    assert "<table>" in page


def test_a_sweep_tells_its_ends() -> None:
    """Means at the k-th of four λ are 0.1 k + 0.1."""
    page = words(page_of("sweep"))
    ends = "from 10.0% to 40.0%"
    told = f"From λ −100 to 0.97 the share of items with weight goes {ends} and accuracy {ends}."
    assert told in page
    assert "4 values of λ, 2 seeds each" in page
    assert "Nothing was left out." in page


@pytest.mark.slow
def test_adversaries_tell_what_was_chosen_beside_the_yardstick() -> None:
    page = words(page_of("adversaries"))
    assert "λ 1: the furthest attention of those within 1 point of the base" in page
    assert "0.400 0.400 to 0.400 JSD of its attention (λ 1)" in page
    assert "other seeds of the base 0.200" in page
    assert "1, chosen 0.400" in page
    alone = words(report_page(made_up_adversaries(yardstick=False)))
    assert "No yardstick: " in alone
    assert "other seeds" not in alone.partition("What was examined")[0].replace("other seeds.", "")


def test_a_comparison_counts_and_tells_every_difference() -> None:
    comparison = made_up_comparison()
    page = page_of("comparison")
    assert "<other>" not in page
    assert text("<other>") in page
    assert "\x00" not in page
    seen = words(page)
    table = comparison.table()
    own = comparison.tally("tied")
    counts = [int((own["judged"] == kind).sum()) for kind in ("better", "worse", "unclear")]
    assert (
        f"in {counts[0]}, worse in {counts[1]} and neither for sure in {counts[2]} of the "
        f"{sum(counts)} measures"
    ) in seen
    survived = table.set_index(["group", "measure"]).loc[("tied", "replacement.uniform.survival")]
    ends = " to ".join(f"{survived[end]:+.1f}" for end in ("low", "high")).replace("-", "−")
    assert f"tied 50.0% −50.0 {ends}" in seen
    assert "left out of inputs: gradient: one position" in seen
    assert "an interval needs two seeds or more of each" in seen
    assert "probability of good" in seen


@pytest.mark.slow
def test_a_comparison_is_read_as_it_was_saved(tmp_path: Path) -> None:
    comparison = made_up_comparison()
    comparison.save(tmp_path / "saved")
    again = load_comparison(tmp_path / "saved")
    assert again.table().equals(comparison.table())
    assert again.values().equals(comparison.values())
    assert again.curves is not None
    again.save(tmp_path / "twice")
    assert (tmp_path / "twice" / "curves.parquet").is_file()


@pytest.mark.parametrize("kind", OF)
def test_a_damaged_folder_is_told_in_a_line(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    OF[kind][0]().save(tmp_path / "saved")
    (tmp_path / "saved" / "instances.parquet").write_bytes(b"no table")
    words = ["report", str(tmp_path / "saved"), "-o", str(tmp_path / "r.html")]
    refused(words, "result.damaged", tmp_path / "saved")
    assert capsys.readouterr().err.count("\n") == 1
