"""The first screen of a paper's page: what Markdown, HTML and the terminal show first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from research.papers.checking import Checked, Judged
from research.papers.exhibits import has_published
from research.papers.probing import PROBES
from research.papers.results import TABLES, PaperResults
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, MARKS, REPLICATES, Part, combined
from research.papers.words import listed, span

TRIAL = (
    "These results are of none of the paper's corpora: verdicts here show that everything works, "
    "and say nothing of the paper."
)
RULES = (
    "A part of a claim *replicates* if the share of comparisons that the paper's words ask for "
    "goes its way, of all and of those that are clear (the 95% interval over seeds leaves zero "
    "out); *in part* if half or more of both do; *does not* if fewer than half of both do; and "
    "*cannot be told* otherwise. A tally of the paper is compared by Fisher's exact test. Two "
    "other rules are shown beside: *strict*, every comparison has to go its way, and *lenient*, "
    "more than half have to, clear or not."
)
HOW_PROBED = (
    "Short runs, to see whether something explains a difference: what the question names is "
    "otherwise than in the studies above. They may see a sample of the documents, and no claim is "
    f"judged by them. `{TABLES}/{PROBES}.csv` has all columns."
)
HOW_TO_READ = "Mean ± standard deviation over seeds; of two seeds both values."
_THAT = {
    REPLICATES: "it replicates that",
    IN_PART: "it replicates in part that",
    DOES_NOT: "it does not replicate that",
    CANNOT: "it cannot be told here whether",
}
_SINGLE = {REPLICATES: "replicates", DOES_NOT: "does not"}
_SHORT = {REPLICATES: "replicate", IN_PART: "in part", DOES_NOT: "do not", CANNOT: "cannot be told"}


def claim_line(one: Judged) -> list[str]:
    """A claim in a line: what it says, the paper's number, ours, and the cause of a difference."""
    cause = "; ".join(f"{kind}: {words}" for kind, words in one.cause.items())
    return [one.claim.title, one.finding.theirs, one.finding.ours, cause]


def central(checked: Checked) -> tuple[list[Judged], list[Judged]]:
    """The claims that the paper is about, and the others."""
    ranked = checked.ranked
    first = [one for one in ranked if one.claim.rank] or ranked
    return first, [one for one in ranked if one not in first]


def conclusion(checked: Checked) -> str:
    """A sentence: what of the paper replicates, from its `conclusion` and the verdicts."""
    if checked.is_trial:
        return TRIAL
    verdicts = {one.claim.id: one.verdict for one in checked.judged}
    said: dict[str, list[str]] = {verdict: [] for verdict in _THAT}
    for text, claims in checked.paper.conclusion.items():
        said[combined([verdicts[id] for id in claims])].append(text)
    text = "; ".join(_said(verdict, texts) for verdict, texts in said.items() if texts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _said(verdict: str, texts: Sequence[str]) -> str:
    """Texts after the words of a verdict: `it replicates that a, that b, and that c`."""
    words = _THAT[verdict]
    _, _, joint = words.rpartition(" ")
    *others, last = [f"{joint} {text}" for text in texts]
    listed_texts = f"{', '.join(others)}, and {last}" if others else last
    return f"{words.removesuffix(joint)}{listed_texts}"


def counts(checked: Checked) -> str:
    """How many claims have which verdict: `✓ 3 replicate · ◐ 1 in part · …`."""
    return " · ".join(
        f"{MARKS[v]} {n} {_SINGLE.get(v, _SHORT[v]) if n == 1 else _SHORT[v]}"
        for v, n in checked.counts.items()
    )


def judged_on(checked: Checked) -> str:
    """A sentence or two: which corpora decide, which are set aside and why."""
    names = checked.results.corpora() if checked.is_trial else checked.own_corpora
    text = f"{len(checked.judged)} claims, judged on {listed(names)}." if names else ""
    aside = (f"{name} is set aside: {why.reason}." for name, why in checked.set_aside.items())
    return " ".join([text, *aside]).strip()


def farther(tables: Iterable[pd.DataFrame]) -> str:
    """A sentence: how many published numbers are farther from ours than seeds explain.

    A pair that several exhibits show counts once. Settings, sizes, and numbers of a single seed
    do not count.
    """
    rows = pairs(tables).dropna(subset=["beyond"])
    if rows.empty:
        return ""
    return (
        f"Of {len(rows):,} published numbers beside ours, {int(rows['beyond'].sum()):,} are "
        "farther than seeds explain."
    )


def pairs(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Rows with a published number and one of ours, settings aside; a pair is there once."""
    counted: list[pd.DataFrame] = [
        pd.DataFrame(columns=["measure", "published", "value", "beyond"])
    ]
    for table in tables:
        if has_published(table):
            rows = table[table["over"] != "setting"].dropna(subset=["published", "value"])
            for other in counted[1:]:
                rows = rows[~_as_text(rows, other).isin(_as_text(other, rows))]
            counted.append(rows)
    return pd.concat(counted[1:] or counted, ignore_index=True)


def _as_text(table: pd.DataFrame, other: pd.DataFrame) -> pd.Series:
    """Each row as a text of the columns that another table has too."""
    shared = sorted({str(name) for name in table} & {str(name) for name in other})
    rows = [str(list(row.values())) for row in table[shared].to_dict("records")]
    return pd.Series(rows, index=table.index, dtype=object)


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


EVIDENCE = ("part", "verdict", "as claimed", "asked for", "clear", "numbers", "not as claimed")
_FEW = 6


def evidence(parts: Sequence[Part]) -> list[list[str]]:
    """A row of `EVIDENCE` for each part of a claim."""
    rows = []
    for part in parts:
        asked = "all" if part.need == 1 else f"{part.need:.0%}"
        if part.tally is not None:
            asked = f"{part.tally[0]} of {part.tally[1]} (Fisher p {part.fisher:.2f})"
        against = [str(c.label) for c in part.comparisons if not c.is_for]
        named = against[:_FEW] + ([f"{len(against) - _FEW} more"] if len(against) > _FEW else [])
        clear = f"{part.clearly} for, {part.contrary} against"
        tally = f"{part.favourable} of {part.of}"
        rows.append([part.name, part.verdict, tally, asked, clear, numbers(part), "; ".join(named)])
    return rows


def numbers(part: Part) -> str:
    """The range of the numbers compared, and what they are compared with."""
    if not part.of:
        return "nothing to compare"
    first = [c.a.value for c in part.comparisons]
    second = [c.b.value for c in part.comparisons if c.b is not None]
    form = ".1f" if max(map(abs, first)) >= 10 else ".3f"
    text = span(first, form)
    if second:
        text += f" against {span(second, form)}"
    return f"{text}, {part.sense}" if part.sense else text
