"""Every number of a summary is declared: where it stands, its unit and its bounds."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

import verax
from support.documents import corpus_of
from support.errors import raises
from support.internals import find_place
from verax.corpora import Rationales
from verax.exams import EXAMS
from verax.exams.document_values import split_values
from verax.exams.measures import SCALE, MeasurePlace
from verax.models.kinds import POOLED

CHOSEN = {
    "draws": 2,
    "spearman": True,
    "top_k": 3,
    "influence": "both",
    "words_by": "both",
    "clusters": 20,
    "curves": 1,
    "search": True,
    "restarts": 1,
    "search_steps": 3,
    "permutations": 3,
    "permutation_test": 5,
    "random_orders": 2,
    "steps": 6,
}
"""Options that ask for every table there is."""
ROUNDING = 1e-8
"""What a document's own cost of the constraint keeps, and the summary takes for rounding."""


@pytest.fixture(
    scope="module",
    params=[(2, False), (2, True), (3, False), (3, True)],
    ids=["two-words", "two-sentences", "three-words", "three-sentences"],
)
def verdict(request: pytest.FixtureRequest) -> verax.Verdict:
    """All exams of a small model; the last document has one item."""
    classes, hierarchical = request.param
    told = {"documents": 120, "classes": classes, "sentences": 3, "label_noise": 0.2}
    corpus = verax.load_corpus("planted", **told)
    sizes = {"encoder": "conv", "embedding_size": 8, "hidden_size": 8, "epochs": 2, "lr": 1e-2}
    sizes |= {"projection": "sparsemax"}  # some items have no weight
    model = verax.train(corpus, hierarchical=hierarchical, **sizes)
    texts, labels = [*corpus.test.texts, "w1"], [*corpus.test.labels, 0]
    examined = corpus_of(texts, labels, model)
    marks = Rationales.joined([corpus.test.marks, None], [len(corpus.test), 1])
    split = replace(examined.test, marks=marks)
    examined = replace(examined, train=split, validation=split, test=split)
    return verax.examine(model, examined, list(EXAMS), **CHOSEN)


def place(id: str) -> MeasurePlace:
    found = find_place(id)
    assert found is not None, f"{id} is declared nowhere"
    return found


@pytest.mark.slow
def test_every_number_stands_where_it_is_declared(verdict: verax.Verdict) -> None:
    summary = verdict.summary()
    assert set(summary["exam"]) == set(EXAMS)
    tables = [table for exam in EXAMS.values() for table in exam.summary_tables]
    declared = {table.id for table in tables if POOLED in table.kinds}
    assert set(summary["table"]) == declared
    for row in summary.itertuples():
        found = place(row.measure)
        where = (found.exam, found.table.id, found.row, found.column)
        assert where == (row.exam, row.table, row.row, row.column)
        assert found.measure.unit == row.unit, row.measure


def test_ids_are_unique_and_have_no_spaces(verdict: verax.Verdict) -> None:
    ids = verdict.summary()["measure"]
    assert ids.is_unique
    assert not ids.str.contains(r"\s").any()


def test_every_number_is_within_its_bounds(verdict: verax.Verdict) -> None:
    summary = verdict.summary().dropna(subset="value")
    assert len(summary) > 500
    for id, value in zip(summary["measure"], summary["value"], strict=True):
        low, high = place(id).measure.range
        assert low - 1e-9 <= value <= high + 1e-9, f"{id} is {value}"


@pytest.mark.slow
def test_documents_average_to_the_number_of_the_same_id(verdict: verax.Verdict) -> None:
    values = verdict.document_values()
    means = values.groupby("measure")["value"].mean()
    summary = verdict.summary().set_index("measure")["value"]
    assert {id.partition(".")[0] for id in means.index} == {*EXAMS, "decisions"} - {"information"}
    for id, mean in means.items():
        found = place(str(id))
        if found.exam == "decisions":  # whichever exam they come from: no table has them
            assert id not in summary.index
            continue
        expected = summary[id]
        near = ROUNDING if found.column == "constraint_cost" else 1e-9
        assert mean * SCALE[found.measure.unit] == pytest.approx(
            expected, rel=1e-9, abs=near, nan_ok=True
        ), id


@pytest.mark.slow
def test_every_missing_value_has_its_reason(verdict: verax.Verdict) -> None:
    values = verdict.document_values()
    missing = values["value"].isna()
    assert missing.any()
    assert values.loc[missing, "reason"].notna().all()
    assert values.loc[~missing, "reason"].isna().all()


def test_numbers_of_a_split_are_the_summarys(verdict: verax.Verdict) -> None:
    """Information, to which documents do not add up."""
    found = split_values(verdict)
    assert {id.partition(".")[0] for id in found} == {"information"}
    assert {place(id).row for id in found} == {"frequent", "sampled"}
    for id, value in found.items():
        shown = verdict.value(id)
        assert value * SCALE[place(id).measure.unit] == pytest.approx(shown, nan_ok=True), id


def test_a_number_by_its_id(verdict: verax.Verdict) -> None:
    row = verdict.summary().set_index("measure").loc["replacement.uniform.survival"]
    found = verdict.number("replacement.uniform.survival")
    assert (found.value, found.low, found.high) == (row["value"], row["low"], row["high"])
    assert (found.n, found.unit) == (21, "percent")
    assert verdict.value("replacement.uniform.survival") == found.value
    assert math.isnan(verdict.number("erasure.documents.examined").low)
    assert verdict.value("erasure.documents.one_item") == 1
    with raises("result.unknown-name", "replacement.uniform.survival"):
        verdict.value("replacement.uniform.surviva")


def test_a_table_is_printed_by_its_titles(verdict: verax.Verdict) -> None:
    shown = verdict.summary("erasure.excess")
    pd.testing.assert_frame_equal(shown, verdict.summary("excess"))
    value = verdict.value("erasure.excess.attention.mean_ratio")
    assert shown.loc["attention", "mean ratio"] == pytest.approx(value, nan_ok=True)
    with raises("option.ambiguous", "erasure.documents", "agreement.documents"):
        verdict.summary("documents")
