"""The explorer's JSON: what the page works out from it is what the model would have said."""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import verax
from support.documents import tokens_of
from support.internals import Lexicon
from verax.corpora import Corpus, Documents
from verax.exams import load_verdict
from verax.functional import erase, pool
from verax.models import AttentionClassifier, probabilities
from verax.report.explorer import explorer_data, gallery_of, script_json

Make = Callable[..., AttentionClassifier]
SLOTS: list[dict[str, object]] = [
    {},
    {"encoder": "conv", "head": "softmax"},
    {"encoder": "none", "projection": "sparsemax"},
    {"classes": 3},
    {"hierarchical": True},
]
ERASING = ("weights", "logits")
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"quoted\" 'and' \\back\\",
    "a\u2028b\u2029c",
    "\u05e9\u05dc\u05d5\u05dd \u202eabc",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "\x00\x01\x1b\x7f\x85\ufeff",
    "half\ud800",
    "x" * 50_000,
    "&lt;&amp;",
    "]]>",
    "",
]


def unpacked(text: str) -> np.ndarray:
    """The numbers of a page, as its script reads them."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return planes.reshape(4, -1).T.copy().view("<f4").ravel()


def placed(data: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """A document of the JSON with the numbers that erasing needs."""
    found = {name: unpacked(data["numbers"])[slice(*document[name])] for name in ERASING}
    found["logits"] = found["logits"].reshape(len(found["weights"]), -1)
    return {**document, **found}


class Page:
    """The arithmetic of the page on one document, as the seam words it."""

    def __init__(self, model: dict[str, Any], document: dict[str, Any]) -> None:
        self.bias = np.array(model["bias"])
        self.weights = document["weights"].astype("f4").astype(np.float64)
        self.logits = document["logits"].astype("f4").astype(np.float64)

    def after(self, gone: Iterable[int]) -> np.ndarray:
        stays = np.setdiff1d(np.arange(len(self.weights)), list(gone))
        total = self.weights[stays].sum()
        logits = self.weights[stays] @ self.logits[stays] / total if total > 0 else self.bias
        raised = np.exp(logits - logits.max())
        return raised / raised.sum()

    def decides(self, gone: Iterable[int]) -> int:
        return int(self.after(gone).argmax())


def subsets(n: int) -> Iterator[tuple[int, ...]]:
    for size in range(n + 1):
        yield from itertools.combinations(range(n), size)


def corpus_of(texts: list[str], model: AttentionClassifier) -> Corpus:
    labels, ids = np.zeros(len(texts), dtype=np.int64), np.arange(len(texts))
    split = Documents(texts, labels, ids, model.word_tokenizer, Lexicon())
    return Corpus("by hand", model.classes, split, split, split)


def livelier(model: AttentionClassifier) -> AttentionClassifier:
    """Untrained, but with decisions that differ and can be flipped, and attention that cares."""
    with torch.no_grad():
        model.head.linear.weight.mul_(8)
        model.attention.alignment.query.weight.mul_(8)
    return model


def short_texts(planted: Corpus, words: int = 8) -> list[str]:
    """Texts whose every erasure can be tried: so many words, two sentences."""
    rows = tokens_of(planted.test)[:8]
    kept = [[w for w in row if w.isalnum()][: words - 2] for row in rows]
    return [" ".join([*row[:3], ".", *row[3:], "."]) for row in kept]


@pytest.mark.slow
@pytest.mark.parametrize("slots", SLOTS, ids=str)
def test_every_erasure_of_a_small_document_is_the_models_own(
    slots: dict[str, object], make_model: Make, planted: Corpus
) -> None:
    """The page's probabilities against the model's head on what its attention pools, erased."""
    model = livelier(make_model(**slots))
    texts = short_texts(planted)
    verdict = verax.examine(model, corpus_of(texts, model), "single_token", gallery=8)
    data = json.loads(explorer_data({"mine": verdict}))
    (told,) = data["models"]
    assert told["name"] == "mine"
    assert told["classes"] == model.classes
    assert len(told["documents"]) == len(texts)
    for document in told["documents"]:
        trace = model.trace([texts[document["id"]]])
        page, there = Page(told, placed(data, document)), trace.mask[0]
        sets = list(subsets(len(page.weights)))
        gone = torch.zeros(len(sets), int(there.sum()), dtype=torch.bool)
        for row, each in enumerate(sets):
            gone[row, list(each)] = True
        weights = trace.weights[0, there].expand(gone.shape)
        erased = erase(weights, gone, torch.ones_like(gone))
        items = trace.items[0, there].expand(len(sets), -1, -1)
        with torch.no_grad():
            own = probabilities(model.head(pool(erased, items)).double()).numpy()
        shown = np.array([page.after(each) for each in sets])
        assert np.abs(shown - own).max() < 1e-6
        assert document["probabilities"] == pytest.approx(page.after([]), abs=1e-6)
        assert document["decision"] == page.decides([])

        # the smallest set flips, nothing smaller does, and where none is given none there is
        flipping = [each for each in sets if page.decides(each) != document["decision"]]
        minimal = document["orders"]["minimal"]
        assert document["flips"] is bool(flipping)
        assert len(minimal) == min(map(len, flipping), default=0)
        if flipping:
            assert page.decides(minimal) != document["decision"]
            assert page.decides(minimal[:-1]) == document["decision"]
            support = set(np.flatnonzero(page.weights).tolist())
            assert document["everything"] is all(support <= set(each) for each in flipping)


@pytest.mark.parametrize("slots", SLOTS, ids=str)
def test_heats_orders_and_adversaries_are_the_tables(
    slots: dict[str, object], make_model: Make, planted: Corpus
) -> None:
    model = livelier(make_model(**slots))
    test = replace(planted, test=planted.test.take(np.arange(12)))
    verdict = verax.examine(model, test, "single_token", gallery=5)
    told = gallery_of(verdict)
    assert told is not None
    tables = verdict.tables
    assert [d["id"] for d in told["documents"]] == tables["gallery_documents"]["id"].tolist()
    for document in told["documents"]:
        items = tables["gallery_items"].query(f"id == {document['id']}")
        words = tables["gallery_tokens"].query(f"id == {document['id']}")["text"].tolist()
        n = len(items)
        assert document["tokens"] == words
        row = int(np.flatnonzero(test.test.ids == document["id"])[0])
        assert words == tokens_of(test.test)[row]
        assert document["label"] == test.test.labels[row]
        if slots.get("hierarchical"):
            assert told["attended"] == "sentences"
            ends = np.cumsum(test.test.sentences[row]).tolist()
            assert document["items"] == [list(s) for s in zip([0, *ends[:-1]], ends, strict=True)]
        else:
            assert document["items"] is None
            assert n == len(words)
        assert document["gradient"].tolist() == items["gradient"].tolist()
        assert document["deleted"].tolist() == items["deleted"].tolist()
        page = Page(told, document)
        # what the page works out by itself: what an item says alone, and the order by attention
        alone = [page.after(set(range(n)) - {i})[document["decision"]] for i in range(n)]
        weighty = page.weights > 0  # an item without weight is never left alone
        raised = np.exp(page.logits - page.logits.max(-1, keepdims=True))
        says = (raised / raised.sum(-1, keepdims=True))[:, document["decision"]]
        assert says == pytest.approx(items["alone"].to_numpy(), abs=1e-6)
        assert says[weighty] == pytest.approx(np.array(alone)[weighty], abs=1e-6)
        attention = document["orders"]["attention"].tolist()
        assert sorted(attention) == sorted(document["orders"]["gradient"]) == list(range(n))
        assert attention == np.argsort(-page.weights, kind="stable").tolist()
        other = document["adversary"]
        page.weights = other["weights"]
        assert page.weights.sum() == pytest.approx(1, abs=1e-6)
        moved = page.after([])[document["decision"]]
        before = document["probabilities"][document["decision"]]
        assert abs(moved - before) <= other["epsilon"] + 1e-6


def test_a_saved_verdict_tells_the_same(make_model: Make, planted: Corpus, tmp_path: Path) -> None:
    verdict = verax.examine(make_model(encoder="conv"), planted, "single_token", gallery=3)
    verdict.save(tmp_path / "v")
    assert explorer_data({"a": load_verdict(tmp_path / "v")}) == explorer_data({"a": verdict})


class Script(HTMLParser):
    """What a browser takes for the content of the first script, and how many there are."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts, self.inside, self.content = 0, False, ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.scripts += tag == "script"
        self.inside = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        self.content += data if self.inside and self.scripts == 1 else ""


