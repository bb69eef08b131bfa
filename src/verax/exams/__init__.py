"""What an explanation must survive; one folder per exam."""

from verax.exams import builtin as builtin  # registers the exams of this package
from verax.exams.exam import Exam
from verax.exams.examine import examine
from verax.exams.judgement.headline import LEAST_DOCUMENTS
from verax.exams.judgement.judgement import Judgement, judge
from verax.exams.judgement.limits import LimitSet, load_limits
from verax.exams.planning import Planned, plan
from verax.exams.registry import EXAMS, default_exams, measure_ids, register, unregister
from verax.exams.single_token import token_curves
from verax.exams.verdict import Verdict, load_verdict

__all__ = [
    "EXAMS",
    "LEAST_DOCUMENTS",
    "Exam",
    "Judgement",
    "LimitSet",
    "Planned",
    "Verdict",
    "default_exams",
    "examine",
    "judge",
    "load_limits",
    "load_verdict",
    "measure_ids",
    "plan",
    "register",
    "token_curves",
    "unregister",
]
