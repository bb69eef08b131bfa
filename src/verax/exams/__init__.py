"""What an explanation must survive; one folder per exam."""

from verax.exams import builtin as builtin  # registers the exams of this package
from verax.exams.exam import Exam
from verax.exams.examine import examine
from verax.exams.judgement.judgement import Judgement
from verax.exams.registry import EXAMS, register
from verax.exams.verdict import Verdict, load_verdict

__all__ = ["EXAMS", "Exam", "Judgement", "Verdict", "examine", "load_verdict", "register"]
