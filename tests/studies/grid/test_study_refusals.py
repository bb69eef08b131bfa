"""One mistake at a time: each is refused with its line, and with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_files import refused

from support.errors import raises
from verax.errors import VeraxErrors
from verax.studies import read_study

AFTER_A_CORPUS = [
    ("seed: 1\n", ("line 2", "study.unknown-key", "seeds")),
    ("exclude: []\n", ("line 2", "study.unknown-key", "exclude")),
    ("training: {seed: 3}\n", ("line 2", "option.unknown", "seed")),
    ("models: {seeds: [1]}\n", ("line 2", "option.unknown", "seeds")),
    (
        "models: {projection: sparsegen, sparsegen: {lam: 0.5}}\n",
        ("line 2", "option.unknown", "sparsegen"),
    ),
    ("hardware: {device: gpu}\n", ("line 2", "device.unknown", "device", "gpu")),
    ("epochs: 1\n", ("line 2", "study.unknown-key", "epochs")),
    ("encoder: conv\n", ("line 2", "study.unknown-key", "encoder")),
    ("workers: 2\n", ("line 2", "study.unknown-key", "workers")),
    (
        "models: {projektion: softmax}\n",
        ("line 2", "option.unknown", "projektion", "projection"),
    ),
    ("training: {epoch: 3}\n", ("line 2", "option.unknown", "epochs")),
    (
        "training: {encoder: conv}\n",
        ("line 2", "option.unknown", "encoder"),
    ),
    (
        "training: {max_tokens: 9}\n",
        ("line 2", "option.unknown", "max_tokens"),
    ),
    (
        "models: {max_length: 9}\n",
        ("line 2", "option.unknown", "max_words"),
    ),
    ("hardware: {worker: 3}\n", ("line 2", "option.unknown", "workers")),
    ("training:\n  epochs: many\n", ("line 3", "option.wrong-type", "epochs", "many")),
    ("training:\n  epochs: 0\n", ("line 3", "option.out-of-range", "epochs")),
    ("training:\n  lr:\n  - 1e-3\n  - -1\n", ("line 5", "option.out-of-range", "lr")),
    ("training: {lr: .inf}\n", ("line 2", "option.out-of-range", "lr")),
    ("training: {lr: []}\n", ("line 2", "option.empty", "lr")),
    ("training: {lr: [1e-3, 0.001]}\n", ("line 2", "option.duplicate", "lr", "0.001")),
    ("training: {lr: [[1e-3]]}\n", ("line 2", "option.wrong-type", "lr")),
    ("training: {lr: {a: 1}}\n", ("line 2", "option.wrong-type", "lr")),
    ("training: {lr: }\n", ("line 2", "option.missing", "lr")),
    ("training: 3\n", ("line 2", "option.wrong-type", "training")),
    ("models: {encoder: lstm}\n", ("line 2", "option.unknown-value", "encoder", "bilstm")),
    (
        "models: {grounding: ~}\n",
        ("line 2", "option.missing", "grounding"),
    ),
    (
        "models: {grounding: {tieing: }}\n",
        ("line 2", "option.unknown-value", "grounding", "tieing", "tying"),
    ),
    (
        "models:\n  grounding:\n    tying: 3\n",
        ("line 4", "option.wrong-type", "tying"),
    ),
    ("models: {grounding: {}}\n", ("line 2", "option.empty", "grounding")),
    (
        "models:\n  projection:\n    entmax: {alpa: 2}\n",
        ("line 4", "option.unknown", "alpa", "alpha"),
    ),
    (
        "models:\n  projection:\n    entmax: {alpha: 0.5}\n",
        ("line 4", "option.out-of-range", "alpha", "0.5"),
    ),
    (
        "models:\n  projection:\n    entmax: {projection: softmax}\n",
        ("line 4", "option.conflict", "projection"),
    ),
    ("models: 3\n", ("line 2", "option.wrong-type", "models")),
    ("models: []\n", ("line 2", "option.empty", "models")),
    (
        "models: {grounding: {tying: {strength: auto, strengths: [0.1, 1]}}}\n",
        ("line 2", "option.wrong-type", "strengths", "0.1,1"),
    ),
    (
        "models: {hierarchical: maybe}\n",
        ("line 2", "option.wrong-type", "hierarchical", "maybe"),
    ),
    ("models:\n  exclude: [{encoder: none}]\n", ("line 3", "option.not-applicable")),
    ("models:\n  encoder: none\n  exclude: {encoder: none}\n", ("line 4", "option.conflict")),
    (
        "models:\n  exclude: [{encodr: none}]\n",
        ("line 3", "option.unknown", "encodr", "encoder"),
    ),
    (
        "models:\n  exclude: [{encoder: nine}]\n",
        ("line 3", "option.unknown-value", "encoder", "nine"),
    ),
    ("models:\n  exclude: [none]\n", ("line 3", "option.wrong-type")),
    ("models:\n  exclude: [{}]\n", ("line 3", "option.wrong-type")),
    ("seeds: [1, 1]\n", ("line 2", "option.duplicate", "seeds")),
    ("seeds: []\n", ("line 2", "option.empty", "seeds")),
    ("seeds: [-1]\n", ("line 2", "option.out-of-range", "seeds")),
    ("seeds: ['1']\n", ("line 2", "option.wrong-type", "seeds", "1")),
    ("seeds: 1.5\n", ("line 2", "option.wrong-type", "seeds", "1.5")),
    ("exams: [erasurs]\n", ("line 2", "option.unknown-value", "erasurs", "erasure")),
    ("exams: []\n", ("line 2", "option.missing")),
    ("exams: 3\n", ("line 2", "option.wrong-type")),
    ("exams: [erasure, erasure]\n", ("line 2", "option.duplicate", "erasure")),
    (
        "exams:\n  erasure:\n  replacement: 3\n",
        ("line 4", "option.wrong-type", "replacement"),
    ),
    (
        "exams:\n  replacement:\n    permutation: 3\n",
        ("line 4", "option.unknown", "permutations"),
    ),
    (
        "exams:\n  replacement: {permutations: [3, 4]}\n",
        ("line 3", "option.wrong-type", "permutations"),
    ),
    (
        "exams:\n  agreement:\n    inputs: [gradient]\n",
        ("line 4", "option.wrong-type", "inputs"),
    ),
    (
        "exams:\n  agreement:\n    spearman: true\n    inputs: grdient\n",
        ("line 5", "option.unknown-value", "grdient"),
    ),
    ("exams:\n  adversary:\n    epsilons: '2'\n", ("line 4", "option.malformed", "epsilons", "2")),
    ("exams: {all: {draws: 3}}\n", ("line 2", "option.ambiguous")),
    ("split: tset\n", ("line 2", "option.unknown-value", "split", "tset", "test")),
    ("sample: 0\n", ("line 2", "option.out-of-range", "sample")),
    ("sample: [1, 2]\n", ("line 2", "option.wrong-type", "sample")),
    ("weights: maybe\n", ("line 2", "option.wrong-type", "weights", "maybe")),
    ("name: 3\n", ("line 2", "option.wrong-type", "name")),
    ("name: ../up\n", ("line 2", "file.bad-name", "../up")),
    ("question: [why]\n", ("line 2", "option.wrong-type", "question")),
    ("hardware: {workers: 0}\n", ("line 2", "option.out-of-range", "workers")),
    ("hardware: {engine: slurm}\n", ("line 2", "option.unknown-value", "engine", "slurm")),
    ("hardware: [ray]\n", ("line 2", "option.wrong-type", "hardware")),
]
"""What follows a good first line, and what is said of it."""
WHOLE = [
    ("seeds: 1\n", ("study.yaml", "option.missing")),
    ("corpora: nowhere_at_all\n", ("line 1", "corpus.unknown", "nowhere_at_all")),
    ("corpora:\n- planted: {documents: 60}\n- missing.csv\n", ("line 3", "file.missing")),
    ("corpora: []\n", ("line 1", "option.missing")),
    ("corpora: [3]\n", ("line 1", "option.wrong-type")),
    ("corpora: ~\n", ("line 1", "option.wrong-type")),
    ("corpora:\n  planted: 3\n", ("line 2", "option.wrong-type", "planted")),
    (
        "corpora:\n  planted: {documnts: 60}\n",
        ("line 2", "option.unknown", "documnts", "documents"),
    ),
    ("corpora:\n  rotten_tomatoes: {documents: 60}\n", ("line 2", "option.unknown", "documents")),
    (
        "corpora:\n  planted: {documents: [60, 80]}\n",
        ("line 2", "option.wrong-type", "documents"),
    ),
    (
        "corpora:\n  planted: {min_words: 0}\n",
        ("line 2", "option.out-of-range", "min_words"),
    ),
    ("corpora:\n  planted: {distractors: 9}\n", ("line 2", "option.conflict")),
    (
        "corpora:\n  planted: {hidden_size: 9}\n",
        ("line 2", "option.unknown", "hidden_size"),
    ),
    (
        "corpora:\n  planted:\n    documents: 60\n    epochs: 0\n",
        ("line 4", "option.out-of-range", "epochs"),
    ),
    ("corpora:\n- SMALL\n- SMALL\n", ("line 3", "option.duplicate", "planted")),
]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("text", "expected"), WHOLE)
def test_a_mistake_is_refused_with_its_line(
    tmp_path: Path, text: str, expected: tuple[str, ...]
) -> None:
    (problem,) = refused(tmp_path, text)
    problem.check(*expected)


@pytest.mark.parametrize(("rest", "expected"), AFTER_A_CORPUS)
def test_a_mistake_after_a_corpus(tmp_path: Path, rest: str, expected: tuple[str, ...]) -> None:
    (problem,) = refused(tmp_path, "corpora: SMALL\n" + rest)
    problem.check(*expected)


def test_one_empty_list_does_not_hide_another(tmp_path: Path) -> None:
    found = refused(tmp_path, "seed: 1\ncorpora: []\nseeds: []\nexams: []\nmodels: []\n")
    assert [problem.where for problem in found] == [f"line {n}" for n in range(1, 6)]


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
    assert [problem.where for problem in found] == [
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
    found[4].check("lines 5, 6", "option.conflict", "tying")


def test_a_study_in_python_is_refused_by_path() -> None:
    small = {"planted": {"documents": 60, "length": 12}}
    with raises("option.out-of-range") as caught:
        read_study({"corpora": small, "models": {"lr": [1e-3, -1]}, "seeds": [0, 0]})
    assert isinstance(caught.value, VeraxErrors)
    assert [(str(one).partition(": ")[0], one.code) for one in caught.value.problems] == [
        ("models.lr[1]", "option.out-of-range"),
        ("seeds[1]", "option.duplicate"),
    ]


def test_what_yaml_cannot_hold_is_refused() -> None:
    with raises("option.wrong-type"):
        read_study({"corpora": "planted", "name": object()})


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("grounding-x-sparse", "study.unknown"),
        ("nothing.yaml", "file.unreadable"),
        ("some/where", "file.unreadable"),
        (".", "file.unreadable"),
    ],
)
def test_a_study_that_is_not_there(source: str, code: str) -> None:
    with raises(code, source):
        read_study(source)


def test_a_study_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_bytes(b"\xff\xfe\x00")
    with raises("file.wrong-encoding"):
        read_study(tmp_path / "study.yaml")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("by_hand", "expected"),
    [
        ({"corpora": ["nowhere_at_all"]}, ("corpora[0]", "corpus.unknown", "nowhere_at_all")),
        ({"corpora": []}, ("corpora", "option.missing")),
        ({"seeds": ["x"]}, ("seeds[0]", "option.wrong-type", "seeds", "x")),
        ({"exams": ["erasurs"]}, ("exams[0]", "option.unknown-value", "erasurs", "erasure")),
        ({"changed": {"epoch": "2"}}, ("study.yaml", "option.unknown", "epochs")),
        ({"changed": {"epochs": "x"}}, ("study.yaml", "option.wrong-type", "epochs", "x")),
        ({"changed": {"epochs": [1, 2]}}, ("study.yaml", "option.wrong-type", "epochs")),
        (
            {"changed": {"head": "sigmod"}},
            ("study.yaml", "option.unknown-value", "head", "sigmod", "sigmoid"),
        ),
        (
            {"changed": {"hidden_size": "7"}},
            ("hidden_size as set", "option.out-of-range", "hidden_size"),
        ),
    ],
)
def test_what_is_asked_by_hand_is_checked_alike(
    tmp_path: Path, by_hand: dict[str, object], expected: tuple[str, ...]
) -> None:
    (problem,) = refused(tmp_path, "corpora: SMALL\n", **by_hand)
    problem.check(*expected)
