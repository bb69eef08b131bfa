"""A paper's page: every claim with its verdict, every number beside the published one."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from verax.papers import check_paper
from verax.papers.checking import Checked
from verax.papers.claims import Claim, Finding
from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.numbers import SeedMean
from verax.papers.paper import Paper
from verax.papers.phrasing import TRIAL
from verax.papers.registry import paper
from verax.papers.results import PaperResults
from verax.report import report_page
from verax.report.charts.paper_frames import called
from verax.report.paper_parts import paper_parts
from verax.report.sections import figures

CELLS = pd.DataFrame([{"cell": "a1", "part": "p", "corpus": "sst", "seed": 1}])
SUMMARY = pd.DataFrame(columns=["cell", "exam", "table", "row", "column", "value"])


@dataclass(frozen=True)
class Drawn:
    """A chart as a page sees it."""

    name: str
    exam: str
    title: str
    reading: str
    height: int = 9

    def svg(self) -> str:
        return f'<svg width="9" height="{self.height}"></svg>'


def exhibit(results: PaperResults) -> pd.DataFrame:
    near = SeedMean.of([0.50, 0.52, 0.54], ["a", "b", "c"])
    rows = [
        entry({"corpus": "sst"}, "<τ>", near, published=0.9),
        entry({"corpus": "imdb"}, "<τ>", None, published=0.8),
    ]
    return frame(rows)


def _found(finding: Finding, results: PaperResults) -> Finding:
    return finding


def checked() -> Checked:
    verdicts = ("holds", "fails", "undecided")
    findings = [Finding(verdict, f"why {verdict}", "a test") for verdict in verdicts]
    claims = [
        Claim(number, f"claim <{found.verdict}>", "Table 1", partial(_found, found))
        for number, found in enumerate(findings, start=1)
    ]
    shown = [
        Exhibit("table1", "what & how", exhibit),
        Exhibit("figure2", "nothing", lambda _: frame([])),
    ]
    paper = Paper(
        "made-up-2000", "On <it>", "A & B", "http://x", "verax.papers.meister_2021", shown, claims
    )
    return Checked(paper, PaperResults(CELLS, SUMMARY))


def test_claims_have_their_verdicts_and_what_is_behind_them() -> None:
    page = report_page(checked())
    assert "Of 3 claims 1 holds, 1 fails and 1 is undecided." in page
    for number, verdict in enumerate(("holds", "fails", "undecided"), start=1):
        assert f'data-claim="{number}" data-verdict="{verdict}"' in page
        assert f"claim &lt;{verdict}&gt;" in page
        assert f'<p class="note">why {verdict}</p><p class="test">a test</p>' in page
    assert "<title>A &amp; B: On &lt;it&gt;</title>" in page


def test_published_stands_beside_measured_and_what_is_not_there_is_told() -> None:
    page = report_page(checked())
    # mean 0.52, sd 0.02 over three seeds; far from 0.9, so bold
    assert "<td>0.900</td><td><b>0.520 ± 0.020</b></td>" in page
    # what was not measured waits to be opened, with nothing but what was published
    _, _, folded = page.partition("<summary>Published, not measured here</summary>")
    assert "<td>0.800</td></tr>" in folded
    assert "0.800" not in page[: page.index(folded)]
    assert "Nothing of it is in these results." in page
    assert ">Table 1</a>" in page
    assert "explorer-root" not in page


def test_exhibits_are_named_as_people_name_them() -> None:
    assert called("figure12") == "Figure 12"
    assert called("gradient_loo") == "Gradient and leave-one-out"
    assert called("word_vectors") == "Word vectors"


def test_charts_stand_in_their_exhibit_and_a_page_without_them_says_why() -> None:
    chart = Drawn("table1", "table1", "a chart", "Read it.")
    parts = {part.id: part.inner for part in paper_parts(checked(), [chart], "no charts here")}
    assert '<figure data-exam="table1" data-chart="table1">' in parts["table1"]
    assert "no charts here" in parts["table1"]
    assert "<figure" not in parts["figure2"]
    assert "no charts here" not in parts["figure2"]


@pytest.mark.parametrize(
    ("heights", "last"), [((9, 9, 9), True), ((9, 9), False), ((9, 3, 9), False)]
)
def test_the_last_of_an_odd_number_alike_takes_the_width_of_both_columns(
    heights: tuple[int, ...], last: bool
) -> None:
    drawn = figures([Drawn(f"c{k}", "e", "t", "r", height) for k, height in enumerate(heights)])
    assert ('class="figures alike"' in drawn) is last


def test_a_notebook_shows_every_claim_as_text() -> None:
    shown = checked()._repr_html_()
    for verdict in ("holds", "fails", "undecided"):
        assert f"claim &lt;{verdict}&gt;" in shown
        assert f"<td>{verdict}</td><td>why {verdict}</td>" in shown
    assert "Of 3 claims 1 holds, 1 fails and 1 is undecided." in shown


def test_a_narrow_failure_says_so_and_what_is_not_there_is_named() -> None:
    made = checked()
    narrow = Finding("fails", "why", "a test", narrowly=True)
    claim = Claim(1, "so it is", "Table 1", partial(_found, narrow))
    page = report_page(replace(made, paper=replace(made.paper, claims=[claim])))
    assert "Of 1 claims 0 hold, 1 fails (1 of them narrowly) and 0 are undecided." in page
    assert "✗ fails, narrowly" in page
    assert "all of sst, 20news_sports, imdb, adversaries" in page


def test_the_page_says_what_verdicts_mean_and_which_cells_are_behind_them() -> None:
    made = checked()
    number = SeedMean.of([0.5, 0.6], ["0123456789", "fedcba9876"])
    found = Finding("holds", "why", "a test", {"x": number})
    claim = Claim(1, "so it is", "Table 1", partial(_found, found))
    page = report_page(replace(made, paper=replace(made.paper, claims=[claim])))
    assert "<summary>2 cells</summary>" in page
    assert "<code>012345 fedcba</code>" in page
    assert "<em>fails, narrowly</em> if its criterion is not met" in page
    assert "Of 1 published numbers that have one of ours beside them 1 is farther" in page


def test_verdicts_on_the_papers_own_corpora_stand_beside_those_on_all() -> None:
    made = checked()
    cells = pd.concat([CELLS, CELLS.assign(cell="b2", corpus="imdb")])

    def judge(results: PaperResults) -> Finding:
        own = results.corpora() == ["imdb"]
        return Finding("holds" if own else "fails", f"On {results.corpora()}.", "a test")

    own = replace(made.paper, corpora={"imdb": "IMDb"}, claims=[Claim(1, "so", "here", judge)])
    both = Checked(own, PaperResults(cells, SUMMARY))
    page = report_page(both)
    assert "On imdb alone, which the paper has: 1 holds, 0 fail and 0 are undecided." in page
    marks = '✗ fails</span> (on imdb alone: <span class="mark for">✓ holds</span>)'
    assert marks in page
    assert "On imdb alone: On [&#39;imdb&#39;]." in page
    assert "fails (on imdb alone: holds)" in both._repr_html_()


def test_results_of_other_corpora_say_nothing_of_the_paper() -> None:
    made = checked()
    other = replace(made, paper=replace(made.paper, corpora={"yelp": "Yelp"}))
    assert TRIAL in html.unescape(report_page(other))
    assert TRIAL in html.unescape(other._repr_html_())
    assert TRIAL not in html.unescape(report_page(made))
    ids = [part.id for part in paper_parts(other)]
    assert ids[:2] == ["verdict", "deviations"]


def test_what_was_not_published_is_no_column_and_what_was_is_no_link() -> None:
    made = checked()
    near = SeedMean.of([0.50, 0.52], ["a", "b"])
    ours = Exhibit("table1", "ours", lambda _: frame([entry({}, "JS", near)]))
    page = report_page(replace(made, paper=replace(made.paper, exhibits=[ours])))
    assert "No published numbers are carried for this paper." in page
    assert "ublished beside measured" not in page
    assert ">published</th>" not in page

    def long(published: float) -> str:
        rows = [entry({"place": i}, "JS", near, published) for i in range(200)]
        shown = Exhibit("figure1", "long", lambda _: frame(rows))
        parts = paper_parts(replace(made, paper=replace(made.paper, exhibits=[shown])))
        return parts[-1].inner

    assert "200 rows, beside the results" in long(float("nan"))
    assert "<summary>The numbers</summary>" in long(0.5)


def test_a_setting_is_a_plain_number() -> None:
    made = checked()
    number = SeedMean.of([0.4445, 0.4445], ["a", "b"])
    rows = [entry({}, "dropout", number, 0.7, setting=True)]
    own = Exhibit("table1", "settings", lambda _: frame(rows))
    page = report_page(replace(made, paper=replace(made.paper, exhibits=[own])))
    assert "<td>0.7</td><td>0.4445</td><td></td><td></td>" in page


def test_probes_stand_beside_what_differs_each_with_its_question() -> None:
    results = Path(__file__).parents[2] / "results" / "tutek-snajder-2020"
    parts = paper_parts(check_paper(paper("tutek-snajder-2020"), results))
    ids = [part.id for part in parts]
    assert ids[:4] == ["verdict", "differences", "probes", "deviations"]
    inner = parts[2].inner
    assert "<summary>unscaled: Is it the division by √size in dot attention?" in inner
    assert "dot-unscaled" in inner
