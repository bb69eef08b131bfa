"""A paper's page: the first screen, tables that are tables, the same every time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from made_up_paper import LONG, PAPER, checked, trial, with_another_corpus, with_probes

from research.markdown import markdown_table as markdown
from research.papers import Paper, papers
from research.papers.checking import TRIAL
from research.papers.exhibits import Exhibit, entry, frame
from research.papers.page import MOST_ROWS, farther, page, shown
from research.papers.verdicts import CANNOT, DOES_NOT, REPLICATES
from verax.statistics import SeedMean

NAN = float("nan")


def tables(text: str) -> list[list[list[str]]]:
    """Cells of every Markdown table, cut at bars that are not escaped, as GitHub cuts them."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append([c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def head(text: str) -> str:
    """What stands before the first section."""
    return text.partition("\n## ")[0]


def words(text: str) -> int:
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def test_every_row_has_as_many_cells_as_its_head() -> None:
    found = tables(page(checked()))
    assert len(found) == 5  # lines of claims twice, evidence, table1, cells
    for table in found:
        assert {len(row) for row in table} == {len(table[0])}
        assert set(table[1]) == {"---"}


def test_it_is_made_of_the_results_alone() -> None:
    assert page(checked()) == page(checked())


def test_the_first_screen_has_conclusion_counts_claims_picture_and_setup() -> None:
    text = head(page(checked()))
    assert text.startswith("# Nobody: Nothing\n\n**It replicates that a is b, and that b is a; ")
    assert "; it cannot be told here whether it was seen.**" in text
    assert "✓ 1 replicates · ◐ 0 in part · ✗ 0 do not · ? 1 cannot be told" in text
    assert "2 claims, judged on sst and imdb." in text
    assert tables(text)[0][2] == ["✓&nbsp;1", r"a \| b", r"0.4 \| more", "0.5", ""]
    assert "](scatter.svg)" in text
    assert text.endswith("- Fewer documents.\n")


def test_further_claims_follow_with_the_cause_where_they_differ() -> None:
    further = page(checked()).partition("## Further claims")[2]
    assert tables(further)[0][2] == ["?&nbsp;2", "unseen", "", "", "corpus: not at hand"]


def test_the_conclusion_changes_with_the_results() -> None:
    assert "**It does not replicate that a is b" in page(checked(value=0.3))
    assert "**It cannot be told here whether a is b, whether b is a, and" in page(
        checked(value=0.4)
    )


def test_what_is_behind_a_claim_is_folded() -> None:
    text = page(checked())
    assert "<details><summary>✓ 1. a | b: replicates</summary>\n\na | b is larger (table 1)" in text
    row = ["a \\| b", REPLICATES, "2 of 2", "all", "2 for, 0 against", "0.500", ""]
    assert tables(text)[2][2] == row
    assert "By other rules: strict: replicates, lenient: replicates." in text
    missing = text.partition("<details><summary>? 2. unseen")[2]
    assert "Needed: t: never, c." in missing
    assert "**Cause: corpus.** not at hand." in missing
    folds = text.count("<details>")
    assert folds == text.count("</details>") > 4


def test_other_rules_are_named_where_they_disagree() -> None:
    """0.4 is the bound: nothing is clear, and not every comparison is above it."""
    other = page(checked(value=0.4)).partition("## Where another rule has another verdict")[2]
    assert tables(other)[0][2] == ["1", CANNOT, DOES_NOT, DOES_NOT]
    assert "## Where another rule" not in page(checked())


def test_other_corpora_are_named_generalisation() -> None:
    text = page(with_another_corpus())
    rows = tables(text.partition("## Generalisation to other corpora")[2])[0]
    assert rows[2] == ["1", REPLICATES, DOES_NOT, "imdb", "sst"]
    assert "judged on imdb." in head(text)
    assert "## Generalisation" not in page(checked())


