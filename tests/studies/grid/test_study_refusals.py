"""One mistake at a time: each is refused with its line, and with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_files import refused

from verax.errors import VeraxError
from verax.studies.grid import read_study

AFTER_A_CORPUS = [
    ("seed: 1\n", "line 2: unknown key 'seed': did you mean 'seeds'?"),
    ("exclude: []\n", "line 2: key 'exclude' does not belong here: put it under models"),
    ("training: {seed: 3}\n", "line 2: option 'seed' does not belong here: a study has seeds"),
    ("models: {seeds: [1]}\n", "line 2: option 'seeds' does not belong here: it is a key of"),
    (
        "models: {projection: sparsegen, sparsegen: {lam: 0.5}}\n",
        "line 2: option 'sparsegen' does not belong here: it is a choice of projection",
    ),
    ("hardware: {device: gpu}\n", "line 2: option 'device' is 'gpu': use auto, cpu, cuda"),
    ("epochs: 1\n", "line 2: key 'epochs' does not belong here: put it under training"),
    ("encoder: conv\n", "line 2: key 'encoder' does not belong here: put it under models"),
    ("workers: 2\n", "line 2: key 'workers' does not belong here: put it under hardware"),
    (
        "models: {projektion: softmax}\n",
        "line 2: unknown option 'projektion': did you mean 'projection'?",
    ),
    ("training: {epoch: 3}\n", "line 2: unknown option 'epoch': did you mean 'epochs'?"),
    (
        "training: {encoder: conv}\n",
        "line 2: option 'encoder' does not belong here: put it under models",
    ),
    (
        "training: {max_tokens: 9}\n",
        "line 2: option 'max_tokens' does not belong here: put it under hardware",
    ),
    (
        "models: {max_length: 9}\n",
        "line 2: option 'max_length' does not belong here: put it under corpora",
    ),
    ("hardware: {worker: 3}\n", "line 2: unknown option 'worker': did you mean 'workers'?"),
    ("training:\n  epochs: many\n", "line 3: option 'epochs' is 'many': expected a whole number"),
    ("training:\n  epochs: 0\n", "line 3: option 'epochs' is 0: it must be at least 1"),
    ("training:\n  lr:\n  - 1e-3\n  - -1\n", "line 5: option 'lr' is -1.0: it must be above 0"),
    ("training: {lr: .inf}\n", "line 2: option 'lr' is inf: it must be a finite number"),
    ("training: {lr: []}\n", "line 2: option 'lr' is an empty list: give values"),
    ("training: {lr: [1e-3, 0.001]}\n", "line 2: option 'lr' has 0.001 twice"),
    ("training: {lr: [[1e-3]]}\n", "line 2: option 'lr' is a list: expected one value"),
    ("training: {lr: {a: 1}}\n", "line 2: option 'lr' is a mapping: expected one value"),
    ("training: {lr: }\n", "line 2: option 'lr' has no value: give one, or leave it out"),
    ("training: 3\n", "line 2: training is a mapping of options to values"),
    ("models: {encoder: lstm}\n", "line 2: option 'encoder' is 'lstm': did you mean 'bilstm'?"),
    (
        "models: {grounding: ~}\n",
        "line 2: option 'grounding' has no value: choose from concat, mlm, none, residual, tying",
    ),
    (
        "models: {grounding: {tieing: }}\n",
        "line 2: option 'grounding' is 'tieing': did you mean 'tying'?",
    ),
    (
        "models:\n  grounding:\n    tying: 3\n",
        "line 4: grounding 'tying' is given 3: expected options",
    ),
    ("models: {grounding: {}}\n", "line 2: option 'grounding' is an empty mapping: name a choice"),
    (
        "models:\n  projection:\n    entmax: {alpa: 2}\n",
        "line 4: unknown option 'alpa': did you mean 'alpha'?",
    ),
    (
        "models:\n  projection:\n    entmax: {alpha: 0.5}\n",
        "line 4: option 'alpha' is 0.5: it must be at least 1",
    ),
    (
        "models:\n  projection:\n    entmax: {projection: softmax}\n",
        "line 4: option 'projection' is set inside its own choice",
    ),
    ("models: 3\n", "line 2: models is a mapping of options to values, or a list"),
    ("models: []\n", "line 2: models is empty"),
    (
        "models: {grounding: {tying: {strength: auto, strengths: [0.1, 1]}}}\n",
        "line 2: option 'strengths' is a list: write it as text, such as \"0.1,1\"",
    ),
    (
        "models: {hierarchical: maybe}\n",
        "line 2: option 'hierarchical' is 'maybe': expected true or false",
    ),
    ("models:\n  exclude: [{encoder: none}]\n", "line 3: exclude leaves nothing out"),
    ("models:\n  encoder: none\n  exclude: {encoder: none}\n", "line 4: exclude leaves no model"),
    (
        "models:\n  exclude: [{encodr: none}]\n",
        "line 3: unknown option 'encodr': did you mean 'encoder'?",
    ),
    ("models:\n  exclude: [{encoder: nine}]\n", "line 3: option 'encoder' is 'nine'"),
    ("models:\n  exclude: [none]\n", "line 3: exclude takes mappings"),
    ("models:\n  exclude: [{}]\n", "line 3: exclude takes mappings"),
    ("seeds: [1, 1]\n", "line 2: option 'seeds' has 1 twice"),
    ("seeds: []\n", "line 2: option 'seeds' is an empty list: give values"),
    ("seeds: [-1]\n", "line 2: option 'seeds' is -1: it must be at least 0"),
    ("seeds: ['1']\n", "line 2: option 'seeds' is '1': expected a whole number"),
    ("seeds: 1.5\n", "line 2: option 'seeds' is 1.5: expected a whole number"),
    ("exams: [erasurs]\n", "line 2: unknown exam 'erasurs': did you mean 'erasure'?"),
    ("exams: []\n", "line 2: no exam given"),
    ("exams: 3\n", "line 2: 3 is no exam"),
    ("exams: [erasure, erasure]\n", "line 2: exam 'erasure' is given twice"),
    (
        "exams:\n  erasure:\n  replacement: 3\n",
        "line 4: exam 'replacement' is given 3: expected options",
    ),
    (
        "exams:\n  replacement:\n    permutation: 3\n",
        "line 4: unknown option 'permutation': did you mean 'permutations'?",
    ),
    (
        "exams:\n  replacement: {permutations: [3, 4]}\n",
        "line 3: option 'permutations' is a list: expected one value",
    ),
    (
        "exams:\n  agreement:\n    inputs: [gradient]\n",
        "line 4: option 'inputs' is a list: write it as text",
    ),
    (
        "exams:\n  agreement:\n    spearman: true\n    inputs: grdient\n",
        "line 5: unknown importance 'grdient'",
    ),
    ("exams:\n  adversary:\n    epsilons: '2'\n", "line 4: epsilons is '2'"),
    ("exams: {all: {draws: 3}}\n", "line 2: options belong to one exam"),
    ("split: tset\n", "line 2: option 'split' is 'tset': did you mean 'test'?"),
    ("sample: 0\n", "line 2: option 'sample' is 0: it must be at least 1"),
    ("sample: [1, 2]\n", "line 2: option 'sample' is a list: expected one value"),
    ("weights: maybe\n", "line 2: option 'weights' is 'maybe': expected true or false"),
    ("name: 3\n", "line 2: option 'name' is 3: expected text"),
    ("name: ../up\n", "line 2: name is '../up': expected a name that a folder can have"),
    ("question: [why]\n", "line 2: option 'question' is a list: expected one value"),
    ("hardware: {workers: 0}\n", "line 2: option 'workers' is 0: it must be at least 1"),
    ("hardware: {engine: slurm}\n", "line 2: option 'engine' is 'slurm': choose from local, ray"),
    ("hardware: [ray]\n", "line 2: hardware is a mapping of options to values"),
]
"""What follows a good first line, and what is said of it."""
WHOLE = [
    ("seeds: 1\n", "study.yaml: no corpora given: name at least one"),
    ("corpora: nowhere_at_all\n", "line 1: unknown corpus 'nowhere_at_all'"),
    ("corpora:\n- planted: {documents: 60}\n- missing.csv\n", "line 3:"),
    ("corpora: []\n", "line 1: no corpus given"),
    ("corpora: [3]\n", "line 1: 3 is no corpus"),
    ("corpora: ~\n", "line 1: None is no corpus"),
    ("corpora:\n  planted: 3\n", "line 2: corpus 'planted' is given 3: expected options"),
    (
        "corpora:\n  planted: {documnts: 60}\n",
        "line 2: unknown option 'documnts': did you mean 'documents'?",
    ),
    ("corpora:\n  rotten_tomatoes: {documents: 60}\n", "line 2: unknown option 'documents'"),
    (
        "corpora:\n  planted: {documents: [60, 80]}\n",
        "line 2: option 'documents' is a list: expected one value",
    ),
    (
        "corpora:\n  planted: {min_length: 0}\n",
        "line 2: option 'min_length' is 0: it must be at least 1",
    ),
    ("corpora:\n  planted: {distractors: 9}\n", "line 2: planted: distractors (9) must be fewer"),
    (
        "corpora:\n  planted: {hidden_size: 9}\n",
        "line 2: option 'hidden_size' does not belong here: put it under models",
    ),
    (
        "corpora:\n  planted:\n    documents: 60\n    epochs: 0\n",
        "line 4: option 'epochs' is 0",
    ),
    ("corpora:\n- SMALL\n- SMALL\n", "line 3: corpus 'planted' is given twice"),
]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("text", "expected"), WHOLE)
def test_a_mistake_is_refused_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    (problem,) = refused(tmp_path, text)
    assert problem.startswith(expected)


@pytest.mark.parametrize(("rest", "expected"), AFTER_A_CORPUS)
def test_a_mistake_after_a_corpus(tmp_path: Path, rest: str, expected: str) -> None:
    (problem,) = refused(tmp_path, "corpora: SMALL\n" + rest)
    assert problem.startswith(expected)


def test_one_empty_list_does_not_hide_another(tmp_path: Path) -> None:
    found = refused(tmp_path, "seed: 1\ncorpora: []\nseeds: []\nexams: []\nmodels: []\n")
    assert [problem.split(":")[0] for problem in found] == [f"line {n}" for n in range(1, 6)]


@pytest.mark.usefixtures("alone")
def test_all_mistakes_are_told_at_once_by_line(tmp_path: Path) -> None:
    text = """\
    hardware: {workers: none_at_all}
    corpora: [missing_one, missing_two]
    models:
      projection: [softmax, {entmax: {alpha: 0}}]
      encoder: [none, bilstm]
      grounding: tying
    training: {epochs: 2, select_from: 3, lr: fast}
    seeds: [0, 0]
    exams: [erasure, fragilty]
    """
    found = refused(tmp_path, text)
    assert [problem.split(":")[0] for problem in found] == [
        "line 1",
        "line 2",
        "line 2",
        "line 4",
        "lines 5, 6",
        "line 7",
        "line 7",
        "line 8",
        "line 9",
    ]
    assert "grounding 'tying' needs an encoder" in found[4]


def test_a_study_in_python_is_refused_by_path() -> None:
    small = {"planted": {"documents": 60, "length": 12}}
    with pytest.raises(VeraxError) as caught:
        read_study({"corpora": small, "models": {"lr": [1e-3, -1]}, "seeds": [0, 0]})
    assert caught.value.problems == [  # type: ignore[attr-defined]
        "models.lr[1]: option 'lr' is -1.0: it must be above 0",
        "seeds[1]: option 'seeds' has 0 twice",
    ]


def test_what_yaml_cannot_hold_is_refused() -> None:
    with pytest.raises(VeraxError, match="this study holds what YAML cannot"):
        read_study({"corpora": "planted", "name": object()})


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("grounding-x-sparse", "no study 'grounding-x-sparse': .*did you mean 'grounding-x-spars"),
        ("nothing.yaml", "cannot read study nothing.yaml: No such file"),
        ("some/where", "cannot read study some/where: No such file"),
        (".", "cannot read study .: Is a directory"),
    ],
)
def test_a_study_that_is_not_there(source: str, expected: str) -> None:
    with pytest.raises(VeraxError, match=expected):
        read_study(source)


def test_a_study_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(VeraxError, match="is not UTF-8 text"):
        read_study(tmp_path / "study.yaml")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("by_hand", "expected"),
    [
        ({"corpora": ["nowhere_at_all"]}, "corpora[0]: unknown corpus 'nowhere_at_all'"),
        ({"corpora": []}, "corpora: no corpus given"),
        ({"seeds": ["x"]}, "seeds[0]: option 'seeds' is 'x': expected a whole number"),
        ({"exams": ["erasurs"]}, "exams[0]: unknown exam 'erasurs': did you mean 'erasure'?"),
        ({"changed": {"epoch": "2"}}, "unknown option 'epoch': did you mean 'epochs'?"),
        ({"changed": {"epochs": "x"}}, "option 'epochs' is 'x': expected a whole number"),
        ({"changed": {"epochs": [1, 2]}}, "option 'epochs' is a list: expected one value"),
        ({"changed": {"head": "sigmod"}}, "option 'head' is 'sigmod': did you mean 'sigmoid'?"),
        (
            {"changed": {"hidden_size": "7"}},
            "hidden_size as set: hidden_size is 7: it must be even",
        ),
    ],
)
def test_what_is_asked_by_hand_is_checked_alike(
    tmp_path: Path, by_hand: dict[str, object], expected: str
) -> None:
    (problem,) = refused(tmp_path, "corpora: SMALL\n", **by_hand)
    assert problem.removeprefix("study.yaml: ").startswith(expected)
