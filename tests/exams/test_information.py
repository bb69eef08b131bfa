"""The information exam: counts against scikit-learn and SciPy, states against a naive reading.

How states are put into clusters is tested elsewhere; where a number must be derived, clusters are
given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from looked_up import corpus_of, look_up_model
from scipy import stats
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information
from torch import Tensor

import verax
from verax.corpora.vocabulary import SPECIALS
from verax.exams import load_verdict
from verax.exams.information.clustering import Clustering
from verax.exams.information.exam import InformationExam, InformationOptions
from verax.exams.information.mutual_information import mutual_information, shuffled_information
from verax.exams.information.occurrences import Occurrences, choose_words
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
NAN = math.nan

# -- mutual information

labellings = st.lists(st.tuples(st.integers(-3, 6), st.integers(0, 5)), min_size=1, max_size=60)


@given(labellings)
def test_information_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    found = mutual_information(a, b)
    assert found.value == pytest.approx(mutual_info_score(a, b), abs=1e-12)
    entropies = [stats.entropy(np.unique(x, return_counts=True)[1]) for x in (a, b)]
    assert found.entropy == pytest.approx(entropies[0], abs=1e-12)
    assert 0 <= found.value <= min(entropies) + 1e-12
    assert mutual_information(b, a).value == pytest.approx(found.value, abs=1e-12)


@given(labellings)
def test_each_label_has_the_divergence_of_its_own(pairs: list[tuple[int, int]]) -> None:
    """KL(p(B | a) ‖ p(B)), whose mean over occurrences is the information."""
    a, b = np.array(pairs).T
    found = mutual_information(a, b)
    labels, counts = np.unique(a, return_counts=True)
    assert found.labels.tolist() == labels.tolist()
    assert found.counts.tolist() == counts.tolist()
    everyone = np.bincount(b, minlength=6)
    for label, own in zip(labels, found.by_label, strict=True):
        there = np.bincount(b[a == label], minlength=6)
        expected = stats.entropy(there[everyone > 0], everyone[everyone > 0])
        assert own == pytest.approx(expected, abs=1e-12)
    assert found.value == pytest.approx(counts @ found.by_label / len(a), abs=1e-12)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=50))
def test_identical_labels_share_all_there_is(labels: list[int]) -> None:
    """Under whatever names, far apart or negative."""
    other = np.array([7, -3, 2**40, 11, -(2**50), 0, 1, 99, -1, 5])[labels]
    found = mutual_information(labels, other)
    assert found.value == pytest.approx(found.entropy, abs=1e-12)


def test_by_hand() -> None:
    """p(0, 0) = ½, p(1, 0) = p(1, 1) = ¼: H(A) = log 2, I = ½ log 4/3 + ¼ log ⅔ + ¼ log 2."""
    found = mutual_information([0, 0, 1, 1], [0, 0, 0, 1])
    assert found.value == pytest.approx(
        0.5 * math.log(4 / 3) + 0.25 * math.log(2 / 3) + 0.25 * math.log(2)
    )
    assert found.entropy == pytest.approx(math.log(2))
    assert found.by_label[0] == pytest.approx(math.log(4 / 3))


def test_labels_in_every_combination_share_nothing() -> None:
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(7), np.arange(11)))
    assert mutual_information(a, b).value == pytest.approx(0, abs=1e-12)


def test_independent_labels_share_what_shuffled_ones_do() -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(50, size=4_000), random.integers(40, size=4_000)
    shuffled = shuffled_information(a, b, 0, 20)
    found = mutual_information(a, b).value
    assert abs(found - shuffled.mean()) < 5 * shuffled.std(ddof=1)
    assert found > 0.1  # far from nothing, though there is nothing


def test_shuffling_gives_the_expected_information_of_independent_labels() -> None:
    """Vinh et al. 2010 have it in closed form, as scikit-learn has."""
    random = np.random.default_rng(1)
    a = random.choice(30, 2_000, p=stats.zipfian.pmf(np.arange(1, 31), 1, 30))
    b = (a + random.integers(12, size=2_000)) % 25
    shuffled = shuffled_information(a, b, 3, 60)
    expected = expected_mutual_information(contingency_matrix(a, b, sparse=True), len(a))
    error = shuffled.std(ddof=1) / math.sqrt(60)
    assert abs(shuffled.mean() - expected) < 4 * error
    assert mutual_information(a, b).value > expected + 0.1


def test_shuffles_are_drawn_by_the_seed() -> None:
    random = np.random.default_rng(2)
    a, b = random.integers(9, size=300), random.integers(9, size=300)
    before = b.copy()
    one, again, other = (shuffled_information(a, b, seed, 4) for seed in (0, 0, 1))
    assert one.shape == (4,)
    assert one.tolist() == again.tolist()
    assert set(one).isdisjoint(other)
    assert len(set(one)) == 4
    assert (b == before).all()


@pytest.mark.parametrize(("a", "b"), [([], []), ([1], [1, 2]), ([[1, 2]], [[1, 2]])])
def test_labels_that_do_not_match_are_refused(a: list[int], b: list[int]) -> None:
    with pytest.raises(verax.VeraxError, match="two lists of labels as long as each other"):
        mutual_information(a, b)


# -- which words


def test_the_most_frequent_the_lower_row_in_a_tie() -> None:
    counts = np.array([0, 0, 0, 0, 3, 9, 5, 5, 0, 5, 1])
    assert choose_words(counts, 3, "frequent", 0).tolist() == [5, 6, 7]
    assert choose_words(counts, 1, "frequent", 0).tolist() == [5]
    assert choose_words(counts, 5, "frequent", 8).tolist() == [4, 5, 6, 7, 9]


@pytest.mark.parametrize("by", ["frequent", "sampled"])
def test_all_that_occur_where_there_are_no_more(by: str) -> None:
    counts = np.array([0, 2, 0, 7, 1])
    for words in (3, 4, 100):
        assert choose_words(counts, words, by, 0).tolist() == [1, 3, 4]


SKEWED = np.array([0, 1000, 300, 0, 100, 30, 10, 3, 1])


def test_a_sample_of_one_follows_the_frequency_to_the_power_of_three_quarters() -> None:
    drawn = np.zeros(len(SKEWED))
    for seed in range(12_000):
        drawn[choose_words(SKEWED, 1, "sampled", seed)] += 1
    assert drawn[[0, 3]].sum() == 0
    there = SKEWED > 0
    expected = SKEWED[there] ** 0.75
    assert stats.chisquare(drawn[there], 12_000 * expected / expected.sum()).pvalue > 1e-3


def test_a_sample_of_several_is_drawn_one_after_another() -> None:
    """Without replacement, which is Efraimidis & Spirakis's way: give each word an exponential
    over its weight, and take the least."""
    there = np.flatnonzero(SKEWED)
    n, words = 3_000, 3
    drawn = np.zeros(len(SKEWED))
    for seed in range(n):
        chosen = choose_words(SKEWED, words, "sampled", seed)
        assert len(chosen) == words
        assert (np.diff(chosen) > 0).all()
        drawn[chosen] += 1
    random = np.random.default_rng(0)
    times = random.exponential(size=(200_000, len(there))) / SKEWED[there] ** 0.75
    first = np.argsort(times, axis=1)[:, :words]
    share = np.bincount(first.ravel(), minlength=len(there)) / len(times)
    off = np.abs(drawn[there] / n - share) / np.sqrt(share * (1 - share) / n)
    assert off.max() < 4


def test_the_seed_decides_the_sample() -> None:
    counts = np.arange(200)
    one, again, other = (choose_words(counts, 20, "sampled", s).tolist() for s in (0, 0, 1))
    assert one == again
    assert one != other


# -- where they occur

SLOTS: list[dict[str, object]] = [
    {},
    {"encoder": "conv", "boundaries": False},
    {"grounding": "concat"},
    {"hierarchical": True},
]


def gather(
    model: AttentionClassifier, documents: object, max_tokens: int = 10**5, **options: object
) -> Occurrences:
    settings = {"words": 15, "by": "frequent", "limit": 10**6, "seed": 0, **options}
    encoded = model.read(documents)  # type: ignore[arg-type]
    found = Occurrences(encoded, **settings)  # type: ignore[arg-type]
    for trace in model.traces(encoded, max_tokens):
        found.see(trace)
    return found


def naively(
    model: AttentionClassifier, texts: list[list[str]], chosen: set[int]
) -> list[tuple[int, Tensor]]:
    """Every document alone, word by word."""
    found = []
    first = 1 if model.options.boundaries else 0
    for text in texts:
        trace = model.trace([text])
        for place, word in enumerate(text):
            row = model.vocabulary.rows.get(word, 1)
            if row in chosen:
                found.append((row, trace.states[0, first + place]))
    return found


@pytest.mark.parametrize("max_tokens", [10**5, 70, 1])
@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_states_are_those_of_the_chosen_words_in_order_of_the_split(
    make_model: Make, planted: verax.Corpus, slot: dict[str, object], max_tokens: int
) -> None:
    """The 15 most frequent of the split, whatever is read together with what."""
    model = make_model(**slot)
    texts = planted.test.tokens
    counts = Counter(word for text in texts for word in text if word in model.vocabulary.rows)
    rows = model.vocabulary.rows
    ranked = sorted(counts, key=lambda word: (-counts[word], rows[word]))
    chosen = {rows[word] for word in ranked[:15]}
    found = gather(model, planted.test, max_tokens)
    expected = naively(model, texts, chosen)
    assert found.words.tolist() == [row for row, _ in expected]
    assert found.found == len(expected) == sum(counts[word] for word in ranked[:15])
    assert found.states.dtype == torch.float32
    torch.testing.assert_close(
        found.states, torch.stack([s for _, s in expected]), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("slot", [SLOTS[0], SLOTS[3]], ids=str)
def test_at_most_so_many_drawn_by_the_seed(
    make_model: Make, planted: verax.Corpus, slot: dict[str, object]
) -> None:
    model = make_model(**slot)
    whole = gather(model, planted.test)
    few, again, others = (
        gather(model, planted.test, 200, limit=40, seed=seed) for seed in (0, 0, 1)
    )
    assert few.words.tolist() == again.words.tolist()
    assert not few.states.equal(others.states)
    assert few.found == whole.found > 40
    assert few.states.shape == (40, 12)
    # each is one of all, and they stand in the same order
    near = torch.cdist(few.states, whole.states).argmin(1)
    torch.testing.assert_close(few.states, whole.states[near], atol=1e-5, rtol=1e-5)
    assert (near.diff() > 0).all()
    assert few.words.tolist() == whole.words[near].tolist()


def test_a_limit_takes_every_occurrence_as_likely() -> None:
    model = look_up_model({"a": (0.0, 0.0), "b": (0.0, 1.0)})
    encoded = model.read([["a", "b", "a", "a", "b", "a", "b", "a"]])
    taken = np.zeros(8)
    for seed in range(2_000):
        slots = Occurrences(encoded, 2, "frequent", 3, seed)._slots.numpy()
        assert (slots >= 0).sum() == 3
        taken += slots >= 0
    assert stats.chisquare(taken).pvalue > 1e-3


@pytest.mark.parametrize("by", ["frequent", "sampled"])
def test_specials_are_no_words(make_model: Make, planted: verax.Corpus, by: str) -> None:
    """Half of the text is unknown, and SOS and EOS are in every document: none is ever asked."""
    model = make_model()
    texts = [["never", "heard", *words[:4], "of"] for words in planted.test.tokens]
    found = gather(model, texts, words=10**4, by=by)
    assert found.words.min() >= len(SPECIALS)
    assert len(found.words) == sum(w in model.vocabulary.rows for text in texts for w in text)


def test_a_text_that_says_unk_says_a_word() -> None:
    model = look_up_model({"<unk>": (0.0, 1.0), "a": (0.0, 0.0)})
    found = gather(model, [["<unk>", "a", "never"], ["<unk>"]])
    assert found.words.tolist() == [4, 5, 4]


def test_a_split_without_a_known_word_has_no_occurrence(make_model: Make) -> None:
    for model in (make_model(), make_model(boundaries=False)):
        found = gather(model, [["never", "heard"], ["of"]], max_tokens=1)
        assert (found.found, found.words.tolist()) == (0, [])
        assert found.states.shape == (0, 12)
        squares, between = found.distances(model.embedding.weight.detach())
        assert len(squares) == len(between) == 0


def test_distances_by_hand(make_model: Make) -> None:
    """‖(3, 4)‖² = 25 and ‖(3, 4) − (3, 3)‖² = 1; ‖(0, 2)‖² = 4 and ‖(0, 2) − (1, 0)‖² = 5."""
    found = gather(make_model(), [["w1"]])
    found.words, found.states = np.array([1, 0]), torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    squares, between = found.distances(torch.tensor([[1.0, 0.0], [3.0, 3.0]]))
    assert (squares.tolist(), between.tolist()) == ([25, 4], [1, 5])
    squares, between = found.distances(torch.ones(2, 3))
    assert squares.tolist() == [25, 4]
    assert np.isnan(between).all()


def test_distances_piece_by_piece(make_model: Make) -> None:
    """States so wide that two are taken at a time."""
    found = gather(make_model(), [["w1"]])
    size = 2**21
    found.words = np.array([0, 1, 0])
    found.states = torch.tensor([1.0, 2.0, 4.0]).unsqueeze(-1).expand(3, size)
    embedding = torch.tensor([1.0, 0.0]).unsqueeze(-1).expand(2, size)
    squares, between = found.distances(embedding)
    assert (squares / size).tolist() == [1, 4, 16]
    assert (between / size).tolist() == [0, 4, 9]


# -- the exam


def given_clusters(
    monkeypatch: pytest.MonkeyPatch, label: Callable[[Tensor], Tensor]
) -> list[Tensor]:
    """Clusters made by `label` from the states, which are kept."""
    seen: list[Tensor] = []

    def cluster(vectors: Tensor, clusters: int, seed: int, watch: object = iter) -> Clustering:
        seen.append(vectors)
        return Clustering(label(vectors).long(), vectors[:1], 7.0, 1)

    monkeypatch.setattr("verax.exams.information.exam.cluster", cluster)
    return seen


def measures(verdict: verax.Verdict, kind: str = "frequent") -> dict[str, float]:
    table = verdict.tables["information"]
    own = table[table["words"] == kind]
    return dict(zip(own["measure"], own["value"], strict=True))


def of_words(verdict: verax.Verdict, kind: str = "frequent") -> pd.DataFrame:
    """A row per word, a column per measure."""
    table = verdict.tables["information_words"]
    return table[table["words"] == kind].pivot(index="word", columns="measure", values="value")


@pytest.mark.parametrize("slot", SLOTS, ids=str)
def test_every_number_from_given_clusters(
    make_model: Make,
    planted: verax.Corpus,
    slot: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clusters by the signs of three features: something of the word, and not all of it."""

    def label(vectors: Tensor) -> Tensor:
        return (vectors[:, :3] > 0).long() @ torch.tensor([1, 2, 4])

    states = given_clusters(monkeypatch, label)
    model = make_model(**slot)
    verdict = verax.examine(model, planted, "information", words=15, shuffles=3, seed=4)
    gathered = gather(model, planted.test)
    (own,) = states
    torch.testing.assert_close(own, gathered.states, atol=1e-5, rtol=1e-5)
    words, labels = gathered.words, label(own).numpy()
    found = measures(verdict)
    assert found["information"] == pytest.approx(mutual_info_score(words, labels))
    counts = np.unique(words, return_counts=True)[1]
    assert found["ceiling"] == pytest.approx(stats.entropy(counts))
    shuffled = shuffled_information(words, labels, 4, 3)
    assert found["shuffled"] == pytest.approx(shuffled.mean())
    assert found["shuffled_sd"] == pytest.approx(shuffled.std(ddof=1))
    difference = found["information"] - found["shuffled"]
    assert found["difference"] == pytest.approx(difference)
    assert found["kept"] == pytest.approx(difference / (found["ceiling"] - found["shuffled"]))
    assert 0 < found["kept"] < 1
    assert found["occurrences"] == found["found"] == len(words)
    assert found["types"] == found["vectors"] == 15
    assert found["clusters"] == len(np.unique(labels))
    assert found["inertia"] == 7
    vectors = model.embedding.weight.detach().double()[torch.from_numpy(words)]
    assert found["norm_e"] == pytest.approx(vectors.square().sum(-1).mean().sqrt().item())
    squares = own.double().square().sum(-1)
    assert found["norm_h"] == pytest.approx(squares.mean().sqrt().item())
    table = of_words(verdict)
    assert table["count"].sum() == len(words)
    assert table["count"] @ table["information"] / len(words) == pytest.approx(found["information"])
    between = torch.full_like(squares, NAN)
    if slot.get("grounding") != "concat":
        between = (own.double() - vectors).square().sum(-1)
    length = vectors.square().sum(-1)
    expected = (between.sum() / length.sum()).item()
    assert found["distance"] == pytest.approx(expected, rel=1e-5, nan_ok=True)
    for word in table.index:
        row = model.vocabulary.rows[word]
        there = torch.from_numpy(words == row)
        assert table["count"][word] == there.sum()
        expected = (between[there].sum() / length[there].sum()).item()
        assert table["distance"][word] == pytest.approx(expected, rel=1e-5, nan_ok=True)
        expected = stats.entropy(
            np.bincount(labels[there.numpy()], minlength=8)[np.unique(labels)],
            np.unique(labels, return_counts=True)[1],
        )
        assert table["information"][word] == pytest.approx(expected)