def test_measured_numbers_are_bold_where_they_are_beyond() -> None:
    """Seeds are 0.49, 0.5, 0.51: of means of three, 4.303 · 0.01 · √(2/3) = 0.035 is explained."""
    head, _, *rows = tables(page(checked()))[3]
    assert head == [r"corpus\|name", "lam", "measure", "published", "measured", "seeds"]
    by_corpus = {row[0]: row for row in rows}
    assert by_corpus["sst"][1:] == ["0.25", "JS", "0.9", "**0.500 ± 0.010**", "3"]
    assert by_corpus["imdb"][1:5] == ["", "JS", "0.5", "0.500 ± 0.010"]
    assert "yelp" not in by_corpus  # not measured: it is in the file


def test_of_two_seeds_both_values_are_shown_and_never_an_interval() -> None:
    text = page(checked(seeds=(1, 2)))
    rows = {row[0]: row for row in tables(text)[3][2:]}
    assert rows["sst"][4:] == ["**0.495, 0.505**", "2"]
    assert "…" not in text
    one = page(checked(seeds=(1,))).partition("table1: a table")[2]
    assert tables(one)[0][2][4:] == ["0.500", "1"]


def test_long_exhibits_are_linked_and_empty_ones_said_to_be() -> None:
    text = page(checked())
    assert LONG > MOST_ROWS
    link = "200 rows: [tables/figure3.csv](tables/figure3.csv)"
    assert f"<summary>figure3: chart data</summary>\n\n{link}" in text
    assert "figure2: nothing yet</summary>\n\nNothing of it is in these results." in text
    assert "table1: a table</summary>\n\nOne note.\n\n|" in text


def test_an_exhibit_of_very_many_rows_is_named_by_its_command_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("research.papers.page.MOST_KEPT", "research.papers.checking.MOST_KEPT"):
        monkeypatch.setattr(place, LONG - 1)
    text = page(checked())
    assert (
        f"{LONG} rows: `python -m research papers table made-up-2020 figure3 --csv` prints them."
        in text
    )
    assert "figure3.csv" not in text
    checked().write(tmp_path)
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["table1.csv"]


def test_results_of_other_corpora_say_nothing_of_the_paper() -> None:
    text, full = page(trial()), page(checked())
    assert text.startswith(f"# Nobody: Nothing\n\n**{TRIAL}**\n\n")
    assert PAPER.words("differences") in full
    assert PAPER.words("differences") not in text
    assert PAPER.words("deviations") in text
    assert TRIAL not in full


@pytest.mark.slow
def test_how_many_numbers_differ_is_told_of_the_tables_and_each_pair_once() -> None:
    """sst is beyond, imdb is not, yelp is not measured."""
    told = "Of 2 published numbers beside ours, 1 are farther than seeds explain."
    assert told in page(checked())
    table = checked().tables["table1"]
    assert farther([table, table]) == farther([table]) == told
    assert farther([table, table.assign(layers=1)]) == farther([table])
    # the same numbers of something else
    own, others = (table.assign(pair=pair) for pair in ("a, b", "b, c"))
    assert farther([own, others]).startswith("Of 4 published numbers")
    assert farther([pd.concat([own, others])]) == farther([own, others])
    assert told not in page(checked(seeds=(1,)))
    number = SeedMean.of([1.0, 1.0], ["a", "b"])
    settings = frame([entry({}, "lr", number, 2.0, setting=True)])
    assert farther([settings]) == ""
    assert farther([settings, table]) == farther([table])


def test_what_was_not_published_is_no_column() -> None:
    number = SeedMean.of([0.5, 0.6], ["a", "b"])
    alone = Exhibit("table9", "ours", lambda _: frame([entry({}, "JS", number)]))
    text = page(replace(checked(), paper=replace(PAPER, exhibits=[alone])))
    assert tables(text)[3][0] == ["measure", "measured", "seeds"]
    assert "scatter.svg" not in text


def test_a_setting_is_a_plain_number() -> None:
    number = SeedMean.of([0.4445, 0.4445], ["abcdefgh", "b"])
    own = Exhibit("table1", "", lambda _: frame([entry({}, "p", number, 0.7, setting=True)]))
    text = page(replace(checked(), paper=replace(PAPER, exhibits=[own])))
    assert tables(text)[3][2] == ["p", "0.7", "0.4445", ""]


def test_commits_are_told_as_they_were() -> None:
    own = checked()
    own.results.cells["commit"] = ["0123456789abcdef-dirty", None, "fedcba9876543210"] * 2
    assert tables(page(own))[-1][2][-1] == "0123456789ab-dirty, fedcba987654, not recorded"
    assert tables(page(checked()))[-1][2][-1] == "not recorded"


