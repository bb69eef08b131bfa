"""`check_paper`: every claim judged, every table made again, and a page that shows both."""

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
from verax.files import write_text
from verax.papers.belonging import refuse_others
from verax.papers.claims import Claim, Finding
from verax.papers.comparing import FAILS, HOLDS, NARROWLY, UNDECIDED
from verax.papers.exhibits import has_published
from verax.papers.paper import Paper
from verax.papers.probing import PROBES, probes_table
from verax.papers.results import TABLES, Missing, PaperResults
from verax.results import Shown

PAGE, CLAIMS = "README.md", "claims.json"


@dataclass(frozen=True, eq=False)
class Checked(Shown):
    """What results say of a paper; `probes` have no part in any verdict."""

    paper: Paper
    results: PaperResults
    probes: PaperResults | None = None

    @cached_property
    def findings(self) -> list[tuple[Claim, Finding]]:
        return [(claim, claim.check(self.results)) for claim in self.paper.claims]

    @cached_property
    def own_corpora(self) -> list[str]:
        """Those in the results that the paper has too."""
        return [name for name in self.results.corpora() if self.paper.has(name)]

    @property
    def is_trial(self) -> bool:
        """Whether nothing is of the paper's corpora: verdicts then say nothing of the paper."""
        return not self.own_corpora

    @cached_property
    def own_findings(self) -> list[Finding] | None:
        """Every claim judged on the paper's own corpora alone; None where there are no others."""
        own = self.own_corpora
        if not own or len(own) == len(self.results.corpora()):
            return None
        results = self.results.of_corpora(own)
        return [claim.check(results) for claim in self.paper.claims]

    @property
    def judged(self) -> list[tuple[Claim, Finding, Finding | None]]:
        """Claims with what came of them, on all corpora and on the paper's own."""
        own: Sequence[Finding | None] = self.own_findings or [None] * len(self.findings)
        return [(*found, alone) for found, alone in zip(self.findings, own, strict=True)]

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Exhibit → published beside measured; those of which nothing is there are empty."""
        return {exhibit.name: exhibit.make(self.results) for exhibit in self.paper.exhibits}

    @property
    def has_published(self) -> bool:
        """Whether any of its tables has a published number."""
        return any(has_published(table) for table in self.tables.values())

    @cached_property
    def probed(self) -> pd.DataFrame:
        """What probes have measured; empty where there are none."""
        if self.probes is None:
            return pd.DataFrame()
        order = self.paper.studies(PROBES) if self.paper.has_probes else ()
        return probes_table(self.probes, self.paper.probed, order)

    @property
    def counts(self) -> dict[str, int]:
        """How many claims hold, fail, are undecided; and of those that fail, how many narrowly."""
        return _counted([finding for _, finding in self.findings])

    @property
    def own_counts(self) -> dict[str, int] | None:
        """As `counts`, on the paper's own corpora alone; None where there are no others."""
        return None if self.own_findings is None else _counted(self.own_findings)

    def told(self) -> dict[str, Any]:
        """As JSON: the paper, counts, and each claim with its numbers."""
        own = self.own_counts
        return {
            "paper": self.paper.name,
            "counts": self.counts,
            "own_corpora": None if own is None else {"names": self.own_corpora, "counts": own},
            "claims": [claim.told(finding, alone) for claim, finding, alone in self.judged],
        }

    def to_json(self) -> str:
        return (
            json.dumps(_rounded(self.told()), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        )

    def write(self, folder: str | Path) -> list[Path]:
        """README.md, claims.json and tables/*.csv: the same results give the same bytes."""
        from verax.papers.page import page

        folder = Path(folder)
        tables = {**self.tables, PROBES: self.probed}
        files: Mapping[str, str] = {
            PAGE: page(self),
            CLAIMS: self.to_json(),
            **{
                f"{TABLES}/{name}.csv": table.to_csv(index=False, float_format="%.6g")
                for name, table in tables.items()
                if len(table)
            },
        }
        try:
            (folder / TABLES).mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                write_text(folder / name, text)
        except OSError as error:
            raise VeraxError(f"cannot write {folder}: {error.strerror}") from error
        return [folder / name for name in files]


def _counted(found: Sequence[Finding]) -> dict[str, int]:
    counts = Counter(finding.verdict for finding in found)
    by_verdict = {verdict: counts[verdict] for verdict in (HOLDS, FAILS, UNDECIDED)}
    return {**by_verdict, NARROWLY: sum(finding.narrowly for finding in found)}


def check_paper(paper: Paper, folder: str | Path) -> Checked:
    """Judge a paper by results: a folder of studies, packed or not, each in one of its own.

    Its probes are those in folder/probes. Studies of other papers, or of none, are refused.
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
    """Values with twelve digits of each number: the last ones are the processor's, not ours."""
    if isinstance(values, float):
        return float(f"{values:.12g}")
    if isinstance(values, Mapping):
        return {name: _rounded(value) for name, value in values.items()}
    return [_rounded(value) for value in values] if isinstance(values, list | tuple) else values
