"""The information exam over a split.

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
from gathered import SLOTS, gather
from scipy import stats
from sklearn.metrics import mutual_info_score
from summaries import numbers
from torch import Tensor

import verax
from support.documents import corpus_of, tokens_of
from support.errors import raises
from support.internals import INFORMATION_CLUSTER
from verax.exams import load_verdict
from verax.functional import Clustering, shuffled_information
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
NAN = math.nan


def given_clusters(
    monkeypatch: pytest.MonkeyPatch, label: Callable[[Tensor], Tensor]
) -> list[Tensor]:
    """Clusters made by `label` from the states, which are kept."""
    seen: list[Tensor] = []

    def cluster(vectors: Tensor, clusters: int, seed: int, watch: object = iter) -> Clustering:
        seen.append(vectors)
        return Clustering(label(vectors).long(), vectors[:1], 7.0, 1)

    monkeypatch.setattr(INFORMATION_CLUSTER, cluster)
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
    verdict = verax.examine(model, planted, "information", max_words=15, shuffles=3, seed=4)
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
    verdict = verax.examine(make_model(encoder="none"), planted, "information", max_words=40)
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
        found = measures(verax.examine(model, planted, "information", max_words=5))
        assert found["distance"] == pytest.approx(distance)
        assert found["norm_h"] == pytest.approx(abs(factor) * found["norm_e"])


def test_states_that_have_forgotten_have_kept_nothing(
    make_model: Make, planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clusters at random: what is shared is what shuffled labels share."""
    random = torch.Generator().manual_seed(0)
    given_clusters(monkeypatch, lambda v: torch.randint(9, (len(v),), generator=random))
    found = measures(verax.examine(make_model(), planted, "information", max_words=15, shuffles=30))
    assert abs(found["difference"]) < 5 * found["shuffled_sd"]
    assert abs(found["kept"]) < 0.1
    given_clusters(monkeypatch, lambda v: torch.zeros(len(v)))
    found = measures(verax.examine(make_model(), planted, "information", max_words=15))
    assert (found["information"], found["kept"], found["clusters"]) == (0, 0, 1)


def test_residual_states_keep_their_word_and_concat_ones_are_of_another_size(
    make_model: Make, planted: verax.Corpus
) -> None:
    residual, concat, tying = (
        measures(
            verax.examine(
                make_model(grounding=g), planted, "information", max_words=20, clusters=20
            )
        )
        for g in ("residual", "concat", "tying")
    )
    assert residual["kept"] > tying["kept"]  # untrained, so that nothing holds a tied one yet
    assert residual["distance"] < tying["distance"]
    assert math.isnan(concat["distance"])
    assert concat["norm_h"] > concat["norm_e"]


