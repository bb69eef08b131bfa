"""`check_paper`: the verdict on every claim, every table made again, and a page of both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.errors import VeraxError
from verax.files import write_files
from verax.papers.claims import Claim, Finding
from verax.papers.comparing import FAILS, HOLDS, NARROWLY, UNDECIDED
from verax.papers.exhibits import has_published
from verax.papers.paper import Paper
from verax.papers.probing import PROBES, probes_table
from verax.papers.registry import refuse_others
from verax.papers.results import TABLES, Missing, PaperResults
from verax.results import Shown
from verax.spreadsheets import to_csv

PAGE, CLAIMS = "README.md", "claims.json"


@dataclass(frozen=True, eq=False)
class Checked(Shown):
    """A paper, judged by results.

    paper    the paper that is judged
    results  those that its claims are judged by
    probes   those of its probes, which have no part in any verdict
    """

    paper: Paper
    results: PaperResults
    probes: PaperResults | None = None

    @cached_property
    def findings(self) -> list[tuple[Claim, Finding]]:
        """Each claim and what came of it, on all corpora."""
        return [(claim, claim.check(self.results)) for claim in self.paper.claims]

    @cached_property
    def own_corpora(self) -> list[str]:
        """The corpora of the results that are the paper's."""
        return [name for name in self.results.corpora() if self.paper.has(name)]

    @property
    def is_trial(self) -> bool:
        """Whether no corpus is the paper's: verdicts then say nothing of the paper."""
        return not self.own_corpora

    @cached_property
    def own_findings(self) -> list[Finding] | None:
        """What came of each claim on the paper's corpora alone; None if there are no others."""
        corpora = self.own_corpora
        if not corpora or len(corpora) == len(self.results.corpora()):
            return None
        results = self.results.of_corpora(corpora)
        return [claim.check(results) for claim in self.paper.claims]

    @property
    def judged(self) -> list[tuple[Claim, Finding, Finding | None]]:
        """Each claim and what came of it, on all corpora and on the paper's alone."""
        on_paper: Sequence[Finding | None] = self.own_findings or [None] * len(self.findings)
        pairs = zip(self.findings, on_paper, strict=True)
        return [(claim, finding, alone) for (claim, finding), alone in pairs]

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
        """How many claims hold, fail and are undecided, and how many fail narrowly."""
        return _counted([finding for _, finding in self.findings])

    @property
    def own_counts(self) -> dict[str, int] | None:
        """As `counts`, on the paper's corpora alone; None if there are no others."""
        return None if self.own_findings is None else _counted(self.own_findings)

    def to_dict(self) -> dict[str, Any]:
        """The paper, counts, and each claim with its numbers, as `to_json` writes them."""
        on_paper = self.own_counts
        return {
            "paper": self.paper.name,
            "counts": self.counts,
            "own_corpora": (
                None if on_paper is None else {"names": self.own_corpora, "counts": on_paper}
            ),
            "claims": [claim.to_dict(finding, alone) for claim, finding, alone in self.judged],
        }

    def to_json(self) -> str:
        """The text of claims.json."""
        values = _rounded(self.to_dict())
        return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """Write README.md, claims.json and tables/*.csv; the same results give the same bytes.

        Args:
            folder: where to; it is made if it does not exist.

        Returns:
            The files written.
        """
        from verax.papers.page import page

        folder = Path(folder)
        tables = {**self.tables, PROBES: self.probed}
        files: Mapping[str, str] = {
            PAGE: page(self),
            CLAIMS: self.to_json(),
            **{
                f"{TABLES}/{name}.csv": to_csv(table, float_format="%.6g")
                for name, table in tables.items()
                if len(table)
            },
        }
        write_files(folder, files)
        return [folder / name for name in files]


def _counted(findings: Sequence[Finding]) -> dict[str, int]:
    counts = Counter(finding.verdict for finding in findings)
    by_verdict = {verdict: counts[verdict] for verdict in (HOLDS, FAILS, UNDECIDED)}
    return {**by_verdict, NARROWLY: sum(finding.narrowly for finding in findings)}


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
            f"folder {PROBES} beside its results"
        )
    try:
        return Checked(paper, results, PaperResults.open(folder / PROBES))
    except Missing:
        return Checked(paper, results)


def _rounded(values: Any) -> Any:
    """Values with numbers cut to twelve digits: the last ones differ between processors."""
    if isinstance(values, float):
        return float(f"{values:.12g}")
    if isinstance(values, Mapping):
        return {name: _rounded(value) for name, value in values.items()}
    return [_rounded(value) for value in values] if isinstance(values, list | tuple) else values
