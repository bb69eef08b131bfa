"""Which words are known: from train only, by document frequency, in a fixed order."""

from __future__ import annotations

from support.errors import raises
from verax.corpora import SPECIALS, UNK, TokenizedTexts, Tokenizer, Vocabulary


def documents(texts: list[str]) -> TokenizedTexts:
    return TokenizedTexts(texts, Tokenizer("whitespace"))


TRAIN = documents(["b b b a", "a c c", "d <pad>"])


def test_words_run_from_most_to_least_frequent_and_ties_by_the_alphabet() -> None:
    vocabulary = Vocabulary.of(TRAIN)
    assert vocabulary.words == ("b", "a", "c", "<pad>", "d")
    assert len(vocabulary) == 9
    assert [vocabulary.text(i) for i in range(6)] == [*SPECIALS, "b", "a"]


def test_rows_do_not_depend_on_the_order_of_documents() -> None:
    assert Vocabulary.of(documents(TRAIN.texts[::-1])).words == Vocabulary.of(TRAIN).words


def test_min_df_counts_documents_not_occurrences() -> None:
    assert Vocabulary.of(TRAIN, min_df=2).words == ("a",)


def test_max_size_keeps_the_most_frequent() -> None:
    assert Vocabulary.of(TRAIN, max_size=2).words == ("b", "a")
    assert Vocabulary.of(TRAIN, max_size=100).words == Vocabulary.of(TRAIN).words


def test_words_of_other_splits_stay_unknown() -> None:
    train = documents(["a b"])
    test = documents(["z z a"])
    vocabulary = Vocabulary.of(train)
    assert vocabulary.words == ("a", "b")
    assert vocabulary.encode(test).values.tolist() == [UNK, UNK, 4]


def test_a_special_token_in_a_text_is_an_ordinary_word() -> None:
    vocabulary = Vocabulary.of(TRAIN)
    encoded = vocabulary.encode(TRAIN)
    assert encoded[2].tolist() == [vocabulary.rows["d"], vocabulary.rows["<pad>"]]
    assert vocabulary.rows["<pad>"] >= len(SPECIALS)


def test_encoding_keeps_lengths_and_words() -> None:
    vocabulary = Vocabulary.of(TRAIN)
    encoded = vocabulary.encode(TRAIN)
    assert [" ".join(map(vocabulary.text, row)) for row in encoded] == TRAIN.texts


def test_no_words_left_is_refused() -> None:
    with raises("corpus.too-small", "min_df"):
        Vocabulary.of(TRAIN, min_df=4)
