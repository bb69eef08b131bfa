"""How well a model decides, class by class: precision, recall, F1, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from verax.exams.judgement.number import Number
from verax.exams.measures import PERCENT
from verax.exams.replacement.measures import TRAINED
from verax.exams.tables import wide
from verax.exams.verdict import Verdict
from verax.report.page import Part
from verax.report.tables import Cell, html_table
from verax.report.templating import fill, fold
from verax.statistics import proportion

_TABLES = ("erasure_instances", "replacement_instances", "adversary_instances")
"""Tables that hold decisions, those in the model's own precision first."""
_NOTE = (
    "Of the documents examined. Precision is of those decided for a class, recall of those "
    "labelled with it; both have 95% intervals (Wilson's). F1 is their harmonic mean."
)


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Decisions held against labels.

    Attributes:
        classes: the names of the classes.
        counts: (classes, classes) documents, by label and by decision.
        missing: reason → documents that have no label to hold against.
    """

    classes: Sequence[str]
    counts: NDArray[np.int64]
    missing: Mapping[str, int]

    def frame(self) -> pd.DataFrame:
        """precision, recall, f1 and support of each class; NaN where nothing is divided by."""
        hits, support = self.counts.diagonal().astype(float), self.counts.sum(axis=1)
        decided = self.counts.sum(axis=0)
        with np.errstate(invalid="ignore"):
            scores = {
                "precision": hits / decided,
                "recall": hits / support,
                "f1": 2 * hits / (decided + support),
                "support": support,
            }
        return pd.DataFrame(scores, index=list(self.classes))


def class_scores(verdict: Verdict) -> ClassScores | None:
    """Decisions of a verdict's documents held against their labels; None where it has neither."""
    classes = [str(name) for name in verdict.manifest.get("classes") or ()]
    frame = _decisions(verdict, len(classes))
    if frame is None or not classes:
        return None
    known = frame[frame["label"].between(0, len(classes) - 1)].astype(int)
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, (known["label"].to_numpy(), known["decision"].to_numpy()), 1)
    reasons = {
        "no label": int(frame["label"].isna().sum()),
        "a label that is none of the model's classes": len(frame.dropna()) - len(known),
    }
    return ClassScores(classes, counts, {why: n for why, n in reasons.items() if n})


def class_part(verdicts: Mapping[str, Verdict]) -> list[Part]:
    """A part with the scores of every verdict that has decisions; none where no verdict has."""
    scores = {name: s for name, v in verdicts.items() if (s := class_scores(v)) is not None}
    if not scores:
        return []
    inner = Markup()
    for name, of_model in scores.items():
        tables = _markup(of_model)
        inner += tables if len(verdicts) == 1 else fold(name, tables)
    return [Part("classes", "Decisions by class", inner)]


def _markup(scores: ClassScores) -> Markup:
    missing = [f"Left out, {why}: {n:,}" for why, n in scores.missing.items()]
    if not scores.counts.any():
        return fill("studies", "part", notes=missing)
    frame = scores.frame()
    hits, decided = scores.counts.diagonal(), scores.counts.sum(axis=0)
    rows: list[tuple[list[str], list[Cell]]] = []
    for c, name in enumerate(scores.classes):
        support = int(scores.counts[c].sum())
        shares = [_share(hits[c], decided[c]), _share(hits[c], support)]
        f1 = Number(100 * float(frame["f1"].iloc[c]), unit=PERCENT)
        rows.append(([name], [*shares, f1, f"{support:,}"]))
    if len(scores.classes) > 2:
        means = 100 * frame[["precision", "recall", "f1"]].mean()
        total = f"{int(scores.counts.sum()):,}"
        averaged = [Number(float(value), unit=PERCENT) for value in means]
        rows.append((["mean of the classes"], [*averaged, total]))
    heads = ["class", "precision", "recall", "F1", "support"]
    return fill(
        "studies",
        "part",
        note=_NOTE,
        table=html_table(heads, rows, title="precision, recall and F1 of each class"),
    ) + fill("studies", "part", table=_confusion(scores), notes=missing)


def _confusion(scores: ClassScores) -> Markup:
    rows = []
    for label, counts in enumerate(scores.counts.tolist()):
        cells = [
            fill("elements", "bold", value=f"{n:,}") if decision == label else f"{n:,}"
            for decision, n in enumerate(counts)
        ]
        rows.append(([scores.classes[label]], [*cells, f"{sum(counts):,}"]))
    decided = [f"{n:,}" for n in scores.counts.sum(axis=0).tolist()]
    rows.append((["all"], [*decided, f"{int(scores.counts.sum()):,}"]))
    title = "confusion matrix: a row a label, a column a decision; right ones in bold"
    return html_table(["label", *scores.classes, "all"], rows, title=title)


def _share(hits: int, of: int) -> Number:
    value, low, high = proportion(int(hits), int(of))
    return Number(100 * value, 100 * low, 100 * high, int(of), PERCENT)


def _decisions(verdict: Verdict, classes: int) -> pd.DataFrame | None:
    """label and decision by document, from the first table that has both, or both follow from."""
    for name in _TABLES:
        if name not in verdict.tables:
            continue
        frame = wide(verdict.tables[name])
        if name == "replacement_instances" and "replacement" in verdict.tables:
            table = verdict.tables["replacement"]
            trained = table[(table["attention"] == TRAINED) & (table["measure"] == "decision")]
            frame["decision"] = trained.drop_duplicates("id").set_index("id")["value"]
        if classes == 2 and "label" not in frame and {"correct", "decision"} <= {*frame}:
            other = frame["decision"].where(frame["correct"] == 1, 1 - frame["decision"])
            frame["label"] = other.where(frame["correct"].notna())
        if {"label", "decision"} <= {*frame}:
            return frame[["label", "decision"]]
    return None
