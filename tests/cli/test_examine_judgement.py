"""What `verax examine` says: the judgement in a few lines, as JSON, and as an exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refused import refusal

import verax
from support.internals import limit_versions as versions
from verax.cli import main
from verax.exams import EXAMS, load_limits, load_verdict

ALWAYS = {"replacement": {"against_above": 1, "for_below": 0.5}}
NEVER = {"replacement": {"against_above": 100, "for_below": 99.5}}
"""Limits by which replacement always speaks against, and for."""


@pytest.fixture(scope="module")
def folder(planted: verax.Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("models") / "model"
    verax.train(planted, encoder="none", epochs=3, lr=1e-2).save(where)
    return str(where)


def limits(folder: Path, values: dict[str, dict[str, float]]) -> str:
    path = folder / "ours.json"
    path.write_text(json.dumps({"version": "ours", "limits": values}))
    return str(path)


@pytest.mark.slow
def test_ten_lines_that_end_with_the_answer(
    folder: str, planted: verax.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["examine", folder, "--split", "train"]) == 0
    lines = capsys.readouterr().out.splitlines()
    judgement = verax.examine(folder, planted, split="train").judgement
    assert len(lines) <= 10
    assert lines[-1] == judgement.headline
    assert lines[0] == "200 documents of planted, train"
    shown = [line for line in lines if line[0] in "✓✗?"]
    assert len(shown) == len(judgement.judged) == 5
    for line, row in zip(shown, judgement.judged, strict=True):
        assert EXAMS[row.exam].title in line
        assert f" {row.verdict} " in line
        assert line.endswith(f"{row.label} [{row.reason}]" if row.reason else row.label)
    assert any("not applicable: Dispersion, Information" in line for line in lines)
    assert any(f"limits {versions()[-1]}" in line and "accuracy" in line for line in lines)
    assert str(judgement) == "\n".join(line for line in lines[1:] if "--full" not in line)


@pytest.mark.slow
def test_full_prints_the_tables_after_it(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["examine", folder, "--exams", "replacement"]
    assert main(command) == 0
    *short, answer = capsys.readouterr().out.splitlines()
    assert main([*command, "--full"]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = lines.index(answer)
    assert lines[:place] == [line for line in short if "--full" not in line]
    assert not any("decisions that survive" in line for line in lines[: place + 1])
    assert any("decisions that survive" in line for line in lines[place:])
    assert any("permuted" in line for line in lines[place:])


def refuse_constant(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


@pytest.mark.slow
def test_json_is_for_machines(
    folder: str, planted: verax.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["examine", folder, "--json", "--out", str(tmp_path / "v")]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out, parse_constant=refuse_constant)
    judgement = verax.examine(folder, planted).judgement
    assert found == json.loads(json.dumps(judgement.to_json()))
    assert found["headline"] == judgement.headline
    assert [row["exam"] for row in found["rows"]] == [row.exam for row in judgement.rows]
    assert {"measure", "subject", "verdict", "value", "low", "high", "n", "unit", "limits"} <= set(
        found["rows"][0]
    )
    assert found["limits"] == load_limits().to_json()
    assert found["limits"]["version"] == versions()[-1]
    assert found["counts"] == {
        verdict: sum(row["verdict"] == verdict for row in found["rows"])
        for verdict in ("for", "against", "open")
    }
    assert "report.html" in err  # where to look is not JSON
    assert (tmp_path / "v" / "report.html").is_file()


def test_fail_on_needs_named_limits(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["examine", folder, "--fail-on", "against"]
    refusal(capsys, words, "option.missing", "--fail-on", f"--limits {versions()[-1]}")


@pytest.mark.slow
@pytest.mark.parametrize(("values", "code"), [(ALWAYS, 3), (NEVER, 0)])
def test_fail_on_against_is_an_exit_code(
    folder: str,
    tmp_path: Path,
    values: dict[str, dict[str, float]],
    code: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["examine", folder, "--exams", "replacement", "--limits", limits(tmp_path, values)]
    command += ["--split", "train"]
    assert main([*command, "--fail-on", "against", "--json", "--out", str(tmp_path / "v")]) == code
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["against"] == (1 if code else 0)
    assert found["limits"]["version"] == "ours"
    # all is written before it ends, and judged by the same limits when it is read again
    assert load_verdict(tmp_path / "v").judgement.limits.version == "ours"
    assert (tmp_path / "v" / "report.html").is_file()
    assert main(command) == 0  # nothing fails unless asked to


@pytest.mark.slow
@pytest.mark.parametrize(("projection", "code"), [("uniform", 3), ("softmax", 0)])
def test_fail_on_goes_by_a_published_version(
    planted: verax.Corpus, tmp_path: Path, projection: str, code: int
) -> None:
    """Uniform attention made uniform changes nothing; of 200 documents that is sure."""
    model = verax.train(planted, encoder="none", epochs=3, lr=1e-2, projection=projection)
    model.save(tmp_path / "m")
    command = ["examine", str(tmp_path / "m"), "--split", "train", "--exams", "replacement"]
    assert main([*command, "--limits", "2026-11", "--fail-on", "against"]) == code


def test_fail_on_fails_where_no_exam_judges(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["examine", folder, "--split", "train", "--exams", "dispersion"]
    assert main([*command, "--limits", "2026-11", "--fail-on", "against"]) == 3
    assert main(command) == 0


def test_limits_of_ones_own(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = limits(tmp_path, ALWAYS)
    call = ["examine", folder, "--split", "train", "--exams", "replacement"]
    assert main([*call, "--limits", path]) == 0
    printed = capsys.readouterr().out
    assert "✗ Replacement  against" in printed
    assert "limits ours" in printed
    bad = limits(tmp_path, {"replacement": {"for_above": 1}})
    words = ["examine", folder, "--limits", bad]
    refusal(capsys, words, "limits.unknown-name", "replacement", "for_above")
