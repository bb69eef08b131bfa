"""No verdict from few documents, or on a model that has learnt nothing; and no reading of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import verax
from made_up_summaries import (
    cell,
    model_of,
    part_optimal,
    right,
    survives,
    tau,
    together,
    token_alone,
    verdict,
)
from support.documents import tokens_of
from support.internals import OVER_SEEDS as SEEDS
from support.internals import limit_versions as versions
from verax.cli import main
from verax.exams import judge, load_limits
from verax.exams.judgement.headline import LEAST_DOCUMENTS
from verax.exams.judgement.row import WITHHELD
from verax.report import report
from verax.report.notebook import html_of

SHIPPED = versions()[-1]
"""The default limits."""
CONTRADICTED = [tau(-0.5, -0.6, -0.4), survives(99.5, 99.0, 100.0)]
READING = ("honest", "deceptive", "deceived", "accused", "reads as", "most like these")


@pytest.mark.parametrize("limits", ["2026-11", SHIPPED])
@pytest.mark.parametrize("documents", [1, 24, 79, 80])
@pytest.mark.parametrize("labels", [{"no": 50, "yes": 50}, None])
def test_fewer_than_80_documents_give_no_verdict(
    limits: str, documents: int, labels: dict[str, int] | None
) -> None:
    known = {"without_labels": {}} if labels is None else {"labels": labels}
    made = model_of(*CONTRADICTED, documents=documents, n=documents, **known)
    judgement = judge(made, limits)
    counts = judgement.to_json()["counts"]
    if documents >= 80:
        assert judgement.withheld == ""
        assert counts["against"] >= 1
        return
    were = "document was" if documents == 1 else "documents were"
    sentence = f"No verdict: {documents} {were} examined, and a verdict needs at least 80."
    assert judgement.headline == judgement.withheld == judgement.lines()[-1] == sentence
    assert judgement.short == "no verdict"
    assert counts == {"for": 0, "against": 0, "open": 0}
    assert {row.verdict for row in judgement.judged} == {WITHHELD}
    assert set(judgement.subjects.values()) == {WITHHELD}
    assert judgement.to_json()["withheld"] == sentence
    # numbers are still shown
    assert "−0.500 (−0.600 to −0.400)" in str(judgement)
    assert not any(word in str(judgement) for word in ("against  ", "for  ", "open  "))


def test_results_that_do_not_say_how_many_documents_there_were_are_counted_by_their_numbers() -> (
    None
):
    few, enough = (model_of(*CONTRADICTED, by=None, n=n, documents=None) for n in (79, 80))
    assert judge(few).withheld.startswith("No verdict: 79 documents")
    assert judge(enough).withheld == ""


def test_an_exam_without_time_for_80_documents_is_inconclusive() -> None:
    left = {"agreement": {"documents": 121, "words_of_shortest": 9, "words_of_longest": 30}}
    about = {"documents": 200, "max_seconds": 1.0, "out_of_time": left}
    made = model_of(*CONTRADICTED, by=None, **about)
    rows = {row.exam: row for row in judge(made).rows}
    assert (rows["agreement"].verdict, rows["replacement"].verdict) == ("open", "against")
    assert rows["agreement"].reason == f"79 documents, {LEAST_DOCUMENTS} needed"
    left["agreement"]["documents"] = 120
    assert judge(made).speaks("against") == ["agreement", "replacement"]


def test_without_time_for_80_documents_in_any_exam_there_is_no_verdict() -> None:
    left = {
        exam: {"documents": documents, "words_of_shortest": 9, "words_of_longest": 30}
        for exam, documents in (("agreement", 121), ("replacement", 150))
    }
    about = {"documents": 200, "max_seconds": 1.0, "out_of_time": left}
    judgement = judge(model_of(*CONTRADICTED, by=None, **about))
    assert judgement.headline.startswith("No verdict: 79 documents were examined")
    assert judgement.to_json()["counts"] == {"for": 0, "against": 0, "open": 0}


@pytest.mark.parametrize("limits", ["2026-11", SHIPPED])
def test_a_model_that_has_learnt_nothing_gets_no_verdict(limits: str) -> None:
    made = model_of(
        *CONTRADICTED, right(50.0, 43.0, 57.0), labels={"no": 100, "yes": 100}, documents=200
    )
    judgement = judge(made, limits)
    assert judgement.headline == (
        "No verdict: this model may have learnt nothing: its accuracy is 50.0% (43.0% to 57.0%), "
        "that of always naming the largest class 50.0%."
    )
    assert judgement.to_json()["counts"] == {"for": 0, "against": 0, "open": 0}
    assert not any(word in judgement.headline for word in ("oubt", "rely", "supports", "exams"))


@pytest.mark.parametrize("seeds", [False, True])
@pytest.mark.parametrize(("right", "withheld"), [(50.0, True), (0.0, True), (90.0, False)])
def test_an_exam_that_counts_right_decisions_is_enough_to_know_the_accuracy(
    right: float, withheld: bool, seeds: bool
) -> None:
    """`single_token` alone has no accuracy, but documents decided right and all of them."""
    cells = [token_alone(0.6, 0.55, 0.65), together(0.9, 0.88, 0.92)]
    for row, count in (("correct", right), ("all", 100.0)):
        cells.append(cell("single_token", "single_token", row, "documents", count, unit="count"))
    made = model_of(*cells, by=None, labels={"no": 50, "yes": 50})
    judgement = judge(replace(made, over=SEEDS) if seeds else made)
    assert ("learnt nothing" in judgement.headline) == withheld
    assert ("accuracy is unknown" in str(judgement)) is False
    assert (judgement.to_json()["counts"] == {"for": 0, "against": 0, "open": 0}) == withheld


def test_a_model_that_decides_at_random_gets_no_verdict_from_single_tokens(
    make_model: Callable[..., verax.AttentionClassifier], planted: verax.Corpus
) -> None:
    found = verax.examine(make_model(), planted, ["single_token"], "all", progress=False)
    assert "learnt nothing" in found.judgement.headline


@pytest.mark.parametrize(
    ("decisions", "confidence", "said"),
    [
        ({"no": 95, "yes": 5}, 0.9, "it gives 95 of 100 documents the same class."),
        ({"no": 0, "yes": 100}, 0.9, "it gives 100 of 100 documents the same class."),
        ({"no": 94, "yes": 6}, 0.9, ""),
        ({"no": 50, "yes": 50}, 0.55, "its mean confidence is 55.0%, that of a guess 50.0%."),
        ({"no": 50, "yes": 50}, 0.551, ""),
    ],
)
def test_without_labels_decisions_that_tell_nothing_apart_give_no_verdict(
    decisions: dict[str, int], confidence: float, said: str
) -> None:
    known = {"decisions": decisions, "confidence": confidence}
    judgement = judge(model_of(*CONTRADICTED, by=None, without_labels=known))
    begin = "No verdict: this model may have learnt nothing, and there are no labels to tell: "
    assert judgement.headline.startswith(begin) == bool(said)
    assert judgement.headline.endswith(said)
    assert bool(judgement.speaks("against")) == (not said)


@pytest.mark.parametrize("max_seconds", [None, 1000.0])
def test_a_constant_model_is_found_out_without_labels(
    max_seconds: float | None, tmp_path: Path
) -> None:
    """Its decisions are counted where the exams read it, within a limit of time or not."""

    def predict(texts: list[str]) -> Any:
        return np.tile([0.2, 0.8], (len(texts), 1))

    def model() -> Any:
        return verax.from_predict(predict, ["no", "yes"], words="whitespace")

    texts = [f"a b{n} c d" for n in range(100)]
    found = verax.examine(model(), texts, ["deletion"], "all", max_seconds=max_seconds)
    assert found.manifest["without_labels"]["decisions"] == {"no": 0, "yes": 100}
    assert found.manifest["without_labels"]["confidence"] == pytest.approx(0.8)
    assert "gives 100 of 100 documents the same class" in found.judgement.headline
    found.save(tmp_path / "verdict")
    assert verax.load_verdict(tmp_path / "verdict").judgement.headline == found.judgement.headline


def test_decisions_without_labels_are_those_of_the_model(
    make_model: Callable[..., verax.AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model()
    frame = pd.DataFrame({"tokens": list(tokens_of(planted.train))})
    found = verax.examine(model, frame, ["replacement"], "all").manifest["without_labels"]
    decided = model.predict(tokens_of(planted.train), progress=False)
    counts = decided["label"].astype(str).value_counts()
    assert found["decisions"] == {name: counts.get(name, 0) for name in model.classes}
    assert found["confidence"] == pytest.approx(
        decided.drop(columns="label").max(axis=1).mean(), abs=1e-5
    )


def test_seeds_of_a_study_are_documents_of_each(planted: verax.Corpus) -> None:
    made = replace(model_of(*CONTRADICTED, by=None, documents=40, seeds=3), over=SEEDS)
    assert judge(made).headline.startswith("No verdict: 40 documents")


def own_calibration() -> dict[str, Any]:
    """Limits of the user's own, which bring their calibration: as `verax calibrate` writes them."""
    return {**load_limits(SHIPPED).to_json(whole=True), "version": "mine"}


