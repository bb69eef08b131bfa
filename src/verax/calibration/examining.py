"""Exams of one calibrated model: numbers with intervals, and how well importances find evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from verax.calibration.making import Classifier, Effort
from verax.corpora.corpus import Corpus
from verax.exams.examine import examine
from verax.external.transformer import TransformerClassifier
from verax.importance.explanation import explain
from verax.importance.transformers import DERIVED

CHEAP = ("erasure", "replacement", "single_token")
COSTLY = ("agreement", "adversary", "deletion", "sufficiency")
OF_BERTS = ("erasure", "agreement", "adversary", "deletion", "sufficiency")
IMPORTANCES = ("attention", "gradient", "gradient-input-detached", "leave-one-out", "random")
"""Whose precision at finding the evidence is told."""
IMPORTANCES_OF_BERTS = (*DERIVED, "gradient", "gradient-input", "leave-one-out", "random")
_RANKINGS = ",".join([*DERIVED, "gradient", "leave-one-out"])
OPTIONS: dict[str, dict[str, Any]] = {
    "agreement": {"inputs": "gradient,leave-one-out", "items": "leave-one-out"},
    "adversary": {"epsilons": "0.05", "permutation_test": 1},
    "deletion": {"budget": 200, "sufficient": False},
    "sufficiency": {"greedy_sets": 100},
}
"""Exam → its options: those of an ordinary examination, with fewer questions asked."""
OPTIONS_OF_BERTS: dict[str, dict[str, Any]] = {
    "agreement": {"inputs": "gradient,leave-one-out"},
    "adversary": {"epsilons": "0.05", "permutation_test": 1},
    "deletion": {"budget": 200, "sufficient": False, "rankings": _RANKINGS},
    "sufficiency": {"greedy_sets": 100, "rankings": _RANKINGS},
    "replacement": {"by_layer": False, "by_head": "no"},
}
KEPT = {
    "erasure": ("excess", "documents", "delta_js", "contingency", "fraction", "mass"),
    "replacement": ("", "documents"),
    "single_token": ("",),
    "agreement": ("",),
    "adversary": ("", "documents"),
    "deletion": ("", "documents", "smallest"),
    "sufficiency": ("", "documents"),
}
"""Exam → its tables that are kept, without its name: what judgements read, and could read."""
_ORDERS = ("attention", "gradient", "random", "random@all", "optimum")


def examined(
    model: Classifier, corpus: Corpus, effort: Effort
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The numbers of all judging exams, and what was examined.

    Args:
        model: a calibrated model.
        corpus: what it was trained on; its test split is examined.
        effort: how many documents are read.
    """
    of_bert = isinstance(model, TransformerClassifier)
    parts = (
        [(("replacement",), effort.sample), (OF_BERTS, effort.berts)]
        if of_bert
        else [(CHEAP, effort.sample), (COSTLY, effort.costly)]
    )
    options = OPTIONS_OF_BERTS if of_bert else OPTIONS
    verdicts = [
        examine(
            *(model, corpus, list(names)),
            sample=sample,
            exam_options={name: options[name] for name in names if name in options},
            device="cpu",
            progress=False,
        )
        for names, sample in parts
    ]
    frame = pd.concat([verdict.summary() for verdict in verdicts], ignore_index=True)
    cells = zip(frame["exam"], frame["table"], frame["row"], strict=True)
    kept = [_is_kept(*cell) for cell in cells]
    return frame[kept].reset_index(drop=True), dict(verdicts[0].manifest)


def _is_kept(exam: str, table: str, row: str) -> bool:
    """Whether a number is kept: of large tables only rows of attention, and what it is held to."""
    name = table.removeprefix(exam).removeprefix(".")
    if name not in KEPT[exam]:
        return False
    if exam == "agreement":
        return row.startswith("inputs:") and row.endswith((":leave-one-out", ":gradient"))
    if exam == "erasure" and name != "documents":
        return row in _ORDERS
    return True


def precisions(model: Classifier, corpus: Corpus, documents: int) -> dict[str, float]:
    """Importance → the share of its k highest words that are evidence, k being all there is.

    Args:
        model: a calibrated model.
        corpus: what it was trained on.
        documents: how many of the test split are read.
    """
    test = corpus.test.take(np.arange(min(documents, len(corpus.test))))
    assert test.rationales is not None
    of_bert = isinstance(model, TransformerClassifier)
    names = IMPORTANCES_OF_BERTS if of_bert else IMPORTANCES
    table = explain(model, test.tokens, names, progress=False)
    hits: dict[str, list[float]] = {name: [] for name in names}
    for number, scores in table.groupby("text"):
        marks = np.asarray(test.rationales[int(str(number))]) > 0
        for name in names:
            order = np.argsort(-scores[name].to_numpy(), kind="stable")
            hits[name].append(float(marks[order[: marks.sum()]].mean()))
    return {name: float(np.mean(values)) for name, values in hits.items()}
