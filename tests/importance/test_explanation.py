"""`model.explain`: a row per word, in order, with numbers that other calls give too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from support.errors import raises
from verax.corpora import Tokenizer
from verax.importance import IMPORTANCES, explain, known_names, score
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
TEXTS = [
    "w1 good0_3 .",
    "w4",
    "w7 w7 unheard-of w1 w3 . w4 w5 . w2 good1_1",
    "good1_2 W9 .",
    "w3 w2 w1 w0 . w5",
]
ON_INPUTS = known_names("inputs")
SIGNED = [name for name in ON_INPUTS if "signed" in IMPORTANCES[name].takes]
BY = ("attention", "gradient", "leave-one-out")
"""What a model is explained by, unless others are named."""
SLOTS = [
    {"encoder": "bilstm"},
    {"encoder": "none", "boundaries": False, "projection": "sparsemax"},
    {"encoder": "transformer", "classes": 3},
    {"hierarchical": True},
]


def _names(slot: dict[str, object]) -> str:
    return "-".join(str(value) for value in slot.values())


@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_a_row_per_word_in_the_order_given(make_model: Make, slot: dict[str, object]) -> None:
    model = make_model(**slot)
    table = model.explain(TEXTS)
    start = ["text", "label", "probability"]
    if "hierarchical" in slot:
        start.append("sentence")
    assert table.columns.tolist() == [*start, "position", "word", *BY]
    lengths = [len(text.split()) for text in TEXTS]
    assert table["text"].tolist() == [i for i, n in enumerate(lengths) for _ in range(n)]
    assert table["position"].tolist() == [p for n in lengths for p in range(n)]
    assert table["word"].tolist() == [word.lower() for text in TEXTS for word in text.split()]
    assert table.index.tolist() == list(range(sum(lengths)))
    assert not table.isna().any(axis=None)


@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_decisions_are_those_of_predict(make_model: Make, slot: dict[str, object]) -> None:
    model = make_model(**slot)
    told = model.predict(TEXTS)
    table = model.explain(TEXTS, "attention")
    for number, own in table.groupby("text"):
        assert set(own["label"]) == {told["label"][number]}
        (probability,) = set(own["probability"])
        assert probability == pytest.approx(told[f"p_{told['label'][number]}"][number], abs=1e-6)
        assert probability >= 1 / len(model.classes) - 1e-6


@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_words_share_out_attention(make_model: Make, slot: dict[str, object]) -> None:
    table = make_model(**slot).explain(TEXTS, ["attention"])
    assert (table["attention"] >= 0).all()
    assert table.groupby("text")["attention"].sum().tolist() == pytest.approx([1] * 5, abs=1e-6)


@pytest.fixture(scope="module")
def explained(
    request: pytest.FixtureRequest, make_model: Make
) -> tuple[AttentionClassifier, pd.DataFrame]:
    """A model, and all texts explained by everything, all at once."""
    model = make_model(**request.param)
    return model, model.explain(TEXTS, ON_INPUTS, max_tokens=10**5)


@pytest.mark.slow
@pytest.mark.parametrize("explained", SLOTS, ids=_names, indirect=True)
def test_scores_are_those_of_each_text_by_itself(
    explained: tuple[AttentionClassifier, pd.DataFrame],
) -> None:
    """Batches are of several texts, longest first; rows are not."""
    model, table = explained
    names = [name for name in ON_INPUTS if name != "random"]
    for number, text in enumerate(TEXTS):
        trace = model.trace([text])
        own = table[table["text"] == number]
        for name in names:
            expected = score(name, model, trace, signed=True)[trace.batch.words].numpy()
            np.testing.assert_allclose(own[name], expected, rtol=1e-4, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("explained", SLOTS, ids=_names, indirect=True)
def test_the_token_budget_does_not_matter(
    explained: tuple[AttentionClassifier, pd.DataFrame],
) -> None:
    model, whole = explained
    cut = model.explain(TEXTS, ON_INPUTS, max_tokens=1)
    pd.testing.assert_frame_equal(whole, cut, rtol=1e-4, atol=1e-7)


def test_scores_tell_for_from_against(make_model: Make) -> None:
    """Positive where p of the label falls without the word, which reading the rest shows."""
    model = make_model()
    assert SIGNED == [
        "gradient-input",
        "gradient-input-detached",
        "integrated-gradients",
        "leave-one-out",
    ]
    table = model.explain(TEXTS, ON_INPUTS)
    for name in ON_INPUTS:
        assert (table[name] < 0).any() == (name in SIGNED), name
    for number, text in enumerate(TEXTS):
        words = text.split()
        if len(words) == 1:
            continue
        own = table[table["text"] == number]
        shorter = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        left = model.predict(shorter)[f"p_{own['label'].iloc[0]}"]
        expected = own["probability"].to_numpy() - left.to_numpy(dtype=float)
        np.testing.assert_allclose(own["leave-one-out"], expected, atol=1e-6)
    with_sign = model.explain(TEXTS, SIGNED)[SIGNED]
    for name in SIGNED:
        plain = [score(name, model, model.trace([text])) for text in TEXTS]
        sizes = np.concatenate([scores[scores > 0].numpy() for scores in plain])
        np.testing.assert_allclose(with_sign[name].abs(), sizes, rtol=1e-4, atol=1e-7)


def test_sentences_are_numbered(make_model: Make) -> None:
    model = make_model(hierarchical=True)
    table = model.explain(["w1 w2 . w3 ! w4 w5", "w6", "w7 . w8 ."], "attention")
    assert table["sentence"].tolist() == [0, 0, 0, 1, 1, 2, 2, 0, 0, 0, 1, 1]
    trace = model.trace(["w1 w2 . w3 ! w4 w5"])
    first = table[table["text"] == 0].groupby("sentence")["attention"].sum()
    assert first.tolist() == pytest.approx(trace.weights[0].tolist(), abs=1e-6)


def test_words_are_as_the_tokenizer_has_them_known_or_not(make_model: Make) -> None:
    model = make_model()
    model.word_tokenizer = Tokenizer()
    table = model.explain(["Zyx isn't W1!", "zyx <unk> ’t"], "attention")
    words = ["zyx", "is", "n't", "w1", "!", "zyx", "<", "unk", ">", "'", "t"]
    assert table["word"].tolist() == words
    unknown = table[table["text"] == 0].set_index("word")["attention"]
    assert not {"zyx", "is", "n't"} & set(model.vocabulary.words)
    assert unknown["zyx"] != unknown["w1"]


def test_token_lists_are_texts_too(make_model: Make) -> None:
    model = make_model()
    lists = [text.split() for text in TEXTS]
    pd.testing.assert_frame_equal(model.explain(lists), model.explain(TEXTS))
    assert explain(model, [["w1 w2", "W3"]], "attention")["word"].tolist() == ["w1 w2", "w3"]


def test_many_texts_keep_their_places(make_model: Make) -> None:
    """More batches than one, of texts in any order of length."""
    model = make_model(encoder="none")
    random = np.random.default_rng(0)
    texts = [
        " ".join(f"w{i}" for i in random.integers(0, 50, n)) for n in random.integers(1, 40, 90)
    ]
    table = model.explain(texts, "attention", max_tokens=100)
    assert table.groupby("text", sort=False)["word"].agg(" ".join).tolist() == texts


def test_importances_by_name_once_each(make_model: Make) -> None:
    model = make_model(encoder="none")
    for by in ("gradient,attention", ["gradient", "attention"], "gradient, attention,gradient,"):
        table = model.explain(TEXTS, by)
        assert table.columns.tolist()[-2:] == ["gradient", "attention"]
        assert len(table.columns) == 7
    one, two, other = (model.explain(TEXTS, "random", seed=s)["random"] for s in (0, 0, 1))
    assert one.equals(two)
    assert not one.equals(other)


def test_every_batch_is_watched(make_model: Make) -> None:
    seen: list[int] = []

    def watch(batches):  # type: ignore[no-untyped-def]
        for rows in batches:
            seen.append(len(rows))
            yield rows

    make_model(encoder="none").explain(TEXTS, "attention", max_tokens=1, watch=watch)
    assert seen == [1] * 5


@pytest.mark.parametrize(
    ("texts", "by", "expected"),
    [
        (TEXTS, "atention", ("option.unknown-value", "atention", "attention")),
        (TEXTS, "attention-gradient", ("option.unknown-value", "attention-gradient")),
        (TEXTS, "", ("importance.missing",)),
        (TEXTS, [], ("importance.missing",)),
        ([], "attention", ("text.missing",)),
        ("w1 w2", "attention", ("text.wrong-type",)),
        (["w1", " "], "attention", ("text.empty", "1")),
        (["w1", 3], "attention", ("text.wrong-type", "1")),
    ],
)
def test_bad_input_is_one_line(
    make_model: Make, texts: object, by: object, expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        make_model().explain(texts, by)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_a_word_that_is_no_unicode_is_explained_all_the_same(make_model: Make) -> None:
    """Bytes that are not UTF-8 come from a command line as lone surrogates."""
    table = make_model().explain(["w1 caf\udce9 w2"])
    assert len(table) == 3
    assert table["attention"].sum() == pytest.approx(1, abs=1e-6)
