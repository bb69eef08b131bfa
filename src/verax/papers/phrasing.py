"""Words that findings, pages, reports and the terminal share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from verax.papers.comparing import FAILS, HOLDS, NARROWLY, UNDECIDED
from verax.papers.exhibits import has_published
from verax.papers.probing import PROBES
from verax.papers.results import TABLES, PaperResults
from verax.papers.words import listed

if TYPE_CHECKING:
    from verax.papers.checking import Checked
    from verax.papers.claims import Finding

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
    """Sentences on claims, on those of the paper's corpora alone, and on published numbers."""
    texts = tallies(checked)
    texts.append(farther(checked.tables.values()) if checked.has_published else _NONE_PUBLISHED)
    return [text for text in texts if text]


def tallies(checked: Checked) -> list[str]:
    """How many claims hold on all corpora, and on the paper's alone, a sentence each."""
    texts = [tally(checked.counts)]
    if checked.own_counts is not None:
        start = f"O{alone(checked)[1:]}, which the paper has"
        texts.append(f"{start}: {numbers(checked.own_counts)}.")
    return texts


def alone(checked: Checked) -> str:
    """The corpora that the paper has, as in `on imdb and yelp alone`."""
    return f"on {listed(checked.own_corpora)} alone"


def differences(checked: Checked) -> str:
    """The paper's text on differences; empty for a trial on other corpora."""
    return "" if checked.is_trial else checked.paper.words("differences")


def farther(tables: Iterable[pd.DataFrame]) -> str:
    """A sentence: how many published numbers are farther from ours than seeds explain.

    A pair that several exhibits show counts once. Settings, sizes, and numbers of a single seed
    do not count.
    """
    counted: list[pd.DataFrame] = []
    for table in tables:
        if not has_published(table):
            continue
        rows = table.dropna(subset=["published", "value", "beyond"])
        for other in counted:
            rows = rows[~_as_text(rows, other).isin(_as_text(other, rows))]
        counted.append(rows)
    number = sum(len(rows) for rows in counted)
    if not number:
        return ""
    beyond = sum(int(rows["beyond"].sum()) for rows in counted)
    return (
        f"Of {number:,} published numbers that have one of ours beside them {beyond:,} "
        f"{'is' if beyond == 1 else 'are'} farther from it than seeds explain."
    )


def _as_text(table: pd.DataFrame, other: pd.DataFrame) -> pd.Series:
    """Each row as a text of the columns that another table has too."""
    shared = sorted({str(name) for name in table} & {str(name) for name in other})
    rows = [str(list(row.values())) for row in table[shared].to_dict("records")]
    return pd.Series(rows, index=table.index, dtype=object)


def how_to_read(checked: Checked, bold: str) -> str:
    """How to read the tables; `bold` is the word *bold* as a page marks it."""
    what = "Published beside measured" if checked.has_published else "Measured"
    text = (
        f"{what}: mean ± standard deviation over seeds, and the 95% interval, over documents where "
        "there is one seed."
    )
    if not checked.has_published:
        return text
    return f"{text} {bold}: farther from the published number than seeds explain."


def narrowly(counts: Mapping[str, int]) -> str:
    """In brackets, how many claims fail narrowly; empty if none does.

    >>> narrowly({"fails": 11, "narrowly": 3}), narrowly({"fails": 11, "narrowly": 0})
    (' (3 of them narrowly)', '')
    """
    return f" ({counts[NARROWLY]} of them narrowly)" if counts[NARROWLY] else ""


def tally(counts: Mapping[str, int]) -> str:
    """A sentence: how many claims hold, fail and are undecided.

    >>> tally({"holds": 7, "fails": 1, "undecided": 1, "narrowly": 0})
    'Of 9 claims 7 hold, 1 fails and 1 is undecided.'
    """
    return f"Of {sum(counts[v] for v in (HOLDS, FAILS, UNDECIDED))} claims {numbers(counts)}."


def numbers(counts: Mapping[str, int]) -> str:
    """The counts of `tally`, as in `7 hold, 1 fails and 1 is undecided`."""
    hold, fail, undecided = (counts[verdict] for verdict in (HOLDS, FAILS, UNDECIDED))
    return (
        f"{hold} hold{'s' * (hold == 1)}, {fail} fail{'s' * (fail == 1)}{narrowly(counts)} and "
        f"{undecided} {'is' if undecided == 1 else 'are'} undecided"
    )


def lacking(checked: Checked) -> str:
    """A sentence: which parts of the full studies were never run, and which cells are not done."""
    return not_there(checked.results, checked.paper.studies("full"))


def not_there(results: PaperResults, parts: Iterable[str]) -> str:
    """A sentence: what of some parts is not in the results; empty if all is."""
    known = set(results.cells["part"])
    never = [part for part in parts if part not in known]
    missing = [
        f"{number} cell{'s' * (number > 1)} of {part}"
        for part, number in results.unfinished.items()
    ]
    if never:
        missing.append(f"all of {', '.join(never)}")
    return f"**Not there yet:** {'; '.join(missing)}." if missing else ""


def signed(finding: Finding) -> str:
    """The verdict in words after its sign, as in `✗ fails, narrowly`."""
    return f"{_SIGNS[finding.verdict]} {finding.verdict_words}"
