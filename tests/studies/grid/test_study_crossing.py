"""What a study file means: crosses, unions, choices with options, and who overrides whom."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_files import chosen, study

from verax.studies import read_study

PLANTED = {"planted": {"documents": 60, "length": 12}}


def test_with_a_corpus_alone_there_is_one_cell_of_defaults(tmp_path: Path) -> None:
    found = study(tmp_path, "corpora: SMALL\n")
    (cell,) = found.cells
    assert (cell.seed, cell.split, cell.sample, cell.vectors) == (0, "test", None, None)
    assert list(cell.exams) == [
        "erasure", "agreement", "dispersion", "replacement", "information", "single_token",
        "adversary",
    ]  # fmt: skip
    assert (found.name, found.question, found.weights) == ("study", None, False)
    assert found.corpora[cell.fingerprint].config["documents"] == 60
    assert found.labels == {cell.key: "planted  seed 0"}


def test_lists_cross_and_the_first_varies_slowest(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        models: {encoder: [none, mlp], projection: [softmax, sparsemax]}
        training: {lr: [1e-3, 3e-4]}
        seeds: [5, 7]
        """,
    )
    expected = itertools.product(("none", "mlp"), ("softmax", "sparsemax"), (1e-3, 3e-4), (5, 7))
    assert chosen(found, "encoder", "projection", "lr", "seed") == list(expected)


def test_options_of_a_choice_cross_within_it_only(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        models:
          projection:
          - softmax
          - sparsegen: {lam: [0.25, 0.75], epochs: [1, 2]}
          - entmax: {alpha: 1.25}
          grounding: {none: , tying: {strength: [1, 2]}}
        """,
    )
    projections = [
        ("softmax", 0.0, 1.5, 8),
        ("sparsegen", 0.25, 1.5, 1),
        ("sparsegen", 0.25, 1.5, 2),
        ("sparsegen", 0.75, 1.5, 1),
        ("sparsegen", 0.75, 1.5, 2),
        ("entmax", 0.0, 1.25, 8),
    ]
    groundings = [("none", 0.0), ("tying", 1.0), ("tying", 2.0)]
    names = ("projection", "lam", "alpha", "epochs", "grounding", "strength")
    assert chosen(found, *names) == [(*p, *g) for p in projections for g in groundings]


def test_a_choice_within_a_choice(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        models:
          projection: softmax
          grounding:
          - none
          - concat: {projection: [sparsemax, {sparsegen: {lam: [0.1, 0.2]}}]}
        """,
    )
    assert chosen(found, "grounding", "projection", "lam") == [
        ("none", "softmax", 0.0),
        ("concat", "sparsemax", 0.0),
        ("concat", "sparsegen", 0.1),
        ("concat", "sparsegen", 0.2),
    ]


LAYERS = ("training", "corpus", "model", "nested", "changed")


@pytest.mark.parametrize(
    "there", [c for n in range(1, 6) for c in itertools.combinations(LAYERS, n)]
)
def test_who_comes_later_wins(there: tuple[str, ...]) -> None:
    """training < the corpus's own < a model's < a choice's < by hand, whichever are there."""
    value = {name: number + 2 for number, name in enumerate(LAYERS)}
    given = {name: {"epochs": value[name]} if name in there else {} for name in LAYERS}
    source = {
        "corpora": {"planted": {**PLANTED["planted"], **given["corpus"]}},
        "training": given["training"],
        "models": {**given["model"], "projection": {"entmax": given["nested"]}},
    }
    (cell,) = read_study(source, changed=given["changed"]).cells
    assert cell.training["epochs"] == value[there[-1]]


def test_what_is_overridden_does_not_multiply(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        training: {epochs: [1, 2], lr: [0.1, 0.2]}
        models: {epochs: 3, projection: [softmax, {sparsemax: {lr: 0.5}}]}
        """,
    )
    assert chosen(found, "projection", "epochs", "lr") == [
        ("softmax", 3, 0.1),
        ("softmax", 3, 0.2),
        ("sparsemax", 3, 0.5),
    ]
    assert found.notes == ()


def test_a_list_of_models_is_their_union(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        models:
        - {encoder: none, projection: [softmax, sparsemax]}
        - {encoder: [conv, none]}
        """,
    )
    assert chosen(found, "encoder", "projection") == [
        ("none", "softmax"),
        ("none", "sparsemax"),
        ("conv", "softmax"),
    ]
    assert found.notes == ("2 combinations are one model (written more than once): run once",)


