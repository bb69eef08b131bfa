"""Plausibility of models that were not trained here: marks under words as they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

import verax
from support.documents import per_document
from verax import TransformerClassifier
from verax.corpora import SPLITS
from verax.exams.authoring import wide

MARKED = "dull"
TEXTS = [
    "Not a good film: it was dull, they had hoped...",
    "The story isn't dull! great",
    "very dull dull acting, too bad",
    "good",
]


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    spans = [
        [[at, at + 4] for at in range(len(text)) if text.startswith(MARKED, at)] for text in TEXTS
    ]
    labels = [f"LABEL_{number % 2}" for number in range(len(TEXTS))]
    table = pd.DataFrame({"text": TEXTS, "label": labels, "rationale": spans})
    return verax.load_corpus(dict.fromkeys(SPLITS, table), tokenizer="as-written", lowercase=False)


@pytest.mark.slow
def test_each_score_against_scikit_learn(bert: TransformerClassifier, corpus: verax.Corpus) -> None:
    verdict = verax.examine(bert, corpus, "plausibility", progress=False)
    table = verdict.tables["plausibility"]
    names = ["attention", "rollout", "gradient", "leave-one-out"]
    told = bert.explain(TEXTS[:3], by=names, progress=False)
    for name in names:
        found = wide(table[table["ranking"] == name], "draw")["auprc"]
        for number, words in told.groupby("text"):
            expected = average_precision_score(words["word"] == MARKED, words[name])
            assert found.loc[(number, 0)] == pytest.approx(expected, abs=1e-6), name
    assert verdict.value("plausibility.documents.out_no_word_marked") == 1


def test_words_that_are_cut_off_are_not_asked_about(
    make_classifier: Callable[..., TransformerClassifier], corpus: verax.Corpus
) -> None:
    short = make_classifier(how={"max_length": 6})
    verdict = verax.examine(short, corpus, "plausibility", rankings="attention", progress=False)
    instances = per_document(verdict, "plausibility_instances")
    read = short.encode(corpus.test)
    assert instances["words"].tolist() == [len(spans) for spans in read.spans]
    assert instances["words"].max() < 6
    marked = [sum(word == MARKED for word in words) for words in read.words]
    assert instances["marked"].tolist() == marked
    assert marked[0] == 0  # it was cut off


@pytest.fixture(scope="module")
def dull() -> verax.ExternalClassifier:
    """It decides by the marked word, so that leaving this out is what matters."""

    def probabilities(texts: list[str]) -> np.ndarray:
        dull = np.array([0.9 if MARKED in text else 0.2 for text in texts])
        return np.stack([1 - dull, dull], axis=1)

    return verax.from_predict(probabilities, classes=["LABEL_0", "LABEL_1"])


def test_a_function_has_leave_one_out(dull: verax.ExternalClassifier, corpus: verax.Corpus) -> None:
    verdict = verax.examine(dull, corpus, "plausibility", random_orders=2, progress=False)
    table = verdict.tables["plausibility"]
    found = wide(table[table["ranking"] == "leave-one-out"], "draw")["auprc"]
    assert found.loc[[(0, 0), (1, 0)]].tolist() == [1.0, 1.0]


def test_by_default_the_plan_says_why_it_does_not_apply(
    dull: verax.ExternalClassifier, reviews: verax.Corpus, corpus: verax.Corpus
) -> None:
    cheap: dict[str, Any] = {"steps": 1, "random_orders": 1, "progress": False}
    verdict = verax.examine(dull, reviews, sample=2, **cheap)
    said = {row["exam"]: row for row in verdict.manifest["plan"]}["plausibility"]
    assert said["runs"] == "no"
    assert "has none" in said["reason"]
    assert "plausibility" not in verdict.manifest["options"]
    assert "without_rationales" not in verdict.manifest
    taken = verax.examine(dull, corpus, **cheap)
    assert "plausibility" in taken.manifest["exams"]
