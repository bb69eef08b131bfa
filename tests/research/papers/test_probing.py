"""Probes: their models by name, their numbers, and the way from a run to the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from in_process import InProcess, run_here
from made_up_results import made_up_results

from research.__main__ import main
from research.papers import PaperResults, check_paper, paper, papers
from research.papers.axes import fact
from research.papers.exhibits import MEASURED
from research.papers.paper import laid
from research.papers.probing import PROBES, probes_table
from support.errors import raises
from support.internals import running_run as running

BASE = {"corpus": "sst", "encoder": "bilstm", "attention": "dot", "hierarchical": False}
BASE |= {"projection": "softmax", "lam": 0.0, "grounding": "none", "strength": 0.0}
BASE |= {"weight_decay": 1e-5, "limit": None}
F1 = {"F1": "replacement/trained/f1"}


def made(*changes: dict[str, Any], probe: str = "probe") -> PaperResults:
    """A model for each, of seeds 1 and 2; its F1 is its place, from 1 on."""
    configurations = [{"part": probe, **BASE, **own, "place": i} for i, own in enumerate(changes)]
    return made_up_results(
        configurations, lambda own: {("replacement", "trained", "f1"): 1.0 + own["place"]}, (1, 2)
    )


@pytest.mark.parametrize(
    ("changes", "models"),
    [
        ([{}], ["bilstm, dot"]),
        ([{}, {"attention": "additive"}], ["bilstm, dot", "bilstm, additive"]),
        # what the choice tells already is left out, and so is what does not go with it
        (
            [{}, {"grounding": "tying", "strength": 0.3}],
            ["bilstm, dot", "bilstm, dot, tying"],
        ),
        (
            [{}, *({"grounding": "tying", "strength": s} for s in (0.3, 10.0))],
            [
                "bilstm, dot, strength 0",
                *(f"bilstm, dot, tying, strength {s}" for s in ("0.3", "10")),
            ],
        ),
        # a choice that is none of the defaults is told, though all have it
        ([{"grounding": "mlm", "strength": 1.0}], ["bilstm, dot, mlm"]),
        ([{"encoder": "none", "hierarchical": True}], ["encoder none, dot, hierarchical"]),
        (
            [{"projection": "softmax"}, {"projection": "sparsegen", "lam": 0.5}],
            ["bilstm, dot, softmax", "bilstm, dot, sparsegen"],
        ),
        (
            [{"weight_decay": 0.0}, {"weight_decay": 0.1}],
            ["bilstm, dot, weight_decay 0", "bilstm, dot, weight_decay 0.1"],
        ),
        ([{"limit": 10}, {}], ["bilstm, dot, limit 10", "bilstm, dot"]),
        # the corpus tells these apart
        ([{"limit": 10}, {"corpus": "imdb"}], ["bilstm, dot", "bilstm, dot"]),
    ],
)
def test_models_are_told_by_what_they_are(changes: list[dict[str, Any]], models: list[str]) -> None:
    found = probes_table(made(*changes), F1)
    assert found["model"].tolist() == models
    assert found["value"].tolist() == pytest.approx([1.0 + i for i in range(len(models))])
    assert found["seeds"].tolist() == [2] * len(models)


def test_probes_come_in_order_with_their_questions() -> None:
    parts = [made({}, probe=probe) for probe in ("b", "new", "a")]
    results = PaperResults(
        pd.concat([own.cells for own in parts]),
        pd.concat([own.summary for own in parts]),
        questions={"a": "Is it a?", "b": "Is it b?"},
    )
    found = probes_table(results, F1, order=iter(["a", "never run", "b"]))
    assert found[["probe", "question"]].to_numpy().tolist() == [
        ["a", "Is it a?"],
        ["b", "Is it b?"],
        ["new", ""],
    ]
    labels = ["probe", "question", "corpus", "model", "measure"]
    assert list(found) == [*labels, *MEASURED]
    assert found["published"].isna().all()
    keys = results.select(part="a")["cell"].tolist()
    assert found["cells"][0].split() == keys


def test_what_was_not_measured_is_left_out() -> None:
    results = made({"test_f1": 0.5})
    measures = {**F1, "never": "replacement/never/f1", "share": fact("test_f1")}
    found = probes_table(results, measures)
    assert found["measure"].tolist() == ["F1", "share"]
    assert found["value"].tolist() == pytest.approx([1.0, 0.5])
    assert probes_table(results, {}).empty


TINY = {
    "corpora": {"planted": {"documents": 60, "sentences": 3}},
    "models": {"hidden_size": 8, "embedding_size": 8, "feedforward_size": 8},
    "training": {"epochs": 2},
    "seeds": [1],
    "sample": 8,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in papers() if one.has_probes])
def test_probes_of_every_paper_have_all_that_is_measured(name: str, tmp_path: Path) -> None:
    """By the exams of its first probe, on a small corpus."""
    own = paper(name)
    probe, study = next(iter(own.studies(PROBES).items()))
    study = laid(study, TINY)
    study["models"] = study["models"][:1]
    assert not run_here(study, tmp_path / probe).failed
    found = probes_table(PaperResults.open(tmp_path), own.probed, own.studies(PROBES))
    # in their order; an exam that only other probes have may be lacking
    measured = [name for name in own.probed if name in set(found["measure"])]
    assert len(measured) >= len(own.probed) - 1
    for _, rows in found.groupby(["corpus", "model"]):
        assert rows["measure"].tolist() == measured
    assert set(found["question"]) == {study["question"]}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, alone: None) -> str:
    """A paper whose studies take no time, run where the test is."""
    own = paper("jain-wallace-2019")
    study = {
        "corpora": TINY["corpora"],
        "models": {"encoder": "mlp", "attention": "dot", "hidden_size": 8, "embedding_size": 8},
        "training": {"epochs": 1},
        "exams": [{"agreement": {"inputs": "gradient-input-detached,leave-one-out"}}],
        "seeds": [1],
        "sample": 4,
    }
    probe = {**study, "question": "Is it that | there are two?", "seeds": [1, 2], "sample": 5}
    parts = {"parts": {"sst": study}, "probes": {"two": probe}}
    monkeypatch.setitem(vars(own), "_studies", parts)
    monkeypatch.setattr(running, "make_engine", lambda hardware: InProcess())
    return own.name


def typed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["papers", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_from_a_run_to_the_page(tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed(capsys, "run", tiny, "--scale", "full", "--out", "ran", "--device", "cpu")
    typed(capsys, "pack", tiny, "ran")
    folder = Path("results", tiny)
    typed(capsys, "check", tiny)
    before = (folder / "claims.json").read_bytes()
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "Probes" not in page
    assert not (folder / "tables" / "probes.csv").exists()

    out = typed(capsys, "run", tiny, "--scale", PROBES, "--device", "cpu")
    assert "cannot be told" not in out  # no claim is judged
    with raises("result.wrong-kind"):
        check_paper(paper(tiny), f"{tiny}-probes")

    typed(capsys, "pack", tiny, f"{tiny}-probes", "--out", str(folder / PROBES))
    typed(capsys, "check", tiny)
    assert (folder / "claims.json").read_bytes() == before  # as if they were not there
    assert len(PaperResults.open(folder).cells) == 1
    text = (folder / "README.md").read_text(encoding="utf-8")
    probes = text[text.index("<summary>Probes</summary>") :]
    assert (
        "**two**: Is it that | there are two?\n\n| corpus | model | measure | measured |" in probes
    )
    assert "| planted | mlp, dot | τ-b: attention, gradient | " in probes
    assert "| probes/two | planted | 2 | 1, 2 |" in text
    table = pd.read_csv(folder / "tables" / "probes.csv")
    assert table["measure"].tolist() == list(paper(tiny).probed)
    keys = {path.name for path in Path(f"{tiny}-probes").glob("two/cells/*")}
    assert {key for cells in table["cells"] for key in cells.split()} == keys
    assert len(keys) == 2

    written = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    typed(capsys, "check", tiny)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == written
