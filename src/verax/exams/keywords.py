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


class RankingKeywords(TypedDict, total=False):
    """Options of exams that rank words, given once for all of them."""

    rankings: str | None
    random_orders: int


class RemovalKeywords(RankingKeywords, total=False):
    """Options of exams that take words out of the text."""

    operator: str


class _DeletionAlone(TypedDict, total=False):
    steps: int
    budget: int
    beam: int
    sufficient: bool


class _SufficiencyAlone(TypedDict, total=False):
    percentages: str
    greedy_sets: int


class DeletionKeywords(RemovalKeywords, _DeletionAlone, total=False):
    """Options of the exam deletion."""


class SufficiencyKeywords(RemovalKeywords, _SufficiencyAlone, total=False):
    """Options of the exam sufficiency."""


class ExamKeywords(
    ErasureKeywords,
    AgreementKeywords,
    DispersionKeywords,
    ReplacementKeywords,
    InformationKeywords,
    SingleTokenKeywords,
    AdversaryKeywords,
    RemovalKeywords,
    _DeletionAlone,
    _SufficiencyAlone,
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
    plausibility: RankingKeywords