def test_cells_that_no_commit_has_are_counted_by_part() -> None:
    """Two corpora of three seeds: one in three changed, one in three without a commit."""
    own = checked()
    own.results.cells["commit"] = ["0123456789abcdef-dirty", None, "fedcba9876543210"] * 2
    text = page(own)
    assert "2 of 6 cells ran with uncommitted changes (`-dirty` below): main 2." in text
    assert "2 of 6 cells have no recorded commit: main 2." in text
    own.results.cells["commit"] = "fedcba9876543210"
    assert "uncommitted" not in page(own)
    assert "no recorded commit" not in page(own)
    found = with_probes()
    found.results.cells["commit"] = "fedcba9876543210"
    assert found.probes is not None
    found.probes.cells["commit"] = "0-dirty"
    number = found.probes.cells["cell"].nunique()
    assert f"{number} of {number + 6} cells ran with uncommitted changes" in page(found)
    assert "probes/one-layer" in page(found).partition("uncommitted")[2].partition("\n")[0]


def test_it_says_what_is_not_there_yet() -> None:
    own = checked()
    own.results.unfinished["main"] = 4
    never = ", ".join(PAPER.studies("full"))
    assert f"**Not there yet:** 4 cells of main; all of {never}." in page(own)


@pytest.mark.slow
def test_probes_stand_with_their_questions() -> None:
    own = with_probes()
    text = page(own)
    assert "<summary>Probes</summary>" not in page(checked())
    probes = text[text.index("<summary>Probes</summary>") :]
    never = ", ".join(part for part in PAPER.studies("probes") if part != "one-layer")
    assert f"**Not there yet:** 2 cells of one-layer; all of {never}." in probes
    assert probes.index("**one-layer**: Is it *a | b*?\n\n|") < probes.index("**another**\n\n|")
    assert tables(probes)[0] == [
        ["corpus", "model", "measure", "measured", "seeds"],
        ["---"] * 5,
        ["sst", "encoder none, dot", "JS", "0.500 ± 0.010", "3"],
    ]
    assert tables(text)[-1][-1][:4] == ["probes/one-layer", "sst", "3", "1, 2, 3"]
    assert page(with_probes()) == text


def test_many_numbers_of_probes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("research.papers.page.MOST_ROWS", 1)
    assert "2 rows: [tables/probes.csv](tables/probes.csv)" in page(with_probes())


@pytest.mark.parametrize("one", papers(), ids=lambda one: one.name)
def test_every_claim_has_a_line_of_twelve_words_and_a_page_names_its_causes(one: Paper) -> None:
    assert 4 <= sum(bool(claim.rank) for claim in one.claims) <= 8
    ids = {claim.id for claim in one.claims}
    assert all(set(claims) <= ids for claims in one.conclusion.values())
    assert len(one.setup) == 3
    for claim in one.claims:
        assert claim.short
        assert len(claim.short.split()) <= 12, claim.short


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [
        (0.0, None, "0.000"),
        (0.5, None, "0.500"),
        (-0.12345, None, "-0.123"),
        (0.00123, None, "0.0012"),
        (2.0, None, "2.0"),
        (2.25, None, "2.250"),
        (45.678, None, "45.7"),
        (-45.678, None, "-45.7"),
        (12487.4, None, "12,487"),
        (NAN, None, "—"),
        (NAN, 0.5, "—"),
        (0.01, 45.0, "0.0"),
        (1.5, 0.5, "1.500"),
        (3.0, 4000.0, "3"),
        (0.5, NAN, "0.500"),
    ],
)
def test_numbers_are_shown_in_three_digits_or_so(
    value: float, like: float | None, text: str
) -> None:
    assert shown(value, like) == text


def test_bars_and_line_ends_do_not_end_a_cell() -> None:
    text = markdown(["a", "b|c"], [["1|2", "x\ny  z"], ["", "|"]])
    assert text.splitlines() == [
        "| a | b\\|c |",
        "|---|---|",
        "| 1\\|2 | x y z |",
        "|  | \\| |",
    ]
