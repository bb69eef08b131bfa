"""`check_paper`: the verdict on every claim, every table made again, and a page of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from research.papers.axes import plain_name
from research.papers.claims import Aside, Claim, Finding
from research.papers.exhibits import has_published
from research.papers.paper import Paper, refuse_others
from research.papers.probing import PROBES, probes_table
from research.papers.results import TABLES, PaperResults
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, MARKS, REPLICATES, combined
from research.papers.words import as_json
from verax import VeraxError
from verax.files import write_files
from verax.spreadsheets import to_csv

PAGE, CLAIMS, PICTURE = "README.md", "claims.json", "scatter.svg"
TRIAL = (
    "These results are of none of the paper's corpora: verdicts here show that everything works, "
    "and say nothing of the paper."
)
MOST_KEPT = 1000
"""Exhibits of more rows, such as the points of scatter plots, are not written to `TABLES`."""

_THAT = {
    REPLICATES: "it replicates that",
    IN_PART: "it replicates in part that",
    DOES_NOT: "it does not replicate that",
    CANNOT: "it cannot be told here whether",
}
_SINGLE = {REPLICATES: "replicates", DOES_NOT: "does not"}
_SHORT = {REPLICATES: "replicate", IN_PART: "in part", DOES_NOT: "do not", CANNOT: "cannot be told"}


@dataclass(frozen=True)
class Judged:
    """A claim and what came of it.

    finding  on the corpora of the paper that decide
    others   on other corpora, as generalisation; None if there are none
    aside    with the corpora that were set aside; None if there are none
    """

    claim: Claim
    finding: Finding
    others: Finding | None = None
    aside: Finding | None = None

    @property
    def verdict(self) -> str:
        return self.finding.verdict

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]

    @property
    def disagreeing(self) -> dict[str, str]:
        """Other rule → its verdict, if that is another."""
        rules = dict(self.finding.other_verdicts)
        if self.aside is not None:
            rules["with corpora set aside"] = self.aside.verdict
        return {name: verdict for name, verdict in rules.items() if verdict != self.verdict}

    @property
    def cause(self) -> Mapping[str, str]:
        """Why it does not replicate; empty if it does."""
        return {} if self.verdict == REPLICATES else self.claim.cause

    def to_dict(self) -> dict[str, Any]:
        """The claim and its findings as JSON has them."""
        beside = {"generalisation": self.others, "with_set_aside": self.aside}
        short = {
            name: None if f is None else {"verdict": f.verdict, "here": f.ours}
            for name, f in beside.items()
        }
        return {**self.claim.to_dict(), **self.finding.to_dict(), **short}


@dataclass(frozen=True, eq=False)
class Checked:
    """A paper, judged by results.

    paper    the paper that is judged
    results  those that its claims are judged by
    probes   those of its probes, which have no part in any verdict
    """

    paper: Paper
    results: PaperResults
    probes: PaperResults | None = None

    @cached_property
    def set_aside(self) -> Mapping[str, Aside]:
        """Corpus → why no verdict goes by it."""
        return self.paper.aside(self.results)

    @cached_property
    def own_corpora(self) -> list[str]:
        """The corpora of the results that are the paper's, but for those set aside."""
        own = [name for name in self.results.corpora() if self.paper.has(name)]
        return [name for name in own if name not in self.set_aside]

    @property
    def is_trial(self) -> bool:
        """Whether no corpus is the paper's: verdicts then say nothing of the paper."""
        return not any(self.paper.has(name) for name in self.results.corpora())

    @cached_property
    def judged(self) -> list[Judged]:
        """Each claim with its findings, in the order of the paper."""
        parts: dict[tuple[str, ...], PaperResults] = {}

        def check(claim: Claim, corpora: Sequence[str]) -> Finding:
            wanted = tuple(name for name in every if name in corpora)
            if wanted not in parts:
                is_all = len(wanted) == len(every)
                parts[wanted] = self.results if is_all else self.results.of_corpora(wanted)
            return claim.check(parts[wanted])

        every, found = self.results.corpora(), []
        deciding = every if self.is_trial else self.own_corpora
        for claim in self.paper.claims:
            own = deciding
            if claim.corpora and not self.is_trial:
                own = [name for name in own if plain_name(name) in claim.corpora]
            rest = [name for name in every if name not in own and name not in self.set_aside]
            others = check(claim, rest) if rest else Finding()
            again = [name for name in self.set_aside if self.paper.has(name)]
            aside = check(claim, [*own, *again]) if again and not claim.corpora else None
            finding = check(claim, own)
            found.append(Judged(claim, finding, others if others.parts else None, aside))
        return found

    @property
    def ranked(self) -> list[Judged]:
        """The same, first those that the paper is about."""
        return sorted(self.judged, key=lambda one: (one.claim.rank or 1000, one.claim.id))

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Exhibit → its table, published beside measured; empty if nothing of it is known."""
        return {exhibit.name: exhibit.make(self.results) for exhibit in self.paper.exhibits}

    @property
    def has_published(self) -> bool:
        """Whether any table has a published number."""
        return any(has_published(table) for table in self.tables.values())

    @cached_property
    def probed(self) -> pd.DataFrame:
        """The table of what probes have measured; empty if there are none."""
        if self.probes is None:
            return pd.DataFrame()
        order = self.paper.studies(PROBES) if self.paper.has_probes else ()
        return probes_table(self.probes, self.paper.probed, order)

    @property
    def counts(self) -> dict[str, int]:
        """Verdict → how many claims have it."""
        counts = Counter(one.verdict for one in self.judged)
        return {verdict: counts[verdict] for verdict in MARKS}

    def to_dict(self) -> dict[str, Any]:
        """The paper, counts, and each claim with its numbers, as `to_json` writes them."""
        return {
            "paper": self.paper.name,
            "conclusion": conclusion(self),
            "counts": self.counts,
            "corpora": self.own_corpora,
            "set_aside": {name: asdict(aside) for name, aside in self.set_aside.items()},
            "claims": [one.to_dict() for one in self.judged],
        }

    def to_json(self) -> str:
        """The text of claims.json."""
        return as_json(self.to_dict(), digits=12)  # the last ones differ between processors

    def write(self, folder: str | Path) -> list[Path]:
        """Write README.md, claims.json, scatter.svg and tables/*.csv of at most `MOST_KEPT` rows.

        The same results give the same bytes. Without altair and vl-convert-python there is no
        scatter.svg.

        Args:
            folder: where to; it is made if it does not exist.

        Returns:
            The files written.
        """
        from research.papers.page import page
        from research.papers.picture import can_draw, scatter

        folder = Path(folder)
        tables = {**self.tables, PROBES: self.probed}
        chart = scatter(self) if can_draw() else None
        files: Mapping[str, str] = {
            PAGE: page(self),
            CLAIMS: self.to_json(),
            **({} if chart is None else {PICTURE: chart.svg("light") + "\n"}),
            **{
                f"{TABLES}/{name}.csv": to_csv(table, float_format="%.6g")
                for name, table in tables.items()
                if 0 < len(table) <= MOST_KEPT
            },
        }
        write_files(folder, files)
        return [folder / name for name in files]


def check_paper(paper: Paper, folder: str | Path) -> Checked:
    """Judge every claim of a paper by its results.

    Args:
        paper: the paper, as `paper(name)` gives it.
        folder: its results: studies, packed or not, in a folder each; probes are in folder/probes.

    Returns:
        The verdict on each claim, and the tables and figures made again.

    Raises:
        VeraxError: `folder` holds no results, or those of another paper.
    """
    folder = Path(folder)
    for place in (folder, folder / PROBES):
        refuse_others(paper, place)
    results = PaperResults.open(folder)
    probes = paper.studies(PROBES) if paper.has_probes else {}
    if set(results.cells["part"]) <= set(probes) - set(paper.studies("full")):
        raise VeraxError(
            f"{folder} holds probes of {paper.name}, by which no claim is judged: put them in a "
            f"folder {PROBES} beside its results",
            code="result.wrong-kind",
        )
    return Checked(paper, results, results.probes)


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
