"""What `verax` offers, imported: with torch, which takes seconds."""

from verax.corpora import Corpus, Documents, load_corpus
from verax.errors import VeraxError
from verax.exams import Verdict, examine
from verax.models import AttentionClassifier, Trace, load
from verax.opening import open_path as open
from verax.results import Result
from verax.studies import (
    Adversaries,
    Comparison,
    StudyResults,
    Sweep,
    compare,
    open_study,
    run_study,
)
from verax.studies import run_adversaries as adversaries
from verax.studies import run_sweep as sweep
from verax.training import train
from verax.version import __version__

__all__ = [
    "Adversaries",
    "AttentionClassifier",
    "Comparison",
    "Corpus",
    "Documents",
    "Result",
    "StudyResults",
    "Sweep",
    "Trace",
    "VeraxError",
    "Verdict",
    "__version__",
    "adversaries",
    "compare",
    "examine",
    "load",
    "load_corpus",
    "open",
    "open_study",
    "run_study",
    "sweep",
    "train",
]
