"""Curves along λ, and of trained adversaries."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from test_charts import frame, marks

from verax.errors import VeraxError
from verax.exams import Verdict
from verax.report.charts.adversaries import charts as charts_of_adversaries
from verax.report.figures import charts_of_sweep, study_verdicts
from verax.studies import Adversaries, Sweep

LAMS = (-100.0, -1.0, 0.0, 0.97)
MEASURES = ("entropy: attention", "tau: inputs attention : gradient", "accuracy", "support_share")


@pytest.fixture
def sweep() -> Sweep:
    rows = [
        {"lam": lam, "seed": seed, "id": id_, "measure": m, "value": 0.1 * (k + id_ + seed)}
        for k, lam in enumerate(LAMS)
        for seed in (0, 1)
        for id_ in (0, 1)
        for m in MEASURES
    ]
    return Sweep(pd.DataFrame(rows).assign(reason=None))


def test_means_along_lambda(sweep: Sweep) -> None:
    """A value is 0.1 (k + id + seed), so that the mean at the k-th λ is 0.1 k + 0.1."""
    charts = {chart.name: chart for chart in charts_of_sweep(sweep)}
    assert list(charts) == ["sweep-entropy", "sweep-tau", "sweep-accuracy"]
    drawn = frame(charts["sweep-entropy"])
    assert drawn["lam"].tolist() == list(LAMS)
    assert drawn["value"].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert marks(charts["sweep-entropy"], "symbol") == len(LAMS)
    svg = charts["sweep-accuracy"].svg()
    labels = re.findall(r"<text [^>]*>([^<]*)</text>", svg)
    assert {"−100", "−1", "0", "0.97"} <= set(labels)
    assert set(frame(charts["sweep-accuracy"])["line"]) == {
        "accuracy",
        "share of items with weight",
    }


@pytest.fixture
def adversaries() -> Adversaries:
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
    add("seed", "given", None, **decided, jsd=[0.2, 0.2], tvd=[0.05, 0.05], same=[1.0, 1.0])
    manifest = {"split": "test", "classes": ["a", "b"], "tolerance": 0.01, "left_out": {}}
    return Adversaries(pd.DataFrame(rows), manifest)


def test_outputs_against_attention(adversaries: Adversaries) -> None:
    charts = {chart.name: chart for chart in charts_of_adversaries(adversaries)}
    assert set(charts) == {"adversaries-tvd", "adversaries-accuracy"}
    drawn = frame(charts["adversaries-tvd"])
    own = drawn[drawn["kind"] == "adversaries, one a λ"]
    assert own["jsd"].tolist() == pytest.approx([0.1, 0.4])
    assert own["tvd"].tolist() == pytest.approx([0.0, 0.1])
    seeds = drawn[drawn["kind"] == "other seeds of the base"]
    assert seeds[["jsd", "tvd"]].to_numpy().ravel().tolist() == pytest.approx([0.2, 0.05])
    assert marks(charts["adversaries-tvd"], "symbol") == len(drawn)
    assert "chosen" in charts["adversaries-tvd"].svg()


class MadeUpStudy:
    """What `StudyResults` has that names are made of."""

    name = "made up"

    def __init__(self, cells: dict[str, tuple[str, int]]) -> None:
        self.done = list(cells)
        rows = [{"cell": key, "encoder": e, "seed": s} for key, (e, s) in cells.items()]
        self.cells = pd.DataFrame(rows).assign(corpus="sst")

    def table(self, name: str) -> pd.DataFrame:
        return pd.DataFrame(columns=["cell", "corpus", "seed", "encoder", "row", "value"])

    def verdict(self, key: str) -> Verdict:
        return Verdict({}, {"cell": key})


def test_cells_are_named_by_what_varies() -> None:
    study = MadeUpStudy({"k1": ("conv", 0), "k2": ("conv", 1), "k3": ("lstm", 0)})
    found = study_verdicts(study)  # type: ignore[arg-type]
    assert {name: verdict.manifest["cell"] for name, verdict in found.items()} == {
        "seed 0, conv": "k1",
        "seed 1, conv": "k2",
        "seed 0, lstm": "k3",
    }
    alone = study_verdicts(MadeUpStudy({"k1": ("conv", 0)}))  # type: ignore[arg-type]
    assert list(alone) == ["k1"]


def test_more_cells_than_a_chart_has_room_for() -> None:
    study = MadeUpStudy({f"k{n}": ("conv", n) for n in range(9)})
    with pytest.raises(VeraxError, match="has 9 finished cells, and a chart has room for 8"):
        study_verdicts(study)  # type: ignore[arg-type]
