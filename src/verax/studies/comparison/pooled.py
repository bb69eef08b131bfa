"""Measures of a split that are no means over its documents."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from verax.exams.replacement.summary import replacements
from verax.exams.tables import measured, wide
from verax.exams.verdict import Verdict
from verax.statistics import Estimate, ratio
from verax.studies.measures import COLUMNS, NO_LABEL


def pooled_measures(verdict: Verdict) -> pd.DataFrame:
    """id, measure, value, reason: for each document the number plus the document's influence.

    Influences average to zero, so that the mean over documents is the number, and Student's
    interval of that mean, or of a paired difference, the number's own by the delta method.

    F1                              of the positive class, or `macro F1` with more than two
    replacement: Δ F1 uniform, …      how far it moves from that under trained attention
    single_token: pooled                 p of a token alone, over the tokens of correct decisions
    """
    parts = [pd.DataFrame(columns=COLUMNS)]
    if "replacement" in verdict.tables:
        instances = verdict.tables["replacement_instances"]
        parts += [_part(instances, n, e) for n, e in _scores(verdict.tables).items()]
    if "single_token" in verdict.tables:
        table = verdict.tables["single_token"]
        frame = wide(table)
        correct = (frame["correct"] == 1).to_numpy(dtype=np.float64)
        weights = correct * frame["items"].to_numpy(dtype=np.float64)
        # documents that do not count weigh nothing: that there are so many is chance as well
        found = ratio(weights * frame["alone"].to_numpy(dtype=np.float64), weights)
        parts.append(
            _part(table, "single_token: pooled (correct decisions)", found, "no correct one")
        )
    return pd.concat([p for p in parts if len(p)] or parts, ignore_index=True)


def _scores(tables: Mapping[str, pd.DataFrame]) -> dict[str, Estimate]:
    found = replacements(tables)
    classes = int(measured(tables["replacement_instances"], "classes")[0, 0])
    name = "F1" if classes == 2 else "macro F1"
    trained = found["trained"].score
    moved = {
        f"replacement: Δ {name} {n}": found[n].score - trained for n in ("uniform", "permuted")
    }
    return {name: trained, **moved}


def _part(
    table: pd.DataFrame, measure: str, found: Estimate, reason: str = NO_LABEL
) -> pd.DataFrame:
    ids = np.unique(table["id"].to_numpy())
    why = [reason if math.isnan(found.value) else None] * len(ids)
    values = found.value + found.influence
    return pd.DataFrame({"id": ids, "measure": measure, "value": values, "reason": why})


def split_measures(verdict: Verdict) -> dict[str, float]:
    """Numbers to which documents do not add up: information, by the words asked about.

    information: frequent words            in nats; `…, less shuffled` of what is no chance
    information: frequent words, kept      of what there could be
    information: frequent words, distance  mean ‖h − e‖² over mean ‖e‖²
    """
    found: dict[str, float] = {}
    if "information" not in verdict.tables:
        return found
    for kind, part in verdict.tables["information"].groupby("words", sort=False, observed=True):
        values = part.set_index("measure")["value"].astype(float).to_dict()
        row = f"information: {kind} words"
        found[row] = values["information"]
        found[f"{row}, less shuffled"] = values["difference"]
        found[f"{row}, kept"] = values["kept"]
        found[f"{row}, distance"] = values["distance"]
    return found