def test_exclude_sees_defaults_and_what_others_set(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        training: {epochs: [1, 2]}
        models:
          encoder: [none, bilstm]
          projection: [softmax, sparsemax]
          exclude:
          - {encoder: bilstm, attention: additive, epochs: 1}
          - {projection: sparsemax, epochs: 2}
        """,
    )
    assert chosen(found, "encoder", "projection", "epochs") == [
        ("none", "softmax", 1),
        ("none", "softmax", 2),
        ("none", "sparsemax", 1),
        ("bilstm", "softmax", 2),
    ]


def test_an_exclusion_holds_for_its_own_models(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora: SMALL
        models:
        - {encoder: [none, mlp], exclude: {encoder: mlp}}
        - {encoder: mlp, lr: 0.5}
        """,
    )
    assert chosen(found, "encoder", "lr") == [("none", 0.001), ("mlp", 0.5)]


def test_by_hand_an_exclusion_may_lose_its_point(tmp_path: Path) -> None:
    text = """
        corpora: SMALL
        models:
          encoder: [none, conv]
          grounding: [none, tying]
          exclude: {encoder: none, grounding: tying}
        """
    found = study(tmp_path, text, changed={"encoder": "conv"})
    assert chosen(found, "encoder", "grounding") == [("conv", "none"), ("conv", "tying")]
    assert chosen(study(tmp_path, text, changed={"encoder": "none"}), "grounding") == [("none",)]


def test_options_of_a_corpus_hold_for_it_alone(tmp_path: Path) -> None:
    found = study(
        tmp_path,
        """
        corpora:
          planted: {documents: 60, length: 12, min_df: 2, epochs: [1, 2]}
          "planted:documents=72": {length: 12}
        training: {epochs: 4}
        """,
    )
    documents = [cell.corpus["documents"] for cell in found.cells]
    assert [
        (d, *rest) for d, rest in zip(documents, chosen(found, "min_df", "epochs"), strict=True)
    ] == [
        (60, 2, 1),
        (60, 2, 2),
        (72, 1, 4),
    ]
    assert len(found.corpora) == 2


def test_labels_of_a_corpus_are_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(
        "text,label\n" + "".join(f"w{n} w{n % 5},{n % 3}\n" for n in range(90))
    )
    found = study(tmp_path, f"corpora: {{{tmp_path}/c.csv: {{labels: {{0: neg, 2: pos}}}}}}\n")
    (corpus,) = found.corpora.values()
    assert corpus.classes == ["neg", "pos"]
    assert found.cells[0].corpus["labels"] == {"0": "neg", "2": "pos"}


@pytest.mark.parametrize(
    ("exams", "expected"),
    [
        ("single_token", {"single_token": {"curves": 0}}),
        ("[single_token, erasure]", {"erasure": {"draws": 5}, "single_token": {"curves": 0}}),
        ("[{erasure: {draws: 2}}]", {"erasure": {"draws": 2}}),
        (
            "{erasure: {draws: 2}, single_token: }",
            {"erasure": {"draws": 2}, "single_token": {"curves": 0}},
        ),
    ],
)
def test_exams_by_name_with_options(tmp_path: Path, exams: str, expected: object) -> None:
    (cell,) = study(tmp_path, f"corpora: SMALL\nexams: {exams}\n").cells
    assert cell.exams == expected
    assert list(cell.exams) == list(expected)  # type: ignore[call-overload]


@pytest.mark.parametrize("exams", ["[all, {erasure: {draws: 2}}]", "{erasure: {draws: 2}, all: }"])
def test_all_exams_and_options_for_one(tmp_path: Path, exams: str) -> None:
    (cell,) = study(tmp_path, f"corpora: SMALL\nexams: {exams}\n").cells
    assert len(cell.exams) == 7
    assert cell.exams["erasure"] == {"draws": 2}


SLOTS = {
    "encoder": ["none", "mlp", "conv"],
    "projection": ["softmax", "sparsemax", "uniform"],
    "attention": ["additive", "dot"],
    "initialisation": ["default", "xavier"],
    "lr": [0.1, 0.2, 0.3],
    "epochs": [1, 2],
}


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_cells_are_the_product_of_what_is_listed(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(SLOTS)), unique=True))
    listed = {
        n: data.draw(st.lists(st.sampled_from(SLOTS[n]), min_size=1, unique=True)) for n in names
    }
    seeds = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True))
    found = read_study({"corpora": PLANTED, "models": listed, "seeds": seeds})
    expected = set(itertools.product(*listed.values(), seeds))
    assert len(found.cells) == len(expected)
    assert set(chosen(found, *listed, "seed")) == expected
    assert len(set(found.labels.values())) == len(found.cells) == len(found.labels)
