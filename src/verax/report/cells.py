"""A study as charts see it: numbers over seeds, and documents of one seed of each configuration."""

from __future__ import annotations

from collections.abc import Sequence

from verax.drawing.names import MOST_CHARTED
from verax.errors import VeraxError
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.verdict import Verdict
from verax.studies import StudyResults
from verax.studies.summaries import LABEL, labelled


def of_seeds(models: Sequence[ModelSummary]) -> dict[str, Verdict]:
    """Verdicts that have the numbers over seeds and no document: what charts of numbers need."""
    return {m.name: Verdict({}, m.manifest, m.summary) for m in models[:MOST_CHARTED]}


def of_documents(results: StudyResults) -> dict[str, Verdict]:
    """The first seed of each configuration, for charts over documents.

    Of a study packed without such tables there is none.
    """
    keys = labelled(results).drop_duplicates(LABEL).set_index(LABEL)["cell"]
    try:
        return {str(n): results.verdict(str(key)) for n, key in keys[:MOST_CHARTED].items()}
    except VeraxError:
        return {}
