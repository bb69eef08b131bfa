"""What studies compare of a verdict: named measures, one value per document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.exams.agreement.ranks import REASONS as NO_RANKS
from verax.exams.dispersion.exam import REASONS as NO_SPREAD
from verax.exams.erasure.summary import EVEN
from verax.exams.tables import measured
from verax.exams.verdict import Verdict

COLUMNS = ["id", "measure", "value", "reason"]
NO_LABEL = "no label"
_DOCUMENTS = {"correct": "accuracy", "support": "support", "support_share": "support_share"}
_SWEPT = ("dispersion_instances", "agreement_instances")
_DECIDED = (
    *_SWEPT,
    "erasure_instances",
    "single_token",
    "replacement_instances",
    "adversary_instances",
)
"""Where to look for accuracy; the last two have decisions in double precision."""


def measures_of(verdict: Verdict) -> pd.DataFrame:
    """The measures of a verdict that a sweep can be made of, by `document_measures`."""
    if not any(name in verdict.tables for name in _SWEPT):
        there = ", ".join(verdict.manifest.get("exams", [])) or "none"
        raise VeraxError(
            f"a verdict of these exams ({there}) has nothing to sweep: agreement, dispersion"
        )
    return document_measures(verdict)


def document_measures(verdict: Verdict) -> pd.DataFrame:
    """id, measure, value, and where there is no value the reason; of every exam there is.

    accuracy                          1 where the decision is the label
    support, support_share            items with weight, and their share of all
    entropy: …                        of attention, of importances of inputs, of influence on items
    tau: inputs attention : …         rank agreement; `tau on support: …` among items with weight
    erasure: fraction, attention      of items erased at the first flip; `…, optimum` at least
    erasure: excess, attention        items erased beyond the smallest set that flips
    erasure: optimal, attention       1 where there are none, of what any erasure flips;
                                      `optimal where part is enough, attention` of what flips
                                      before all weight is erased, and 0 where that is uniform
    erasure: delta_js, attention      the top item against a random other
    replacement: survives uniform       1 where the decision stays; `… permuted`: mean over draws
    replacement: tvd uniform, …         how far the output moves
    single_token: alone (correct decisions), agreeing (…), confidence (…)
    adversary: jsd, ε 0.05            of the most divergent attention that moves p by ε at most
    adversary: held, ε 0.05           how much farther one could be that need not keep it
    adversary: permuted               median |Δŷ| over random orders of the weights
    """
    tables = verdict.tables
    instances = [name for name in _DECIDED if name in tables]
    parts = [*_documents(tables[instances[0]])] if instances else []
    parts += [*_entropies(tables), *_influences(tables), *_agreements(tables)]
    parts += [
        *_erasures(tables),
        *_replacements(tables),
        *_single_tokens(tables),
        *_adversaries(tables),
    ]
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
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


def _erasures(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Documents of one item have no row in these tables, but for the first."""
    if "erasure_instances" not in tables:
        return
    examined = _column(tables["erasure_instances"], "examined")
    ids = examined.index
    by_attention: dict[str, Any] = {"ranking": "attention", "draw": 0}
    many = {
        name: _column(tables["erasure_many"], name, **by_attention).reindex(ids)
        for name in ("fraction", "mass", "excess")
    }
    single = _column(tables["erasure_single"], "delta_js", top="attention", rule="paper")
    least = _column(tables["erasure_minimal"], "fraction").reindex(ids)
    # one that attention never flips, though something does, is not optimal
    optimal = (many["excess"] == 0).astype(float).where(least.notna())
    enough = _column(tables["erasure_minimal"], "everything").reindex(ids) != 1
    even = many["mass"] - many["fraction"] <= EVEN
    part = optimal.mask(even & (optimal == 1), 0.0).where(enough)
    never, nothing = "attention never flips it", "no erasure flips it"
    whole = np.where(least.notna() & ~enough, "flips only when all weight is erased", nothing)
    for shown, values, why in (
        ("fraction, attention", many["fraction"], never),
        ("fraction, optimum", least, nothing),
        ("excess, attention", many["excess"], never),
        ("optimal, attention", optimal, nothing),
        ("optimal where part is enough, attention", part, whole),
        ("delta_js, attention", single.reindex(ids), "not a number"),
    ):
        reasons = np.where(examined == 0, "one item", why).astype(object)
        yield _part(pd.Series(ids), f"erasure: {shown}", values, reasons)


def _replacements(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    if "replacement" not in tables:
        return
    ids = pd.Series(tables["replacement_instances"]["id"].unique())
    for measure, shown in (("survived", "survives"), ("tvd", "tvd")):
        for kind in ("uniform", "permuted"):
            own = tables["replacement"][tables["replacement"]["attention"] == kind]
            values = pd.Series(measured(own, measure).mean(axis=0))
            yield _part(ids, f"replacement: {shown} {kind}", values, None)


def _single_tokens(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Of correct decisions, as the paper has it: being sure of a wrong one is another matter."""
    if "single_token" not in tables:
        return
    correct = _column(tables["single_token"], "correct")
    reasons = np.where(correct.isna(), NO_LABEL, "wrong decision").astype(object)
    for name in ("alone", "agreeing", "confidence"):
        values = _column(tables["single_token"], name).where(correct == 1)
        yield _part(
            pd.Series(values.index), f"single_token: {name} (correct decisions)", values, reasons
        )


def _adversaries(tables: Mapping[str, pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """A document of one item has no other attention, and says nothing of a model."""
    if "adversary_instances" not in tables:
        return
    several = _column(tables["adversary_instances"], "items") > 1
    one = np.full(len(several), "one item", dtype=object)
    instances = tables["adversary_instances"]
    best = tables["adversary"][tables["adversary"]["by"] == "best"]
    farthest, named = _column(instances, "farthest"), {}
    for epsilon, part in best.groupby("epsilon", sort=False, observed=True):
        if float(str(epsilon)) < 1:  # beyond that it is the least weight's, whatever is said
            named[f"jsd, ε {epsilon}"] = _column(part, "jsd")
            named[f"held, ε {epsilon}"] = farthest - named[f"jsd, ε {epsilon}"]
    named["permuted"] = _column(instances, "permuted")
    for name, values in named.items():
        kept = values.where(several.reindex(values.index))
        yield _part(pd.Series(values.index), f"adversary: {name}", kept, one)


def _column(table: pd.DataFrame, measure: str, **labels: Any) -> pd.Series:
    """One measure by id, of the rows with these labels."""
    own = table["measure"] == measure
    for name, label in labels.items():
        own &= table[name] == label
    return table[own].set_index("id")["value"]


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
