"""Schemas of tidy tables: one without its labels, or with labels of another kind, is refused."""

from __future__ import annotations

import pandas as pd
import pytest

from verax.exams import EXAMS
from verax.exams.described import _LABELS, check_together, columns_of
from verax.schema import TEXT, WHOLE, SchemaError


def made_up(table: str) -> pd.DataFrame:
    """Two documents, two rows each, as the exam's table has them."""
    frame = pd.DataFrame({"id": [0, 0, 1, 1]})
    for name, kind in _LABELS[table].items():
        frame[name] = pd.Categorical(list("abab")) if kind == TEXT else [0, 1, 0, 1]
    return frame.assign(measure=pd.Categorical(["size"] * 4), value=0.5)


@pytest.mark.parametrize("table", _LABELS)
def test_labels_are_there_and_of_their_kind(table: str) -> None:
    frame = made_up(table)
    columns_of(table).check(frame, "a.parquet")
    for name, kind in _LABELS[table].items():
        renamed = frame.rename(columns={name: f"{name} "})
        with pytest.raises(SchemaError, match=f"a.parquet.*{name}"):
            columns_of(table).check(renamed, "a.parquet")
        other = [0, 1, 0, 1] if kind == TEXT else list("abab")
        with pytest.raises(SchemaError, match=f"a.parquet.*{name}"):
            columns_of(table).check(frame.assign(**{name: other}), "a.parquet")


def test_labels_are_declared_of_tables_that_exams_give() -> None:
    given = {table for exam in EXAMS.values() for table in exam.tidy_tables}
    assert set(_LABELS) <= given
    assert {kind for labels in _LABELS.values() for kind in labels.values()} == {TEXT, WHOLE}


def test_a_table_is_of_the_documents_that_its_exam_has_seen() -> None:
    tables = {"replacement": made_up("replacement"), "replacement_instances": made_up("agreement")}
    manifest = {"exams": ["replacement"], "documents": 2}
    check_together(tables, manifest)
    for rows in (slice(0, 0), slice(0, 2)):
        part = {**tables, "replacement": tables["replacement"][rows]}
        with pytest.raises(SchemaError, match="replacement"):
            check_together(part, manifest)


def test_a_gallery_has_probabilities_and_marks() -> None:
    about = pd.DataFrame({"id": [0], "label": 0, "decision": 0, "p_0": 0.5, "p_1": 0.5})
    words = pd.DataFrame({"id": [0], "place": 0, "text": "a", "attention": 1.0, "marked": 0.5})
    tables = {"gallery_texts": about, "gallery_words": words}
    gallery = {"scores": ["attention"], "marks": {"annotators": 1}}
    manifest = {"exams": [], "classes": ["a", "b"], "gallery": gallery}
    check_together(tables, manifest)
    for name, spoilt, column in (
        ("gallery_texts", about.assign(p_0="x"), "p_0"),
        ("gallery_texts", about.assign(p_0=float("nan")), "p_0"),
        ("gallery_words", words.assign(attention="x"), "attention"),
        ("gallery_words", words.drop(columns="marked"), "marked"),
    ):
        with pytest.raises(SchemaError, match=column):
            check_together({**tables, name: spoilt}, manifest)
