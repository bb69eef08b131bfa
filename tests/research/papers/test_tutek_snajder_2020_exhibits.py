"""Published numbers beside the right measured ones, for every table and figure."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest
from made_up_results import made_up_results
from tutek_snajder_worlds import (
    CURVES,
    LOST,
    MODELS,
    PERMUTED,
    PRICE,
    TRAINED,
    Configuration,
    Numbers,
    model_of,
    quick,
    world,
)

from research.papers import PaperResults, paper
from research.papers.exhibits import MEASURED
from research.papers.results import SUMMARY

PAPER = paper("tutek-snajder-2020")

LABELS = {
    "table1": ["corpus", "attention", "model"],
    "table2": ["corpus", "words", "model"],
    "table3": ["corpus", "attention", "model"],
    "table4": ["model"],
    "table5": ["corpus"],
    "table6": ["corpus", "model", "layers"],
    "figure1": ["corpus", "model", "lam"],
    **{
        f"figure{n}": ["corpus", "attention", "model", "document", "item"]
        for n in (2, 3, 4, 5, 6, 7)
    },
    "appendixc": ["corpus", "query_init"],
    "selection": ["corpus", "attention", "model", "strength", "picked", "used"],
}
ITEMS = 3
CORPORA = {"imdb": {"words_mean": 235.0, "vocabulary": 44_666}}


@cache
def results() -> PaperResults:
    """The world of the claims; each cell with eight documents of three tokens."""
    made = world()
    tokens = [
        {"cell": cell, "id": document, "item": item, "p": 0.5 + seed / 10, "weight": item / ITEMS}
        for cell, seed in made.select(part=("sst", "imdb"))[["cell", "seed"]].itertuples(
            index=False
        )
        for document in range(20, 100, 10)
        for item in range(ITEMS)
    ]
    reading = {"tokenizer": "keras", "min_df": 2, "max_vocabulary": None}
    described = [{"fingerprint": c, **reading, **CORPORA[c]} for c in CORPORA]
    tables = {"single_token_tokens": pd.DataFrame(tokens), "corpora.csv": pd.DataFrame(described)}
    cells = made.cells.assign(**reading, fingerprint=made.cells["corpus"])
    return quick(PaperResults(cells, made.summary, tables))


@cache
def made(name: str) -> pd.DataFrame:
    return PAPER.exhibit(name).make(results())


def one(name: str, **labels: object) -> pd.Series:
    """The only row of an exhibit with these labels."""
    table = made(name)
    for label, value in labels.items():
        table = table[table[label] == value]
    assert len(table) == 1, table
    return table.iloc[0]


def test_all_are_there() -> None:
    assert [exhibit.name for exhibit in PAPER.exhibits] == list(LABELS)


@pytest.mark.slow
@pytest.mark.parametrize("name", LABELS)
def test_columns_are_as_promised(name: str) -> None:
    assert list(made(name)) == [*LABELS[name], "measure", *MEASURED]
    assert not made(name).duplicated([*LABELS[name], "measure"]).any()


@pytest.mark.parametrize("name", LABELS)
def test_nothing_found_leaves_what_is_published(name: str) -> None:
    none = PaperResults(
        pd.DataFrame(columns=["cell", "part", "corpus", "seed"]), pd.DataFrame(columns=SUMMARY)
    )
    table = PAPER.exhibit(name).make(none)
    assert table["value"].isna().all()
    assert table["published"].notna().all()
    if name == "table4":  # seven options, five strengths of the masked LM, four of tying
        assert len(table) == 7 + 5 + 4
    elif name.startswith("table"):
        assert len(table) == len(PAPER.published(name))
    else:
        assert table.empty


def test_table1_puts_published_beside_measured() -> None:
    row = one("table1", corpus="sst", attention="dot", model="tying", measure="Δ F1, permuted")
    assert (row["published"], row["value"], row["seeds"]) == (-20.0, -LOST["tying"], 3)
    assert not row["beyond"]  # the very same number
    row = one("table1", corpus="imdb", attention="additive", model="mlm", measure="Δ F1, uniform")
    assert (row["published"], row["value"]) == (-22.8, -LOST["mlm"])
    assert row["beyond"]
    row = one("table1", corpus="imdb", attention="additive", model="base", measure="F1")
    assert (row["published"], row["value"]) == (88.3, 85.0)


@pytest.mark.parametrize("model", ["residual", "base, frozen"])
def test_table1_has_what_the_paper_leaves_out(model: str) -> None:
    own = made("table1")[made("table1")["model"] == model]
    assert set(own["corpus"]) == {"sst", "imdb"}
    assert own["published"].isna().all()
    assert own["value"].notna().all()


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_corpora_that_are_not_at_hand_are_missing(name: str) -> None:
    table = made(name)
    own = table[table["corpus"].isin(["mimic_anemia", "ag_news", "20news_sports"])]
    assert set(own["corpus"]) == {"mimic_anemia", "ag_news", "20news_sports"}
    assert own["value"].isna().all()
    assert own["published"].notna().all()
    assert table["published"].notna().sum() == len(PAPER.published(name))


@pytest.mark.slow
def test_other_corpora_have_nothing_published() -> None:
    small = world(corpora=["sst"], keep=lambda c: c["part"] == "sst")
    small.cells["corpus"] = "rotten_tomatoes"
    table = PAPER.exhibit("table1").make(small)
    own = table[table["corpus"] == "rotten_tomatoes"]
    assert own["value"].notna().all()
    assert own["published"].isna().all()
    assert len(own) == 3 * (2 * len(MODELS) - 1)


def test_table2_has_both_samples_of_words() -> None:
    row = one("table2", corpus="sst", words="sampled", model="residual", measure="information")
    assert (row["published"], round(row["value"], 9)) == (4.289, 5.0)
    row = one("table2", corpus="imdb", words="most frequent", model="mlm", measure="information")
    assert (row["published"], round(row["value"], 9)) == (3.728, 3.7)
    own = {"corpus": "sst", "words": "sampled", "model": "residual"}
    above = one("table2", **own, measure="information above that")
    assert round(above["value"], 9) == 4.0


def test_table3_is_of_a_token_alone() -> None:
    row = one("table3", corpus="sst", attention="dot", model="mlm", measure="a token alone")
    assert (row["published"], round(row["value"], 9)) == (0.664, 0.6)
    agree = one("table3", corpus="sst", attention="dot", model="mlm", measure="tokens that agree")
    assert pd.isna(agree["published"])


def test_table4_has_options_and_all_strengths() -> None:
    assert tuple(one("table4", measure="learning rate")[["published", "value"]]) == (0.001, 0.001)
    width = one("table4", measure="width of the encoder, a direction")
    assert tuple(width[["published", "value"]]) == (150, 50)
    tying = made("table4")[made("table4")["model"] == "tying"].set_index("measure")
    assert tying["published"].dropna().tolist() == [1, 10, 20, 30]
    assert tying["value"].dropna().tolist() == [0.1, 0.3, 1]


def test_table5_has_lengths() -> None:
    row = one("table5", corpus="imdb", measure="words")
    assert (row["published"], row["value"]) == (234, 235)
    assert (row["over"], pd.isna(row["beyond"])) == ("setting", True)
    row = one("table5", corpus="imdb", measure="vocabulary")
    assert (row["published"], row["value"]) == (41919, 44666)
    assert pd.isna(one("table5", corpus="sst", measure="words")["value"])
    assert one("table5", corpus="mimic_diabetes", measure="vocabulary")["published"] == 23778


def test_table6_takes_one_layer_from_table1() -> None:
    for layers, given in ((1, -14.6), (2, -14.8), (3, -12.8)):
        row = one(
            "table6", corpus="ag_news", model="tying", layers=layers, measure="Δ F1, permuted"
        )
        assert row["published"] == given
    row = one("table6", corpus="sst", model="tying", layers=1, measure="Δ F1, permuted")
    assert row["value"] == -LOST["tying"]
    row = one("table6", corpus="sst", model="tying", layers=2, measure="Δ F1, permuted")
    assert row["value"] == -LOST["tying"] / 2


@pytest.mark.slow
def test_table1_has_accuracy_and_decisions_beside_f1() -> None:
    """A world in which tied models fall to the positive class: F1 stays, accuracy does not."""

    def change(configuration: Configuration, own: Numbers) -> None:
        own["replacement", "uniform", "delta_accuracy"] = -31.0
        own["replacement", "uniform", "positive"] = 96.0

    fallen = world(change, ["imdb"], keep=lambda c: c["part"] == "imdb")
    table = PAPER.exhibit("table1").make(fallen)
    own = table[(table["model"] == "tying") & (table["attention"] == "additive")]
    own = own[own["corpus"] == "imdb"].set_index("measure")["value"]
    assert own["Δ accuracy, uniform"] == pytest.approx(-31.0)
    assert own["decided positive, uniform"] == pytest.approx(96.0)


def test_appendix_c_is_the_entropy_by_how_a_query_begins() -> None:
    found = made("appendixc")
    entropies = found[found["measure"] == "entropy of attention"].set_index(
        ["corpus", "query_init"]
    )
    assert set(entropies.index) == {(c, q) for c in ("sst", "imdb") for q in ("default", "normal")}
    for corpus in ("sst", "imdb"):
        assert entropies.loc[(corpus, "default"), "value"] > 0.95
        assert entropies.loc[(corpus, "normal"), "value"] < 0.95


def test_figures_show_the_probe_of_reviews_where_it_is_there() -> None:
    probe = made_up_results(
        [
            {"part": "reviews", "corpus": "rotten_tomatoes", "attention": "additive"}
            | {"grounding": "none", "freeze_embeddings": False}
        ],
        lambda _: {},
        seeds=[1],
    )
    (cell,) = probe.cells["cell"]
    token = {"cell": cell, "id": 5, "item": 0, "p": 0.7, "weight": 1.0}
    own = world(keep=lambda c: c["part"] == "sst")
    shown = PaperResults(
        probe.cells, own.summary[:0], {"single_token_tokens": pd.DataFrame([token])}
    )
    vars(own)["probes"] = shown
    table = PAPER.exhibit("figure2").make(own)
    assert table[["corpus", "document", "value"]].to_numpy().tolist() == [
        ["rotten_tomatoes", 5, 0.7],
        ["rotten_tomatoes", 5, 1.0],
    ]


def test_figure1_is_a_curve_of_each_model() -> None:
    for row, jsd in CURVES.items():
        lam = float(row.removeprefix("lambda="))
        tvd = one("figure1", corpus="sst", model="mlm", lam=lam, measure="TVD")
        assert tvd["value"] == pytest.approx(jsd * PRICE["mlm"])
    assert len(made("figure1")) == 2 * 2 * len(CURVES) * 2


@pytest.mark.parametrize("number", range(2, 8))
def test_figures_show_a_document_each(number: int) -> None:
    """Seed 1 of four models, two attentions: three tokens, of which p is 0.6."""
    table = made(f"figure{number}")
    assert set(table["document"]) == {20 + 10 * (number - 2)}
    assert set(table["corpus"]) == {"sst"}
    assert len(table) == 4 * 2 * ITEMS * 2
    assert set(table.loc[table["measure"] == "p", "value"]) == {0.6}
    assert table.loc[table["measure"] == "weight", "value"].tolist() == [0, 1 / 3, 2 / 3] * 8


def selected(f1: dict[float, float], lost: dict[float, float]) -> dict[float, tuple[str, str]]:
    """Strength of tying → picked, used; the base has F1 of 85, and 0.3 is used."""

    def change(configuration: Configuration, own: Numbers) -> None:
        if configuration["part"] == "selection" and model_of(configuration) == "tying":
            own["replacement", TRAINED, "f1"] = f1[configuration["strength"]]
            own["replacement", PERMUTED, "delta_f1"] = -lost[configuration["strength"]]

    wanted = ("selection", "sst")
    one_seed = world(change, ["sst"], keep=lambda c: c["part"] in wanted, seeds=[1])
    table = PAPER.exhibit("selection").make(one_seed)
    own = table[(table["model"] == "tying") & (table["measure"] == "F1")]
    assert set(own["attention"]) == {"additive"}
    rows = own.set_index("strength")
    return {strength: (row["picked"], row["used"]) for strength, row in rows.iterrows()}


def test_selection_picks_by_each_rule() -> None:
    """1.0 is the most fragile and loses 2 points; 0.1 and 0.3 are within one, 0.3 more fragile."""
    found = selected({0.1: 84.9, 0.3: 84.1, 1.0: 83.0}, {0.1: 10, 0.3: 20, 1.0: 40})
    assert found == {0.1: ("best", ""), 0.3: ("fragile", "yes"), 1.0: ("as-written", "")}


def test_selection_picks_the_best_where_none_is_within() -> None:
    found = selected({0.1: 80.0, 0.3: 79.0, 1.0: 82.0}, {0.1: 10, 0.3: 20, 1.0: 40})
    assert found == {0.1: ("", ""), 0.3: ("", "yes"), 1.0: ("best, fragile, as-written", "")}
