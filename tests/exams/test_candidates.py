"""Each exam declares the numbers by which it may be judged, and calibration uses no others."""

from __future__ import annotations

import pytest

from verax.exams import EXAMS, load_limits
from verax.exams.authoring import CandidateMeasure

CANDIDATES = [candidate for exam in EXAMS.values() for candidate in exam.candidates]


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda one: f"{one.exam}-{one.name}")
def test_thresholds_of_a_candidate_are_within_its_exam(candidate: CandidateMeasure) -> None:
    exam = EXAMS[candidate.exam]
    assert candidate in exam.candidates
    assert set(candidate.limits) <= set(exam.limit_ranges)
    good, bad = (name.rpartition("_")[2] for name in candidate.limits)
    assert (good, bad) == (("above", "below") if candidate.high_is_good else ("below", "above"))


def test_candidates_have_names_and_ids_of_their_own() -> None:
    assert len({(one.exam, one.name) for one in CANDIDATES}) == len(CANDIDATES)
    assert len({one.id for one in CANDIDATES}) == len(CANDIDATES)


def test_published_thresholds_are_of_declared_candidates() -> None:
    declared = {(one.exam, one.name): one for one in CANDIDATES}
    limits = load_limits("2026-11-measured-3")
    for measured in (limits, *limits.by_kind.values()):
        assert measured.calibration is not None
        for exam, known in measured.calibration.exams.items():
            candidate = declared[exam, known["headline"]]
            assert known["measure"] == candidate.id
            assert known["high_is_good"] == candidate.high_is_good
            assert set(candidate.limits) <= set(measured.limits[exam])
