"""`check_paper`: every claim judged, every table made again, and a page that shows both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.errors import VeraxError
from verax.files import write_text
from verax.papers.claims import Claim, Finding
from verax.papers.comparing import FAILS, HOLDS, UNDECIDED
from verax.papers.paper import Paper
from verax.papers.results import PaperResults

PAGE, CLAIMS, TABLES = "README.md", "claims.json", "tables"


@dataclass(frozen=True, eq=False)
class Checked:
    """What results say of a paper."""

    paper: Paper
    results: PaperResults

    def _repr_html_(self) -> str:
        from verax.report.notebook import paper_html

        return paper_html(self)

    @cached_property
    def findings(self) -> list[tuple[Claim, Finding]]:
        return [(claim, claim.check(self.results)) for claim in self.paper.claims]

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Exhibit → published beside measured; those of which nothing is there are empty."""
        return {exhibit.name: exhibit.make(self.results) for exhibit in self.paper.exhibits}

    @property
    def counts(self) -> dict[str, int]:
        """How many claims hold, fail, are undecided."""
        counts = Counter(finding.verdict for _, finding in self.findings)
        return {verdict: counts[verdict] for verdict in (HOLDS, FAILS, UNDECIDED)}

    def told(self) -> dict[str, Any]:
        """As JSON: the paper, counts, and each claim with its numbers."""
        return {
            "paper": self.paper.name,
            "counts": self.counts,
            "claims": [claim.told(finding) for claim, finding in self.findings],
        }

    def to_json(self) -> str:
        return json.dumps(self.told(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self, folder: str | Path) -> list[Path]:
        """README.md, claims.json and tables/*.csv: the same results give the same bytes."""
        from verax.papers.page import page

        folder = Path(folder)
        files: Mapping[str, str] = {
            PAGE: page(self),
            CLAIMS: self.to_json(),
            **{
                f"{TABLES}/{name}.csv": table.to_csv(index=False, float_format="%.6g")
                for name, table in self.tables.items()
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


def check_paper(paper: Paper, folder: str | Path) -> Checked:
    """Judge a paper by results: a folder of studies, packed or not, each in one of its own."""
    return Checked(paper, PaperResults.open(folder))