@pytest.mark.slow
def test_tying_brings_states_to_their_words(planted: verax.Corpus) -> None:
    sizes = {"hidden_size": 12, "embedding_size": 12, "epochs": 6, "lr": 1e-2}
    loose, tied = (
        measures(
            verax.examine(
                verax.train(planted, grounding="tying", strength=strength, **sizes),  # type: ignore[arg-type]
                planted,
                "information",
                max_words=20,
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
    counts = Counter(w for text in tokens_of(planted.test) for w in text)
    with torch.no_grad():
        for word in ("w0", "w1"):
            model.embedding.weight[model.vocabulary.rows[word]] = 0
    found = verax.examine(model, planted, "information", max_words=30)
    table, whole = of_words(found), measures(found)
    assert {"w0", "w1"} <= set(table.index)
    assert (whole["types"], whole["vectors"]) == (30, 29)
    merged = [counts[w] for w in table.index if w not in ("w0", "w1")]
    merged.append(counts["w0"] + counts["w1"])
    assert whole["ceiling"] == pytest.approx(stats.entropy(merged))
    assert whole["information"] == pytest.approx(whole["ceiling"])
    assert whole["kept"] == pytest.approx(1)
    # a zero vector has no length to compare a distance with
    assert table.loc[["w0", "w1"], "distance"].isna().all()


def test_both_kinds_of_words_are_each_alone(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(encoder="conv")
    both, *alone = (
        verax.examine(model, planted, "information", max_words=25, words_by=by, seed=1)
        for by in ("both", "frequent", "sampled")
    )
    for kind, own in zip(("frequent", "sampled"), alone, strict=True):
        assert measures(both, kind) == pytest.approx(measures(own, kind), nan_ok=True)
        pd.testing.assert_frame_equal(of_words(both, kind), of_words(own, kind))
    assert set(of_words(both).index) != set(of_words(both, "sampled").index)
    shown = numbers(both, "information")
    assert shown.index.tolist() == ["frequent", "sampled"]


def test_the_summary_says_what_the_tables_say(make_model: Make, planted: verax.Corpus) -> None:
    verdict = verax.examine(make_model(), planted, "information", max_words=12, clusters=6)
    found = measures(verdict)
    shown = numbers(verdict, "information").loc["frequent"]
    assert shown.to_dict() == pytest.approx(
        {
            "information": found["information"],
            "word_entropy": found["ceiling"],
            "shuffled": found["shuffled"],
            "above_shuffled": found["difference"],
            "retained": 100 * found["kept"],
            "words": 12,
            "occurrences": found["occurrences"],
            "clusters": found["clusters"],
        }
    )
    lengths = numbers(verdict, "information.word_vectors").loc["frequent"]
    expected = [found["norm_e"], found["norm_h"], found["distance"]]
    assert lengths.tolist() == pytest.approx(expected)
    rows = verdict.summary()
    assert rows[["low", "high"]].isna().all(axis=None)
    assert (rows["n"] == found["occurrences"]).all()
    assert rows.set_index("column")["unit"]["retained"] == "percent"


def test_a_split_in_which_no_word_is_known_is_refused(make_model: Make) -> None:
    model = make_model()
    corpus = corpus_of(["never heard", "of"], model=model)
    with raises("model.bad-vocabulary", corpus.name):
        verax.examine(model, corpus, "information", words_by="both")


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
    options = {"max_words": 30, "clusters": 10, "occurrences": 100, "words_by": "both"}
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
        verax.examine(model, planted, "information", max_words=10, max_tokens=n)
        for n in (10**5, 50)
    )
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(table, cut.tables[name], rtol=1e-4)


def test_a_sample_of_documents_is_gathered_like_a_split(
    make_model: Make, planted: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = given_clusters(monkeypatch, lambda v: torch.zeros(len(v)))
    model = make_model()
    verdict = verax.examine(model, planted, "information", max_words=10, sample=7, max_tokens=60)
    drawn = np.random.Generator(np.random.PCG64([0, 50])).permutation(50)[:7]
    expected = gather(model, planted.test.take(np.sort(drawn)), words=10)
    assert measures(verdict)["found"] == expected.in_split
    torch.testing.assert_close(seen[0], expected.states, atol=1e-5, rtol=1e-5)


def test_tables_survive_the_disk(make_model: Make, planted: verax.Corpus, tmp_path: Path) -> None:
    verdict = verax.examine(make_model(), planted, "information", max_words=10, words_by="both")
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
    ("options", "expected"),
    [
        ({"max_words": 1}, ("option.out-of-range", "max_words")),
        ({"words_by": "frequnt"}, ("option.unknown-value", "words_by", "frequnt", "frequent")),
        ({"occurrences": 1}, ("option.out-of-range", "occurrences")),
        ({"clusters": 1}, ("option.out-of-range", "clusters")),
        ({"shuffles": 0}, ("option.out-of-range", "shuffles")),
    ],
)
def test_bad_options_are_one_line(
    make_model: Make, planted: verax.Corpus, options: dict[str, object], expected: tuple[str, ...]
) -> None:
    with raises(*expected):
        verax.examine(make_model(), planted, "information", **options)  # type: ignore[arg-type]


def test_one_shuffle_has_no_spread(make_model: Make, planted: verax.Corpus) -> None:
    found = measures(verax.examine(make_model(), planted, "information", max_words=5, shuffles=1))
    assert math.isnan(found["shuffled_sd"])
    assert found["shuffled"] > 0
