"""`planted`: a corpus made to have known answers.

Every class owns a small lexicon of evidence words (`good0_3` is word 3 of class 0), and every
document is noise with a few evidence words dropped in. The contract, held by the tests:

- a document of class c holds exactly `evidence` words of class c's lexicon, and `distractors` words
  of other classes' lexicons, fewer than `evidence` in all, so c is the class with most evidence;
- nothing else depends on the class: noise words, lengths, positions and sentence breaks are drawn
  without looking at it;
- `rationale` is 1 exactly on the words of class c's lexicon;
- with `label_noise` ρ, a share ρ of the documents (in expectation) carries a wrong label, drawn
  evenly from the other classes; rationale and words stay those of the true class.

So the best accuracy any model can reach is 1 − ρ, and the evidence is the whole explanation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.options import option

_MOST_WORDS = 10**9


@dataclass(frozen=True)
class Planted:
    """The generator's knobs."""

    classes: int = option(2, "number of classes, in equal shares", minimum=2, maximum=10**5)
    length: int = option(
        24, "mean words a document; each has half to one and a half of it", minimum=2, maximum=10**7
    )
    sentences: int = option(1, "sentences a document, each closed by a full stop", minimum=1)
    evidence: int = option(3, "words of its own class in each document", minimum=1)
    distractors: int = option(0, "words of other classes in each document", minimum=0)
    label_noise: float = option(0.0, "share of wrong labels", minimum=0, below=1)
    lexicon: int = option(10, "evidence words each class has to choose from", minimum=1)
    vocabulary: int = option(500, "noise words, with Zipf frequencies", minimum=1, maximum=10**7)
    documents: int = option(
        3000, "documents: 2/3 train, 1/6 validation, 1/6 test", minimum=12, maximum=10**8
    )
    seed: int = option(0, "which corpus", minimum=0, maximum=2**32 - 1)

    def __post_init__(self) -> None:
        if self.distractors >= self.evidence:
            raise VeraxError(
                f"planted: distractors ({self.distractors}) must be fewer than evidence "
                f"({self.evidence}), or the label is not decided by the evidence",
                code="option.conflict",
            )
        if self.documents * self.length > _MOST_WORDS:
            raise VeraxError(
                f"planted: {self.documents:,} documents of {self.length:,} words are more than "
                f"{_MOST_WORDS:,} words: ask for fewer documents, or shorter ones",
                code="option.out-of-range",
            )
        shortest = _shortest(self.length)
        needed = self.sentences + max(self.evidence + self.distractors, self.sentences)
        if needed > shortest:
            raise VeraxError(
                "planted: evidence, distractors and sentences of at least a word and a full stop "
                f"take {needed} words but the shortest document has {shortest}: "
                f"raise length to at least {2 * needed}",
                code="option.conflict",
            )


def generate(knobs: Planted) -> dict[str, pd.DataFrame]:
    """The three splits, with `text`, `label`, `tokens` and `rationale` columns."""
    random = np.random.Generator(np.random.PCG64(knobs.seed))
    n = knobs.documents
    sizes = {"train": n - 2 * (n // 6), "validation": n // 6, "test": n // 6}
    return {split: _documents(knobs, size, random) for split, size in sizes.items()}


def evidence_word(label: int, number: int) -> str:
    return f"good{label}_{number}"


def _shortest(length: int) -> int:
    return max(2, length // 2)


def _documents(knobs: Planted, size: int, random: np.random.Generator) -> pd.DataFrame:
    true = random.permutation(np.arange(size) % knobs.classes)
    lengths = random.integers(_shortest(knobs.length), knobs.length + knobs.length // 2 + 1, size)
    frequencies = 1 / np.arange(1, knobs.vocabulary + 1)
    frequencies /= frequencies.sum()
    rows = []
    for label, length in zip(true.tolist(), lengths.tolist(), strict=True):
        words = [f"w{i}" for i in random.choice(knobs.vocabulary, length, p=frequencies)]
        rationale = np.zeros(length, dtype=np.int8)
        stops = _sentence_stops(length, knobs.sentences, random)
        for position in stops:
            words[position] = "."
        free = np.setdiff1d(np.arange(length), stops)
        places = random.permutation(free)[: knobs.evidence + knobs.distractors]
        for position in places[: knobs.evidence]:
            words[position] = evidence_word(label, int(random.integers(knobs.lexicon)))
            rationale[position] = 1
        for position in places[knobs.evidence :]:
            rival = (label + 1 + int(random.integers(knobs.classes - 1))) % knobs.classes
            words[position] = evidence_word(rival, int(random.integers(knobs.lexicon)))
        rows.append((" ".join(words), words, rationale))
    wrong = random.random(size) < knobs.label_noise
    shift = random.integers(1, knobs.classes, size)
    observed = np.where(wrong, (true + shift) % knobs.classes, true)
    texts, tokens, rationales = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "text": list(texts),
            "label": observed,
            "tokens": list(tokens),
            "rationale": list(rationales),
        }
    )


def _sentence_stops(length: int, sentences: int, random: np.random.Generator) -> np.ndarray:
    """Where the full stops stand: the last word, and others at least two words apart."""
    # a sentence takes at least two words; the spare ones are dealt out at random
    spare = length - 2 * sentences
    cuts = np.sort(random.integers(0, spare + 1, sentences - 1))
    extra = np.diff(np.concatenate([[0], cuts, [spare]]))
    return np.cumsum(extra + 2) - 1
