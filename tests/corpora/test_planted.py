"""The planted corpus's contract, knob by knob."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from support.documents import marked_in, tokens_of
from support.errors import raises
from support.internals import evidence_word
from verax.corpora import Corpus, load_corpus, tokenize

KNOBS: list[dict[str, Any]] = [
    {},
    {"classes": 3, "evidence": 4, "distractors": 3, "length": 30},
    {"classes": 4, "sentences": 3, "length": 40, "evidence": 1, "lexicon": 1},
    {"classes": 5, "distractors": 2, "vocabulary": 7, "sentences": 2, "seed": 9},
    {"sentences": 5, "length": 20, "evidence": 2, "distractors": 1},
    {"length": 4, "evidence": 1, "classes": 2},
    {"label_noise": 0.3, "classes": 3, "distractors": 1},
]


def named(knobs: dict[str, Any]) -> str:
    return ",".join(f"{k}={v}" for k, v in knobs.items()) or "defaults"


@pytest.fixture(scope="module", params=KNOBS, ids=named)
def case(request: pytest.FixtureRequest) -> tuple[Corpus, dict[str, Any]]:
    knobs = {
        "classes": 2,
        "length": 24,
        "sentences": 1,
        "evidence": 3,
        "distractors": 0,
        "label_noise": 0.0,
        "lexicon": 10,
        "vocabulary": 500,
        "documents": 300,
        **request.param,
    }
    return load_corpus("planted", **knobs), knobs


def lexicon_of(word: str) -> int | None:
    """The class whose evidence a word is, None for noise."""
    found = re.fullmatch(r"good(\d+)_(\d+)", word)
    return int(found[1]) if found else None


def documents(corpus: Corpus) -> list[tuple[list[str], int, list[bool]]]:
    rows = []
    for split in corpus.splits.values():
        assert marked_in(split) is not None
        marks = [row.tolist() for row in marked_in(split)]
        rows += list(zip(tokens_of(split), split.labels.tolist(), marks, strict=True))
    return rows


def true_class(tokens: list[str]) -> int:
    """The class with most evidence words."""
    counts = Counter(c for c in map(lexicon_of, tokens) if c is not None)
    (label, most), *others = counts.most_common()
    assert all(count < most for _, count in others)
    return label


def test_documents_hold_the_evidence_and_distractors_they_should(
    case: tuple[Corpus, dict[str, Any]],
) -> None:
    corpus, knobs = case
    for tokens, label, _ in documents(corpus):
        own = true_class(tokens)
        counts = Counter(c for c in map(lexicon_of, tokens) if c is not None)
        assert counts.pop(own) == knobs["evidence"]
        assert sum(counts.values()) == knobs["distractors"]
        assert knobs["label_noise"] or label == own


def test_the_rationale_marks_exactly_the_evidence(case: tuple[Corpus, dict[str, Any]]) -> None:
    for tokens, _, marks in documents(case[0]):
        own = true_class(tokens)
        assert marks == [lexicon_of(token) == own for token in tokens]


def test_words_come_from_the_lexicons_and_vocabulary_of_the_knobs(
    case: tuple[Corpus, dict[str, Any]],
) -> None:
    corpus, knobs = case
    evidence = {
        evidence_word(c, i) for c in range(knobs["classes"]) for i in range(knobs["lexicon"])
    }
    noise = {f"w{i}" for i in range(knobs["vocabulary"])}
    assert {t for tokens, _, _ in documents(corpus) for t in tokens} <= evidence | noise | {"."}


def test_lengths_run_from_half_to_one_and_a_half(case: tuple[Corpus, dict[str, Any]]) -> None:
    corpus, knobs = case
    lengths = [len(tokens) for tokens, _, _ in documents(corpus)]
    half = knobs["length"] // 2
    assert min(lengths) >= half
    assert max(lengths) <= knobs["length"] + half
    assert np.mean(lengths) == pytest.approx(knobs["length"], rel=0.1)


def test_sentences_are_as_many_as_asked(case: tuple[Corpus, dict[str, Any]]) -> None:
    corpus, knobs = case
    for split in corpus.splits.values():
        assert (tokenize(split).sentences.lengths == knobs["sentences"]).all()
        assert all(tokens[-1] == "." for tokens in tokens_of(split))


def test_splits_are_two_thirds_and_twice_a_sixth_with_classes_in_equal_shares(
    case: tuple[Corpus, dict[str, Any]],
) -> None:
    corpus, knobs = case
    assert [len(d) for d in corpus.splits.values()] == [200, 50, 50]
    if not knobs["label_noise"]:
        for split in corpus.splits.values():
            counts = np.bincount(split.labels)
            assert counts.max() - counts.min() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_nothing_but_evidence_depends_on_the_class(classes: int) -> None:
    """χ² on noise words and Kruskal–Wallis on lengths and places; the seed is fixed, so it holds
    or it does not. A generator that looked at the class would give p far below 0.001.
    """
    corpus = load_corpus(
        "planted", classes=classes, documents=3000, sentences=2, distractors=1, vocabulary=40
    )
    words = np.zeros((classes, 40))
    lengths: list[list[int]] = [[] for _ in range(classes)]
    places: list[list[float]] = [[] for _ in range(classes)]
    breaks: list[list[float]] = [[] for _ in range(classes)]
    for tokens, label, marks in documents(corpus):
        lengths[label].append(len(tokens))
        breaks[label].append(tokens.index(".") / len(tokens))
        places[label] += [i / len(tokens) for i, mark in enumerate(marks) if mark]
        for token in tokens:
            if token.startswith("w"):
                words[label, int(token[1:])] += 1
    assert stats.chi2_contingency(words).pvalue > 0.001
    for samples in (lengths, places, breaks):
        assert stats.kruskal(*samples).pvalue > 0.001


@pytest.mark.slow
def test_evidence_stands_anywhere_but_on_full_stops() -> None:
    corpus = load_corpus("planted", documents=3000, length=10, sentences=1, evidence=1)
    places = [marks.index(True) / (len(t) - 1) for t, _, marks in documents(corpus)]
    assert stats.kstest(places, "uniform", args=(0, 1)).statistic < 0.15
    assert min(places) == 0


@pytest.mark.slow
def test_distractors_are_drawn_evenly_from_the_other_classes() -> None:
    corpus = load_corpus("planted", classes=4, distractors=2, documents=3000)
    counts = np.zeros((4, 4))
    for tokens, label, _ in documents(corpus):
        for token in tokens:
            rival = lexicon_of(token)
            if rival is not None and rival != label:
                counts[label, rival] += 1
    for label, row in enumerate(counts):
        assert stats.chisquare(np.delete(row, label)).pvalue > 0.001


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "noise"), [(2, 0.1), (4, 0.25)])
def test_label_noise_is_its_share_and_wrong_labels_are_even(classes: int, noise: float) -> None:
    corpus = load_corpus("planted", classes=classes, label_noise=noise, documents=6000, length=12)
    shifts = np.array([(y - true_class(t)) % classes for t, y, _ in documents(corpus)])
    wrong = int((shifts > 0).sum())
    assert stats.binomtest(wrong, len(shifts), noise).pvalue > 0.001
    if classes > 2:
        assert stats.chisquare(np.bincount(shifts)[1:]).pvalue > 0.001


@pytest.mark.slow
def test_noise_words_have_zipf_frequencies() -> None:
    corpus = load_corpus("planted", documents=3000, vocabulary=20)
    counts = Counter(t for tokens, _, _ in documents(corpus) for t in tokens if t[0] == "w")
    observed = np.array([counts[f"w{i}"] for i in range(20)])
    expected = 1 / np.arange(1, 21)
    expected *= observed.sum() / expected.sum()
    assert stats.chisquare(observed, expected).pvalue > 0.001


def test_a_seed_fixes_the_corpus_and_another_gives_another() -> None:
    first, again, other = (load_corpus("planted", documents=60, seed=s) for s in (4, 4, 5))
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint
    assert not set(first.train.texts) & set(other.train.texts)


@pytest.mark.slow
def test_the_default_corpus_is_frozen() -> None:
    assert load_corpus("planted").fingerprint == "aa3d776a377e69b1"


def test_knobs_can_be_written_into_the_name() -> None:
    by_name = load_corpus("planted:classes=3, length=40,documents=60,label_noise=0.1")
    by_keyword = load_corpus("planted", classes=3, length=40, documents=60, label_noise=0.1)
    assert by_name.fingerprint == by_keyword.fingerprint
    assert load_corpus("planted:documents=60", documents=30).config["documents"] == 30


def test_config_is_enough_to_load_it_again() -> None:
    corpus = load_corpus("planted:classes=3,documents=60", limit=30)
    config = dict(corpus.config)
    assert load_corpus(config.pop("corpus"), **config).fingerprint == corpus.fingerprint


@pytest.mark.parametrize(
    ("name", "knobs", "expected"),
    [
        ("planted", {"distractors": 3}, ("option.conflict",)),
        ("planted", {"evidence": 12}, ("option.conflict", "26")),
        ("planted", {"sentences": 10, "length": 30, "evidence": 1}, ("option.conflict", "40")),
        ("planted", {"classes": 1}, ("option.out-of-range", "classes")),
        ("planted", {"label_noise": 1.0}, ("option.out-of-range", "label_noise")),
        ("planted", {"label_noise": -0.1}, ("option.out-of-range",)),
        ("planted", {"documents": 3}, ("option.out-of-range", "documents", "12")),
        ("planted", {"seed": -1}, ("option.out-of-range",)),
        ("planted", {"lenght": 30}, ("option.unknown", "length")),
        ("planted:lenght=30", {}, ("option.unknown", "length")),
        ("planted:classes", {}, ("option.malformed",)),
        ("planted:classes=many", {}, ("option.malformed",)),
        ("planted:", {}, ("option.malformed",)),
    ],
)
def test_bad_knobs_are_refused(name: str, knobs: dict[str, Any], expected: tuple[str, ...]) -> None:
    with raises(*expected):
        load_corpus(name, **knobs)


def test_the_length_the_message_asks_for_is_enough() -> None:
    for knobs in ({"evidence": 12}, {"sentences": 10, "evidence": 1}):
        with raises("option.conflict") as error:
            load_corpus("planted", documents=60, length=10, **knobs)
        needed = int(str(error.value).rsplit(" ", 1)[1])
        assert load_corpus("planted", documents=60, length=needed, **knobs)
        with raises("option.conflict"):
            load_corpus("planted", documents=60, length=needed - 1, **knobs)