@pytest.mark.parametrize("text", HOSTILE, ids=lambda t: ascii(t)[:30])
def test_hostile_texts_stay_text(text: str) -> None:
    written = script_json({"tokens": [text]})
    page = f"<script type='application/json'>{written}</script><p>after"
    page.encode("utf-8")  # a file can hold it
    read = Script()
    read.feed(page)
    assert read.scripts == 1
    assert json.loads(read.content) == {"tokens": [text]}
    assert not set(written) & set("<>&\u2028\u2029\x00\x7f")


def test_hostile_documents_come_through_whole(make_model: Make) -> None:
    model = make_model(encoder="conv")
    texts = [text or "w1" for text in HOSTILE]  # one word that the model knows
    verdict = verax.examine(model, corpus_of(texts, model), "single_token", gallery=99)
    data = json.loads(explorer_data({"</script>": verdict}))
    (told,) = data["models"]
    assert told["name"] == "</script>"
    for document in told["documents"]:
        expected = model.word_tokenizer(texts[document["id"]])
        assert data["texts"][document["text"]] == [t.replace("\ud800", "\ufffd") for t in expected]


def test_one_item_has_no_other_attention_and_a_null_for_what_is_not_there(
    make_model: Make,
) -> None:
    model = make_model(encoder="none")
    verdict = verax.examine(model, corpus_of(["w1"], model), "single_token", gallery=1)
    tables = dict(verdict.tables)
    tables["gallery_documents"] = tables["gallery_documents"].assign(label=-1)
    told = gallery_of(replace(verdict, tables=tables))
    assert told is not None
    (document,) = told["documents"]
    assert document["label"] is None
    assert document["adversary"] is None
    assert document["surprise"]["tau"] is None


