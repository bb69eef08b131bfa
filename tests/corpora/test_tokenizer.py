"""The tokenizer's rules one by one, and sentences against a plain loop."""

from __future__ import annotations

import re
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.internals import Lexicon, sentence_lengths
from verax.corpora import TOKENIZERS, Tokenizer


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It doesn't", "it does n't"),
        ("Can't WON'T", "ca n't wo n't"),
        ("it's I'd we're they've he'll I'm", "it 's i 'd we 're they 've he 'll i 'm"),
        ("don’t it’s", "do n't it 's"),
        ("does n't it 's", "does n't it 's"),
        ("rock 'n' roll", "rock ' n ' roll"),
        ("the actors' o'clock", "the actors ' o ' clock"),
        ("don'ts", "don ' ts"),
        ("3.5 1,000 1,234,567.89", "3.5 1,000 1,234,567.89"),
        ("in 1999. Then 5, 6", "in 1999 . then 5 , 6"),
        ("$3.50!", "$ 3.50 !"),
        ("one<br />two<br>three<BR/>four", "one two three four"),
        ("a < b <b>", "a < b < b >"),
        ("well-made (film)...?!", "well - made ( film ) . . . ? !"),
        ("a_b good0_3", "a_b good0_3"),
        ("ÉCOLE naïve Straße", "école naïve straße"),
        ("日本語 фильм", "日本語 фильм"),
        ("great🎬👍", "great 🎬 👍"),
        ("tab\tnew\nline\u00a0nbsp\u3000wide", "tab new line nbsp wide"),
        ("“quoted”", "“ quoted ”"),
        ("<unk> <pad>", "< unk > < pad >"),
    ],
)
def test_words_follow_the_documented_rules(text: str, tokens: str) -> None:
    assert Tokenizer()(text) == tokens.split()


def test_control_characters_are_signs_and_separate_nothing_silently() -> None:
    assert Tokenizer()("a\x00b\x07c") == ["a", "\x00", "b", "\x07", "c"]
    assert Tokenizer()("a\u200bb") == ["a", "\u200b", "b"]


def test_half_a_character_is_a_sign() -> None:
    assert Tokenizer()("a \ud800 b") == ["a", "\ud800", "b"]


def test_a_very_long_word_is_one_token_in_no_time() -> None:
    word = "x" * 50_000
    assert Tokenizer()(f"{word} {word}!") == [word, word, "!"]
    assert len(Tokenizer()("'" * 50_000)) == 50_000
    assert Tokenizer()("1,000" * 10_000)[0].startswith("1,0001,000")


def test_case_is_kept_when_asked_also_in_clitics() -> None:
    assert Tokenizer(lowercase=False)("I DON'T, It’S") == ["I", "DO", "N'T", ",", "It", "'S"]


def test_whitespace_splits_at_blanks_only() -> None:
    text = "It's <br /> 3.5, OK"
    assert Tokenizer("whitespace")(text) == ["it's", "<br", "/>", "3.5,", "ok"]
    assert Tokenizer("whitespace", lowercase=False)("A b") == ["A", "b"]


def test_given_tokens_are_taken_as_they_are() -> None:
    assert Tokenizer()(["New York", "DON'T", ""]) == ["new york", "don't", ""]
    assert Tokenizer("keras", lowercase=False)(("New York",)) == ["New York"]
    assert Tokenizer("as-written")(["New York"]) == ["New York"]
    assert Tokenizer().spans(["New York", "a"]).tolist() == [[0, 8], [9, 10]]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's the 2nd of 10,000 b2b x²", "it 's the qqq of qqq qqq qqq"),
        ("1 2 3", "qqq qqq qqq"),
        ("Wow!!! so... >>> -- - --", "wow ! so . > -"),
        ("!?!? ha ha", "! ? ! ? ha ha"),
        ("a 's 's ''s", "a 's 's ' 's"),
        ("n't n't ____ __", "n't n't ____ __"),
        ("❤\ufe0f❤\ufe0f❤", "❤\ufe0f ❤"),
        ("don’t<br />", "do n't"),
    ],
)
def test_digits_are_masked_and_runs_of_a_sign_are_one(text: str, tokens: str) -> None:
    assert Tokenizer("digits-masked")(text) == tokens.split()


