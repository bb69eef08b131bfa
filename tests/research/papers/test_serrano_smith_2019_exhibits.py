"""Tables and figures of Serrano & Smith: published numbers beside the right measured ones."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from test_serrano_smith_2019_claims import nothing
from test_serrano_smith_2019_worlds import made

from research.papers import PaperResults, paper
from research.papers.exhibits import MEASURED, Exhibit

PAPER = paper("serrano-smith-2019")

OPTIONS = {
    "lr": 4e-4,
    "dropout_embedding": 0.4445,
    "dropout_sentence": 0.2202,
    "dropout_head": 0.2457,
    "patience": 5,
    "test_accuracy": 0.503,
}
IMDB = {"classes": 8, "train": 22_500, "validation": 2_500, "test": 25_000}
IMDB |= {"words_mean": 271.0, "words_sd": 201.0, "sentences_mean": 12.9, "sentences_sd": 9.0}
IMDB |= {"vocabulary": 26_001}
NAMES = ["table1", "table2", "table3", "hyperparameters", *[f"figure{k}" for k in range(3, 14)]]
EVERY = pytest.mark.parametrize("exhibit", PAPER.exhibits, ids=lambda exhibit: exhibit.name)


@pytest.fixture(scope="module")
def results() -> PaperResults:
    found = made(corpora=("imdb", "20news"), seeds=(1, 2), **OPTIONS)
    hanrnn = found.select(corpus="imdb", hierarchical=True, encoder="bigru")["cell"].tolist()
    points = pd.DataFrame(
        {
            "cell": [hanrnn[0]] * 3 + [hanrnn[1]],
            "id": [7, 2, 5, 1],
            "delta_alpha": [0.3, 0.5, 0.1, 0.2],
            "delta_js": [0.07, 0.02, 0.05, 0.01],
        }
    )
    reading = {"tokenizer": "words", "min_df": 5, "max_vocabulary": None}
    corpora = pd.DataFrame([{"fingerprint": "imdb", **reading, **IMDB}])
    tables = {"delta_js_points": points, "corpora.csv": corpora}
    cells = found.cells.assign(**reading, fingerprint=found.cells["corpus"])
    return PaperResults(cells, found.summary, tables)


def made_again(results: PaperResults, name: str) -> pd.DataFrame:
    return PAPER.exhibit(name).make(results)


def one(frame: pd.DataFrame, **where: object) -> pd.Series:
    for column, value in where.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_every_table_and_figure_is_there() -> None:
    assert [exhibit.name for exhibit in PAPER.exhibits] == NAMES


@EVERY
def test_columns(exhibit: Exhibit, results: PaperResults) -> None:
    frame = exhibit.make(results)
    assert len(frame)
    assert list(frame.columns[-len(MEASURED) :]) == MEASURED
    labels = list(frame.columns[: -len(MEASURED)])
    assert labels[:2] == ["dataset", "corpus"]
    assert "measure" in labels
    assert not frame.duplicated(labels).any()


@EVERY
def test_without_results_only_published_numbers_are_left(exhibit: Exhibit) -> None:
    frame = exhibit.make(nothing())
    assert frame["value"].isna().all()
    assert frame["published"].notna().all()
    shown = {"table1", "table2", "table3", "hyperparameters", "figure6", "figure9", "figure10"}
    assert (len(frame) > 0) == (exhibit.name in shown)


def test_corpora_at_hand_and_not(results: PaperResults) -> None:
    frame = made_again(results, "table3")
    assert set(zip(frame["dataset"], frame["corpus"], strict=True)) == {
        ("Yahoo Answers", ""),
        ("IMDB", "imdb"),
        ("Amazon", ""),
        ("Yelp", ""),
        ("", "20news"),
    }
    assert frame[frame["corpus"] == ""]["value"].isna().all()
    assert frame[frame["corpus"] == "20news"]["published"].isna().all()


def test_statistics_of_corpora(results: PaperResults) -> None:
    frame = made_again(results, "table1")
    expected = {
        "n_classes": (10, 8),
        "n_train_plus_dev": (122_121, 25_000),
        "n_test": (13_548, 25_000),
        "avg_words": (395, 271),
        "sd of words": (259, 201),
        "avg_sentences": (16.2, 12.9),
        "sd of sentences": (10.7, 9.0),
    }
    for measure, pair in expected.items():
        row = one(frame, dataset="IMDB", measure=measure)
        assert (row["published"], row["value"]) == pytest.approx(pair)
    assert one(frame, corpus="imdb", measure="documents examined")["value"] == pytest.approx(1000)
    words = one(frame, dataset="Yelp", measure="avg_words")
    assert words["published"] == 125
    assert math.isnan(words["value"])
    assert one(frame, corpus="20news", measure="of several sentences")["value"] == 900
    assert one(frame, corpus="20news", measure="of several words")["value"] == 1000


def test_figure_5_is_of_the_papers_three_architectures(results: PaperResults) -> None:
    assert list(dict.fromkeys(made_again(results, "figure5")["model"])) == [
        "HANrnn",
        "FLANrnn",
        "FLANconv",
    ]


@pytest.mark.parametrize("name", ["table1", "hyperparameters"])
def test_settings_and_sizes_are_no_findings(results: PaperResults, name: str) -> None:
    frame = made_again(results, name)
    there = frame[frame["value"].notna()]
    assert len(there)
    assert set(there["over"]) == {"setting"}
    assert there[["sd", "low", "high", "beyond"]].isna().all(axis=None)
    assert set(there["seeds"]) == {0}
    assert there["cells"].ne("").all()


@pytest.mark.parametrize("rule", ["paper", "authors"])
@pytest.mark.parametrize("name", ["table2", "figure9"])
def test_contingency_of_hanrnn(results: PaperResults, name: str, rule: str) -> None:
    frame = made_again(results, name)
    own = {"model": "HANrnn", "rule": rule}
    imdb = one(frame, corpus="imdb", measure="only top", **own)
    assert (imdb["published"], imdb["value"]) == (12.2, pytest.approx(8))
    amazon = one(frame, dataset="Amazon", measure="neither", **own)
    assert (amazon["published"], amazon["seeds"]) == (87.1, 0)
    assert one(frame, corpus="imdb", measure="top, in all", **own)["value"] == pytest.approx(9)


def test_rows_of_the_rule_come_from_its_own_numbers() -> None:
    def change(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
        numbers["erasure.contingency", "gradient@authors", "both"] = 7.0

    frame = made_again(made(change), "figure12")
    by_rule = {r: one(frame, model="FLANconv", rule=r, measure="both")["value"] for r in RULES}
    assert by_rule == pytest.approx({"paper": 0.5, "authors": 7.0})
    assert frame["published"].isna().all()


RULES = ("paper", "authors")


def test_accuracy(results: PaperResults) -> None:
    frame = made_again(results, "table3")
    row = one(frame, corpus="imdb", model="HANrnn")
    assert (row["published"], row["value"], row["seeds"]) == (50.3, pytest.approx(50.3), 2)
    assert not row["beyond"]
    assert one(frame, corpus="imdb", model="FLANnoenc")["beyond"]  # 45.4, and ours never move
    assert one(frame, dataset="Yelp", model="HANconv")["published"] == 61.0


def test_accuracy_of_one_seed_is_of_the_documents_examined() -> None:
    frame = made_again(made(seeds=(1,), test_accuracy=0.4), "table3")
    assert one(frame, corpus="imdb", model="HANrnn")["value"] == 50


def test_hyperparameters(results: PaperResults) -> None:
    frame = made_again(results, "hyperparameters")
    for model, measure, published in (
        ("HANrnn", "dropout_embedding", 0.4445),
        ("HANrnn", "dropout_sentence", 0.2202),
        ("HANrnn", "dropout_head", 0.2457),
        ("FLANrnn", "dropout_embedding", 0.4445),
        ("FLANrnn", "dropout_head", 0.3457),
        ("FLANnoenc", "patience", 10),
    ):
        row = one(frame, corpus="imdb", model=model, measure=measure)
        assert row["published"] == published
        assert row["value"] == pytest.approx(OPTIONS[measure])
    assert one(frame, dataset="Yelp", model="FLANrnn", measure="dropout_embedding")[
        "published"
    ] == pytest.approx(0.7)
    assert not len(frame[(frame["model"] == "FLANrnn") & (frame["measure"] == "dropout_sentence")])


def test_curve_of_delta_js(results: PaperResults) -> None:
    frame = made_again(results, "figure3")
    assert set(frame["model"]) == {"HANrnn"}
    row = one(frame, corpus="imdb", measure="median", delta_alpha=0.45)
    assert row["value"] == pytest.approx(0.2 * 0.45**2)
    assert set(made_again(results, "figure7")["model"]) == {
        *("HANconv", "HANnoenc", "FLANrnn", "FLANconv", "FLANnoenc")
    }


def test_points_are_of_one_seed(results: PaperResults) -> None:
    frame = made_again(results, "figure3")
    points = frame[frame["measure"] == "ΔJS"]
    assert points["document"].tolist() == [5, 7, 2]
    assert points["delta_alpha"].tolist() == [0.1, 0.3, 0.5]
    assert points["value"].tolist() == pytest.approx([0.05, 0.07, 0.02])
    assert points["cells"].nunique() == 1


def test_histogram_of_negatives(results: PaperResults) -> None:
    frame = made_again(results, "figure4")
    assert one(frame, corpus="imdb", measure="negative", delta_alpha=0.15)["value"] == 12
    assert one(frame, corpus="imdb", measure="share of all")["value"] == 5


@pytest.mark.slow
def test_boxes(results: PaperResults) -> None:
    frame = made_again(results, "figure10")
    row = one(frame, corpus="imdb", model="FLANconv", ranking="gradient", measure="median")
    assert row["value"] == pytest.approx(0.35)
    assert {
        a.removeprefix("HAN").removeprefix("FLAN") for a in made_again(results, "figure5")["model"]
    } == {"rnn", "conv"}
    mass = one(
        made_again(results, "figure11"),
        corpus="20news",
        model="HANrnn",
        ranking="attention",
        measure="median",
    )
    assert mass["value"] == pytest.approx(0.8)


def test_shares_in_the_caption_of_figure_6(results: PaperResults) -> None:
    frame = made_again(results, "figure6")
    amazon = frame[frame["dataset"] == "Amazon"].set_index("ranking")["published"]
    assert amazon.to_dict() == {
        "random": 12.4,
        "attention": 2.8,
        "gradient": 0.9,
        "product": 0.5,
    }
    assert frame[frame["dataset"] == "Amazon"]["measure"].unique().tolist() == ["above ½"]


def test_rankings_beyond_the_papers_are_shown() -> None:
    def change(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
        numbers["erasure.fraction", "optimum", "median"] = 0.05

    frame = made_again(made(change), "figure6")
    assert one(frame, model="HANnoenc", ranking="optimum")["value"] == pytest.approx(0.05)


def test_words_of_the_page() -> None:
    assert PAPER.words("deviations").startswith("- **Corpora.**")
    assert PAPER.corpora == {"imdb": "IMDB", "yelp": "Yelp"}