@pytest.mark.parametrize("limits", [None, *versions(), "mine"])
@pytest.mark.parametrize("documents", [24, 150])
def test_no_view_reads_a_model_as_honest_or_deceptive(
    limits: str | None, documents: int, tmp_path: Path
) -> None:
    cells = [*CONTRADICTED, part_optimal(20.0, 10.0, 30.0)]
    model = {"options": {"encoder": "bilstm", "projection": "softmax"}}
    known = {"format": 2, "split": "test", "model": model, "words": 20.0}
    found = verdict(*cells, by=None, **known, documents=documents)
    judgement = found.judge(own_calibration() if limits == "mine" else limits)
    shown = replace(found, manifest={**found.manifest, "limits": judgement.limits.to_json()})
    page = tmp_path / "report.html"
    report(shown, page)
    views = {
        "terminal": str(judgement),
        "json": json.dumps(judgement.to_json()),
        "card": shown.card(),
        "notebook": html_of(shown),
        "metrics": str(shown.metrics(full=True)),
        "page": page.read_text(encoding="utf-8"),
    }
    for name, text in views.items():
        for word in READING:
            assert word not in text.lower().replace("honesty", ""), (name, word)
        if documents < LEAST_DOCUMENTS and name in ("terminal", "json", "card", "notebook", "page"):
            assert judgement.withheld in text, name
    if documents < LEAST_DOCUMENTS:
        assert not any(name.startswith("says.") for name in shown.metrics())
        assert shown.metrics()["withheld"] == 1
        assert shown.metrics()["exams.against"] == 0


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("few", [True, False])
def test_a_check_of_a_build_does_not_pass_without_a_verdict(
    few: bool,
    make_model: Callable[..., verax.AttentionClassifier],
    planted: verax.Corpus,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither 24 documents nor 300 decided at random are a reason to let a build pass."""
    make_model().save(tmp_path / "model")
    rows = zip(tokens_of(planted.train), planted.train.labels, strict=True)
    lines = [json.dumps({"tokens": list(tokens), "label": str(label)}) for tokens, label in rows]
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(lines[: 24 if few else 200]), encoding="utf-8")
    call = [*("examine", str(tmp_path / "model"), "--corpus", str(path), "--exams", "replacement")]
    assert main([*call, "--limits", SHIPPED, "--fail-on", "against"]) == 3
    said = capsys.readouterr()
    assert "No verdict: " in said.out
    assert "without a verdict the check fails" in said.err
    assert not main(call)
