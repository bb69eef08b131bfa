"""Papers as data: the studies behind each, its published numbers, and its claims.

`paper(name)` returns one. `run_paper` runs its studies, `pack_paper` packs their results, and
`check_paper` judges every claim and makes every table again.
"""

from research.papers.checking import Checked, check_paper
from research.papers.claims import Claim, Finding
from research.papers.packing import pack_paper
from research.papers.paper import NAMES, SCALES, Paper, paper, papers
from research.papers.results import PaperResults
from research.papers.run import run_paper, run_papers
from research.papers.verifying import Verified, verify_paper

__all__ = [
    "NAMES",
    "SCALES",
    "Checked",
    "Claim",
    "Finding",
    "Paper",
    "PaperResults",
    "Verified",
    "check_paper",
    "pack_paper",
    "paper",
    "papers",
    "run_paper",
    "run_papers",
    "verify_paper",
]