def test_a_verdict_without_a_gallery_is_left_out(make_model: Make, planted: Corpus) -> None:
    verdict = verax.examine(make_model(encoder="none"), planted, "single_token")
    assert gallery_of(verdict) is None
    assert json.loads(explorer_data({"a": verdict}))["models"] == []


def test_models_are_told_side_by_side_in_one_order(make_model: Make, planted: Corpus) -> None:
    """4 and 2 are shown by both; in the mean of their places 4 comes first."""
    ids = planted.test.ids
    models = {"a": make_model(encoder="none"), "b": make_model(encoder="conv")}
    shown = {"a": [ids[n] for n in (5, 4, 2)], "b": [ids[n] for n in (4, 9, 2)]}
    verdicts = {
        name: verax.examine(model, planted, "single_token", gallery=shown[name])
        for name, model in models.items()
    }
    a, b = json.loads(explorer_data(verdicts))["models"]
    assert [d["id"] for d in a["documents"]] == [ids[n] for n in (4, 2, 5)]
    assert [d["id"] for d in b["documents"]] == [ids[n] for n in (4, 2, 9)]


def test_the_same_number_in_another_corpus_is_another_document(make_model: Make) -> None:
    model = make_model(encoder="none")
    verdicts = {
        name: verax.examine(model, corpus_of(texts, model), "single_token", gallery=[1, 0])
        for name, texts in {"a": ["w1 two", "three four"], "b": ["w1 six", "a b"]}.items()
    }
    a, b = json.loads(explorer_data(verdicts))["models"]
    assert [d["id"] for d in a["documents"]] == [1, 0]
    assert [d["id"] for d in b["documents"]] == [3, 2]


