"""`verax.functional` is the functions where they live, and its docstring names them all."""

from __future__ import annotations

import verax
from verax import functional
from verax.exams.adversary import most_divergent
from verax.exams.agreement import kendall_tau_b
from verax.exams.dispersion import normalised_entropy
from verax.exams.erasure import minimal_flip_sets
from verax.models.projections import PROJECTIONS


def test_paths_of_before_lead_to_the_same_functions() -> None:
    assert verax.functional is functional
    assert functional.minimal_flip_sets is minimal_flip_sets
    assert functional.most_divergent is most_divergent
    assert functional.kendall_tau_b is kendall_tau_b
    assert functional.normalised_entropy is normalised_entropy
    for name, projection in PROJECTIONS.registered.items():
        if projection.function.__module__ == "verax.models.projections":
            assert getattr(functional, name) is projection.function


def test_its_docstring_has_a_line_for_each() -> None:
    text = functional.__doc__ or ""
    for name in functional.__all__:
        assert name in text.partition(">>>")[0], name
        assert getattr(functional, name).__doc__
