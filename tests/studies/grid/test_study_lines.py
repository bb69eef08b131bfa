"""YAML with lines: what is read, what is refused, and that nothing blows up."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from study_files import refused, study

from support.errors import assert_names, raises
from verax.studies.grid.source import MOST_VALUES, Problems, plain, read_json, read_yaml


def read(text: str) -> object:
    problems = Problems("study.yaml")
    found = read_yaml(text, problems)
    problems.refuse()
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [x, 2.5, true, ~, 'none']\nc: {d: {e: no}}",
        "a: &x {b: 1, c: [1, 2]}\nd: *x\ne: [*x, *x]",
        "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}",
        "a: &x {b: 1}\ny: &y {b: 2, c: 3}\nd: {<<: [*x, *y], e: 4}",
        "# comments\n---\na: |\n  several\n  lines\n...\n",
    ],
)
def test_values_are_those_of_safe_load(text: str) -> None:
    assert read(text) == yaml.safe_load(text)


def test_keys_are_text_and_dates_too() -> None:
    assert read("{0: a, true: b, 1.5: c, d: 2020-01-02}") == {
        "0": "a",
        "true": "b",
        "1.5": "c",
        "d": "2020-01-02",
    }


def test_every_path_has_a_line() -> None:
    problems = Problems()
    read_yaml("a: 1\nb:\n  - x\n  - c:\n      y\n", problems)
    assert problems.lines == {
        (): 1,
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 1): 4,
        ("b", 1, "c"): 4,
    }


def test_what_an_alias_names_has_the_lines_where_it_was_written() -> None:
    problems = Problems()
    read_yaml("a: &x\n  b: 1\n  c: 2\nd: *x\ne:\n  <<: *x\n  c: 3\n", problems)
    lines = [problems.lines[path] for path in [("d",), ("d", "b"), ("e",), ("e", "b"), ("e", "c")]]
    assert lines == [4, 2, 5, 2, 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3\n", ("line 3", "option.duplicate", "a", "1")),
        ("a: &x {b: 1}\nc: {<<: *x, d: 1, d: 2}\n", ("line 2", "option.duplicate", "d")),
        ("a:\n\t- b\n", ("line 2", "file.malformed")),
        ("a: [1, 2\nb: 3\n", ("line 1", "file.malformed")),
        ("a: 'b\nc: 3\n", ("line 1", "file.malformed")),
        (
            "q: Does it: yes?\n",
            ("line 1", "file.malformed"),
        ),
        ("a: *nobody\n", ("line 1", "file.malformed", "nobody")),
        ("a: 1\n---\nb: 2\n", ("line 2", "file.malformed")),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", ("line 2", "file.malformed")),
        ("a: !!python/name:os.system\n", ("line 1", "file.malformed")),
        ("a: !mine 3\n", ("line 1", "file.malformed", "!mine")),
        ("a: !!set {x, y}\n", ("line 1", "file.malformed", "set")),
        ("a: !!binary aGk=\n", ("line 1", "file.malformed", "binary")),
        ("a: !!int abc\n", ("line 1", "file.malformed", "abc")),
        ("? [a, b]\n: c\n", ("line 1", "file.malformed")),
        ("a: 1\n<<: 3\n", ("line 2", "file.malformed", "<<")),
        ("a: &x [1, *x]\n", ("line 1", "file.malformed")),
        ("a: &x {b: *x}\n", ("line 1", "file.malformed")),
        ("a: \x01\n", ("study.yaml", "file.malformed")),
    ],
)
def test_what_is_no_study_is_refused_with_its_line(
    tmp_path: Path, text: str, expected: tuple[str, ...]
) -> None:
    problems = refused(tmp_path, text)
    (problem,) = [one for one in problems if (one.where, one.code) == expected[:2]]
    problem.check(*expected)


def test_tabs_are_called_tabs(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, "corpora:\n\t- sst\n")
    problem.check("line 2", "file.malformed", "tabs")


def test_all_problems_of_the_text_are_told_at_once(tmp_path: Path) -> None:
    text = "corpora: SMALL\nseeds: 1\nseeds: 2\nname: !mine x\nsplit: !mine y\n"
    assert [p.where for p in refused(tmp_path, text)] == ["line 3", "line 4", "line 5"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~\n"])
def test_an_empty_file_is_called_so(tmp_path: Path, text: str) -> None:
    (problem,) = refused(tmp_path, text)
    assert problem.code in ("file.empty", "option.wrong-type")
    assert_names(problem.message, "corpora")


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n", "3\n"])
def test_a_study_is_a_mapping(tmp_path: Path, text: str) -> None:
    refused(tmp_path, text)[0].check("line 1", "option.wrong-type", "corpora")


def laughs(levels: int, shape: str) -> str:
    lines = ["a0: &a0 [lol, lol]" if shape == "list" else "a0: &a0 {x: lol, y: lol}"]
    for level in range(1, levels):
        old = f"*a{level - 1}"
        ten = (
            ", ".join([old] * 10)
            if shape == "list"
            else ", ".join(f"k{i}: {old}" for i in range(10))
        )
        lines.append(f"a{level}: &a{level} " + (f"[{ten}]" if shape == "list" else f"{{{ten}}}"))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("shape", ["list", "mapping"])
def test_a_billion_laughs_are_refused_at_once(tmp_path: Path, shape: str) -> None:
    started = time.monotonic()
    (problem,) = refused(tmp_path, laughs(60, shape))
    assert time.monotonic() - started < 5
    assert problem.code == "study.too-large"
    assert_names(problem.message, f"{MOST_VALUES:,}")


def test_merged_laughs_are_no_more_than_their_keys(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 40)]
    (problem,) = refused(tmp_path, "\n".join(lines))
    assert problem.code == "study.too-large"


@pytest.mark.slow
def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "a: " + "[" * 20_000)[0].code == "file.malformed"


def test_a_file_of_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    assert refused(tmp_path, "a: b # " + "x" * 1_000_000)[0].code == "study.too-large"


def test_anchors_work_in_a_study(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        models:
          - &base {encoder: none, lr: [0.1, 0.2]}
          - {<<: *base, encoder: mlp}
        """,
    )
    assert [(c.model["encoder"], c.training["lr"]) for c in found.cells] == [
        ("none", 0.1),
        ("none", 0.2),
        ("mlp", 0.1),
        ("mlp", 0.2),
    ]


