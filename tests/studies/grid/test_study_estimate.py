"""The estimate: what makes a cell longer, what finished cells teach, and what workers bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_files import study

import verax
from verax.corpora.corpus import Documents
from verax.corpora.tokenising import Lexicon, Tokeniser
from verax.studies.grid import Study, estimate, predicted, read_study
from verax.studies.grid.estimate import EXAMS, tokens


def documents(number: int, words: int) -> Documents:
    texts = [" ".join(["word"] * words)] * number
    zeros = np.zeros(number, dtype=np.int64)
    return Documents(texts, zeros, zeros, Tokeniser("whitespace"), Lexicon())


def corpus(train: int, test: int, words: int) -> verax.Corpus:
    parts = [documents(number, words) for number in (train, test, test)]
    return verax.Corpus("made up", ["0", "1"], *parts)


def seconds(device: str, made: verax.Corpus, **options: Any) -> float:
    source = {"corpora": {"planted": {"documents": 60}}, "models": options}
    (cell,) = read_study(source).cells
    return predicted(cell, made, device)


@pytest.mark.parametrize(
    ("device", "encoder", "train", "test", "words", "measured"),
    [
        ("cuda", "bilstm", 6920, 1726, 20, 7.3),  # SST and IMDB, a dozen cells on one GPU
        ("cuda", "bilstm", 18_397, 2_000, 190, 253.0),
        ("cpu", "bilstm", 6920, 1821, 20, 8 * 3.3 + 8.3),  # on a core: epochs, then exams
        ("cpu", "bilstm", 485, 480, 200, 8 * 2.2 + 71.4),
        ("cpu", "conv", 6920, 1821, 20, 8 * 3.0 + 5.1),
        ("cpu", "conv", 485, 480, 200, 8 * 2.2 + 7.9),
        ("cpu", "none", 6920, 1821, 20, 8 * 1.4 + 1.7),
        ("cpu", "none", 485, 480, 200, 8 * 0.5 + 3.1),
    ],
)
def test_predictions_are_near_what_was_measured(
    device: str, encoder: str, train: int, test: int, words: int, measured: float
) -> None:
    found = seconds(device, corpus(train, test, words), encoder=encoder)
    assert measured / 1.5 < found < measured * 1.5


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"epochs": 1}, {"epochs": 2}),
        ({"encoder": "none"}, {"encoder": "bilstm"}),
        ({"encoder": "bilstm"}, {"encoder": "transformer"}),
        ({"layers": 1}, {"layers": 2}),
        ({"grounding": "tying"}, {"grounding": "mlm"}),
        ({"grounding": "tying"}, {"grounding": "tying", "strength": "auto", "strengths": "1"}),
        (
            {"grounding": "tying", "strength": "auto", "strengths": "1"},
            {"grounding": "tying", "strength": "auto", "strengths": "1,2"},
        ),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_more_work_takes_longer(device: str, less: dict[str, Any], more: dict[str, Any]) -> None:
    made = corpus(1000, 100, 50)
    assert seconds(device, made, **less) < seconds(device, made, **more)


def test_an_auto_strength_is_so_many_trainings() -> None:
    """Training costs 1 + 3 times as much: what is left without it is the same for both."""
    made = corpus(1000, 100, 50)
    tied = {"grounding": "tying", "epochs": 10}
    once = seconds("cpu", made, **tied)
    double = seconds("cpu", made, **{**tied, "epochs": 20})
    several = seconds("cpu", made, **tied, strength="auto", strengths="1,2,3")
    assert several - once == pytest.approx(3 * (double - once))


def test_a_sample_is_that_share_of_the_exams(tmp_path: Path) -> None:
    made = corpus(10, 100, 50)
    cells = [
        study(tmp_path, f"corpora: SMALL\nexams: erasure\nsample: {n}\n").cells[0]
        for n in (10, 20, 1000)
    ]
    ten, twenty, all_of_them = (predicted(cell, made) for cell in cells)
    assert twenty - ten == pytest.approx(10 * 50 * EXAMS["erasure"].cost.token)
    assert all_of_them - ten == pytest.approx(90 * 50 * EXAMS["erasure"].cost.token)


def test_a_search_costs_more(tmp_path: Path) -> None:
    made = corpus(10, 100, 50)
    plain, searched = (
        study(tmp_path, f"corpora: SMALL\nexams: {{adversary: {{search: {said}}}}}\n").cells[0]
        for said in ("false", "true")
    )
    assert predicted(plain, made) < predicted(searched, made)


def test_every_exam_and_encoder_has_a_cost() -> None:
    assert set(EXAMS) == set(verax.exams.EXAMS)
    for encoder in verax.models.options.ENCODERS:
        assert seconds("cpu", corpus(10, 10, 10), encoder=encoder) > 0


@pytest.fixture
def three(tmp_path: Path) -> Study:
    return study(
        tmp_path, "corpora: SMALL\nmodels: {epochs: [1, 100, 1000]}\nexams: single_token\n"
    )


def test_workers_share_but_the_longest_takes_its_time(three: Study) -> None:
    each = [predicted(cell, three.corpora[cell.fingerprint]) for cell in three.cells]
    assert estimate(three).seconds == pytest.approx(sum(each))
    assert estimate(three, workers=2).seconds == pytest.approx(max(sum(each) / 2, max(each)))
    assert estimate(three, workers=50).seconds == pytest.approx(max(each))
    assert (estimate(three).cells, estimate(three).measured) == (3, 0)


def test_finished_cells_put_the_rest_right(three: Study) -> None:
    keys = [cell.key for cell in three.cells]
    each = [predicted(cell, three.corpora[cell.fingerprint]) for cell in three.cells]
    one = estimate(three, done={keys[0]: 5 * each[0], "of another study": 1e9})
    assert one.seconds == pytest.approx(5 * (each[1] + each[2]))
    assert (one.cells, one.measured) == (2, 1)
    two = estimate(three, done={keys[0]: 3 * each[0], keys[1]: each[1]})
    assert two.seconds == pytest.approx(2 * each[2])
    every = estimate(three, done=dict(zip(keys, each, strict=True)))
    assert (every.seconds, every.cells, every.measured) == (0, 0, 3)


def test_a_cell_that_took_no_time_teaches_nothing(three: Study) -> None:
    keys = [cell.key for cell in three.cells]
    found = estimate(three, done={keys[0]: 0.0})
    assert (found.cells, found.measured) == (2, 0)


def test_tokens_are_guessed_without_tokenising_and_counted_after() -> None:
    loaded = verax.load_corpus("rotten_tomatoes", limit=300)
    guessed = tokens(loaded.train)
    assert "token_numbers" not in loaded.train.__dict__
    loaded.train.tokenise(iter)
    counted = tokens(loaded.train)
    assert counted == sum(map(len, loaded.train.tokens))
    assert counted / 1.3 < guessed < counted * 1.3
    planted = verax.load_corpus("planted", documents=60)
    assert tokens(planted.train) == sum(map(len, planted.train.tokens))
