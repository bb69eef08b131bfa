"""A paper's page: tables that are tables, numbers where they belong, the same every time."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest
from made_up_paper import LONG, PAPER, checked, trial, with_another_corpus, with_probes

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.numbers import SeedMean
from verax.papers.page import MOST_ROWS, SHORT, markdown, page, shown
from verax.papers.phrasing import IN_WORDS, TRIAL, farther

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


def test_every_row_has_as_many_cells_as_its_head() -> None:
    found = tables(page(checked()))
    assert len(found) == 3  # claims, table1, cells
    for table in found:
        assert {len(row) for row in table} == {len(table[0])}
        assert set(table[1]) == {"---"}


def test_it_is_made_of_the_results_alone() -> None:
    assert page(checked()) == page(checked())


def test_claims_stand_with_verdict_and_test() -> None:
    rows = tables(page(checked()))[0][2:]
    assert [row[0] for row in rows] == ["1", "2"]
    assert rows[0][1] == r"a \| b is larger"
    assert rows[0][3] == "✓ holds"
    assert rows[0][4].startswith(r"It is a \| b, in both. *2 of 2 as claimed, 2 of them clearly, 0")
    assert rows[1][3:] == ["? undecided", "no finished cell gives t: never, c ()"]


def test_what_fails_narrowly_is_said_to() -> None:
    text = page(checked(value=0.4))
    assert "0 hold, 1 fails (1 of them narrowly) and 1 is undecided." in " ".join(text.split())
    assert tables(text)[0][2][3] == "✗ fails, narrowly"


def test_measured_numbers_are_bold_where_they_are_beyond() -> None:
    """Seeds are 0.49, 0.5, 0.51: of means of three, 4.303 · 0.01 · √(2/3) = 0.035 is explained."""
    own = checked()
    head, _, *rows = tables(page(own))[1]
    assert head == [
        *(r"corpus\|name", "lam", "measure", "published", "measured", "95% interval"),
        *("seeds", "cells"),
    ]
    by_corpus = {row[0]: row for row in rows}
    assert by_corpus["sst"][1:6] == [
        *("0.25", "JS", "0.9", "**0.500 ± 0.010**"),
        "0.475 … 0.525",
    ]
    assert by_corpus["imdb"][1:5] == ["", "JS", "0.5", "0.500 ± 0.010"]
    assert by_corpus["yelp"][3:] == ["0.7", "—", "", "", ""]
    keys = own.results.select(corpus="sst")["cell"]
    assert by_corpus["sst"][7].split() == [key[:SHORT] for key in keys]


def test_one_seed_has_no_spread_and_is_never_bold() -> None:
    rows = tables(page(checked(seeds=(1,))))[1][2:]
    assert rows[0][4:7] == ["0.500", "", "1"]


def test_long_exhibits_are_named_and_empty_ones_said_to_be() -> None:
    text = page(checked())
    assert LONG > MOST_ROWS
    assert "### figure3: chart data\n\n200 rows: [tables/figure3.csv](tables/figure3.csv)" in text
    assert "### figure2: nothing yet\n\nNothing of it is in these results." in text
    assert "### table1: a table\n\nOne note.\n\n|" in text


def test_what_verdicts_mean_stands_below_them() -> None:
    text = page(checked())
    assert text.index("## Claims") < text.index(IN_WORDS) < text.index("## What differs")
    for word in ("*holds*", "*fails*", "*fails, narrowly*", "*undecided*"):
        assert word in IN_WORDS


def test_verdicts_on_the_papers_own_corpora_stand_beside_those_on_all() -> None:
    text = page(with_another_corpus())
    told = "1 holds, 1 fails and 0 are undecided. On imdb alone, which the paper has: 2 hold, 0 "
    assert told in " ".join(text.split())
    first, second = tables(text)[0][2:]
    assert first[3] == "✗ fails (on imdb alone: ✓ holds)"
    assert "**On imdb alone:** Above 0.4 on imdb. *1 of 1 as claimed" in first[4]
    assert second[3] == "✓ holds (on imdb alone: ✓ holds)"
    assert "On imdb alone" not in second[4]


def test_results_of_other_corpora_say_nothing_of_the_paper() -> None:
    text, full = page(trial()), page(checked())
    assert text.startswith(f"# Nobody: Nothing\n\n**{TRIAL}**\n\n")
    assert PAPER.words("differences") in full
    assert "## What differs" not in text
    assert PAPER.words("deviations") in text
    assert TRIAL not in full


def test_how_many_numbers_differ_is_told_of_the_tables_and_each_pair_once() -> None:
    """sst is beyond, imdb is not, yelp is not measured."""
    told = "Of 2 published numbers that have one of ours beside them 1 is farther from it than "
    assert told in page(checked())
    table = checked().tables["table1"]
    assert farther([table, table]) == farther([table])
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
    found = checked()
    number = SeedMean.of([0.5, 0.6], ["a", "b"])
    alone = Exhibit("table9", "ours", lambda _: frame([entry({}, "JS", number)]))
    text = page(replace(found, paper=replace(PAPER, exhibits=[alone])))
    assert tables(text)[1][0] == ["measure", "measured", "95% interval", "seeds", "cells"]
    assert "No published numbers are carried for this paper." in text
    assert "ublished beside measured" not in text
    assert "**Bold**" not in text
    both = page(replace(found, paper=replace(PAPER, exhibits=[alone, PAPER.exhibits[0]])))
    assert "published" not in tables(both)[1][0]
    assert "published" in tables(both)[2][0]


def test_a_setting_is_a_plain_number() -> None:
    number = SeedMean.of([0.4445, 0.4445], ["abcdefgh", "b"])
    own = Exhibit("table1", "", lambda _: frame([entry({}, "p", number, 0.7, setting=True)]))
    text = page(replace(checked(), paper=replace(PAPER, exhibits=[own])))
    assert tables(text)[1][2] == ["p", "0.7", "0.4445", "", "", "abcdef b"]


def test_what_has_published_numbers_is_shown_however_long() -> None:
    number = SeedMean.of([0.5, 0.6], ["a", "b"])
    rows = [entry({"place": i}, "JS", number, 0.5 if i == 7 else NAN) for i in range(LONG)]
    own = Exhibit("figure3", "long", lambda _: frame(rows))
    text = page(replace(checked(), paper=replace(PAPER, exhibits=[own])))
    assert len(tables(text)[1]) == LONG + 2


def test_commits_are_told_as_they_were() -> None:
    own = checked()
    own.results.cells["commit"] = ["0123456789abcdef-dirty", None, "fedcba9876543210"] * 2
    assert tables(page(own))[-1][2][-1] == "0123456789ab-dirty, fedcba987654, not recorded"
    assert tables(page(checked()))[-1][2][-1] == "not recorded"


def test_it_says_what_is_not_there_yet() -> None:
    own = checked()
    own.results.unfinished["main"] = 4
    never = ", ".join(PAPER.studies("full"))
    assert f"**Not there yet:** 4 cells of main; all of {never}." in page(own)


def test_it_says_what_it_is_made_of() -> None:
    text = page(checked())
    assert text.startswith("# Nobody: Nothing\n\n<https://example.org/1>\n\n")
    assert "6 trained and examined models on sst, imdb" in " ".join(text.split())
    assert "Of 2 claims 1 holds, 0 fail and 1 is undecided." in " ".join(text.split())
    assert "narrowly" not in text[: text.index(IN_WORDS)]
    assert PAPER.words("deviations") in text
    cells = tables(text)[-1]
    assert cells[2][:4] == ["main", "sst", "3", "1, 2, 3"]


def test_probes_stand_with_their_questions_before_what_was_done_otherwise() -> None:
    own = with_probes()
    text = page(own)
    assert "### Probes" not in page(checked())
    start, end = text.index("## What differs"), text.index("## What was done otherwise")
    assert text[start:end].startswith("## What differs from the published numbers\n\n")
    probes = text[text.index("### Probes") : end]
    never = ", ".join(part for part in PAPER.studies("probes") if part != "one-layer")
    assert f"**Not there yet:** 2 cells of one-layer; all of {never}." in probes
    assert probes.index("**one-layer**: Is it *a | b*?\n\n|") < probes.index("**another**\n\n|")
    assert own.probes is not None
    keys = " ".join(k[:SHORT] for k in own.probes.select(part="one-layer")["cell"])
    assert tables(probes)[0] == [
        ["corpus", "model", "measure", "measured", "95% interval", "seeds", "cells"],
        ["---"] * 7,
        ["sst", "encoder none, dot", "JS", "0.500 ± 0.010", "0.475 … 0.525", "3", keys],
    ]
    assert tables(text)[-1][-1][:4] == ["probes/one-layer", "sst", "3", "1, 2, 3"]
    assert page(with_probes()) == text


def test_many_numbers_of_probes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verax.papers.page.MOST_ROWS", 1)
    assert "2 rows: [tables/probes.csv](tables/probes.csv)" in page(with_probes())


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
