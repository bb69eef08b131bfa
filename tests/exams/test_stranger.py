"""An exam of another package, found by its entry point, is a full citizen everywhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import verax
from support.documents import tokens_of
from support.errors import assert_names, raises, refused
from support.internals import (
    ENTRY_POINTS_OF,
    entry_points_of,
    find_place,
    judged_rows,
    measure_title,
    work_of,
)
from verax.cli import main
from verax.exams import EXAMS, load_limits, register, unregister
from verax.models import AttentionClassifier
from verax.report import report_page
from verax.studies import read_study

PACKAGE = Path(__file__).parents[1] / "strangers"
ID = "opening.first.mean"


@pytest.fixture(scope="module")
def installed() -> Iterator[None]:
    """The package on the path, as if it were installed; also for processes begun here."""
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(PACKAGE)
    patch.setenv("PYTHONPATH", str(PACKAGE), prepend=":")
    entry_points_of.cache_clear()
    yield
    if "opening" in EXAMS.registered:
        unregister("opening")
    patch.undo()
    for name in ("strangers_exam", "strangers_charts"):
        sys.modules.pop(name, None)
    entry_points_of.cache_clear()


@pytest.fixture(scope="module")
def models(installed: None, planted: verax.Corpus) -> list[AttentionClassifier]:
    options = {"encoder": "conv", "epochs": 1, "hidden_size": 8, "embedding_size": 8}
    return [verax.train(planted, grounding=g, **options) for g in ("none", "residual")]


@pytest.fixture(scope="module")
def verdict(models: list[AttentionClassifier], planted: verax.Corpus) -> verax.Verdict:
    return verax.examine(models[0], planted, ["erasure", "opening"], opening={"size": 3})


def test_it_is_known_by_name_and_declares_its_numbers(installed: None) -> None:
    assert "opening" in EXAMS
    assert list(EXAMS)[-1] == "opening"
    place = find_place(ID)
    assert place is not None
    assert (place.exam, place.row, place.column) == ("opening", "first", "mean")
    assert measure_title(ID) == "the first words: share of the weight"


@pytest.mark.slow
def test_keyword_table_and_summary(verdict: verax.Verdict) -> None:
    assert verdict.manifest["options"]["opening"] == {"size": 3, "draws": 1}
    assert "opening" in verdict.tables
    shares = verdict.tables["opening"]["value"]
    assert verdict.value(ID) == pytest.approx(shares.mean())
    values = verdict.document_values()
    assert values[values["measure"] == ID]["value"].mean() == pytest.approx(shares.mean())


def test_an_option_that_two_exams_have_is_given_under_ones_name(
    models: list[AttentionClassifier], planted: verax.Corpus
) -> None:
    with raises("option.ambiguous", "draws"):
        verax.examine(models[0], planted, ["erasure", "opening"], draws=2)
    found = verax.examine(models[0], planted, ["erasure", "opening"], erasure={"draws": 2})
    assert found.manifest["options"]["erasure"]["draws"] == 2
    assert found.manifest["options"]["opening"]["draws"] == 1


def test_it_is_judged_by_its_own_limits_and_by_the_users(verdict: verax.Verdict) -> None:
    (row,) = [row for row in verdict.judgement.rows if row.exam == "opening"]
    assert (row.measure, row.subject) == (ID, "attention")
    assert verdict.judgement.limits.of("opening") == {"for_above": 0.5, "against_below": 0.4}
    assert_names(row.limits, "0.5", "0.4")
    low, high = row.number.low, row.number.high
    for limits, expected in (
        ({"for_above": low - 1e-9, "against_below": 0.0}, "for"),
        ({"for_above": 1.0, "against_below": high + 1e-9}, "against"),
        ({"for_above": high, "against_below": low}, "open"),
    ):
        mine = load_limits({"version": "mine", "limits": {"opening": limits}})
        judged = judged_rows(verdict.model_summary(), mine)
        assert [row.verdict for row in judged if row.exam == "opening"] == [expected]
    crossed = {"version": "mine", "limits": {"opening": {"for_above": 0.1, "against_below": 0.2}}}
    with raises("limits.out-of-range", "for_above", "0.1", "against_below", "0.2"):
        verdict.judge(crossed)
    with raises("limits.unknown-name", "above"):
        verdict.judge({"version": "mine", "limits": {"opening": {"above": 1}}})


@pytest.mark.parametrize("max_seconds", [None, 1000.0])
def test_alone_it_gives_no_verdict_on_a_model_that_decides_at_random(
    max_seconds: float | None,
    installed: None,
    make_model: Callable[..., AttentionClassifier],
    planted: verax.Corpus,
    tmp_path: Path,
) -> None:
    """It has no accuracy of its own, so what was decided rightly is counted as it is examined."""
    model = make_model()
    found = verax.examine(model, planted, "opening", "train", max_seconds=max_seconds)
    decided = model.predict(tokens_of(planted.train), progress=False)["label"]
    labels = [planted.classes[label] for label in planted.train.labels]
    right = sum(one == other for one, other in zip(decided, labels, strict=True))
    assert found.manifest["decided"] == {"documents": len(labels), "right": right}
    found.save(tmp_path / "verdict")
    for judgement in (found.judgement, verax.load_verdict(tmp_path / "verdict").judgement):
        assert judgement.headline.startswith("No verdict: this model ")
        assert judgement.accuracy is not None
        assert judgement.accuracy.value == pytest.approx(100 * right / len(labels))
    unlabelled = pd.DataFrame({"tokens": list(tokens_of(planted.train))})
    assert "decided" not in verax.examine(model, unlabelled, "opening", "all").manifest


@pytest.mark.slow
def test_comparison_counts_and_titles_it(
    models: list[AttentionClassifier], planted: verax.Corpus
) -> None:
    found = verax.compare(dict(zip("ab", models, strict=True)), planted, ["opening"])
    (row,) = found.table().query("measure == @ID").to_dict("records")
    assert (row["exam"], row["better"], row["shown"]) == ("opening", "higher", True)
    page = report_page(found)
    assert "Opening: attention on the first words" in page


@pytest.mark.slow
def test_a_report_has_its_part_chart_and_explanation(verdict: verax.Verdict) -> None:
    page = report_page(verdict)
    for words in (
        "Does attention look at how a document begins?",
        "attention on the first words of a document",
        "The weights of the first words are summed.",
        'data-chart="opening-share"',
        "Attention looks at the opening.",
    ):
        assert words in page


@pytest.mark.slow
def test_flags_of_the_command_line(
    models: list[AttentionClassifier],
    planted: verax.Corpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    models[0].save(tmp_path / "model")
    asked = ["examine", str(tmp_path / "model"), "--exams", "erasure,opening", "--json"]
    assert main([*asked, "--size", "3", "--opening.draws", "2", "--erasure.draws", "4"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["exam"] for row in rows] == ["erasure", "opening"]
    refused([*asked, "--draws", "2"], "option.ambiguous", "draws", "--erasure.draws")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["examine", "--help"])
    told = capsys.readouterr().out
    assert "exam opening" in told
    assert "words that are the opening" in told


@pytest.mark.slow
def test_a_study_runs_it_in_processes_of_its_own_and_estimates_it(
    installed: None, tmp_path: Path
) -> None:
    study = {
        "name": "strangers",
        "corpora": {"planted": {"documents": 60}},
        "models": {"encoder": "none"},
        "training": {"epochs": 1},
        "exams": [{"opening": {"size": 4}}, {"erasure": {"draws": 2}}],
    }
    read = read_study(study)
    (cell,) = read.cells
    without = replace(cell, exams={"erasure": cell.exams["erasure"]})
    assert work_of(cell, read.corpora) > work_of(without, read.corpora)
    results = verax.run_study(study, tmp_path / "study", workers=1)
    assert results.counts == {"done": 1}
    summary = results.summary()
    assert (summary["measure"] == ID).any()
    assert results.cells["opening.size"].tolist() == [4]
    assert results.cells["opening.draws"].tolist() == [1]
    assert results.cells["erasure.draws"].tolist() == [2]
    (name,) = results.judgements()
    assert "opening" in [row.exam for row in results.judgements()[name].rows]


@pytest.mark.slow
def test_a_verdict_keeps_the_limits_of_the_exam_and_says_where_it_is_not_installed(
    verdict: verax.Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict.save(tmp_path / "verdict")
    saved = verax.load_verdict(tmp_path / "verdict")
    kept = saved.judgement.to_json()["limits"]["limits"]["opening"]
    assert kept == {"for_above": 0.5, "against_below": 0.4}
    monkeypatch.setattr(EXAMS["opening"], "limits", {"for_above": 0.9, "against_below": 0.9})
    again = verax.load_verdict(tmp_path / "verdict").judgement
    assert again.frame().equals(saved.judgement.frame())
    exam = EXAMS["opening"]
    EXAMS.unregister("opening")
    entry_points_of.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(ENTRY_POINTS_OF, lambda group: {})
        other = verax.load_verdict(tmp_path / "verdict").judgement
        page = report_page(verax.load_verdict(tmp_path / "verdict"))
    register(exam)
    assert list(other.missing) == ["opening"]
    assert "opening (not installed here)" in str(other)
    assert "Exam &#39;opening&#39; is not installed here" in page


def test_mistakes_of_an_author_are_named(
    models: list[AttentionClassifier], planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    exam = EXAMS["opening"]
    unfinished = type("Unfinished", (verax.Exam,), {"name": "unfinished"})
    with raises("plugin.invalid", "unfinished"):
        register(unfinished)
    summary = exam.summarise
    for change, expected in (
        (
            {"measure": "opening.first.shar"},
            ("plugin.invalid", "opening.first.shar", "summary_tables"),
        ),
        ({"unit": "percent"}, ("plugin.invalid",)),
    ):
        made = lambda tables, change=change: summary(tables).assign(**change)  # noqa: E731
        monkeypatch.setattr(exam, "summarise", staticmethod(made))
        with raises(*expected):
            verax.examine(models[0], planted, ["opening"])
    monkeypatch.undo()
    with raises("limits.unknown-name", "within"):
        load_limits().of("opening", exam.limits)["within"]
    with raises("option.unknown-value", "aginst", "against"):
        verax.examine(models[0], planted, ["opening"]).judgement.speaks("aginst")


def test_a_package_that_does_not_import_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = tmp_path / "broken-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[verax.exams]\nbroken = broken_exam\n")
    (tmp_path / "broken_exam.py").write_text("raise OSError('no such\\nfile')\n")
    monkeypatch.syspath_prepend(tmp_path)
    entry_points_of.cache_clear()
    try:
        refused(["exams"], "plugin.import-failed", "broken", "verax.exams")
    finally:
        monkeypatch.undo()
        entry_points_of.cache_clear()
    assert capsys.readouterr().err.count("\n") == 1
