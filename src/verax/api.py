"""What `verax` offers, imported: with torch, which takes seconds."""

import verax.functional as functional
import verax.report as report
from verax.corpora import Corpus, Documents, load_corpus
from verax.errors import VeraxError
from verax.exams import EXAMS, Exam, Judgement, Verdict, examine, load_verdict
from verax.exams.deletion.choosing import choose_head
from verax.exams.randomisation import randomisation_check
from verax.importance import IMPORTANCES
from verax.models import AttentionClassifier, Trace, load
from verax.models.adapters import from_module, from_predict
from verax.models.base import ExternalClassifier
from verax.models.transformers.classifier import TransformerClassifier
from verax.models.transformers.loading import from_transformers
from verax.opening import open_path as open
from verax.results import Result
from verax.studies import (
    Adversaries,
    Comparison,
    GridResults,
    StudyResults,
    Sweep,
    compare,
    open_grid,
    open_study,
    read_study,
    run_grid,
    run_studies,
    run_study,
)
from verax.studies import run_adversaries as adversaries
from verax.studies import run_sweep as sweep
from verax.training import train
from verax.version import __version__

__all__ = [
    "EXAMS",
    "IMPORTANCES",
    "Adversaries",
    "AttentionClassifier",
    "Comparison",
    "Corpus",
    "Documents",
    "Exam",
    "ExternalClassifier",
    "GridResults",
    "Judgement",
    "Result",
    "StudyResults",
    "Sweep",
    "Trace",
    "TransformerClassifier",
    "VeraxError",
    "Verdict",
    "__version__",
    "adversaries",
    "choose_head",
    "compare",
    "examine",
    "from_module",
    "from_predict",
    "from_transformers",
    "functional",
    "load",
    "load_corpus",
    "load_verdict",
    "open",
    "open_grid",
    "open_study",
    "randomisation_check",
    "read_study",
    "report",
    "run_grid",
    "run_studies",
    "run_study",
    "sweep",
    "train",
]
