"""What studies compare of a verdict: named measures, one value per document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.exams.agreement.ranks import REASONS as NO_RANKS
from verax.exams.dispersion.exam import REASONS as NO_SPREAD
from verax.exams.verdict import Verdict

COLUMNS = ["id", "measure", "value", "reason"]
_DOCUMENTS = {"correct": "accuracy", "support": "support", "support_share": "support_share"}


def measures_of(verdict: Verdict) -> pd.DataFrame:
    """id, measure, value, and where there is no value the reason.

    accuracy                   1 where the decision is the label
    support, support_share     items with weight, and their share of all
    entropy: …                 of attention, of importances of inputs, of influence on items
    tau: inputs attention : …  rank agreement; `tau on support: …` among the items with weight
    """
    tables = verdict.tables
    instances = [n for n in ("dispersion_instances", "agreement_instances") if n in tables]
    if not instances:
        there = ", ".join(verdict.manifest.get("exams", [])) or "none"
        raise VeraxError(
            f"a verdict of these exams ({there}) has nothing to sweep: agreement, dispersion"
        )
    parts = [*_documents(tables[instances[0]])]
    parts += [*_entropies(tables), *_influences(tables), *_agreements(tables)]
    return pd.concat(parts, ignore_index=True)[COLUMNS]


def _documents(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for measure, shown in _DOCUMENTS.items():
        own = table[table["measure"] == measure]
        if own["value"].notna().any():
            yield _part(own["id"], shown, own["value"], None)


def _entropies(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    if "dispersion" in tables:
        for of, table in tables["dispersion"].groupby("of", sort=False, observed=True):
            yield _with_reasons(table, f"entropy: {of}", "entropy", NO_SPREAD)


def _influences(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    if "dispersion_influence" in tables:
        for kind, table in tables["dispersion_influence"].groupby("kind", observed=True):
            yield _with_reasons(table, f"entropy: influence ({kind})", "entropy", NO_SPREAD)


def _agreements(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    if "agreement" in tables:
        labels = ["on", "first", "second", "over"]
        for key, table in tables["agreement"].groupby(labels, sort=False, observed=True):
            on, first, second, over = key
            start = "tau" if over == "all" else "tau on support"
            yield _with_reasons(table, f"{start}: {on} {first} : {second}", "kendall", NO_RANKS)


def _with_reasons(
    table: pd.DataFrame, shown: str, measure: str, reasons: tuple[str, ...]
) -> pd.DataFrame:
    own, why = (table[table["measure"] == name] for name in (measure, "reason"))
    words = np.array(["", *reasons[1:]], dtype=object)[why["value"].to_numpy(dtype=np.int64)]
    return _part(own["id"], shown, own["value"], words)


def _part(
    ids: pd.Series, measure: str, values: pd.Series, reasons: np.ndarray | None
) -> pd.DataFrame:
    why = np.array([None] * len(ids), dtype=object)
    if reasons is not None:
        why[values.isna().to_numpy()] = reasons[values.isna().to_numpy()]
    columns = {"id": ids.to_numpy(), "measure": measure, "value": values.to_numpy(), "reason": why}
    return pd.DataFrame(columns)
