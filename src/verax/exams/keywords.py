"""The keywords of `examine`, for editors and type checkers.

A type checker reads no dataclass as keywords, so the options of this package's exams stand here
once more; a test holds the two to each other. An exam of another package takes its options under
its name, in `exam_options`.
"""

from __future__ import annotations

from typing import TypedDict


class ErasureKeywords(TypedDict, total=False):
    """Options of the exam erasure."""

    draws: int
    erased_layers: str
    erased_steps: int


class AgreementKeywords(TypedDict, total=False):
    """Options of the exam agreement."""

    inputs: str
    items: str
    spearman: bool
    top_k: int | None
    derived: str | None


class DispersionKeywords(TypedDict, total=False):
    """Options of the exam dispersion."""

    entropy_of: str
    influence: str
    positions: int | None


class ReplacementKeywords(TypedDict, total=False):
    """Options of the exam replacement."""

    permutations: int
    by_layer: bool
    by_head: str
    place_permutations: int


class InformationKeywords(TypedDict, total=False):
    """Options of the exam information."""

    max_words: int
    words_by: str
    occurrences: int
    clusters: int
    shuffles: int


class SingleTokenKeywords(TypedDict, total=False):
    """Options of the exam single_token."""

    curves: int


class AdversaryKeywords(TypedDict, total=False):
    """Options of the exam adversary."""

    epsilons: str
    search: bool
    restarts: int
    search_steps: int
    permutation_test: int


class DeletionKeywords(TypedDict, total=False):
    """Options of the exam deletion."""

    operator: str
    rankings: str | None
    random_orders: int
    steps: int
    budget: int
    beam: int
    sufficient: bool


class SufficiencyKeywords(TypedDict, total=False):
    """Options of the exam sufficiency."""

    percentages: str
    removal: str
    ranked_by: str | None
    random_rankings: int
    greedy_sets: int


class PlausibilityKeywords(TypedDict, total=False):
    """Options of the exam plausibility."""

    scored_by: str | None
    chance_draws: int


class ExamKeywords(
    ErasureKeywords,
    AgreementKeywords,
    DispersionKeywords,
    ReplacementKeywords,
    InformationKeywords,
    SingleTokenKeywords,
    AdversaryKeywords,
    DeletionKeywords,
    SufficiencyKeywords,
    PlausibilityKeywords,
    total=False,
):
    """Every option of every exam; under its exam's name where two exams have one of a name."""

    erasure: ErasureKeywords
    agreement: AgreementKeywords
    dispersion: DispersionKeywords
    replacement: ReplacementKeywords
    information: InformationKeywords
    single_token: SingleTokenKeywords
    adversary: AdversaryKeywords
    deletion: DeletionKeywords
    sufficiency: SufficiencyKeywords
    plausibility: PlausibilityKeywords
