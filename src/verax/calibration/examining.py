"""Exams of one calibrated model: numbers with intervals, and how well importances find evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from verax.calibration.making import Effort
from verax.corpora.corpus import Corpus
from verax.exams.examine import examine
from verax.importance.explanation import explain
from verax.models.classifier import AttentionClassifier

CHEAP = ("erasure", "replacement", "single_token")
COSTLY = ("agreement", "adversary")
IMPORTANCES = ("attention", "gradient", "gradient-input-detached", "leave-one-out", "random")
"""Whose precision at finding the evidence is told."""
KEPT = {
    "erasure": ("erasure.excess", "erasure.documents"),
    "replacement": ("replacement", "replacement.documents"),
    "single_token": ("single_token",),
    "agreement": ("agreement",),
    "adversary": ("adversary", "adversary.documents"),
}
"""Tables of each exam that are kept: what judgements read."""
ROWS = {
    "erasure.excess": ("attention", "gradient", "random@all"),
    "agreement": ("inputs:attention:leave-one-out", "inputs:attention:gradient"),
}
"""Rows that are kept of large tables."""


def examined(
    model: AttentionClassifier, corpus: Corpus, effort: Effort
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The numbers of all judging exams, and what was examined.

    Args:
        model: a calibrated model.
        corpus: what it was trained on; its test split is examined.
        effort: how many documents are read.
    """
    how: dict[str, Any] = {"device": "cpu", "progress": False}
    cheap = examine(model, corpus, list(CHEAP), sample=effort.sample, **how)
    costly = examine(
        *(model, corpus, list(COSTLY)),
        sample=effort.costly,
        exam_options={
            "agreement": {"inputs": "gradient,leave-one-out", "items": "leave-one-out"},
            "adversary": {"epsilons": "0.05", "permutation_test": 1},
        },
        **how,
    )
    frame = pd.concat([cheap.summary(), costly.summary()], ignore_index=True)
    kept = [
        table in KEPT[exam] and (table not in ROWS or row in ROWS[table])
        for exam, table, row in zip(frame["exam"], frame["table"], frame["row"], strict=True)
    ]
    return frame[kept].reset_index(drop=True), dict(cheap.manifest)


def precisions(model: AttentionClassifier, corpus: Corpus, documents: int) -> dict[str, float]:
    """Importance → the share of its k highest words that are evidence, k being all there is.

    Args:
        model: a calibrated model.
        corpus: what it was trained on.
        documents: how many of the test split are read.
    """
    test = corpus.test.take(np.arange(min(documents, len(corpus.test))))
    assert test.rationales is not None
    table = explain(model, test.tokens, IMPORTANCES, progress=False)
    hits: dict[str, list[float]] = {name: [] for name in IMPORTANCES}
    for number, scores in table.groupby("text"):
        marks = np.asarray(test.rationales[int(str(number))]) > 0
        for name in IMPORTANCES:
            order = np.argsort(-scores[name].to_numpy(), kind="stable")
            hits[name].append(float(marks[order[: marks.sum()]].mean()))
    return {name: float(np.mean(values)) for name, values in hits.items()}
