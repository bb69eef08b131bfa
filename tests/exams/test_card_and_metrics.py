"""A verdict for a model card and for an experiment tracker."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

import verax
from verax.exams.judgement.card import escaped
from verax.exams.judgement.phrasing import with_interval

EXAMS = ["erasure", "replacement", "adversary"]


@pytest.fixture(scope="module")
def verdict() -> verax.Verdict:
    corpus = verax.load_corpus("planted", documents=150)
    model = verax.train(corpus, encoder="none", epochs=5, lr=1e-2, device="cpu")
    return verax.examine(model, corpus, EXAMS, "all", limits="2026-11")


@pytest.fixture(scope="module")
def of_scores() -> verax.Verdict:
    """A verdict on two scores of a function that decides by one word."""

    def predict(texts: list[str]) -> Any:
        yes = np.array([0.9 if "good" in text else 0.1 for text in texts])
        return np.stack([1 - yes, yes], axis=1)

    def right(model: Any, trace: Any) -> Any:
        import torch

        return torch.tensor(
            [[float(word == "good") for word in words] for words in trace.words],
            dtype=torch.float64,
        )

    texts = [f"{'good' if n % 2 else 'dull'} a b c d" for n in range(80)]
    return verax.examine(
        verax.from_predict(predict, ["no", "yes"], words="whitespace"),
        (texts, ["no", "yes"] * 40),
        ["deletion"],
        "all",
        importances={"right": right},
        rankings="leave-one-out",
        limits="2026-11",
    )


def test_the_answer_comes_first_and_every_judged_number_has_its_interval(
    verdict: verax.Verdict,
) -> None:
    lines = verdict.card().splitlines()
    assert lines[0] == "## Can this model's attention be trusted?"
    assert lines[2] == f"**{escaped(verdict.judgement.headline)}**"
    card = verdict.card(level=3)
    assert card.startswith("### ")
    for row in verdict.judgement.judged:
        assert escaped(with_interval(row.number)) in card
        assert escaped(row.limits) in card
    assert "- Limits: 2026-11" in lines
    assert any(line.startswith("- Examined: 150 documents of planted, split all") for line in lines)
    assert all(escaped(line) in card for line in verdict.judgement.caveats)
    table = [line for line in lines if line.startswith("|")]
    columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert columns == {6}, "no cell ends early"
    assert len(table) == 2 + len(verdict.judgement.judged)


def test_the_card_of_several_scores_says_what_holds_for_each(of_scores: verax.Verdict) -> None:
    card = of_scores.card()
    assert card.startswith("## Which scores of this model may be shown as explanations?")
    for name, said in of_scores.judgement.subjects.items():
        assert f"- {escaped(name)}: {said}" in card.splitlines()
    metrics = of_scores.metrics()
    says = {name for name in metrics if name.startswith("says.deletion.")}
    assert says == {f"says.deletion.{name}" for name in of_scores.judgement.subjects}


HOSTILE = "<script>x</script> | [a](http://b) `c` *d*\n# e"


def test_names_from_anywhere_are_only_text(verdict: verax.Verdict) -> None:
    manifest = {
        **verdict.manifest,
        "classes": [HOSTILE, "two"],
        "corpus": {"corpus": f"/home/me/{HOSTILE}", "fingerprint": HOSTILE},
        "split": HOSTILE,
        "verax": HOSTILE,
    }
    card = replace(verdict, manifest=manifest).card()
    assert "<" not in card
    assert "](" not in card.replace(r"\](", "")
    assert "/home" not in card
    assert "\n# e" not in card
    page = MarkdownIt("commonmark").render(card)
    assert "<script" not in page
    assert "<a " not in page


def test_metrics_are_finite_floats_with_names_that_trackers_take(verdict: verax.Verdict) -> None:
    for metrics in (verdict.metrics(), verdict.metrics(full=True, prefix="verax/")):
        assert all(type(value) is float and math.isfinite(value) for value in metrics.values())
        assert all(re.fullmatch(r"[\w./-]+", name) for name in metrics)
    assert json.loads(json.dumps(verdict.metrics())) == verdict.metrics()


def test_metrics_are_the_numbers_of_the_verdict(verdict: verax.Verdict, tmp_path: Path) -> None:
    metrics = verdict.metrics()
    number = verdict.number("replacement.uniform.survival")
    name = "replacement.uniform.survival"
    assert [metrics[name], metrics[f"{name}.low"], metrics[f"{name}.high"]] == [
        *(number.value, number.low, number.high)
    ]
    assert "adversary.epsilon_0.05.constraint_cost" in metrics
    judged = verdict.judgement
    assert metrics["exams.against"] == len(judged.speaks("against"))
    assert [metrics[f"says.{row.exam}"] for row in judged.judged] == [
        {"for": 1.0, "open": 0.0, "against": -1.0}[row.verdict] for row in judged.judged
    ]
    full = verdict.metrics(full=True)
    assert set(metrics) < set(full)
    summary = verdict.summary()
    assert len(full) > summary["value"].notna().sum(), "two names never become one"
    verdict.save(tmp_path / "verdict")
    assert verax.load_verdict(tmp_path / "verdict").metrics() == metrics
