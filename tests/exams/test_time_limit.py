"""A limit of time: what there is time for is the same to the bit, the rest is left out and said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

import verax
from support.errors import raises
from verax import time_limit
from verax.errors import VeraxWarning
from verax.exams import item_evidence
from verax.exams.authoring import wide
from verax.exams.judgement.headline import time_lines
from verax.exams.single_token.tokens import Tokens
from verax.exams.tables import TableBuilder
from verax.models import encoders as encoder
from verax.progress import tracked
from verax.time_limit import OutOfTimeError, TimeLimit, check_time, within

QUICK = ["erasure", "replacement", "information"]
COSTLY = ["agreement", "dispersion", "adversary"]
SMALL: dict[str, Any] = {"max_tokens": 256, "progress": False, "split": "all", "gallery": 5}


class Clock:
    """A clock that moves on by some seconds whenever it is looked at."""

    def __init__(self, step: float = 1.0) -> None:
        self.time, self.step = 0.0, step

    def __call__(self) -> float:
        self.time += self.step
        return self.time


@pytest.fixture(scope="module")
def corpus() -> verax.Corpus:
    random = np.random.default_rng(0)
    texts, labels = [], []
    for number in range(80):
        words = [f"w{k}" for k in random.integers(0, 30, size=3 + number // 4)]
        texts.append(" ".join(["good" if number % 2 else "bad", *words]))
        labels.append("pos" if number % 2 else "neg")
    return verax.load_corpus((texts, labels))


@pytest.fixture(scope="module")
def model(corpus: verax.Corpus) -> Any:
    return verax.train(corpus, encoder="bilstm", hidden_size=8, embedding_size=8, epochs=1)


@pytest.fixture(scope="module")
def whole(model: Any, corpus: verax.Corpus) -> verax.Verdict:
    return verax.examine(model, corpus, [*QUICK, *COSTLY], **SMALL)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Leave-one-out has no time for batches with a text of more than so many words."""

    def set_to(words: int) -> None:
        def score(name: str, model: Any, trace: Any, *more: Any, **named: Any) -> Any:
            if name == "leave-one-out" and int(trace.batch.words.sum(-1).max()) > words:
                raise OutOfTimeError
            return verax.importance.score(name, model, trace, *more, **named)

        for exam in ("agreement", "dispersion"):
            monkeypatch.setattr(f"verax.exams.{exam}.exam.score", score)

    return set_to


@pytest.mark.slow
def test_with_time_enough_every_table_is_the_same_to_the_bit(
    model: Any, corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_evidence, "HELD", 512)  # so that exams of items put some together
    plain = verax.examine(model, corpus, [*QUICK, *COSTLY], **SMALL)
    limited = verax.examine(model, corpus, [*QUICK, *COSTLY], max_seconds=1e6, **SMALL)
    assert limited.manifest["out_of_time"] == {}
    assert limited.manifest["max_seconds"] == 1e6
    assert list(limited.tables) == list(plain.tables)
    for name, table in plain.tables.items():
        pd.testing.assert_frame_equal(limited.tables[name], table, check_exact=True)
    pd.testing.assert_frame_equal(limited.summary(), plain.summary(), check_exact=True)


@pytest.mark.slow
def test_long_documents_are_left_out_of_what_takes_long_and_of_nothing_else(
    model: Any, corpus: verax.Corpus, whole: verax.Verdict, slow: Callable[[int], None]
) -> None:
    slow(15)
    verdict = verax.examine(model, corpus, [*QUICK, *COSTLY], max_seconds=60, **SMALL)
    left = verdict.manifest["out_of_time"]
    assert set(left) == {"agreement", "dispersion"}
    assert left["agreement"]["words_of_longest"] == 23
    count = left["agreement"]["documents"]
    assert 0 < count < 80
    for name, table in whole.tables.items():
        part = verdict.tables[name]
        if name.startswith(("agreement", "dispersion")):
            seen = table["id"].isin(part["id"])
            assert part["id"].nunique() == 80 - count
            table = table[seen].reset_index(drop=True)
        pd.testing.assert_frame_equal(part, table, check_exact=True)
    lines = " ".join(verdict.judgement.caveats)
    assert f"Exam 'agreement' leaves out {count} of 80 documents, of" in lines
    assert "not all documents in 60 s (agreement, dispersion)" in str(verdict.judgement)


@pytest.mark.slow
def test_an_exam_without_any_document_is_left_out_and_that_is_said(
    model: Any, corpus: verax.Corpus, slow: Callable[[int], None]
) -> None:
    slow(0)
    verdict = verax.examine(model, corpus, ["erasure", "agreement"], max_seconds=60, **SMALL)
    assert verdict.manifest["exams"] == ["erasure"]
    assert verdict.manifest["out_of_time"]["agreement"]["documents"] == 80
    assert "Exam 'agreement' was left out: 60 seconds were not enough for it." in time_lines(
        verdict.manifest
    )
    with raises("option.out-of-range", "max_seconds"):
        verax.examine(model, corpus, "agreement", max_seconds=60, **SMALL)


