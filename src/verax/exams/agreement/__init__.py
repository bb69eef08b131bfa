"""Agreement: do attention and other importances rank the same positions high?"""

from verax.exams.agreement.ranks import (
    REASONS,
    kendall_p_value,
    kendall_tau_b,
    kendall_test,
    spearman,
    top_k_overlap,
    undefined,
)

__all__ = [
    "REASONS",
    "kendall_p_value",
    "kendall_tau_b",
    "kendall_test",
    "spearman",
    "top_k_overlap",
    "undefined",
]