@given(st.text(alphabet="ab1²n't's.,-!?_ \n") | st.text(), st.booleans())
def test_digits_masked_is_words_with_two_changes(text: str, lowercase: bool) -> None:
    """Token by token: mask what has a digit, then keep one of each group of equal signs."""
    words = Tokenizer("words", lowercase)(text)
    masked = ["qqq" if any(c.isdigit() for c in w) else w for w in words]
    expected = []
    for token, group in groupby(masked):
        clitic = re.fullmatch(r"n't|'(s|re|ve|ll|d|m)", token, re.IGNORECASE)
        sign = not clitic and not re.match(r"\w", token)
        expected += [token] if sign else list(group)
    assert Tokenizer("digits-masked", lowercase)(text) == expected


def test_sentences_end_at_collapsed_signs() -> None:
    lexicon = Lexicon()
    tokens = Tokenizer("digits-masked")("Lost 3-2... Why?! No idea!!!")
    assert sentence_lengths(lexicon.number([tokens]), lexicon).values.tolist() == [5, 3, 3]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's great!<br /><br />10/10 A+", ["it's", "great", "br", "br", "10", "10", "a"]),
        ("well-made, e.g. a_b\tc\nd", ["well", "made", "e", "g", "a", "b", "c", "d"]),
        ("“curly” … naïve", ["“curly”", "…", "naïve"]),
        ("'quoted' one\u00a0word \x85", ["'quoted'", "one\u00a0word", "\x85"]),
    ],
)
def test_keras_drops_ascii_signs_but_the_apostrophe(text: str, tokens: list[str]) -> None:
    assert Tokenizer("keras")(text) == tokens


@given(st.text(alphabet="aB'<br/>-_`~^@!. \t\n\r") | st.text())
def test_keras_words_are_the_runs_of_other_characters(text: str) -> None:
    """The signs of `string.punctuation` but the apostrophe, a blank, a tab and a newline part."""
    part = re.escape('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~')
    for tokenizer, read in ((Tokenizer("keras", False), text), (Tokenizer("keras"), text.lower())):
        assert tokenizer(text) == (re.findall(rf"[^ \t\n{part}]+", read) or whole(read))


def whole(text: str) -> list[str]:
    """A text without words is one word as it stands, unless it is blank."""
    return [text.strip()] if text.strip() else []


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_text_without_words_is_one_word_as_it_stands(kind: str) -> None:
    for text in (" -- !!! --\n", "<br />"):
        tokenizer = Tokenizer(kind)
        if not tokenizer.finds_words(text):
            assert tokenizer(text) == [text.strip()]
            assert [text[start:stop] for start, stop in tokenizer.spans(text)] == [text.strip()]
    assert not Tokenizer("keras").finds_words(" -- !!! --\n")
    assert Tokenizer(kind)(" \n") == []
    assert Tokenizer(kind).spans(" \n").shape == (0, 2)


@given(st.text(), st.sampled_from(TOKENIZERS), st.booleans())
def test_finds_words_says_what_tokenizing_would(text: str, kind: str, lowercase: bool) -> None:
    tokenizer = Tokenizer(kind, lowercase)
    for candidate in (text, f"<br />{text}", f" <BR>\n{text.strip()}", f"-- {text}"):
        if not tokenizer.finds_words(candidate):
            assert [word.lower() for word in tokenizer(candidate)] == whole(candidate.lower())
        elif kind != "as-written":
            assert tokenizer(candidate) != whole(candidate) or len(candidate.split()) == 1


