"""What an audit is: models by id, each made from a package's weights and examined on a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SENTENCES, REVIEWS, INJECTIONS = "sentences", "reviews", "injections"
"""What texts are: single sentences, whole reviews, documentation with and without instructions."""


@dataclass(frozen=True)
class Scale:
    """How much of an audit is done.

    corpora      what texts are → the corpus of them
    train        the most documents to train on, by what texts are; all, where it has none
    validation   the most documents of validation
    sample       documents of test that are examined, by what texts are, or by whose weights
                 where these have a number of their own
    seeds        of training, a model each
    epochs       of fine-tuning
    head_epochs  of a head over frozen states
    scratch      epochs of a model that begins at random
    pieces       pieces of a text that are read
    randomised   documents whose scores are compared with those of weights drawn anew
    information  documents whose states are asked what they tell of their word, by what texts are:
                 it takes more of them than other exams need
    options      exam → its options, of Transformers
    """

    corpora: Mapping[str, str]
    train: Mapping[str, int]
    validation: int
    sample: Mapping[str, int]
    seeds: tuple[int, ...]
    epochs: int
    head_epochs: int
    scratch: int
    pieces: Mapping[str, int]
    randomised: int
    information: Mapping[str, int]
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


_PACKAGED = {SENTENCES: "rotten_tomatoes", REVIEWS: "imdb_reviews"}
SCALES: Mapping[str, Scale] = {
    "smoke": Scale(
        corpora=_PACKAGED,
        train={SENTENCES: 64, REVIEWS: 32},
        validation=32,
        sample={SENTENCES: 8, REVIEWS: 4, INJECTIONS: 8},
        seeds=(0, 1),
        epochs=1,
        head_epochs=4,
        scratch=1,
        pieces={SENTENCES: 32, REVIEWS: 40, INJECTIONS: 128},
        randomised=4,
        information={SENTENCES: 24, REVIEWS: 8, INJECTIONS: 8},
        options={
            "adversary": {"search_steps": 4, "restarts": 1},
            "deletion": {"random_orders": 2, "steps": 8},
            "erasure": {"erased_steps": 8},
            "information": {"clusters": 20, "max_words": 50},
        },
    ),
    "small": Scale(
        corpora=_PACKAGED,
        train={SENTENCES: 2000, REVIEWS: 500},
        validation=300,
        sample={SENTENCES: 40, REVIEWS: 12, INJECTIONS: 60},
        seeds=(0, 1, 2),
        epochs=2,
        head_epochs=20,
        scratch=4,
        pieces={SENTENCES: 64, REVIEWS: 128, INJECTIONS: 256},
        randomised=20,
        information={SENTENCES: 300, REVIEWS: 60, INJECTIONS: 60},
    ),
    "full": Scale(
        corpora={SENTENCES: "sst", REVIEWS: "imdb"},
        train={REVIEWS: 4000},
        validation=872,
        sample={SENTENCES: 120, REVIEWS: 20, INJECTIONS: 120, "smollm2": 48},
        seeds=(0, 1, 2),
        epochs=3,
        head_epochs=30,
        scratch=10,
        pieces={SENTENCES: 128, REVIEWS: 256, INJECTIONS: 256},
        randomised=40,
        information={SENTENCES: 1821, REVIEWS: 200, INJECTIONS: 120, "smollm2": 600},
    ),
}
"""Scales by name. smoke and small need nothing but packages; full needs SST and IMDB."""
FULL = "full"


@dataclass(frozen=True)
class Entry:
    """One kind of model of an audit; with each seed it is a model.

    id         of the entry
    title      in a few words
    texts      what it reads: sentences, reviews, injections
    weights    the package that its weights come from, by name in `verax.audits.weights`; empty
               where it begins at random
    training   fine-tuned, frozen, as-is (the weights decide already), scratch, verax
    grounding  none, tying, mlm
    """

    id: str
    title: str
    texts: str
    weights: str
    training: str
    grounding: str = "none"


@dataclass(frozen=True)
class Audit:
    """Models that are examined together, and why.

    name      of the command and of the folder of its page
    title     a heading
    question  what is asked of these models beyond the questions that are asked of all
    entries   kinds of model
    contrasts  (entry, entry) ids: the first is compared with the second
    includes  names of audits whose models are all of it
    beside    (audit, entry): kinds of model of others that stand beside these
    note      what a reader must know of the models before the answers
    """

    name: str
    title: str
    question: str
    entries: tuple[Entry, ...] = ()
    contrasts: tuple[tuple[str, str], ...] = ()
    includes: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    note: str = ""


def documents_of(counts: Mapping[str, int], entry: Entry) -> int:
    """How many documents of a kind of model, by its weights or else by its texts.

    >>> one = Entry("smollm2", "", SENTENCES, "smollm2", "frozen")
    >>> documents_of({SENTENCES: 120, "smollm2": 60}, one), documents_of({SENTENCES: 120}, one)
    (60, 120)
    """
    return counts.get(entry.weights, counts[entry.texts])


def model_id(entry: Entry, seed: int) -> str:
    """The id of a model.

    >>> model_id(Entry("minilm-sst", "", SENTENCES, "minilm", "fine-tuned"), 2)
    'minilm-sst-2'
    """
    return f"{entry.id}-{seed}"
