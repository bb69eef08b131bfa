"""What came of a paper, in the words that its page, its report and the terminal share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from verax.papers.checking import NARROWLY, TABLES, Checked
from verax.papers.claims import Finding
from verax.papers.comparing import FAILS, HOLDS, UNDECIDED
from verax.papers.exhibits import has_published
from verax.papers.probing import PROBES
from verax.papers.results import PaperResults
from verax.papers.saying import listed

TRIAL = (
    "These results are of none of the paper's corpora: verdicts here show that everything works, "
    "and say nothing of the paper."
)
IN_WORDS = (
    "A claim *holds* if enough comparisons go its way and all together do so beyond chance, and "
    "*fails* if too many go clearly against it, or all together do. It *fails, narrowly* if its "
    "criterion is not met but not clearly refuted either (more seeds might turn it; the rule is "
    "younger than the results), and is *undecided* where there is nothing to compare."
)
_NONE_PUBLISHED = "No published numbers are carried for this paper."
HOW_PROBED = (
    "Short runs, to see whether something explains a difference: what the question names is "
    "otherwise than in the studies above. They may see a sample of the documents, and no claim is "
    f"judged by them. Numbers are as in the tables below; `{TABLES}/{PROBES}.csv` has all columns."
)
_SIGNS = {HOLDS: "✓", FAILS: "✗", UNDECIDED: "?"}


def sentences(checked: Checked) -> list[str]:
    """What came of it: of claims, on the paper's own corpora alone, of published numbers."""
    found = tallies(checked)
    found.append(farther(checked.tables.values()) if checked.has_published else _NONE_PUBLISHED)
    return [sentence for sentence in found if sentence]


def tallies(checked: Checked) -> list[str]:
    """How many claims hold, and how many do on the paper's own corpora alone."""
    found = [tally(checked.counts)]
    if checked.own_counts is not None:
        own = f"O{alone(checked)[1:]}, which the paper has"
        found.append(f"{own}: {numbers(checked.own_counts)}.")
    return found


def alone(checked: Checked) -> str:
    """`on imdb and yelp alone`: those of the corpora that the paper has."""
    return f"on {listed(checked.own_corpora)} alone"


def differences(checked: Checked) -> str:
    """What the paper's page says of differences: it tells of the paper's corpora."""
    return "" if checked.is_trial else checked.paper.words("differences")


def farther(tables: Iterable[pd.DataFrame]) -> str:
    """How many published numbers are farther from ours than seeds explain.

    A pair that several exhibits show counts once. Settings, sizes, and numbers of a single seed
    have no part in it.
    """
    counted: list[pd.DataFrame] = []
    for table in tables:
        if not has_published(table):
            continue
        own = table.dropna(subset=["published", "value", "beyond"])
        for other in counted:
            own = own[~_told(own, other).isin(_told(other, own))]
        counted.append(own)
    number = sum(len(own) for own in counted)
    if not number:
        return ""
    beyond = sum(int(own["beyond"].sum()) for own in counted)
    return (
        f"Of {number:,} published numbers that have one of ours beside them {beyond:,} "
        f"{'is' if beyond == 1 else 'are'} farther from it than seeds explain."
    )


def _told(table: pd.DataFrame, other: pd.DataFrame) -> pd.Series:
    """Each row as a text of the columns that another table has too."""
    shared = sorted({str(name) for name in table} & {str(name) for name in other})
    rows = [str(list(row.values())) for row in table[shared].to_dict("records")]
    return pd.Series(rows, index=table.index, dtype=object)


def how_to_read(checked: Checked, bold: str) -> str:
    """What stands in tables; `bold` is the word for what is beyond, as a page writes it."""
    what = "Published beside measured" if checked.has_published else "Measured"
    told = (
        f"{what}: mean ± standard deviation over seeds, and the 95% interval, over documents where "
        "there is one seed."
    )
    if not checked.has_published:
        return told
    return f"{told} {bold}: farther from the published number than seeds explain."


def narrowly(counts: Mapping[str, int]) -> str:
    """How many of those that fail do so narrowly, in brackets; empty where none does.

    >>> narrowly({"fails": 11, "narrowly": 3}), narrowly({"fails": 11, "narrowly": 0})
    (' (3 of them narrowly)', '')
    """
    return f" ({counts[NARROWLY]} of them narrowly)" if counts[NARROWLY] else ""


def tally(counts: Mapping[str, int]) -> str:
    """How many claims hold, fail and are undecided.

    >>> tally({"holds": 7, "fails": 1, "undecided": 1, "narrowly": 0})
    'Of 9 claims 7 hold, 1 fails and 1 is undecided.'
    """
    return f"Of {sum(counts[v] for v in (HOLDS, FAILS, UNDECIDED))} claims {numbers(counts)}."


def numbers(counts: Mapping[str, int]) -> str:
    """As `tally` has it: `7 hold, 1 fails and 1 is undecided`."""
    hold, fail, undecided = (counts[verdict] for verdict in (HOLDS, FAILS, UNDECIDED))
    return (
        f"{hold} hold{'s' * (hold == 1)}, {fail} fail{'s' * (fail == 1)}{narrowly(counts)} and "
        f"{undecided} {'is' if undecided == 1 else 'are'} undecided"
    )


def lacking(checked: Checked) -> str:
    """What of the full studies is not in the results: parts never run, and cells not done."""
    return not_there(checked.results, checked.paper.studies("full"))


def not_there(results: PaperResults, parts: Iterable[str]) -> str:
    there = set(results.cells["part"])
    never = [part for part in parts if part not in there]
    told = [
        f"{number} cell{'s' * (number > 1)} of {part}"
        for part, number in results.unfinished.items()
    ]
    if never:
        told.append(f"all of {', '.join(never)}")
    return f"**Not there yet:** {'; '.join(told)}." if told else ""


def signed(finding: Finding) -> str:
    """The verdict in words, with its sign: `✗ fails, narrowly`."""
    return f"{_SIGNS[finding.verdict]} {finding.said}"
