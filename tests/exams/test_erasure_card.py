"""The documents that the card of erasure counts, and those that its number is over."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import verax
from verax.exams.authoring import Judged, ModelSummary
from verax.exams.erasure.judging import judge
from verax.exams.erasure.summary import summarise
from verax.exams.tables import tidy

LIMITS: dict[str, dict[str, float]] = {
    "by hand": {},
    "gain": {"gain_for_above": 25.0, "gain_against_below": 10.0},
    "fraction": {"fraction_for_below": 0.4, "fraction_against_above": 0.5},
    "part": {"part_for_above": 80.0, "part_against_below": 50.0},
}
"""Which number erasure is judged by → the limits that choose it."""
BY_HAND = {"for_above": 80.0, "against_below": 50.0, "least_documents": 20.0}
MEASURES = {
    "by hand": "erasure.excess.attention.optimal_in_part",
    "gain": "erasure.excess.attention.gain",
    "fraction": "erasure.fraction.attention.mean",
    "part": "erasure.documents.part",
}


@dataclass(frozen=True)
class Document:
    """A document of `items` items, and after how many each order changes its decision, if it does.

    least  of any set; all items where nothing less will do
    """

    items: int
    attention: int | None
    random: int | None
    least: int | None

    @property
    def examined(self) -> bool:
        return self.items > 1

    def share(self, size: int | None) -> float:
        """Of the items; all of them where the decision never changes."""
        return (self.items if size is None else size) / self.items


@st.composite
def documents(draw: st.DrawFn) -> Document:
    items = draw(st.integers(1, 6))
    least = draw(st.none() | st.integers(1, items))
    if items == 1 or least is None:
        return Document(items, None, None, None)
    if least == items:  # every order erases all in the end
        return Document(items, items, items, items)
    sizes = st.none() | st.integers(least, items)
    return Document(items, draw(sizes), draw(sizes), least)


def number_or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def summary_of(corpus: list[Document]) -> ModelSummary:
    """What the exam would say of these documents."""
    several = [d for d in corpus if d.examined]
    ids = np.array([i for i, d in enumerate(corpus) if d.examined], dtype=np.int64)
    items = np.array([d.items for d in several], dtype=np.float64)
    least = np.array([number_or_nan(d.least) for d in several])
    sizes = np.array(
        [[number_or_nan(d.attention), number_or_nan(d.random)] for d in several]
    ).reshape(len(several), 2)
    many = np.stack(
        [sizes.T, sizes.T / items, 0 * sizes.T + 1, sizes.T - least, sizes.T / least], -1
    )
    everything = np.where(np.isnan(least), math.nan, least == items)
    ones = np.ones(len(several))
    minimal = np.stack([least, least / items, least / items, everything, ones, ones], -1)
    whole = np.ones(len(corpus))
    instances = np.stack(
        [
            np.array([d.items for d in corpus], dtype=np.float64),
            np.array([d.examined for d in corpus], dtype=np.float64),
            *(whole, whole, 0 * whole, 0 * whole),
        ],
        -1,
    )
    effects = ["delta_alpha", "js_top", "js_random", "delta_js", "flips_top", "flips_random"]
    single = np.ones((1, len(several), len(effects)))
    tables = {
        "erasure_instances": tidy(
            np.arange(len(corpus)),
            instances[None],
            ["items", "examined", "correct", "decision", "tied", "decision_differs"],
        ),
        "erasure_single": tidy(ids, single, effects, [{"top": "attention", "rule": "paper"}]),
        "erasure_many": tidy(
            ids,
            many,
            ["size", "fraction", "mass", "excess", "ratio"],
            [{"ranking": "attention", "draw": 0}, {"ranking": "random", "draw": 0}],
        ),
        "erasure_minimal": tidy(
            ids,
            minimal[None],
            ["size", "fraction", "mass", "everything", "rival", "certified"],
        ),
    }
    return ModelSummary("mine", summarise(tables), {"classes": ["no", "yes"]})


def card(model: ModelSummary, way: str) -> Judged:
    (row,) = judge(model, {**BY_HAND, **LIMITS[way]})
    return row


def counts(of: str) -> tuple[int, list[int], list[int]]:
    """The documents of the number, the parts of these in brackets, and the others."""
    named, _, others = of.partition("; ")
    whole, *_ = (int(n) for n in re.findall(r"\d+", named))
    inner = re.search(r"\((.*)\)", named)
    parts = re.findall(r"\d+", inner[1]) if inner else []
    # each of the others begins with its count
    rest = [int(part.split()[0]) for part in others.split(", ") if part]
    return whole, [int(n) for n in parts], rest


@pytest.mark.slow
@pytest.mark.parametrize("way", LIMITS)
@given(corpus=st.lists(documents(), min_size=1, max_size=25))
def test_each_document_is_counted_once_and_the_mean_is_over_those_that_are_named(
    way: str, corpus: list[Document]
) -> None:
    # a document that attention changes, and random order later, so that every number has a value
    corpus = [*corpus, Document(4, 2, 4, 1)]
    row = card(summary_of(corpus), way)
    assert row.measure == MEASURES[way]
    of, parts, others = counts(row.of)
    assert of + sum(others) == len(corpus)
    assert of == row.number.n
    assert not parts or sum(parts) == of

    changed = [d for d in corpus if d.examined and d.least is not None]
    by_a_part = [d for d in changed if d.least != d.items]
    by_attention = [d for d in changed if d.attention is not None]
    mean, over = {
        "by hand": (
            100 * sum(d.attention == d.least for d in by_a_part) / len(by_a_part),
            len(by_a_part),
        ),
        "gain": (
            100
            * sum(d.share(d.random) - d.share(d.attention) for d in by_a_part)
            / sum(d.share(d.random) - d.share(d.least) for d in by_a_part),
            len(by_a_part),
        ),
        "fraction": (
            sum(d.share(d.attention) for d in by_attention) / len(by_attention),
            len(by_attention),
        ),
        "part": (
            100 * len(by_a_part) / sum(d.examined for d in corpus),
            sum(d.examined for d in corpus),
        ),
    }[way]
    assert row.number.value == pytest.approx(mean)
    assert of == over


@pytest.mark.slow
def test_the_card_of_a_model_adds_up(planted: verax.Corpus) -> None:
    sizes = {"hidden_size": 12, "embedding_size": 12, "epochs": 3, "lr": 1e-2}
    verdict = verax.examine(verax.train(planted, **sizes), planted, "erasure", draws=2)
    many = verdict.tables["erasure_many"].query("ranking == 'attention'")
    fractions = many.query("measure == 'fraction'")["value"]
    values = [value for value in fractions if not math.isnan(value)]
    model = ModelSummary("mine", verdict.summary(), verdict.manifest)
    row = card(model, "fraction")
    of, parts, others = counts(row.of)
    assert of + sum(others) == verdict.value("erasure.documents.documents")
    assert (of, row.number.value) == (len(values), pytest.approx(sum(values) / len(values)))
    assert not parts or sum(parts) == of


def test_documents_that_change_only_when_all_is_erased_are_named_where_they_count() -> None:
    """41 + 63 + 3 + 93 is 200; the mean over 104 is not that over the 41."""
    corpus = [Document(4, 2, 4, 1)] * 41 + [Document(4, 4, 4, 4)] * 63
    corpus += [Document(4, None, 4, 3)] * 3 + [Document(4, None, None, None)] * 93
    row = card(summary_of(corpus), "fraction")
    assert row.of == (
        "of 104 documents that change in this order (41 can change before all is erased, 63 "
        "cannot); 3 change only in another order, 93 never"
    )
    assert row.number.value == pytest.approx((41 * 0.5 + 63) / 104)
    assert card(summary_of(corpus), "by hand").of == (
        "of 44 documents that change before all is erased; 63 change only when all is erased, 93 "
        "never"
    )
    assert card(summary_of([*corpus, Document(1, None, None, None)]), "part").of == (
        "of 200 documents (44 change before all is erased, 63 only when all is erased, 93 never); "
        "1 has one word"
    )
