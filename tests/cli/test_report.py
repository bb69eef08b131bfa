"""`verax report`: verdicts, demos, studies and papers as a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from refused import refusal

import verax
from support.errors import refused
from support.internals import REPORT, Runner, measure_title
from verax.cli import main
from verax.studies import HereEngine, Store, read_study


@pytest.fixture(scope="module")
def saved(planted: verax.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two verdicts."""
    folder = tmp_path_factory.mktemp("verdicts")
    for name, projection in (("soft", "softmax"), ("sparse", "sparsemax")):
        model = verax.train(planted, encoder="none", projection=projection, epochs=1, seed=1)
        verax.examine(model, planted, exams=["replacement"]).save(folder / name)
    return folder


@pytest.mark.slow
def test_a_verdict_becomes_a_page(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "r.html"
    assert main(["report", str(saved / "soft"), "-o", str(out), "--title", "<mine>"]) == 0
    page = out.read_text(encoding="utf-8")
    assert "<title>&lt;mine&gt;</title>" in page
    assert 'data-exam="replacement"' in page
    assert str(out) in capsys.readouterr().out


@pytest.mark.slow
def test_several_verdicts_stand_side_by_side(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    places = [f"first={saved / 'soft'}", str(saved / "sparse")]
    assert main(["report", *places, "-o", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert "<bdi>first</bdi>" in page
    assert "<bdi>sparse</bdi>" in page
    assert main(["report", str(saved), "-o", str(tmp_path / "all.html")]) == 0
    assert "<bdi>soft</bdi>" in (tmp_path / "all.html").read_text(encoding="utf-8")


def test_a_comparison_shows_itself_in_a_notebook(saved: Path) -> None:
    found = verax.compare([str(saved / "soft"), str(saved / "sparse")])
    shown = found._repr_html_()
    table = found.table().set_index("measure")
    for measure in table.index:
        assert f"<bdi>{measure_title(str(measure))}</bdi>" in shown
    survived = table.loc["replacement.uniform.survival"]
    assert f"<td>{survived['value']:.1f}%</td>" in shown
    assert f"<td>{survived['difference']:+.1f} <span".replace("-", "−") in shown


@pytest.mark.slow
def test_a_study_shows_its_configurations_over_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(
        "name: s\nquestion: which?\ncorpora:\n  planted: {documents: 90}\n"
        "models: {encoder: none, projection: [softmax, sparsemax]}\n"
        "training: {epochs: 1}\nseeds: [1, 2]\nexams: [replacement]\n"
    )
    study = read_study("s.yaml")
    runner = Runner(study, Store.create("s", study.name, study.text, study.resolved()))
    runner.run(HereEngine("cpu"), runner.pending())
    assert main(["report", "s"]) == 0
    page = Path(REPORT).read_text(encoding="utf-8")
    assert "<bdi>softmax</bdi>" in page
    assert "<bdi>sparsemax</bdi>" in page
    assert "Intervals are over 2 seeds" in page
    assert re.search(r"<bdi>planted \(\d+ documents examined\)</bdi>", page)
    found = verax.open_study("s").summary()
    own = found[(found["row"] == "uniform") & (found["column"] == "survival")]
    mean = own[own["projection"] == "softmax"]["value"].mean()
    assert f"{mean:.1f}%" in page


@pytest.mark.slow
def test_examine_writes_a_report_last_and_may_replace_it(
    planted: verax.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = verax.load_corpus("planted", documents=90)
    verax.train(corpus, encoder="none", epochs=1).save(tmp_path / "model")
    command = ["examine", str(tmp_path / "model"), "--exams", "replacement", "--gallery", "3"]
    command += ["--out", str(tmp_path / "v")]
    assert main(command) == 0
    refused(command, "output.occupied")
    assert main([*command, "--overwrite"]) == 0
    page = (tmp_path / "v" / REPORT).read_text(encoding="utf-8")
    assert 'id="explorer-root"' in page
    assert verax.Verdict.owns(tmp_path / "v")
    assert REPORT in capsys.readouterr().out


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["nowhere"], ("file.missing",)),
        (["."], ("result.missing",)),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_line(
    places: list[str],
    expected: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(capsys, ["report", *places], *expected)


@pytest.mark.slow
def test_a_model_and_several_that_are_no_verdicts_are_refused(
    planted: verax.Corpus, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verax.train(planted, encoder="none", epochs=1).save(tmp_path / "model")
    refusal(capsys, ["report", str(tmp_path / "model")], "result.wrong-kind", "model")
    few = {"exams": "dispersion", "influence": "none", "entropy_of": ""}
    verax.sweep(planted, [0, 0.5], encoder="none", epochs=1, **few).save(tmp_path / "sweep")
    both = [str(saved / "soft"), str(tmp_path / "sweep")]
    refusal(capsys, ["report", *both], "result.wrong-kind", "sweep")


def test_two_of_one_name_and_a_folder_as_file_are_refused(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    soft = str(saved / "soft")
    refusal(capsys, ["report", soft, soft], "option.duplicate", "soft")
    refusal(capsys, ["report", soft, "-o", str(tmp_path)], "output.wrong-kind", tmp_path)
