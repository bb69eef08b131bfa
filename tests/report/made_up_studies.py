"""Studies, a sweep, adversaries and a comparison whose numbers can be derived by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from made_up_summaries import Cell, cell, optimal, summary, survives
from verax.errors import VeraxError
from verax.exams import Verdict
from verax.studies import Adversaries, Comparison, StudyResults, Sweep

LAMS = (-100.0, -1.0, 0.0, 0.97)
SWEPT = (
    "dispersion.entropy.attention.mean",
    "agreement.inputs:attention:gradient.tau",
    "decisions.accuracy",
    "dispersion.documents.support_share",
)
WORDS = ("fine", '<b>\x00"')

OPTIONS = {"encoder": "conv", "split": "test", "sample": None, "lr": 0.001, "exams": "erasure"}


class MadeUpStudy(StudyResults):
    """Cells of projections and seeds, with summaries of one's own; packed without its tables."""

    name, question = "made up", "is <it> so?"
    tables, left_out, others = ["summary"], ["erasure_single"], 0

    def __init__(
        self, projections: Sequence[str] = ("softmax", "sparsemax"), seeds: Sequence[int] = (0, 1)
    ) -> None:
        self._rows = [(f"{p}-{s}", p, s) for p in projections for s in seeds]

    @property
    def counts(self) -> dict[str, int]:
        return {"done": len(self._rows)}

    @property
    def cells(self) -> pd.DataFrame:
        facts = {"seconds": 1.0, "verax": "0.9", "torch": "2.0", "device": "cpu"}
        told = [
            {"cell": k, "status": "done", "corpus": "planted", "seed": s, "projection": p}
            for k, p, s in self._rows
        ]
        return pd.DataFrame([{**row, **OPTIONS, **facts} for row in told])

    def summary(self, columns: str | Sequence[str] | None = None) -> pd.DataFrame:
        parts = []
        for key, projection, seed in self._rows:
            own = summary(*made_up_cells(40.0 + 50.0 * seed))
            told: dict[str, Any] = {"cell": key, "corpus": "planted"}
            told |= {"seed": seed, "projection": projection}
            own = own.assign(**told)[[*told, *own.columns]]
            parts.append(own)
        return pd.concat(parts, ignore_index=True)

    def verdict(self, key: str) -> Verdict:
        raise VeraxError(f"cell {key} was packed without its tables")

    def manifest(self, key: str) -> dict[str, Any]:
        return {}


def made_up_cells(value: float) -> list[Cell]:
    """What a cell's exams found: `value` percent of decisions, and as much as a share for τ."""
    found = [
        cell("erasure", "erasure.documents", "documents", "value", 150.0, unit="count"),
        optimal(value, value - 1, value + 1),
        cell("erasure", "erasure.excess", "random", "optimal", value / 2, unit="percent"),
        cell("agreement", "agreement", "inputs:attention:leave-one-out", "tau", value / 100),
        survives(value, value - 1, value + 1),
    ]
    for lam, jsd in ((0, 0.1), (1, 0.4)):
        for column, number, unit in (
            *(("jsd", jsd, "number"), ("tvd", value / 1000, "number")),
            ("accuracy", value, "percent"),
        ):
            place = ("adversaries", "adversaries", f"lambda={lam}", column)
            found.append(cell(*place, number, unit=unit))
    return found


def made_up_sweep() -> Sweep:
    """A value is 0.1 (k + id + seed) at the k-th λ, so that its mean there is 0.1 k + 0.1."""
    rows = [
        {"lam": lam, "seed": seed, "id": id_, "measure": m, "value": 0.1 * (k + id_ + seed)}
        for k, lam in enumerate(LAMS)
        for seed in (0, 1)
        for id_ in (0, 1)
        for m in SWEPT
    ]
    return Sweep(pd.DataFrame(rows).assign(reason=None), {"lams": list(LAMS), "split": "test"})


def made_up_adversaries(*, yardstick: bool = True) -> Adversaries:
    """Two documents of several items; the adversary of λ 1 is 0.4 away, that of λ 0 0.1."""
    rows = []

    def add(kind: str, name: str, lam: float | None, **measures: list[float]) -> None:
        for split in ("validation", "test"):
            for measure, values in measures.items():
                for id_, value in enumerate(values):
                    told = {"kind": kind, "name": name, "lam": lam, "seed": 1, "split": split}
                    rows.append({**told, "id": id_, "measure": measure, "value": value})

    decided = {"decision": [0.0, 1.0], "correct": [1.0, 1.0]}
    sizes = {"label": [0.0, 1.0], "max_weight": [0.5, 0.5], "items": [4.0, 4.0]}
    add("control", "base", None, **decided, **sizes)
    for lam, jsd in ((0.0, 0.1), (1.0, 0.4)):
        far = {"jsd": [jsd, jsd], "tvd": [lam / 10] * 2, "same": [1.0, 1.0]}
        add("adversary", "adversary", lam, **decided, **far)
    if yardstick:
        add("seed", "given", None, **decided, jsd=[0.2, 0.2], tvd=[0.05, 0.05], same=[1.0, 1.0])
    manifest = {"format": 2, "split": "test", "classes": ["a", "b"], "tolerance": 0.01}
    return Adversaries(pd.DataFrame(rows), {**manifest, "left_out": {}})


def made_up_comparison() -> Comparison:
    """Of four documents all decisions of the first survive, and two of those of the others."""
    measures = {
        "decisions.accuracy": [1.0, 1.0, 0.0, 1.0],
        "replacement.uniform.tvd": [0.1, 0.2, 0.3, 0.4],
        "agreement.inputs:attention:gradient.tau": [0.1, 0.2, 0.3, float("nan")],
        "agreement.items:attention:gradient.tau": [0.2, 0.3, 0.4, 0.5],
        "agreement.items:attention:gradient-detached.tau": [1.0, 1.0, 1.0, 1.0],
    }
    rows = []
    for place, group in enumerate(("plain", "tied", "<other>")):
        survived = [1.0, 1.0, 1.0, 1.0] if place == 0 else [1.0, 0.0, 1.0, 0.0]
        for measure, values in {**measures, "replacement.uniform.survival": survived}.items():
            for id_, value in enumerate(values):
                told = {"group": group, "model": f"m{place}", "seed": 0, "id": id_}
                reason = "one position" if value != value else None
                moved = value + 0.01 * place * id_ * (0 < value < 1)  # so that differences vary
                rows.append({**told, "measure": measure, "value": moved, "reason": reason})
    numbers = [
        {"group": group, "model": f"m{place}", "seed": 0, "measure": m, "value": 0.7 + place / 10}
        for place, group in enumerate(("plain", "tied", "<other>"))
        for m in ("information.frequent.information", "information.frequent.retained")
    ]
    told = {"encoder": "conv", "attended": "words", "seed": 0, "options": {"layers": 1}}
    groups = {
        group: [{"model": f"m{place}", **told}]
        for place, group in enumerate(("plain", "tied", "<other>"))
    }
    curves = pd.DataFrame(
        [
            {"model": group, "item": item, "text": word, "p": p, "class": "good", "confidence": 0.5}
            for group, ps in (("plain", (0.9, 0.1)), ("tied", (0.8, 0.2)))
            for item, (word, p) in enumerate(zip(WORDS, ps, strict=True))
        ]
    )
    manifest = {"corpus": "planted", "split": "test", "documents": 4, "groups": groups}
    return Comparison(pd.DataFrame(rows), pd.DataFrame(numbers), manifest, curves)