def test_json_is_read_with_lines_and_tabs() -> None:
    problems = Problems("study.json")
    found = read_json('{\n\t"a": [1, 2.5, "x\\ty", null, true],\n\t"b": {"c": 1e-3}\n}', problems)
    assert found == {"a": [1, 2.5, "x\ty", None, True], "b": {"c": "1e-3"}}
    assert problems.lines[("b",)] == 3
    assert read_json('{\n"a": 1,\n}', problems) is None
    with raises("file.malformed", "study.json line 3"):
        problems.refuse()


def test_values_from_python_have_paths() -> None:
    found = plain({"models": {"lr": (0.1, 0.2)}, "path": Path("x") / "y"})
    assert found == {"models": {"lr": [0.1, 0.2]}, "path": "x/y"}
    assert Problems().place(("models", "lr", 1)) == "models.lr[1]"


def test_a_grid_of_more_cells_than_can_be_written_is_refused(tmp_path: Path) -> None:
    axes = "".join(f"  {{}}: {list(range(2, 2002, 2))}\n" for _ in range(6))
    widths = [f"{of}_size" for of in ("hidden", "embedding", "attention", "feedforward", "batch")]
    (problem,) = refused(tmp_path, "corpora: SMALL\nmodels:\n" + axes.format(*widths, "epochs"))
    problem.check("study.yaml", "study.too-large", "10^15")
