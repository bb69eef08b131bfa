"""A paper's page: every claim with its verdict, every number beside the published one."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from support.internals import (
    CANNOT,
    DOES_NOT,
    IN_PART,
    REPLICATES,
    TRIAL,
    Exhibit,
    PaperComparison,
    Part,
    entry,
    figures,
    frame,
)
from verax.papers import Checked, Claim, Finding, Paper, PaperResults, check_paper, paper
from verax.report import report_page
from verax.report.charts.paper_frames import called
from verax.report.paper_parts import paper_parts
from verax.statistics import SeedMean

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


UP = PaperComparison("up <1>", 1.0, 0.5, 1.5, SeedMean.of([1.0, 1.1], ["0123456789", "fedcba9876"]))
DOWN = replace(UP, label="down <1>", difference=-1.0, low=-1.5, high=-0.5)
KINDS = {REPLICATES: [UP], IN_PART: [UP, DOWN], DOES_NOT: [DOWN], CANNOT: []}


def checked(verdicts: Sequence[str] = tuple(KINDS)) -> Checked:
    claims = []
    for number, verdict in enumerate(verdicts, start=1):
        part = Part("<part>", KINDS[verdict], sense="below 15")
        found = Finding(
            [part], theirs="<theirs>", ours=f"ours {number}", why="" if part.of else "x"
        )
        words = {"short": f"claim <{verdict}>", "rank": number % 4, "cause": {"test": "<why>"}}
        claims.append(Claim(number, "a text", "Table 1", partial(_found, found), **words))
    shown = [
        Exhibit("table1", "what & how", exhibit),
        Exhibit("figure2", "nothing", lambda _: frame([])),
    ]
    told = {"conclusion": [{"claims": [1], "that": "<a> is b"}], "setup": ["A & **less**."]}
    paper = Paper(
        *("made-up-2000", "On <it>", "A & B", "http://x", "verax.papers.meister_2021"),
        *(shown, claims),
        told=told,
    )
    return Checked(paper, PaperResults(CELLS, SUMMARY))


def test_the_first_screen_has_conclusion_counts_claims_and_setup() -> None:
    page = report_page(checked())
    assert "It replicates that &lt;a&gt; is b." in page
    assert "✓ 1 replicates · ◐ 1 in part · ✗ 1 does not · ? 1 cannot be told" in page
    for number, verdict in enumerate(KINDS, start=1):
        assert f'data-claim="{number}" data-verdict="{verdict}"' in page
        assert (
            f"<td>claim &lt;{verdict}&gt;</td><td>&lt;theirs&gt;</td><td>ours {number}</td>" in page
        )
    # of those that do not replicate
    assert page.count("<td>test: &lt;why&gt;</td>") == 3
    assert "<li>A &amp; <b>less</b>.</li>" in page
    assert (
        page.index('data-claim="3"') < page.index("Further claims") < page.index('data-claim="4"')
    )
    assert "<title>A &amp; B: On &lt;it&gt;</title>" in page
    assert "all of sst, 20news_sports, imdb, adversaries" in page


def test_what_is_behind_a_claim_is_folded() -> None:
    (inner,) = (part.inner for part in paper_parts(checked()) if part.id == "evidence")
    assert inner.count("<details><summary>✓ 1. claim") == 1
    assert "<td>1 of 2</td><td>all</td><td>1 for, 1 against</td><td>1.050, below 15</td>" in inner
    assert "<td>down &lt;1&gt;</td>" in inner
    assert "By other rules: strict: does not replicate, lenient: does not replicate." in inner
    assert "<summary>2 cells</summary>" in inner
    assert "<code>012345 fedcba</code>" in inner
    assert "<b>Cause: test.</b> &lt;why&gt;" in inner
    assert "<em>replicates</em> if the share of comparisons" in inner
    assert "Where another rule has another verdict: 1 claims" in inner


def test_published_stands_beside_measured() -> None:
    page = report_page(checked())
    # mean 0.52, sd 0.02 over three seeds; far from 0.9, so bold
    assert "<td>0.9</td><td><b>0.520 ± 0.020</b></td><td>3</td>" in page
    assert "0.8" not in page.partition('id="table1"')[2].partition("</section>")[0]
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


def test_a_notebook_shows_the_first_screen() -> None:
    shown = checked()._repr_html_()
    for verdict in KINDS:
        assert f"claim &lt;{verdict}&gt;" in shown
    assert "<td>replicates in part</td><td>&lt;theirs&gt;</td><td>ours 2</td>" in shown
    assert "It replicates that &lt;a&gt; is b." in shown
    assert "✓ 1 replicates · ◐ 1 in part" in shown


def test_other_corpora_are_named_generalisation() -> None:
    made = checked()
    cells = pd.concat([CELLS, CELLS.assign(cell="b2", corpus="imdb")])

    def judge(results: PaperResults) -> Finding:
        own = results.corpora() == ["imdb"]
        return Finding([Part("", [UP if own else DOWN])], ours=f"On {results.corpora()}.")

    claim = Claim(1, "so", "here", judge, "so")
    own = replace(made.paper, corpora={"imdb": "IMDb"}, claims=[claim])
    page = report_page(Checked(own, PaperResults(cells, SUMMARY)))
    assert "judged on imdb." in page
    there = "<td>replicates</td><td>does not replicate</td><td>On [&#39;sst&#39;].</td>"
    assert there in page.partition("Generalisation to other corpora")[2]


def test_results_of_other_corpora_say_nothing_of_the_paper() -> None:
    made = checked()
    other = replace(made, paper=replace(made.paper, corpora={"yelp": "Yelp"}))
    assert TRIAL in html.unescape(report_page(other))
    assert TRIAL in html.unescape(other._repr_html_())
    assert TRIAL not in html.unescape(report_page(made))
    ids = [part.id for part in paper_parts(other)]
    assert ids[:3] == ["verdict", "evidence", "deviations"]


def test_what_was_not_published_is_no_column_and_what_was_is_no_link() -> None:
    made = checked()
    near = SeedMean.of([0.50, 0.52], ["a", "b"])
    ours = Exhibit("table1", "ours", lambda _: frame([entry({}, "JS", near)]))
    page = report_page(replace(made, paper=replace(made.paper, exhibits=[ours])))
    assert ">published</th>" not in page.replace("<bdi>", "").replace("</bdi>", "")

    def long(published: float) -> str:
        rows = [entry({"place": i}, "JS", near, published) for i in range(200)]
        shown = Exhibit("figure1", "long", lambda _: frame(rows))
        parts = paper_parts(replace(made, paper=replace(made.paper, exhibits=[shown])))
        return parts[-1].inner

    assert "200 rows, beside the results" in long(float("nan"))
    assert "200 rows, beside the results" in long(0.5)


def test_a_setting_is_a_plain_number() -> None:
    made = checked()
    number = SeedMean.of([0.4445, 0.4445], ["a", "b"])
    rows = [entry({}, "dropout", number, 0.7, setting=True)]
    own = Exhibit("table1", "settings", lambda _: frame(rows))
    page = report_page(replace(made, paper=replace(made.paper, exhibits=[own])))
    assert "<td>0.7</td><td>0.4445</td><td></td>" in page


@pytest.mark.slow
def test_probes_stand_beside_what_differs_each_with_its_question() -> None:
    results = Path(__file__).parents[2] / "results" / "tutek-snajder-2020"
    parts = paper_parts(check_paper(paper("tutek-snajder-2020"), results))
    ids = [part.id for part in parts]
    assert ids[:5] == ["verdict", "evidence", "differences", "deviations", "probes"]
    inner = parts[4].inner
    assert "<summary>unscaled: Is it the division by √size in dot attention?" in inner
    assert "dot-unscaled" in inner