def test_states_that_are_their_words_have_kept_all(make_model: Make, planted: verax.Corpus) -> None:
    """Without an encoder h = e: as many clusters as words leave each its own."""
    verdict = verax.examine(make_model(encoder="none"), planted, "information", words=40)
    found = measures(verdict)
    assert found["information"] == pytest.approx(found["ceiling"])
    assert found["kept"] == pytest.approx(1)
    assert found["clusters"] == found["vectors"] == found["types"] == 40
    assert found["distance"] == 0
    assert found["norm_e"] == found["norm_h"]
    table = of_words(verdict)
    expected = -np.log(table["count"] / table["count"].sum())  # the word tells its cluster
    np.testing.assert_allclose(table["information"], expected)
    assert (table["distance"] == 0).all()


def test_distance_by_hand(make_model: Make, planted: verax.Corpus) -> None:
    """An encoder that doubles has h − e = e; one that turns about has h − e = −2e."""
    model = make_model(encoder="none")
    for factor, distance in ((2.0, 1.0), (-1.0, 4.0), (0.0, 1.0)):
        model.encoder.forward = lambda vectors, *rest, f=factor: f * vectors  # type: ignore[method-assign]
        found = measures(verax.examine(model, planted, "information", words=5))
        assert found["distance"] == pytest.approx(distance)
        assert found["norm_h"] == pytest.approx(abs(factor) * found["norm_e"])


