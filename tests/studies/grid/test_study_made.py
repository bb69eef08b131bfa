"""What a study is once it is read: labels, notes, what is asked by hand, and those that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from study_files import chosen, study, write

from support.errors import raises
from verax.studies import Cell, Hardware, read_study, shipped_studies


def labels(tmp_path: Path, text: str, **by_hand: object) -> list[str]:
    found = study(tmp_path, text, **by_hand)
    assert list(found.labels) == [cell.key for cell in found.cells]
    return list(found.labels.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("corpora: SMALL\nseeds: [3, 4]\n", ["seed 3", "seed 4"]),
        ("corpora: SMALL\ntraining: {lr: [1e-3, 1]}\n", ["lr=0.001", "lr=1"]),
        (
            "corpora: SMALL\nmodels: {projection: [softmax, {sparsegen: {lam: [0.5, -1]}}]}\n",
            ["softmax", "sparsegen lam=0.5", "sparsegen lam=-1"],
        ),
        (  # one λ tells no more than the projection; no strength is told by its grounding
            "corpora: SMALL\nmodels: {projection: [softmax, {sparsegen: {lam: 0.5}}], grounding: "
            "[concat, {tying: {strength: 2}}, {mlm: {strength: 3, freeze_embeddings: true}}]}\n",
            [
                f"{projection}  {grounding}"
                for projection in ("softmax", "sparsegen")
                for grounding in ("concat", "tying", "mlm")
            ],
        ),
        (  # none says nothing alone
            "corpora: SMALL\nmodels: {encoder: [none, conv], grounding: [none, concat]}\n",
            [
                "encoder=none  grounding=none",
                "encoder=none  concat",
                "conv  grounding=none",
                "conv  concat",
            ],
        ),
        (  # softmax may be the projection or the head
            "corpora: SMALL\nmodels: {projection: [softmax, entmax], head: [softmax, sigmoid]}\n",
            [
                "projection=softmax  head=softmax",
                "projection=softmax  sigmoid",
                "entmax  head=softmax",
                "entmax  sigmoid",
            ],
        ),
        (
            "corpora: SMALL\nmodels: {hierarchical: [false, true], clip: [none, 5]}\n",
            [
                "hierarchical=false  clip=none",
                "hierarchical=false  clip=5",
                "hierarchical=true  clip=none",
                "hierarchical=true  clip=5",
            ],
        ),
        (  # two readings of one corpus
            "corpora: [{planted: {documents: 60}}, {planted: {documents: 72, max_length: 30}}]\n"
            "seeds: [1, 2]\n",
            [
                "planted documents=60  seed 1",
                "planted documents=60  seed 2",
                "planted max_length=30 documents=72  seed 1",
                "planted max_length=30 documents=72  seed 2",
            ],
        ),
        (  # what a corpus has of its own is told by its name
            "corpora: {planted: {documents: 60, epochs: 2}, 'rotten_tomatoes': {limit: 30}}\n",
            ["planted", "rotten_tomatoes"],
        ),
    ],
)
def test_labels_say_what_varies(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert labels(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "notes", "cells"),
    [
        (
            "corpora: SMALL\nmodels: {projection: [softmax, sparsegen], lam: [0, 0.1, 0.2, 0.3]}\n",
            ("4 combinations are one model (lam has no effect with projection=softmax): run once",),
            5,
        ),
        (
            "corpora: SMALL\nseeds: [0, 1]\nmodels: {projection: [softmax, sparsemax, sparsegen], "
            "lam: [0.1, 0.2], attention: [dot, additive]}\n",
            (
                "4 combinations are 2 models (lam has no effect with projection=softmax): run once",
                "4 combinations are 2 models (lam has no effect with projection=sparsemax): "
                "run once",
            ),
            16,
        ),
        (
            "corpora: SMALL\nmodels: {head: [auto, sigmoid]}\n",
            ("2 combinations are one model (head makes no difference): run once",),
            1,
        ),
        ("corpora: SMALL\nmodels: {head: [softmax, sigmoid]}\n", (), 2),
    ],
)
def test_combinations_that_are_one_model_run_once_and_are_told(
    tmp_path: Path, text: str, notes: tuple[str, ...], cells: int
) -> None:
    found = study(tmp_path, text)
    assert found.notes == notes
    assert len({cell.key for cell in found.cells}) == len(found.cells) == cells


FILE = """\
name: by hand
question: which wins?
corpora:
- SMALL
- planted:documents=72: {length: 14, min_df: 2}
seeds: [0, 1]
exams: [single_token, {erasure: {draws: 2}}]
hardware: {engine: ray, cells_per_gpu: 3}
weights: true
"""


def test_a_corpus_by_hand_keeps_what_the_file_says_of_it(tmp_path: Path) -> None:
    found = study(tmp_path, FILE, corpora=["planted:documents=72", "planted:documents=84"])
    seen = [(cell.corpus["documents"], cell.corpus["length"]) for cell in found.cells[::2]]
    assert seen == [(72, 14), (84, 24)]
    assert chosen(found, "min_df", "seed") == [(2, 0), (2, 1), (1, 0), (1, 1)]


def test_a_corpus_by_hand_may_bring_its_own_options(tmp_path: Path) -> None:
    given = [{"planted": {"documents": 96, "epochs": 3}}]
    found = study(tmp_path, FILE, corpora=given, seeds=[5])
    assert [cell.corpus["documents"] for cell in found.cells] == [96]
    assert chosen(found, "epochs", "seed") == [(3, 5)]


def test_seeds_and_exams_by_hand(tmp_path: Path) -> None:
    found = study(
        tmp_path, FILE, corpora="planted", seeds=["7", 8], exams=["erasure", "replacement"]
    )
    assert [cell.seed for cell in found.cells] == [7, 8]
    assert found.cells[0].exams == {"erasure": {"draws": 2}, "replacement": {"permutations": 10}}
    assert len(study(tmp_path, FILE, exams="all", seeds=3).cells[0].exams) == 7


def test_a_file_without_corpora_may_be_given_some(tmp_path: Path) -> None:
    assert len(study(tmp_path, "seeds: [1, 2]\n", corpora=["planted:documents=60"]).cells) == 2


def test_options_by_hand_are_read_as_flags_are(tmp_path: Path) -> None:
    changed = {
        "epochs": "2",
        "lr": "1e-4",
        "clip": "none",
        "grounding": "none",
        "hierarchical": "true",
        "strength": "auto",
        "amsgrad": False,
    }
    given = "corpora: SMALL\nmodels: {grounding: [tying, mlm]}\n"
    with raises("option.conflict", "auto"):
        study(tmp_path, given, changed=changed)
    found = study(tmp_path, given, changed={**changed, "strength": "none"})
    names = ("epochs", "lr", "clip", "grounding", "hierarchical", "amsgrad")
    assert chosen(found, *names) == [(2, 1e-4, None, "none", True, False)]


def test_a_study_says_all_of_itself_in_json(tmp_path: Path) -> None:
    found = study(tmp_path, FILE)
    told = json.loads(json.dumps(found.resolved(), allow_nan=False))
    assert told["name"] == "by hand"
    assert told["question"] == "which wins?"
    assert told["weights"] is True
    assert Hardware(**told["hardware"]) == Hardware(engine="ray", cells_per_gpu=3)
    assert {key: Cell.from_json(cell) for key, cell in told["cells"].items()} == {
        cell.key: cell for cell in found.cells
    }
    assert found.text == (tmp_path / "study.yaml").read_text()


def test_a_study_from_python_has_the_text_of_a_file() -> None:
    source = {"corpora": {"planted": {"documents": 60}}, "models": {"lr": (0.1, 0.2)}}
    found = read_study(source)
    assert yaml.safe_load(found.text) == {**source, "models": {"lr": [0.1, 0.2]}}
    assert read_study(yaml.safe_load(found.text)).labels == found.labels


def test_each_corpus_is_loaded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = tmp_path / "mine.parquet", pd.read_parquet
    rows = {"text": [f"film {n}" for n in range(60)], "label": [0, 1] * 30}
    pd.DataFrame(rows).to_parquet(path)
    loaded = []

    def reading(source: Any, *given: Any, **how: Any) -> pd.DataFrame:
        loaded.append(source)
        return read(source, *given, **how)

    monkeypatch.setattr(pd, "read_parquet", reading)
    found = study(tmp_path, f"corpora: [{{{path}: {{epochs: 1}}}}, {path}]\n")
    assert len(loaded) == 1
    assert len(found.cells) == 2
    assert len(found.corpora) == 1


def test_the_shipped_study_is_the_cross(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped_studies() == ["grounding-x-sparsity"]
    found = read_study("grounding-x-sparsity")
    assert found.name == "grounding-x-sparsity"
    assert found.question is not None
    assert found.notes == ()
    expected = [
        (p, g, s)
        for p in ("softmax", "sparsemax", "sparsegen", "entmax")
        for g in ("none", "concat", "residual", "tying", "mlm")
        for s in (1, 2, 3)
    ]
    assert chosen(found, "projection", "grounding", "seed") == expected
    assert {len(cell.exams) for cell in found.cells} == {7}
    mlm = next(cell for cell in found.cells if cell.model["grounding"] == "mlm")
    assert (mlm.training["freeze_embeddings"], mlm.training["strengths"]) == (False, "0.3,1")
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "corpora: SMALL\n", "grounding-x-sparsity")
    assert len(read_study("grounding-x-sparsity").cells) == 1


def test_the_shipped_study_takes_corpora_by_hand(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("w1 " + " ".join(["0.5"] * 100) + "\n")
    found = read_study(
        "grounding-x-sparsity",
        corpora=["planted:documents=60"],
        seeds=[1],
        changed={"vectors": str(tmp_path / "vectors.txt")},
    )
    assert len(found.cells) == 20
    assert {cell.vectors for cell in found.cells} == {found.cells[0].vectors} != {None}


def test_paths_of_names_come_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("text,label\n" + "".join(f"w{n},{n % 2}\n" for n in range(60)))
    found = read_study({"corpora": tmp_path / "c.csv"})
    assert found.cells[0].corpus["corpus"] == str(tmp_path / "c.csv")
    assert labels(tmp_path, f"corpora: {tmp_path}/c.csv\n") == [f"{tmp_path}/c.csv  seed 0"]
