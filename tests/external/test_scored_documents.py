"""Documents of models without items: which are kept, and what a page shows of them."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import verax
from support.errors import raises
from verax import TransformerClassifier
from verax.importance import DERIVED
from verax.report import report_page


@pytest.fixture(scope="module")
def verdict(bert: TransformerClassifier, reviews: verax.Corpus) -> verax.Verdict:
    options = {"exams": "dispersion", "sample": 12, "gallery": 4, "progress": False}
    return verax.examine(bert, reviews, **options)  # type: ignore[arg-type]


@pytest.mark.slow
def test_documents_are_those_that_disagree_most_with_the_scores_of_explain(
    bert: TransformerClassifier, reviews: verax.Corpus, verdict: verax.Verdict
) -> None:
    texts, words = verdict.tables["gallery_texts"], verdict.tables["gallery_words"]
    assert len(texts) == 4
    assert texts["tau"].is_monotonic_increasing
    documents = reviews.documents("all")
    for row in texts.to_dict("records"):
        text = documents.texts[int(np.flatnonzero(documents.ids == row["id"])[0])]
        mine = words[words["id"] == row["id"]]
        by = [*DERIVED, "gradient", "leave-one-out"]
        told = bert.explain([text], by=by, progress=False)
        assert mine["text"].tolist() == told["word"].tolist()
        for name in by:
            np.testing.assert_allclose(mine[name], told[name], rtol=1e-4, atol=1e-6)


def test_named_documents_stand_in_their_order(
    bert: TransformerClassifier, reviews: verax.Corpus
) -> None:
    ids = [7, 3]
    verdict = verax.examine(bert, reviews, "dispersion", gallery=ids, progress=False)
    assert verdict.tables["gallery_texts"]["id"].tolist() == ids
    with raises("option.unknown-value", "999"):
        verax.examine(bert, reviews, "dispersion", gallery=[999], progress=False)


@pytest.mark.slow
def test_the_page_holds_words_and_scores_and_escapes_them(verdict: verax.Verdict) -> None:
    html = report_page(verdict)
    data = re.search(r'id="scored-data">(.*?)</script>', html, re.S)
    assert data is not None
    (model,) = json.loads(data[1])["models"]
    assert [score["name"] for score in model["scores"]][: len(DERIVED)] == list(DERIVED)
    words = verdict.tables["gallery_words"]
    shown = [word for document in model["documents"] for word in document["words"]]
    assert shown == words["text"].tolist()
    values = np.concatenate([document["values"][0] for document in model["documents"]])
    np.testing.assert_allclose(values, words["attention"], rtol=1e-3)
