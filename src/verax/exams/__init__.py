"""What an explanation must survive; one file, or folder, per exam."""

from verax.exams.examine import EXAMS, examine
from verax.exams.verdict import Verdict, load_verdict

__all__ = ["EXAMS", "Verdict", "examine", "load_verdict"]