@given(st.text())
def test_words_loses_no_character_but_blanks_and_breaks(text: str) -> None:
    """The tokens joined are the text without blanks; curly clitics aside, so none are drawn."""
    text = text.replace("<", "").replace("’", "")
    assert "".join(Tokenizer(lowercase=False)(text)) == "".join(text.split())


@given(st.text(alphabet="abcn't's13.,-! "))
def test_words_are_stable_when_tokenized_again(text: str) -> None:
    for kind in ("words", "digits-masked", "keras"):
        once = Tokenizer(kind)(text)
        assert Tokenizer(kind)(" ".join(once)) == once


def test_the_lexicon_numbers_in_order_of_first_sight_and_grows() -> None:
    lexicon = Lexicon()
    assert lexicon.number([["b", "a"], [], ["b"]]).values.tolist() == [0, 1, 0]
    assert lexicon.number([["c", "a"]]).values.tolist() == [2, 1]
    assert list(lexicon) == ["b", "a", "c"]


ABBREVIATED = {"mr", "dr", "vs", "j", "r", "J", "Dr"}
CLOSERS = {'"', "'", "”", "’", ")", "]", "»", "''"}
ALPHABET = ["word", "a", "i", *sorted(ABBREVIATED), "(", *".!?…", "...", "?!", *sorted(CLOSERS)]


def sentences_one_token_at_a_time(tokens: list[str]) -> list[int]:
    """The rule of `sentence_lengths`' docstring, read out word by word."""
    lengths: list[int] = []
    here = place = 0
    while place < len(tokens):
        run_holds_an_end = False
        while place < len(tokens):
            token = tokens[place]
            abbreviation = token == "." and place > 0 and tokens[place - 1] in ABBREVIATED
            end = set(token) <= set(".!?…") and not abbreviation
            if not end and token not in CLOSERS:
                break
            run_holds_an_end |= end
            here, place = here + 1, place + 1
        if run_holds_an_end:
            lengths.append(here)
            here = 0
        elif place < len(tokens):
            here, place = here + 1, place + 1
    return [*lengths, here] if here else lengths


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(st.lists(st.sampled_from(ALPHABET), max_size=14), min_size=1, max_size=4))
def test_sentences_are_those_of_a_plain_loop(documents: list[list[str]]) -> None:
    lexicon = Lexicon()
    numbers = lexicon.number(documents)
    made = sentence_lengths(numbers, lexicon)
    assert [row.tolist() for row in made] == [sentences_one_token_at_a_time(d) for d in documents]
    assert [int(row.sum()) for row in made] == [len(d) for d in documents]
    assert all(len(row) >= 1 for row, d in zip(made, documents, strict=True) if d)
    assert (made.values > 0).all()


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("One. Two! Three?", [2, 2, 2]),
        ("Dr. Who met Mr. J. R. R. Tolkien. Then left", [14, 2]),
        ('He said "no." (Twice!) and "why?!"', [6, 4, 6]),
        ("it was I. And A.", [4, 3]),
        ("no end at all", [4]),
        ("...", [3]),
        ("Wait... what", [4, 1]),
    ],
)
def test_sentences_of_ordinary_text(text: str, lengths: list[int]) -> None:
    lexicon = Lexicon()
    made = sentence_lengths(lexicon.number([Tokenizer()(text)]), lexicon)
    assert made.values.tolist() == lengths


def test_no_documents_have_no_sentences() -> None:
    lexicon = Lexicon()
    assert len(sentence_lengths(lexicon.number([]), lexicon)) == 0
    assert sentence_lengths(lexicon.number([[], []]), lexicon).lengths.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा", "।"]),
        ("cafe\u0301 au lait", ["cafe\u0301", "au", "lait"]),
        ("I ❤\ufe0f it", ["i", "❤\ufe0f", "it"]),
    ],
)
def test_marks_stay_with_the_letter_or_sign_they_follow(text: str, tokens: list[str]) -> None:
    assert Tokenizer()(text) == tokens
