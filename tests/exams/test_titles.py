"""Titles are for people: other words for every table, row and number change no result."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

import verax
from support.internals import (
    COLUMNS,
    find_place,
    measure_title,
    numbers_over_seeds,
)
from support.internals import OVER_SEEDS as SEEDS
from verax.exams import EXAMS, Verdict, default_exams
from verax.exams.authoring import Measure, ModelSummary, Table
from verax.exams.registry import STAGES, register_stage
from verax.exams.titles import column_title, exam_title, row_title, table_title
from verax.report import Chart, report_page

Change = Callable[[str], str]


def backwards(title: str) -> str:
    return title[::-1]


def alike(title: str) -> str:
    """Titles that tell nothing apart."""
    return "title"


@contextmanager
def titled(change: Change) -> Iterator[None]:
    """Within it every declared title is another: the same objects, so that nobody has the old."""
    with pytest.MonkeyPatch.context() as patch:
        stages = dict(STAGES)
        for exam in EXAMS.values():
            for name in ("title", "question", "comparison", "explanation"):
                patch.setattr(exam, name, change(getattr(exam, name)))
        for stage in stages.values():
            words = {name: change(getattr(stage, name)) for name in ("title", "question")}
            register_stage(replace(stage, **words))
        tables = [table for exam in EXAMS.values() for table in exam.summary_tables]
        tables += [table for stage in stages.values() for table in stage.tables]
        before = [(one, dict(vars(one))) for one in _each(tables)]
        try:
            for one, _ in before:
                _retitle(one, change)
            yield
        finally:
            for one, attributes in before:
                vars(one).update(attributes)
            for stage in stages.values():
                register_stage(stage)  # which forgets places with other titles, too


def _each(tables: list[Table]) -> list[Table | Measure]:
    """Tables and measures, each once: exams share some measures."""
    found: dict[int, Table | Measure] = {}
    for table in tables:
        for one in (table, *table.measures):
            found[id(one)] = one
    return list(found.values())


def _retitle(one: Table | Measure, change: Change) -> None:
    # frozen, so that nobody else does this
    vars(one)["title"] = change(one.title)
    if isinstance(one, Table):
        title, variants = one.row_title, one.variants

        def row_title(row: str, classes: Any) -> str:
            return change(title(row, classes))

        def variant(column: str) -> Measure | None:
            measure = variants(column)
            return None if measure is None else replace(measure, title=change(measure.title))

        vars(one).update(row_title=row_title, variants=variant)


@dataclass(frozen=True)
class Results:
    """All that is made of two models' numbers."""

    verdicts: tuple[Verdict, Verdict]
    documents: pd.DataFrame
    judgement: pd.DataFrame
    comparison: pd.DataFrame
    tally: pd.DataFrame
    over_seeds: pd.DataFrame
    over_seeds_judged: pd.DataFrame


JUDGED = [*("exam", "measure", "subject", "verdict", "value", "low", "high", "n", "unit", "over")]


@pytest.fixture(scope="module")
def make() -> Callable[[], Results]:
    """Everything from two trained models on: exams, judgement, comparison, study, claims."""
    corpus = verax.load_corpus("planted", documents=48, length=8)
    models = [verax.train(corpus, encoder="none", epochs=1, lr=1e-2, seed=seed) for seed in (0, 1)]

    def results() -> Results:
        one, other = (
            verax.examine(model, corpus, gallery=2, search=True, search_steps=20)
            for model in models
        )
        comparison = verax.compare({"one": one, "other": other}, corpus)
        parts = [v.summary().assign(seed=k, model="m") for k, v in enumerate((one, other))]
        numbers = numbers_over_seeds(pd.concat(parts, ignore_index=True), "model")
        study = ModelSummary("m", numbers[[*COLUMNS, "over"]], one.manifest, SEEDS)
        return Results(
            (one, other),
            one.document_values(),
            one.judgement.frame()[JUDGED],
            comparison.table().drop(columns="note"),
            comparison.tally("other"),
            numbers,
            study.judgement.frame()[JUDGED],
        )

    return results