def test_when_time_is_up_what_was_not_read_is_left_out_and_all_or_nothing_is_nothing(
    model: Any, corpus: verax.Corpus, whole: verax.Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_limit, "time", SimpleNamespace(monotonic=Clock(1.0)))
    verdict = verax.examine(model, corpus, QUICK, max_seconds=5, **{**SMALL, "gallery": 0})
    assert verdict.manifest["exams"] == ["erasure", "replacement"]  # information needs all
    left = verdict.manifest["out_of_time"]
    assert left["information"]["documents"] == 80
    assert 0 < left["erasure"]["documents"] < 80
    table = whole.tables["erasure_instances"]
    seen = table[table["id"].isin(verdict.tables["erasure_instances"]["id"])]
    pd.testing.assert_frame_equal(
        verdict.tables["erasure_instances"], seen.reset_index(drop=True), check_exact=True
    )


class SlowAttention:
    """Self-attention that takes a second for each 100,000 scores of words by words, by a clock."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.attend = functional.scaled_dot_product_attention

    def __call__(self, query: Any, key: Any, *more: Any, **named: Any) -> Any:
        self.clock.time += query.shape[0] * query.shape[2] * key.shape[2] / 1e5
        return self.attend(query, key, *more, **named)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("long", "short", "exams"),
    [
        (2000, 80, ["erasure", "replacement", "agreement"]),  # 80 s a pass; information needs all
        (2000, 0, []),
        (1000, 0, ["erasure", "replacement", "information"]),  # 20 s, and gradients take more
    ],
)
def test_a_pass_that_there_is_no_time_for_is_broken_off(
    long: int, short: int, exams: list[str], corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a Transformer a pass takes time by the square of words; limit and a part, not more."""
    sizes = {"hidden_size": 8, "embedding_size": 8, "heads": 2, "layers": 2}
    transformer = verax.train(corpus, encoder="transformer", epochs=1, **sizes)
    monkeypatch.setattr(encoder, "_SCORES", 2 * 256 * long)
    clock = Clock(0.0)
    monkeypatch.setattr(time_limit, "time", SimpleNamespace(monotonic=clock))
    slowly = SlowAttention(clock)
    monkeypatch.setattr(encoder.functional, "scaled_dot_product_attention", slowly)
    texts = [
        " ".join(["good", *["w1", "w2"] * (long // 2)]),
        *corpus.documents("all").texts[:short],
    ]
    labels = (["pos", "neg"] * len(texts))[: len(texts)]

    def examine() -> verax.Verdict:
        how = {**SMALL, "max_tokens": 1024, "gallery": 0}
        return verax.examine(
            transformer, (texts, labels), [*QUICK, "agreement"], max_seconds=40, **how
        )

    if exams:
        verdict = examine()
        assert verdict.manifest["exams"] == exams
        left = verdict.manifest["out_of_time"]
        assert left["agreement"]["documents"] == 1
        assert left["agreement"]["words_of_longest"] == long + 1
        assert ("erasure" in left) == bool(short)
    else:
        with raises("option.out-of-range", "max_seconds"):
            examine()
    part = 256 * (long + 1) / 1e5
    assert clock.time <= 40 + 2 * part


def test_going_back_through_a_long_text_is_broken_off_too() -> None:
    """Gradients of 600 queries in parts of 256: the time is up after the first part of three."""
    clock = Clock(0.0)
    layer = encoder.TransformerLayer(4, 1, 4, 0.0, 0)
    states = torch.randn(1, 600, 4, generator=torch.manual_seed(0)).requires_grad_()
    mask = torch.ones(1, 600, dtype=torch.bool)
    with pytest.MonkeyPatch.context() as patch, within(TimeLimit(10, clock)):
        patch.setattr(encoder, "_SCORES", 1)
        attended = layer(states, mask, None)
        clock.time = 9
        attended.sum().backward(retain_graph=True)
        clock.time = 11
        with pytest.raises(OutOfTimeError):
            attended.sum().backward()


def test_attention_in_parts_is_the_same_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = encoder.TransformerLayer(8, 2, 8, 0.0, 0)
    states = torch.randn(2, 1000, 8, generator=torch.manual_seed(0))
    mask = torch.arange(1000).expand(2, -1) < torch.tensor([[1000], [700]])
    with torch.no_grad():
        whole = layer(states, mask, None)
        monkeypatch.setattr(encoder, "_SCORES", 1)
        assert torch.equal(layer(states, mask, None), whole)


def test_a_long_text_is_not_put_together_with_short_ones() -> None:
    """They would be padding: 501 texts as wide as one of 20,000 words are ten million items."""
    lengths = np.array([20_000, *[30] * 500])
    batches = [np.arange(1), np.arange(1, 251), np.arange(251, 501)]
    units = item_evidence.put_together(batches, SimpleNamespace(lengths=lengths), classes=2)
    assert [len(unit) for unit in units] == [1, 2]
    alike = SimpleNamespace(lengths=np.full(501, 30))
    assert [len(unit) for unit in item_evidence.put_together(batches, alike, classes=2)] == [3]


def test_a_gallery_without_time_says_so(
    model: Any, corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(0.0)
    monkeypatch.setattr(time_limit, "time", SimpleNamespace(monotonic=clock))

    def late(*given: Any) -> None:
        clock.time += 3600
        check_time()

    monkeypatch.setattr("verax.exams.gallery.gallery.look_at", late)
    verdict = verax.examine(model, corpus, "erasure", max_seconds=60, **SMALL)
    assert verdict.manifest["gallery"]["documents"] == 0
    assert "no time" in verdict.manifest["gallery"]["note"]
    assert verdict.manifest["out_of_time"]["gallery"]["documents"] == 80
    verdict_page = verdict._repr_html_() if hasattr(verdict, "_repr_html_") else str(verdict)
    assert verdict_page


@pytest.mark.parametrize("value", [0, -1, float("nan"), "soon"])
def test_a_limit_is_a_number_above_zero(model: Any, corpus: verax.Corpus, value: Any) -> None:
    with raises("option.*", "max_seconds"):
        verax.examine(model, corpus, "erasure", max_seconds=value, progress=False)


def test_a_limit_is_up_by_its_clock_and_can_be_shared() -> None:
    clock = Clock(0.0)
    limit = TimeLimit(10, clock)
    half = limit.share(2)
    with within(limit), within(half):
        check_time()
        clock.time = 5
        with pytest.raises(OutOfTimeError):
            check_time()
    with within(limit):
        check_time()
        assert limit.left == 5
    clock.time = 100
    check_time()  # no limit is entered
    assert limit.left == 0


def test_work_that_cannot_be_done_in_time_is_broken_off_early() -> None:
    """Parts of 3 s: of ten all are done in 60 s; of a hundred the second shows that it is vain."""
    for parts, done in ((10, 10), (100, 2)):
        clock, seen = Clock(0.0), []
        with within(TimeLimit(60, clock)):
            try:
                for part in tracked(range(parts), "parts", parts, lambda _: 1):
                    seen.append(part)
                    clock.time += 3
            except OutOfTimeError:
                pass
        assert len(seen) == done


def test_the_ledger_puts_batches_back_in_order() -> None:
    ledger = TableBuilder()
    labels = [{"by": "a", "draw": 0}, {"by": "b", "draw": 1}]
    kept = torch.tensor([True, True, False])
    for ids in ([5, 3, 9], [1, 2, 8]):
        once = torch.tensor(ids).double()
        measures = {"twice": torch.stack([once, 2 * once]), "shared": once}
        ledger.add("t", np.array(ids), measures, kept, labels)
    table = ledger.tables()["t"]
    assert table.columns.tolist() == ["id", "by", "draw", "measure", "value"]
    found = wide(table[table["by"] == "b"].drop(columns=["by", "draw"]))
    assert found.index.tolist() == [1, 2, 3, 5]
    assert found["twice"].tolist() == [2, 4, 6, 10]
    assert found["shared"].tolist() == [1, 2, 3, 5]


def test_what_was_added_after_a_mark_is_forgotten() -> None:
    builder = TableBuilder()
    builder.add("a", np.array([0]), {"x": torch.ones(1)})
    mark = builder.mark()
    builder.add("a", np.array([1]), {"x": torch.zeros(1)})
    builder.add("b", np.array([1]), {"x": torch.zeros(1)})
    builder.back_to(mark)
    tables = builder.tables()
    assert list(tables) == ["a"]
    assert tables["a"]["id"].tolist() == [0]


def test_of_many_documents_memory_is_told_before_anything_is_read(
    model: Any, corpus: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["verax.exams.examine"], "_MANY", 10)
    with pytest.warns(VeraxWarning, match=r"80 documents: tables take some 0 GiB; .*sample"):
        verax.examine(model, corpus, "erasure", split="all", progress=False)
    verax.examine(model, corpus, "erasure", split="all", sample=10, progress=False)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 9))
def test_tokens_are_kept_whatever_the_order_of_batches(seed: int, first: int, size: int) -> None:
    """Thirty documents in batches of `size`, in any order, often from the highest id down."""
    random = np.random.default_rng(seed)
    ids = random.permutation(90)[:30]
    if random.random() < 0.5:
        ids = np.sort(ids)[::-1].copy()
    mask = random.random((30, 5)) < 0.7
    p, weights = random.random((2, 30, 5))
    kept = Tokens(first)
    for start in range(0, 30, size):
        rows = slice(start, start + size)
        nothing = torch.zeros(len(ids[rows]))
        there, own = torch.tensor(mask[rows]), torch.tensor(weights[rows])
        said = item_evidence.ItemEvidence(ids[rows], nothing, nothing, own, there, nothing, nothing)
        kept.add(said, torch.tensor(p[rows]))
    wanted = [
        (ids[row], item, p[row, place], weights[row, place])
        for row in np.argsort(ids)[:first]
        for item, place in enumerate(np.flatnonzero(mask[row]))
    ]
    found = kept.table()
    assert [tuple(row) for row in found.itertuples(index=False)] == wanted
