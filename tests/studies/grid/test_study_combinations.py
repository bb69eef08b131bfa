"""Combinations that cannot be: found before anything runs, told with the lines that make them."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from study_files import refused, study

THREE = "{planted: {documents: 60, length: 12, classes: 3}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # a slot and a slot
            "corpora: SMALL\nmodels:\n  encoder: none\n  grounding: tying\n",
            ("lines 3, 4", "option.conflict", "tying"),
        ),
        (  # one of several, and how many it concerns
            "corpora: SMALL\nmodels:\n  encoder: [none, conv]\n  projection: [softmax, entmax]\n"
            "  grounding:\n  - concat\n  - mlm\n",
            ("lines 3, 7", "option.conflict", "mlm", "none"),
        ),
        (  # a nested option
            "corpora: SMALL\nmodels:\n  grounding:\n    residual:\n      hidden_size: 50\n",
            ("lines 4, 5", "option.conflict", "residual", "hidden_size", "50"),
        ),
        (  # across sections, one of them the corpus's own
            "corpora:\n  planted:\n    documents: 60\n    select_from: 5\ntraining:\n  epochs: 3\n",
            ("lines 4, 6", "option.conflict", "select_from"),
        ),
        (
            "corpora: SMALL\nmodels:\n  grounding: concat\n  strength: auto\n",
            ("lines 3, 4", "option.conflict", "auto", "concat"),
        ),
        (
            "corpora: SMALL\nmodels:\n  grounding: tying\n  strength: auto\n  strengths: '1,x'\n",
            ("line 5", "option.wrong-type", "strengths", "x"),
        ),
        (
            f"corpora:\n- {THREE}\nmodels:\n  head: sigmoid\n",
            ("lines 2, 4", "option.conflict", "sigmoid", "softmax"),
        ),
        (
            f"corpora:\n- SMALL\n- {THREE}\ntraining:\n  metric: f1\n",
            ("lines 3, 5", "option.not-applicable", "macro_f1"),
        ),
        (
            "corpora: SMALL\nmodels:\n  encoder: transformer\n  heads: 7\n",
            ("line 4", "option.conflict", "hidden_size", "100"),
        ),
        (
            "corpora: SMALL\nmodels:\n  encoder: conv\n  layers: [1, 2]\n",
            ("lines 3, 4", "option.conflict", "conv"),
        ),
        (  # two choices of one combination that want different things
            "corpora: SMALL\nmodels:\n  projection: {entmax: {epochs: 3}}\n"
            "  grounding:\n    tying: {epochs: 5}\n",
            ("lines 3, 5", "option.conflict", "epochs"),
        ),
    ],
)
def test_the_lines_are_those_that_make_it_impossible(
    tmp_path: Path, text: str, expected: tuple[str, ...]
) -> None:
    (problem,) = refused(tmp_path, text)
    problem.check(*expected)


def test_two_reasons_of_one_combination_are_both_told(tmp_path: Path) -> None:
    text = "corpora: SMALL\nmodels:\n  head: softmax\n  encoder: none\n  grounding: mlm\n"
    text += "  layers: 2\n  hierarchical: true\n  boundaries: true\n"
    found = refused(tmp_path, text)
    assert [problem.where for problem in found] == ["lines 4, 5", "lines 7, 8"]


def test_without_the_corpus_the_rest_is_still_checked(tmp_path: Path) -> None:
    found = refused(tmp_path, "corpora: nowhere_at_all\nmodels: {encoder: none, grounding: mlm}\n")
    assert [problem.where for problem in found] == ["line 1", "line 2"]


def test_what_was_refused_already_is_not_held_against_others(tmp_path: Path) -> None:
    """Without its bad value hidden_size would be 100, which residual could not take."""
    text = "corpora: SMALL\nmodels:\n  embedding_size: 50\n  hidden_size: fifty\n"
    (problem,) = refused(tmp_path, text + "  grounding: residual\n")
    problem.check("line 4", "option.wrong-type", "hidden_size", "fifty")


def test_an_exclusion_makes_it_possible(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        models:
          encoder: [none, conv]
          grounding: [none, tying, mlm]
          exclude: [{encoder: none, grounding: [tying, mlm]}]
        """,
    )
    assert [(c.model["encoder"], c.model["grounding"]) for c in found.cells] == [
        ("none", "none"),
        ("conv", "none"),
        ("conv", "tying"),
        ("conv", "mlm"),
    ]


def test_validation_without_a_class_has_no_area(tmp_path: Path) -> None:
    rows = [f"{text} {n},{label}" for n in range(6) for text, label in (("good", 1), ("bad", 0))]
    for split, kept in (("train", rows), ("validation", rows[::2]), ("test", rows)):
        (tmp_path / f"{split}.csv").write_text("text,label\n" + "\n".join(kept) + "\n")
    text = f"corpora: {tmp_path}\ntraining: {{metric: roc_auc}}\n"
    (problem,) = refused(tmp_path, text)
    problem.check("lines 1, 2", "option.not-applicable", "roc_auc")


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("header", ["", "3 4\n"])
def test_vectors_of_another_width_are_refused(tmp_path: Path, zipped: bool, header: str) -> None:
    rows = header + "".join(f"w{n} 1 2 3 4\n" for n in range(3))
    path = tmp_path / "vectors.txt"
    path.write_bytes(gzip.compress(rows.encode()) if zipped else rows.encode())
    text = f"corpora: SMALL\nmodels:\n  grounding: residual\ntraining:\n  vectors: {path}\n"
    (problem,) = refused(tmp_path, text)
    problem.check("lines 3, 5", "option.conflict", "residual", "hidden_size", "embedding_size")
    assert study(tmp_path, text.replace("residual", "concat")).cells


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "file.missing"),
        (b"\xff\xfe\xff\n", "file.wrong-encoding"),
        (b"\x1f\x8bnot zipped", "file.unreadable"),
        (b"", "vectors.malformed"),
        (b"word\n", "vectors.malformed"),
    ],
)
def test_a_vectors_file_that_cannot_be_is_refused_by_line(
    tmp_path: Path, content: bytes | None, code: str
) -> None:
    path = tmp_path / "vectors.txt"
    if content is not None:
        path.write_bytes(content)
    text = f"corpora:\n  planted:\n    documents: 60\n    vectors: {path}\nseeds: [1, 2]\n"
    (problem,) = refused(tmp_path, text)
    problem.check("line 4", code, path)


def test_a_grid_too_large_is_refused_without_being_made(tmp_path: Path) -> None:
    lists = {"lr": 50, "hidden_size": 50, "embedding_size": 50, "weight_decay": 50}
    options = "\n".join(f"  {n}: {list(range(2, 2 + 2 * k, 2))}" for n, k in lists.items())
    started = time.monotonic()
    (problem,) = refused(tmp_path, f"corpora: SMALL\nseeds: [0, 1, 2]\nmodels:\n{options}\n")
    assert time.monotonic() - started < 5
    problem.check("study.yaml", "study.too-large", "18,750,000", "100,000")


def test_the_size_counts_nested_crosses_and_unions(tmp_path: Path) -> None:
    """(1 + 40·50) projections × 30 rates + 1, of 2 corpora, of 1 seed."""
    nested = f"{{sparsegen: {{lam: {[-n for n in range(40)]}, batch_size: {list(range(1, 51))}}}}}"
    (problem,) = refused(
        tmp_path,
        f"corpora: [SMALL, {THREE}]\nmodels:\n- projection: [softmax, {nested}]\n"
        f"  lr: {list(range(1, 31))}\n- encoder: none\n",
    )
    problem.check("study.yaml", "study.too-large", "120,062")
