"""`examine` and its verdict: what goes in, what is refused, what is kept."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from summaries import numbers

import verax
from support.errors import raises
from verax.corpora import Corpus
from verax.exams import load_verdict
from verax.models import AttentionClassifier


@pytest.fixture(scope="module")
def model(planted: verax.Corpus) -> AttentionClassifier:
    return verax.train(planted, encoder="none", epochs=3, lr=1e-2)


@pytest.fixture(scope="module")
def verdict(model: AttentionClassifier, planted: verax.Corpus) -> verax.Verdict:
    return verax.examine(model, planted, "erasure")


def test_tables_are_tidy(verdict: verax.Verdict, planted: verax.Corpus) -> None:
    assert list(verdict.tables) == [
        "erasure_single",
        "erasure_many",
        "erasure_minimal",
        "erasure_instances",
    ]
    for table in verdict.tables.values():
        assert table.columns[0] == "id"
        assert table.columns[-2:].tolist() == ["measure", "value"]
        assert not table.drop(columns="value").duplicated().any()
    ids = verdict.tables["erasure_instances"]["id"].unique()
    assert sorted(ids) == sorted(planted.test.ids)


def test_excess_is_never_negative(verdict: verax.Verdict) -> None:
    many = verdict.tables["erasure_many"]
    excess = many[many["measure"] == "excess"]["value"].dropna()
    assert len(excess)
    assert (excess >= 0).all()


@pytest.mark.slow
def test_a_verdict_survives_the_disk(verdict: verax.Verdict, tmp_path: Path) -> None:
    verdict.save(tmp_path / "v")
    verdict.save(tmp_path / "v", overwrite=True)  # an earlier one is replaced
    again = load_verdict(tmp_path / "v")
    for name, table in verdict.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table)
    pd.testing.assert_frame_equal(again.summary(), verdict.summary())
    assert again.manifest == json.loads(json.dumps(verdict.manifest))
    assert again.manifest["corpus"]["fingerprint"]
    assert "erasure" in repr(again)


def test_a_folder_that_is_not_a_verdict_is_left_alone(
    verdict: verax.Verdict, tmp_path: Path
) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with raises("output.occupied"):
        verdict.save(tmp_path)
    with raises("result.missing"):
        load_verdict(tmp_path)
    for manifest in ('{"format": 99}', "[]", '{"format": 1}', "{", '{"format": 1, "exams": 3}'):
        (tmp_path / "manifest.json").write_text(manifest)
        with raises("result.*"):
            load_verdict(tmp_path)
    verdict.save(tmp_path / "v")
    (tmp_path / "outside.parquet").write_bytes((tmp_path / "v" / "summary.parquet").read_bytes())
    text = (tmp_path / "v" / "manifest.json").read_text().replace('"erasure_many"', '"../outside"')
    (tmp_path / "v" / "manifest.json").write_text(text)
    with raises("result.damaged"):
        load_verdict(tmp_path / "v")


def test_without_a_corpus_it_is_the_models_own(
    model: AttentionClassifier, verdict: verax.Verdict
) -> None:
    again = verax.examine(model, exams="erasure")
    pd.testing.assert_frame_equal(again.summary(), verdict.summary())


@pytest.mark.slow
def test_a_model_by_folder_and_a_corpus_by_name(model: AttentionClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    found = verax.examine(tmp_path / "model", "planted", split="validation", device="cpu")
    assert found.manifest["split"] == "validation"
    assert found.manifest["documents"] == 500


def test_a_corpus_that_changed_is_refused(model: AttentionClassifier) -> None:
    record = dict(model.record)
    try:
        model.record = {**record, "corpus": {**record["corpus"], "fingerprint": "other"}}
        with raises("corpus.changed"):
            verax.examine(model)
        model.record = {}
        with raises("corpus.not-named"):
            verax.examine(model)
    finally:
        model.record = record


@pytest.mark.slow
def test_classes_are_matched_by_name(
    model: AttentionClassifier, planted: verax.Corpus, verdict: verax.Verdict
) -> None:
    """The same documents with classes listed the other way round are as often right."""
    turned = replace(planted.test, labels=1 - planted.test.labels)
    corpus = Corpus("turned", planted.classes[::-1], planted.train, planted.validation, turned)
    found = verax.examine(model, corpus)
    counts = "erasure.documents"
    pd.testing.assert_frame_equal(numbers(found, counts), numbers(verdict, counts))


def test_a_class_the_model_does_not_know_is_refused(
    model: AttentionClassifier, planted: verax.Corpus
) -> None:
    corpus = replace(planted, classes=["0", "sport"])
    with raises("corpus.unknown-class", "sport"):
        verax.examine(model, corpus)


@pytest.mark.slow
def test_documents_that_share_an_id_are_told_apart(
    model: AttentionClassifier, planted: verax.Corpus
) -> None:
    same = replace(planted.test, ids=np.zeros(len(planted.test), dtype=np.int64))
    found = verax.examine(model, replace(planted, test=same))
    assert found.value("erasure.documents.documents") == len(planted.test)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"exams": ["erasur"]}, ("option.unknown-value", "erasure")),
        ({"exams": []}, ("option.missing",)),
        ({"split": "tset"}, ("option.unknown-value", "tset", "test")),
        ({"split": np.array([1, 2])}, ("option.unknown-value",)),
        ({"draw": 3}, ("option.unknown", "draws")),
        ({"draws": 0}, ("option.out-of-range", "draws")),
        ({"seed": -1}, ("option.out-of-range", "seed")),
        ({"max_tokens": 0}, ("option.out-of-range", "max_tokens")),
    ],
)
def test_bad_input_is_one_line(
    model: AttentionClassifier,
    planted: verax.Corpus,
    arguments: dict[str, object],
    expected: tuple[str, ...],
) -> None:
    with raises(*expected) as error:
        verax.examine(model, planted, **arguments)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_numbers_of_numpy_are_numbers_and_an_exam_named_twice_is_one(
    model: AttentionClassifier, planted: verax.Corpus, verdict: verax.Verdict
) -> None:
    found = verax.examine(
        model, planted, exams=["erasure", "erasure"], seed=np.int64(0), max_tokens=np.int32(9999)
    )
    pd.testing.assert_frame_equal(found.summary(), verdict.summary())


def test_a_model_gone_wrong_and_an_empty_split_are_told(
    model: AttentionClassifier, planted: verax.Corpus
) -> None:
    nothing = planted.test.take(np.zeros(0, dtype=np.int64))
    with raises("corpus.empty-split"):
        verax.examine(model, replace(planted, test=nothing))
    wrong = copy.deepcopy(model)
    with torch.no_grad():
        wrong.head.linear.weight.fill_(torch.nan)
    with raises("model.not-finite"):
        verax.examine(wrong, planted)


def test_an_exam_may_be_named_by_itself(
    model: AttentionClassifier, planted: verax.Corpus, verdict: verax.Verdict
) -> None:
    found = verax.examine(model, planted, exams="erasure")
    pd.testing.assert_frame_equal(found.summary(), verdict.summary())