@pytest.fixture(scope="module")
def usual(make: Callable[[], Results]) -> Results:
    return make()


@pytest.mark.slow
@pytest.mark.parametrize("change", [backwards, alike])
def test_other_titles_change_no_number(
    make: Callable[[], Results], usual: Results, change: Change
) -> None:
    with titled(change):
        other = make()
    for ours, theirs in zip(usual.verdicts, other.verdicts, strict=True):
        pd.testing.assert_frame_equal(ours.summary(), theirs.summary())
        assert ours.tables.keys() == theirs.tables.keys()
        for name, table in ours.tables.items():
            pd.testing.assert_frame_equal(table, theirs.tables[name], obj=name)
    for name in (
        *("documents", "judgement", "comparison", "tally", "over_seeds", "over_seeds_judged"),
    ):
        pd.testing.assert_frame_equal(getattr(usual, name), getattr(other, name), obj=name)
    assert len(usual.judgement) == len(default_exams())


def test_every_title_is_another() -> None:
    """So that the test above says something."""
    ids = [
        table.id
        for tables in (e.summary_tables for e in (*EXAMS.values(), *_stages()))
        for table in tables
    ]

    def words() -> list[str]:
        return [
            *map(exam_title, [*EXAMS, *STAGES]),
            *map(table_title, ids),
            row_title("erasure.excess", "random@all"),
            row_title("adversary.groups", "class=1", ["negative", "positive"]),
            column_title("replacement", "survival"),
            column_title("adversary.groups", "jsd@epsilon=0.01"),
            measure_title("adversaries.lambda=0.1.tvd"),
            measure_title("replacement.uniform.survival"),
        ]

    before = words()
    with titled(backwards):
        during = words()
        place = find_place("adversary.groups.all.jsd@epsilon=0.01")
        assert place is not None
    assert words() == before
    again = find_place("adversary.groups.all.jsd@epsilon=0.01")
    assert again is not None
    assert again.measure.title == backwards(place.measure.title)
    same = {a for a, b in zip(before, during, strict=True) if a == b}
    assert not same


@dataclass(frozen=True)
class _Stage:
    summary_tables: tuple[Table, ...]


def _stages() -> list[_Stage]:
    return [_Stage(stage.tables) for stage in STAGES.values()]


class Outline(HTMLParser):
    """A page without its words: elements and what styles and links them, and cells of tables.

    Charts are drawn around their labels, and are left out.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self._inside = False
        self.feed(re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        own = {n: v for n, v in attributes if n in ("class", "id", "href") or n.startswith("data-")}
        self.elements.append((tag, own))
        if tag == "td":
            self.cells.append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.cells[-1] += data


@pytest.mark.slow
@pytest.mark.parametrize("change", [backwards, alike])
def test_a_page_differs_in_words_alone(usual: Results, plain: str, change: Change) -> None:
    with titled(change):
        page = page_of(usual)
    for title in ("decisions that survive", "Single token", "set aside: one item"):
        assert title in plain
        assert title not in page
        assert change(title) in page
    ours, theirs = Outline(plain), Outline(page)
    assert ours.cells == theirs.cells
    assert ours.elements == theirs.elements


@pytest.fixture(scope="module")
def plain(usual: Results) -> str:
    return page_of(usual)


def page_of(results: Results) -> str:
    """The page of the first verdict, not judged yet: a judgement has words.

    Charts stand there as they are specified, with every word that would be drawn.
    """
    verdict = results.verdicts[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chart, "svg", lambda chart, theme="page": f"<svg>{_words(chart)}</svg>")
        return report_page(Verdict(verdict.tables, verdict.manifest, verdict.summary()))


def _words(chart: Chart) -> str:
    return html.escape(json.dumps([chart.title, chart.reading, chart.spec], ensure_ascii=False))
