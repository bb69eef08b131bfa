"""Text to words, and words to sentences.

`words` (the default): lower-cased; HTML line breaks become blanks; English clitics are split off
as in the Penn Treebank (*does n't*, *it 's*, with a straight apostrophe however it was typed),
which is how the published word vectors were made;
a number keeps its inner points and commas (*3.5*, *1,000*); every other sign is a token by itself,
with the accents and vowel signs that Unicode writes after it.
`digits-masked`: as `words`, but a token with a digit in it is `qqq`, and a sign that follows
itself, blanks between or not, is there once (*!!!* is *!*): for AG News and 20 Newsgroups as Jain &
Wallace have them.
`characters`: as `words`, but every character of a script that is written without spaces (Chinese,
Japanese, Thai, Lao, Burmese, Khmer) is a token, with its vowel signs.
`keras`: lower-cased and split where Keras splits its IMDB: at blanks, tabs, line ends and all ASCII
signs but the apostrophe, and none of them is kept (`<br />` leaves *br*, a CR stays in its word).
`whitespace`: lower-cased and split at blanks, for text that is tokenized already.
`as-written`: parts of the text as they stand there, so that each has a place (`spans`): words with
the apostrophes and hyphens inside them, every other sign and every character of a script without
spaces by itself; never lower-cased. For models that read texts by themselves.

A text in which no word is found, such as `<br>`, is one word as it stands.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from verax.corpora.ragged import Ragged
from verax.corpora.rationales import joined_places

AS_WRITTEN = "as-written"
TOKENIZERS = ("words", "digits-masked", "characters", "keras", "whitespace", AS_WRITTEN)
"""The names of the tokenizers, as option `tokenizer` takes them."""

# Vowel signs and accents that Unicode keeps apart from their letter; \w does not hold them.
_MARKS = "".join(
    chr(c) for c in range(0x300, 0x10000) if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")
)
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_CURLY = re.compile(r"’(?=(?:s|re|ve|ll|d|m|t)\b)", re.IGNORECASE)
_NOT = re.compile(r"n't\b", re.IGNORECASE)
_SIGN = re.compile(rf"[^\w\s][{_MARKS}]*")
_WORD = re.compile(
    r"\d+(?:[.,]\d+)+"  # 3.5 and 1,000
    r"|n't\b|'(?:s|re|ve|ll|d|m)\b"  # clitics, any case
    rf"|\w[\w{_MARKS}]*|[^\w\s][{_MARKS}]*",
    re.IGNORECASE,
)
# Thai and Lao; Burmese; Khmer; kana; Han
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_SPACELESS_RUN = re.compile(rf"(?:[{_SPACELESS}][{_MARKS}]*)+")
_CHARACTER = re.compile(
    rf"[{_SPACELESS}][{_MARKS}]*"
    r"|\d+(?:[.,]\d+)+|n't\b|'(?:s|re|ve|ll|d|m)\b"
    rf"|(?:(?![{_SPACELESS}])\w)(?:(?![{_SPACELESS}])[\w{_MARKS}])*|[^\w\s][{_MARKS}]*",
    re.IGNORECASE,
)
_LETTERS = rf"(?:(?![{_SPACELESS}])[\w{_MARKS}])+"
_PART_OF_TEXT = re.compile(
    rf"[{_SPACELESS}][{_MARKS}]*|\d+(?:[.,]\d+)+|{_LETTERS}(?:['’-]{_LETTERS})*|[^\w\s][{_MARKS}]*"
)
_BETWEEN_BLANKS = re.compile(r"\S+")
_NO_BLANK = re.compile("[^ ]+")
_PARTS_IN_KERAS = str.maketrans(dict.fromkeys('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', " "))


@dataclass(frozen=True)
class Tokenizer:
    """Splits texts into words.

    >>> Tokenizer()("It doesn't cost $3.50!")
    ['it', 'does', "n't", 'cost', '$', '3.50', '!']
    >>> Tokenizer("whitespace", lowercase=False)("It does n't")
    ['It', 'does', "n't"]
    >>> Tokenizer("digits-masked")("Lost 3-2 in the 2nd!!!")
    ['lost', 'qqq', '-', 'qqq', 'in', 'the', 'qqq', '!']
    >>> Tokenizer("keras")("It's well-made!<br />Go")
    ["it's", 'well', 'made', 'br', 'go']
    >>> Tokenizer("characters")("很好 movie")
    ['很', '好', 'movie']
    >>> Tokenizer("as-written")("It doesn't cost $3.50!")
    ['It', "doesn't", 'cost', '$', '3.50', '!']
    """

    kind: str = "words"
    lowercase: bool = True

    def __call__(self, text: str | Sequence[str]) -> list[str]:
        """Return the words of a text; a list of tokens is only lower-cased."""
        if not isinstance(text, str):
            return [str(t).lower() for t in text] if self._lowers else [str(t) for t in text]
        return self._words(text) or self._whole(text)

    def _words(self, text: str) -> list[str]:
        if self.kind == AS_WRITTEN:
            return _PART_OF_TEXT.findall(text)
        if self.lowercase:
            text = text.lower()
        if self.kind == "keras":
            return [word for word in text.translate(_PARTS_IN_KERAS).split(" ") if word]
        if not self._keeps_signs:
            return text.split()
        if "<" in text:
            text = _LINE_BREAK.sub(" ", text)
        if "’" in text:
            text = _CURLY.sub("'", text)
        pattern = _CHARACTER if self.kind == "characters" else _WORD
        tokens: list[str] = pattern.findall(_NOT.sub(r" \g<0>", text))
        return _with_digits_masked(tokens) if self.kind == "digits-masked" else tokens

    def _whole(self, text: str) -> list[str]:
        word = text.strip()
        return [word.lower() if self._lowers else word] if word else []

    def spans(self, text: str | Sequence[str]) -> NDArray[np.int64]:
        """Return where each word begins and ends in the text, shape (words, 2).

        The text of a list of tokens is the tokens joined by blanks.

        A sign that `digits-masked` keeps once stands where the whole run of it stands.

        >>> Tokenizer("as-written").spans("It's odd.").tolist()
        [[0, 4], [5, 8], [8, 9]]
        >>> Tokenizer().spans("Don't!<br>Go").tolist()
        [[0, 2], [2, 5], [5, 6], [10, 12]]
        """
        if not isinstance(text, str):
            return joined_places([str(token) for token in text])
        found = self._spans(text)
        if len(found) or not text.strip():
            return found
        start = len(text) - len(text.lstrip())
        return np.array([[start, start + len(text.strip())]], dtype=np.int64)

    def _spans(self, text: str) -> NDArray[np.int64]:
        if self.kind == AS_WRITTEN:
            return _places(_PART_OF_TEXT, text)
        rewritten = _Rewritten(text)
        if self.lowercase:
            rewritten.lower()
        if self.kind == "keras":
            rewritten.text = rewritten.text.translate(_PARTS_IN_KERAS)
            return rewritten.original(_places(_NO_BLANK, rewritten.text))
        if not self._keeps_signs:
            return rewritten.original(_places(_BETWEEN_BLANKS, rewritten.text))
        rewritten.substitute(_LINE_BREAK, " ")
        rewritten.substitute(_CURLY, "'")
        rewritten.substitute(_NOT, r" \g<0>")
        pattern = _CHARACTER if self.kind == "characters" else _WORD
        places = _places(pattern, rewritten.text)
        if self.kind == "digits-masked" and len(places):
            tokens = [rewritten.text[start:stop] for start, stop in places.tolist()]
            first = np.flatnonzero(_is_kept(_masked(tokens)))
            last = np.append(first[1:], len(tokens)) - 1
            places = np.stack([places[first, 0], places[last, 1]], axis=1)
        return rewritten.original(places)

    def finds_words(self, text: str) -> bool:
        """Whether there is a word in a text, so that it is not read as one word as it stands."""
        if self.kind == "keras":
            return bool(text.translate(_PARTS_IN_KERAS).strip(" "))
        if self._keeps_signs and "<" in text:
            text = _LINE_BREAK.sub(" ", text)
        return bool(text.strip())

    @property
    def _lowers(self) -> bool:
        return self.lowercase and self.kind != AS_WRITTEN

    @property
    def _keeps_signs(self) -> bool:
        return self.kind in ("words", "digits-masked", "characters")

    def cannot_part(self, texts: Iterable[str]) -> bool:
        """Whether texts are mostly in a script without spaces, and this needs spaces.

        They are where at least 30% of the characters are of such scripts, in unbroken runs of more
        than five characters on average. Words with blanks between them are shorter.
        """
        if self.kind in ("characters", AS_WRITTEN):
            return False
        characters = in_runs = runs = 0
        for text in texts:
            lengths = [len(run) for run in _SPACELESS_RUN.findall(text)]
            characters += len(text)
            in_runs += sum(lengths)
            runs += len(lengths)
        return in_runs >= 0.3 * characters and in_runs > 5 * runs


def _with_digits_masked(tokens: list[str]) -> list[str]:
    masked = _masked(tokens)
    return [t for t, kept in zip(masked, _is_kept(masked), strict=True) if kept]


def _masked(tokens: list[str]) -> list[str]:
    # most tokens are letters only, and asking that is one call
    return [t if t.isalpha() or not any(map(str.isdigit, t)) else "qqq" for t in tokens]


def _is_kept(masked: list[str]) -> list[bool]:
    """Whether each token stays: a sign that follows itself does not."""
    pairs = zip(masked, ["", *masked], strict=False)
    return [t != before or not _SIGN.fullmatch(t) for t, before in pairs]


def _places(pattern: re.Pattern[str], text: str) -> NDArray[np.int64]:
    """(matches, 2): where each match begins and ends."""
    matches = [match.span() for match in pattern.finditer(text)]
    return np.array(matches, dtype=np.int64).reshape(-1, 2)


class _Rewritten:
    """A text that is rewritten step by step, and where each of its characters stood at first.

    origin  (characters + 1,): the first text's place of each character and of the end; None while
            no place has moved
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.origin: NDArray[np.int64] | None = None

    def lower(self) -> None:
        """Lower-case it: İ becomes two characters, others stay one."""
        lowered = self.text.lower()
        if len(lowered) != len(self.text):
            widths = np.array([len(letter.lower()) for letter in self.text])
            self._move(np.append(np.repeat(np.arange(len(widths)), widths), len(widths)))
        self.text = lowered

    def substitute(self, pattern: re.Pattern[str], template: str) -> None:
        """Replace each match by what the template makes of it.

        What takes the place of a match ends where it ends: the n't of " n't" stands where it stood.
        """
        parts: list[NDArray[np.int64]] = []
        end = 0
        for match in pattern.finditer(self.text):
            start, stop = match.span()
            width = len(match.expand(template))
            parts += [np.arange(end, start), np.maximum(np.arange(stop - width, stop), start)]
            end = stop
        if parts:
            self._move(np.concatenate([*parts, np.arange(end, len(self.text) + 1)]))
            self.text = pattern.sub(template, self.text)

    def _move(self, places: NDArray[np.int64]) -> None:
        self.origin = places if self.origin is None else self.origin[places]

    def original(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """(words, 2) places in the text as it is now → in the text as it was at first."""
        if self.origin is None or not len(places):
            return places
        # the end is behind the last character, which one character may have become two
        return np.stack([self.origin[places[:, 0]], self.origin[places[:, 1] - 1] + 1], axis=1)


class Lexicon(dict[str, int]):
    """Every distinct token seen so far, numbered in order of first sight."""

    def __missing__(self, token: str) -> int:
        self[token] = number = len(self)
        return number

    def number(self, documents: Iterable[Sequence[str]]) -> Ragged:
        """Token lists as numbers; new tokens are added."""
        flat, lengths = array("i"), array("q")  # a list would hold twice as much
        look_up = self.__getitem__
        for tokens in documents:
            flat.extend(map(look_up, tokens))
            lengths.append(len(tokens))
        return Ragged.from_lengths(np.array(flat, dtype=np.int32), np.array(lengths, np.int64))


class TokenizedTexts:
    """Texts split into words. Words, spans and sentences are computed on first access.

    Args:
        texts: texts, or lists of tokens.
        tokenizer: splits them.

    >>> two = TokenizedTexts(["A good film.", "Good."], Tokenizer())
    >>> two.words
    [['a', 'good', 'film', '.'], ['good', '.']]
    >>> [row.tolist() for row in two.numbers]
    [[0, 1, 2, 3], [1, 3]]
    >>> two.spans[1].tolist()
    [[0, 4], [4, 5]]
    """

    def __init__(self, texts: Sequence[str | Sequence[str]], tokenizer: Tokenizer) -> None:
        self.texts, self.tokenizer = texts, tokenizer
        self.lexicon = Lexicon()

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def numbers(self) -> Ragged:
        """Each word as its number in `lexicon`."""
        return self.lexicon.number(map(self.tokenizer, self.texts))

    def number(self, watch: Callable[[Iterable[Any]], Iterable[Any]]) -> None:
        """Tokenize now, and pass every text through `watch` (a progress bar)."""
        if "numbers" not in self.__dict__:
            self.numbers = self.lexicon.number(map(self.tokenizer, watch(self.texts)))

    @cached_property
    def spans(self) -> Ragged:
        """Where each word begins and ends in its text, values (words, 2)."""
        return Ragged.of([self.tokenizer.spans(text) for text in self.texts], width=2)

    @cached_property
    def sentences(self) -> Ragged:
        """The number of words in every sentence of every text."""
        return sentence_lengths(self.numbers, self.lexicon)

    @property
    def words(self) -> list[list[str]]:
        """The words of every text."""
        return [self.words_of(row) for row in range(len(self))]

    @cached_property
    def _types(self) -> list[str]:
        assert self.numbers is not None  # which fills the lexicon
        return list(self.lexicon)

    def words_of(self, row: int) -> list[str]:
        """The words of one text."""
        types = self._types
        return [types[number] for number in self.numbers[row].tolist()]

    def first(self, length: int) -> TokenizedTexts:
        """The same texts with their first `length` words."""
        if not (self.numbers.lengths > length).any():
            return self
        shorter = TokenizedTexts(self.texts, self.tokenizer)
        shorter.lexicon, shorter.numbers = self.lexicon, self.numbers.first(length)
        shorter.spans = self.spans.first(length)
        return shorter

    def take(self, rows: NDArray[np.int64]) -> TokenizedTexts:
        """The texts at these positions."""
        some = TokenizedTexts([self.texts[row] for row in rows], self.tokenizer)
        for name in ("numbers", "spans"):
            if name in self.__dict__:
                setattr(some, name, getattr(self, name).take(rows))
        some.lexicon = self.lexicon
        return some


_TOKENIZED: WeakKeyDictionary[Any, dict[Tokenizer, TokenizedTexts]] = WeakKeyDictionary()
"""What was tokenized of documents that are still in use."""


def tokenize(documents: Any, tokenizer: Tokenizer | None = None) -> TokenizedTexts:
    """Split documents of a corpus, or texts, into words.

    Documents are tokenized once by each tokenizer, for as long as they are in memory.

    Args:
        documents: `Documents`, texts, or lists of tokens.
        tokenizer: by default the one called `words`.
    """
    tokenizer = tokenizer or Tokenizer()
    if not hasattr(documents, "texts"):
        return TokenizedTexts(list(documents), tokenizer)
    known = _TOKENIZED.setdefault(documents, {})
    return known.setdefault(tokenizer, TokenizedTexts(documents.texts, tokenizer))


def share_words(documents: Any, others: Any, rows: NDArray[np.int64] | None = None) -> None:
    """Let documents made of others have what was tokenized of these.

    Args:
        documents: the new ones.
        others: those that they were made of.
        rows: which of the others they are; all, unless given.
    """
    known = _TOKENIZED.get(others, {})
    if known:
        of_rows = {t: one if rows is None else one.take(rows) for t, one in known.items()}
        _TOKENIZED.setdefault(documents, {}).update(of_rows)


_ENDS = frozenset(".!?…")
_CLOSERS = frozenset("\"'”’)]»") | {"''"}
_ABBREVIATIONS = frozenset(
    (
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "jr",
        "sr",
        "vs",
        "vol",
        "lt",
        "col",
        "capt",
        "inc",
        "ltd",
    )
) | frozenset("bcdefghjklmnopqrstuvwxyz")


def sentence_lengths(tokens: Ragged, lexicon: Lexicon) -> Ragged:
    """How many tokens each sentence of each document has; every document has at least one sentence.

    A sentence ends after a run of closing signs (. ! ? … and the quotes or brackets that follow)
    that holds at least one of . ! ? …; a full stop after an abbreviation or a single letter other
    than the words *a* and *i* (*dr .*, *j . r . r .*) ends nothing. Works on token numbers, so that
    pre-tokenized text is split alike.
    """
    ids = tokens.values.astype(np.int64)
    kinds = np.zeros((3, len(lexicon)), dtype=bool)
    for token, number in lexicon.items():
        # "..." and "?!" are one token in text that came tokenized
        kinds[0, number] = token[:1] in _ENDS and all(c in _ENDS for c in token)
        kinds[1, number] = token in _CLOSERS
        kinds[2, number] = token.lower() in _ABBREVIATIONS
    end, closer, abbreviation = (kind[ids] for kind in kinds)

    first = np.zeros(len(ids), dtype=bool)
    starts = tokens.offsets[:-1][tokens.lengths > 0]
    first[starts] = True
    stop = lexicon.get(".", -1)
    follows_abbreviation = np.concatenate([[False], abbreviation[:-1]])[: len(ids)] & ~first
    end &= ~((ids == stop) & follows_abbreviation)

    closing = end | closer
    next_starts = np.concatenate([first[1:], [True]])[: len(ids)]
    next_closing = np.concatenate([closing[1:], [False]])[: len(ids)] & ~next_starts
    run_stops = closing & ~next_closing
    # a run holds an end if the count of ends has grown since the run began
    run_starts = closing & ~(np.concatenate([[False], closing[:-1]])[: len(ids)] & ~first)
    before = np.cumsum(end) - end
    before_run = np.maximum.accumulate(np.where(run_starts, before, -1)) if len(ids) else before
    boundary = run_stops & (np.cumsum(end) > before_run) | next_starts

    stops = np.flatnonzero(boundary)
    document = tokens.row_of_value[stops]
    previous = np.concatenate([[-1], stops[:-1]])[: len(stops)]
    lengths = stops - previous
    return Ragged.from_lengths(lengths, _counts(document, len(tokens)))


def _counts(rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return np.bincount(rows, minlength=n).astype(np.int64)
