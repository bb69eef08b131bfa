"""Corpora in numbers beside results: no document is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import run_here

from research.__main__ import main
from research.papers import PaperResults, paper
from research.papers.describing import describe_corpora, write_corpora
from support.documents import tokens_of
from support.errors import raises
from verax.corpora import load_corpus

TUTEK = paper("tutek-snajder-2020")
READING = {"limit": 40, "min_words": 6}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe of reviews, of few documents, as a part and as a probe."""
    folder = tmp_path_factory.mktemp("described")
    study = {
        "name": f"{TUTEK.name}.reviews",
        "corpora": {"rotten_tomatoes": READING},
        "models": {"encoder": "none"},
        "training": {"epochs": 1, "min_df": 2},
        "seeds": [1],
        "exams": [{"single_token": {"curves": 2}}],
    }
    run_here(study, folder / "reviews")
    run_here(study, folder / "probes" / "reviews")
    return folder


@pytest.mark.slow
def test_corpora_are_described_as_cells_read_them(ran: Path) -> None:
    (row,) = describe_corpora(TUTEK, ran).to_dict("records")
    corpus = load_corpus("rotten_tomatoes", **READING)
    lengths = [len(tokens) for split in corpus.splits.values() for tokens in tokens_of(split)]
    frequent = {w for tokens in tokens_of(corpus.train) for w in tokens}
    frequent = {w for w in frequent if sum(w in set(t) for t in tokens_of(corpus.train)) >= 2}
    assert (row["classes"], row["train"]) == (2, len(corpus.train))
    assert (row["validation"], row["test"]) == (len(corpus.validation), len(corpus.test))
    assert row["words_mean"] == pytest.approx(sum(lengths) / len(lengths))
    assert (row["vocabulary"], row["min_df"]) == (len(frequent), 2)


@pytest.mark.slow
def test_what_is_described_is_found_again(ran: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "corpora", TUTEK.name, "--results", str(ran)]) == 0
    assert "rotten_tomatoes" in capsys.readouterr().out
    results = PaperResults.open(ran)
    number = results.described("train", part="reviews")
    assert number is not None
    assert (number.value, len(number.cells)) == (
        len(load_corpus("rotten_tomatoes", **READING).train),
        1,
    )
    assert results.described("train", corpus="sst") is None
    assert results.of_corpora(["rotten_tomatoes"]).described("train") == number
    text = write_corpora(TUTEK, ran).read_text(encoding="utf-8")
    assert text.count("\n") == 2


def test_a_folder_without_cells_has_no_corpora(tmp_path: Path) -> None:
    with raises("result.unfinished"):
        describe_corpora(TUTEK, tmp_path)