@pytest.mark.slow
def test_of_a_hierarchical_model_the_page_says_so_and_speaks_of_sentences(
    make_model: Make, planted: Corpus, tmp_path: Path
) -> None:
    verdict = verax.examine(make_model(hierarchical=True), planted, "single_token", gallery=1)
    verdict.report(tmp_path / "report.html")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "hierarchical, bilstm, softmax" in written
    assert "erase sentences yourself" in written
    told = gallery_of(verdict)
    assert told is not None
    assert told["heats"]["alone"]["about"].endswith("this sentence alone")


def test_models_share_texts_and_every_number_has_its_place(
    make_model: Make, planted: Corpus
) -> None:
    ids = planted.test.ids[:3]
    verdicts = {
        name: verax.examine(
            make_model(encoder="conv", **slots), planted, "single_token", gallery=ids
        )
        for name, slots in {"a": {}, "b": {"head": "softmax"}}.items()
    }
    data = json.loads(explorer_data(verdicts))
    whole = unpacked(data["numbers"])
    assert len(data["texts"]) == 3
    for model in data["models"]:
        told = gallery_of(verdicts[model["name"]])
        assert told is not None
        for packed, document in zip(model["documents"], told["documents"], strict=True):
            assert data["texts"][packed["text"]] == document["tokens"]
            for name in ("weights", "logits", "gradient", "deleted"):
                found = whole[slice(*packed[name])]
                assert found.tolist() == document[name].astype("f4").ravel().tolist()
            other = whole[slice(*packed["adversary"]["weights"])]
            assert other.tolist() == document["adversary"]["weights"].astype("f4").tolist()
            order = whole[slice(*packed["orders"]["gradient"])]
            assert order.tolist() == document["orders"]["gradient"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "models", "length"), [(2, 2, 230), (20, 1, 180)])
def test_two_hundred_documents_fit(
    make_model: Make, classes: int, models: int, length: int
) -> None:
    """Two models, as long as reviews of films, and twenty classes, as long as what was posted to
    newsgroups: 5 MB leaves room for a page of 6. All numbers are noise, the hardest to pack.
    """
    generator = np.random.default_rng(0)
    words = np.array(
        ["".join(chr(97 + i) for i in generator.integers(0, 26, 6)) for _ in range(99)]
    )
    model = make_model(encoder="none", classes=classes)
    few = [" ".join(["w1", *generator.choice(words, length - 1)]) for _ in range(4)]
    verdict = verax.examine(model, corpus_of(few, model), "single_token", gallery=4)
    tables = dict(verdict.tables)
    for name in ("gallery_documents", "gallery_items", "gallery_tokens"):
        table = tables[name]
        copies = [table.assign(id=table["id"] + 10 * copy) for copy in range(50)]
        tables[name] = pd.concat(copies, ignore_index=True)
    items, tokens = tables["gallery_items"], tables["gallery_tokens"]
    drawn = ["weight", "adversary", "gradient", "deleted", *(f"logit_{c}" for c in range(classes))]
    noise = generator.normal(size=(len(items), len(drawn)))
    tables["gallery_items"] = items.assign(**dict(zip(drawn, noise.T, strict=True)))
    tables["gallery_tokens"] = tokens.assign(text=generator.choice(words, len(tokens)))
    made = replace(verdict, tables=tables)
    text = explorer_data({str(k): made for k in range(models)})
    data = json.loads(text)
    assert [len(model["documents"]) for model in data["models"]] == [200] * models
    assert len(text.encode("utf-8")) < 5_000_000