def test_states_that_have_forgotten_have_kept_nothing(
    make_model: Make, planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clusters at random: what is shared is what shuffled labels share."""
    random = torch.Generator().manual_seed(0)
    given_clusters(monkeypatch, lambda v: torch.randint(9, (len(v),), generator=random))
    found = measures(verax.examine(make_model(), planted, "information", words=15, shuffles=30))
    assert abs(found["difference"]) < 5 * found["shuffled_sd"]
    assert abs(found["kept"]) < 0.1
    given_clusters(monkeypatch, lambda v: torch.zeros(len(v)))
    found = measures(verax.examine(make_model(), planted, "information", words=15))
    assert (found["information"], found["kept"], found["clusters"]) == (0, 0, 1)


def test_residual_states_keep_their_word_and_concat_ones_are_of_another_size(
    make_model: Make, planted: verax.Corpus
) -> None:
    residual, concat, tying = (
        measures(
            verax.examine(make_model(grounding=g), planted, "information", words=20, clusters=20)
        )
        for g in ("residual", "concat", "tying")
    )
    assert residual["kept"] > tying["kept"]  # untrained, so that nothing holds a tied one yet
    assert residual["distance"] < tying["distance"]
    assert math.isnan(concat["distance"])
    assert concat["norm_h"] > concat["norm_e"]


def test_tying_brings_states_to_their_words(planted: verax.Corpus) -> None:
    sizes = {"hidden_size": 12, "embedding_size": 12, "epochs": 6, "lr": 1e-2}
    loose, tied = (
        measures(
            verax.examine(
                verax.train(planted, grounding="tying", strength=strength, **sizes),  # type: ignore[arg-type]
                planted,
                "information",
                words=20,
                clusters=20,
            )
        )
        for strength in (0.0, 30.0)
    )
    assert tied["distance"] < 0.5 * loose["distance"]
    assert tied["kept"] > loose["kept"]


def test_words_that_share_a_vector_count_as_one(planted: verax.Corpus, make_model: Make) -> None:
    """Two words at zero, as those without a pretrained vector: nothing could tell them apart."""
    model = make_model(encoder="none")
    counts = Counter(w for text in planted.test.tokens for w in text)
    with torch.no_grad():
        for word in ("w0", "w1"):
            model.embedding.weight[model.vocabulary.rows[word]] = 0
    found = verax.examine(model, planted, "information", words=30)
    table, numbers = of_words(found), measures(found)
    assert {"w0", "w1"} <= set(table.index)
    assert (numbers["types"], numbers["vectors"]) == (30, 29)
    merged = [counts[w] for w in table.index if w not in ("w0", "w1")]
    merged.append(counts["w0"] + counts["w1"])
    assert numbers["ceiling"] == pytest.approx(stats.entropy(merged))
    assert numbers["information"] == pytest.approx(numbers["ceiling"])
    assert numbers["kept"] == pytest.approx(1)
    # a zero vector has no length to compare a distance with
    assert table.loc[["w0", "w1"], "distance"].isna().all()


def test_both_kinds_of_words_are_each_alone(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(encoder="conv")
    both, *alone = (
        verax.examine(model, planted, "information", words=25, words_by=by, seed=1)
        for by in ("both", "frequent", "sampled")
    )
    for kind, own in zip(("frequent", "sampled"), alone, strict=True):
        assert measures(both, kind) == pytest.approx(measures(own, kind), nan_ok=True)
        pd.testing.assert_frame_equal(of_words(both, kind), of_words(own, kind))
    assert set(of_words(both).index) != set(of_words(both, "sampled").index)
    shown = both.summary("information")
    assert shown.index.tolist() == ["frequent words", "sampled words"]


def test_the_summary_says_what_the_tables_say(make_model: Make, planted: verax.Corpus) -> None:
    verdict = verax.examine(make_model(), planted, "information", words=12, clusters=6)
    found = measures(verdict)
    shown = verdict.summary("information").loc["frequent words"]
    assert shown.to_dict() == pytest.approx(
        {
            "information": found["information"],
            "entropy of words": found["ceiling"],
            "of shuffled labels": found["shuffled"],
            "less that": found["difference"],
            "kept": 100 * found["kept"],
            "words": 12,
            "occurrences": found["occurrences"],
            "clusters": found["clusters"],
        }
    )
    lengths = verdict.summary("word_vectors").loc["frequent words"]
    expected = [found["norm_e"], found["norm_h"], found["distance"]]
    assert lengths.tolist() == pytest.approx(expected)
    rows = verdict.summary()
    assert rows[["low", "high"]].isna().all(axis=None)
    assert (rows["n"] == found["occurrences"]).all()
    assert rows.set_index("column")["unit"]["kept"] == "percent"


def test_a_split_in_which_no_word_is_known(make_model: Make, tmp_path: Path) -> None:
    model = make_model()
    corpus = corpus_of(["never heard", "of"], model=model)
    verdict = verax.examine(model, corpus, "information", words_by="both")
    for kind in ("frequent", "sampled"):
        found = measures(verdict, kind)
        assert [found[name] for name in ("occurrences", "found", "types", "vectors")] == [0] * 4
        for name in ("information", "ceiling", "shuffled", "difference", "kept", "norm_e"):
            assert math.isnan(found[name])
    assert len(verdict.tables["information_words"]) == 0
    shown = verdict.summary("information")
    assert (shown[["words", "occurrences", "clusters"]] == 0).all(axis=None)
    assert shown["kept"].isna().all()
    verdict.save(tmp_path / "v")
    pd.testing.assert_frame_equal(load_verdict(tmp_path / "v").summary(), verdict.summary())


def test_of_one_word_there_is_nothing_to_keep(make_model: Make) -> None:
    model = make_model()
    corpus = corpus_of(["w1 w1", "w1 never"], model=model)
    found = measures(verax.examine(model, corpus, "information", clusters=2))
    assert (found["types"], found["occurrences"]) == (1, 3)
    assert (found["ceiling"], found["information"]) == (0, 0)
    assert math.isnan(found["kept"])


def test_a_word_that_occurs_once_is_enough(make_model: Make) -> None:
    model = make_model()
    found = measures(verax.examine(model, corpus_of(["w1"], model=model), "information"))
    assert (found["occurrences"], found["clusters"], found["information"]) == (1, 1, 0)


# -- what must not matter, options, and the disk


def test_the_seed_decides_and_nothing_else(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    options = {"words": 30, "clusters": 10, "occurrences": 100, "words_by": "both"}
    one, again, other = (
        verax.examine(model, planted, "information", seed=s, **options)  # type: ignore[arg-type]
        for s in (0, 0, 1)
    )
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(table, again.tables[name])
    assert measures(one) != measures(other)
    assert measures(one)["occurrences"] == 100 < measures(one)["found"]


def test_the_token_budget_changes_no_number(
    make_model: Make, planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_clusters(monkeypatch, lambda v: (v[:, :3] > 0.01).sum(1))
    model = make_model(encoder="conv")
    whole, cut = (
        verax.examine(model, planted, "information", words=10, max_tokens=n) for n in (10**5, 50)
    )
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(table, cut.tables[name], rtol=1e-4)


def test_a_sample_of_documents_is_gathered_like_a_split(
    make_model: Make, planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = given_clusters(monkeypatch, lambda v: torch.zeros(len(v)))
    model = make_model()
    verdict = verax.examine(model, planted, "information", words=10, sample=7, max_tokens=60)
    drawn = np.random.Generator(np.random.PCG64([0, 50])).permutation(50)[:7]
    expected = gather(model, planted.test.take(np.sort(drawn)), words=10)
    assert measures(verdict)["found"] == expected.found
    torch.testing.assert_close(seen[0], expected.states, atol=1e-5, rtol=1e-5)


def test_tables_survive_the_disk(make_model: Make, planted: verax.Corpus, tmp_path: Path) -> None:
    verdict = verax.examine(make_model(), planted, "information", words=10, words_by="both")
    assert list(verdict.tables) == ["information", "information_words"]
    for table in verdict.tables.values():
        assert not table.drop(columns="value").duplicated().any()
    words = verdict.tables["information_words"]
    assert words.columns.tolist() == ["words", "id", "word", "measure", "value"]
    verdict.save(tmp_path / "v")
    again = load_verdict(tmp_path / "v")
    for name, table in verdict.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table, check_dtype=False)
    pd.testing.assert_frame_equal(again.summary(), verdict.summary())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": 1}, "option 'words' is 1: it must be at least 2"),
        ({"words_by": "frequnt"}, "option 'words_by' is 'frequnt': did you mean 'frequent'"),
        ({"occurrences": 1}, "option 'occurrences' is 1: it must be at least 2"),
        ({"clusters": 1}, "option 'clusters' is 1: it must be at least 2"),
        ({"shuffles": 0}, "option 'shuffles' is 0: it must be at least 1"),
    ],
)
def test_bad_options_are_one_line(
    make_model: Make, planted: verax.Corpus, options: dict[str, object], message: str
) -> None:
    with pytest.raises(verax.VeraxError, match=message):
        verax.examine(make_model(), planted, "information", **options)  # type: ignore[arg-type]


def test_one_shuffle_has_no_spread(make_model: Make, planted: verax.Corpus) -> None:
    found = measures(verax.examine(make_model(), planted, "information", words=5, shuffles=1))
    assert math.isnan(found["shuffled_sd"])
    assert found["shuffled"] > 0


def test_names_of_importances_of_ones_own_are_checked() -> None:
    with pytest.raises(verax.VeraxError, match="'gradient' is built in"):
        InformationExam(InformationOptions(), 0, {"gradient": lambda m, t: t.weights})
