"""A limit of time for models trained elsewhere: the same numbers, the longest left out."""

from __future__ import annotations

import time
from typing import Any

import pandas as pd
import pytest

import verax

EXAMS = ["agreement", "dispersion", "replacement", "adversary"]
HOW: dict[str, Any] = {"split": "all", "max_tokens": 64, "progress": False, "gallery": 2}


@pytest.mark.slow
def test_with_time_enough_a_transformers_tables_are_the_same_to_the_bit(
    bert: Any, reviews: verax.Corpus
) -> None:
    plain = verax.examine(bert, reviews, EXAMS, **HOW)
    limited = verax.examine(bert, reviews, EXAMS, max_seconds=1e6, **HOW)
    assert limited.manifest["out_of_time"] == {}
    assert list(limited.tables) == list(plain.tables)
    for name, table in plain.tables.items():
        pd.testing.assert_frame_equal(limited.tables[name], table, check_exact=True)


@pytest.mark.slow
def test_a_transformers_longest_texts_are_left_out_first(
    bert: Any, reviews: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(10**6))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    verdict = verax.examine(bert, reviews, ["replacement"], max_seconds=12, **{**HOW, "gallery": 0})
    left = verdict.manifest["out_of_time"]["replacement"]
    ids = set(verdict.tables["replacement_instances"]["id"])
    documents = reviews.documents("all")
    assert 0 < left["documents"] == len(documents) - len(ids)
    ordered = documents.ids if len(set(documents.ids)) == len(documents) else range(len(documents))
    pieces = dict(zip(ordered, bert.read(documents).lengths, strict=True))
    assert max(pieces[i] for i in ids) <= min(n for i, n in pieces.items() if i not in ids)
