"""Which models are seeds of one, what groups are called, and what is refused before any work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from made_up import verdict_of

import verax
from support.errors import raises
from verax.models import AttentionClassifier, ModelOptions
from verax.studies.comparison.grouping import grouped
from verax.training import TrainingOptions
from verax.training.strength import STRENGTHS

Make = Callable[..., AttentionClassifier]


def made(
    seed: int = 0, *, fingerprint: str = "f", chosen: float | None = None, **told: Any
) -> verax.Verdict:
    """A verdict that says what its model was told, and nothing else; resolved as training does."""
    of_model = {k: v for k, v in told.items() if hasattr(ModelOptions(), k)}
    of_training = {k: v for k, v in told.items() if k not in of_model}
    if chosen is not None:
        of_model["strength"] = chosen
    record: dict[str, Any] = {
        "options": asdict(ModelOptions(**of_model).resolved(2)),
        "training": {**asdict(TrainingOptions(**of_training)), "seed": seed},
        "corpus": {"corpus": "planted", "fingerprint": fingerprint},
    }
    if chosen is not None:
        tried = [{"strength": s} for s in (None, *STRENGTHS["tying"])]
        record["strength"] = {"chosen": chosen, "candidates": tried}
    return verax.Verdict({}, {"model": record, "classes": ["0", "1"]})


def names(*given: verax.Verdict) -> dict[str, list[int | None]]:
    return {name: [e.seed for e in group] for name, group in grouped(given).items()}


def test_seeds_are_one_group_called_by_what_differs() -> None:
    found = names(made(0), made(0, grounding="tying"), made(1), made(1, grounding="tying"))
    assert found == {"grounding=none": [0, 1], "grounding=tying": [0, 1]}
    found = names(made(encoder="conv", projection="sparsemax"), made(5), made(6))
    assert found == {
        "encoder=conv, projection=sparsemax": [0],
        "encoder=bilstm, projection=softmax": [5, 6],
    }


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (
            {"projection": "sparsegen", "lam": 0.5},
            {"projection": "sparsegen"},
            ["lam=0.5", "lam=0"],
        ),
        (
            {"projection": "sparsemax"},
            {"projection": "sparsegen", "lam": 0.5},
            ["projection=sparsemax", "projection=sparsegen, lam=0.5"],
        ),
        ({"hierarchical": True}, {}, ["hierarchical=true", "hierarchical=false"]),
        ({"epochs": 3}, {"epochs": 4}, ["epochs=3", "epochs=4"]),
        ({"clip": None}, {}, ["clip=none", "clip=5"]),
        ({"grounding": "tying"}, {"grounding": "mlm"}, ["grounding=tying", "grounding=mlm"]),
        (
            {"grounding": "tying", "strength": 3.0},
            {"grounding": "tying"},
            ["strength=3", "strength=1"],
        ),
        (
            {"grounding": "tying", "chosen": 10.0},
            {"grounding": "tying", "strength": 10.0},
            ["strength=auto", "strength=10"],
        ),
        (
            {"grounding": "tying", "chosen": 1.0},
            {},
            ["grounding=tying, strength=auto", "grounding=none"],
        ),
    ],
)
def test_names(a: dict[str, Any], b: dict[str, Any], expected: list[str]) -> None:
    assert list(names(made(**a), made(**b))) == expected


def test_a_chosen_strength_and_what_has_no_effect_do_not_split_seeds() -> None:
    tying = {"grounding": "tying"}
    found = names(made(), made(0, chosen=1.0, **tying), made(1, chosen=20.0, **tying))
    assert list(found.values()) == [[0], [0, 1]]
    found = names(made(lam=0.5), made(1, max_tokens=99), made(encoder="conv"))
    assert list(found.values()) == [[0, 1], [0]]


def test_where_nothing_differs_each_is_its_own(make_model: Make, tmp_path: Path) -> None:
    assert list(grouped([made(0), made(1)])) == ["verdict 1", "verdict 2"]
    model = make_model()  # which says nothing of how it was trained
    model.save(tmp_path / "mine")
    (tmp_path / "b").mkdir()
    model.save(tmp_path / "b" / "mine")
    model.save(tmp_path / "yours")
    given = [model, tmp_path / "mine", tmp_path / "yours"]
    assert list(grouped(given)) == ["model 1", "mine", "yours"]
    twice = [str(tmp_path / "mine"), str(tmp_path / "b" / "mine"), str(tmp_path / "mine")]
    assert list(grouped(twice)) == ["mine", "mine (2)", "mine (3)"]  # folders are not told
    # trained on other texts of the same name
    assert list(grouped([made(), made(fingerprint="g")])) == ["verdict 1", "verdict 2"]


def test_a_mapping_says_itself() -> None:
    found = grouped({"mine": made(3), "yours": (made(0), made(1))})
    assert {n: [e.seed for e in g] for n, g in found.items()} == {"mine": [3], "yours": [0, 1]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ("result.too-few",)),
        ({"a": made()}, ("result.too-few",)),
        (made(), ("result.too-few",)),
        ({"a": made(), "b": []}, ("option.empty", "b")),
        ({"a": made(), 7: made(1)}, ("option.wrong-type",)),
        ({"a": made(), "b": 7}, ("result.wrong-kind",)),
        ({"a": [made(), made(1), made()], "b": made()}, ("option.duplicate",)),
        ({"a": [made(), made(1, epochs=2)], "b": made()}, ("result.incomparable", "a")),
        ([made(), made(), made(encoder="conv")], ("option.duplicate",)),
        (["nowhere", made()], ("result.missing",)),
    ],
)
def test_what_cannot_be_grouped(given: Any, expected: tuple[str, ...]) -> None:
    with raises(*expected) as error:
        verax.compare(given)
    assert "\n" not in str(error.value)


def asked(**changed: Any) -> verax.Verdict:
    """A verdict with numbers, and a manifest of which some part is another."""
    found = verdict_of([0.1, 0.2, 0.3], [0.3, 0.2, 0.1])
    manifest = {
        "exams": ["agreement", "dispersion"],
        "corpus": {"corpus": "planted", "fingerprint": "f"},
        "split": "test",
        "documents": 3,
        "sampled_from": 9,
        "seed": 0,
        "options": {"agreement": {"top_k": None}, "dispersion": {"entropy_of": "gradient"}},
    }
    return verax.Verdict(found.tables, {**manifest, **changed})


@pytest.mark.parametrize(
    ("changed", "given", "expected"),
    [
        ({"corpus": {"corpus": "imdb", "fingerprint": "g"}}, {}, ("result.incomparable",)),
        ({"corpus": {"corpus": "planted", "fingerprint": "g"}}, {}, ("result.incomparable",)),
        ({"split": "train"}, {}, ("result.incomparable",)),
        ({"documents": 2}, {}, ("result.incomparable",)),
        ({"seed": 4}, {}, ("result.incomparable", "4")),
        ({"exams": ["erasure"]}, {}, ("result.incomparable",)),
        ({"exams": ["agreement"]}, {"exams": "dispersion"}, ("result.incomparable",)),
        (
            {"options": {"agreement": {"top_k": 5}, "dispersion": {"entropy_of": "gradient"}}},
            {},
            ("result.incomparable", "top_k"),
        ),
        ({}, {"split": "train"}, ("result.incomparable",)),
        ({}, {"split": "dev"}, ("option.unknown-value", "dev")),
        ({}, {"sample": 2}, ("result.incomparable",)),
        ({}, {"sample": 0}, ("option.out-of-range", "sample")),
        ({}, {"top_k": 7}, ("result.incomparable", "top_k")),
        ({}, {"top_j": 7}, ("option.unknown", "top_j")),
        ({}, {"entropy_of": "gradeint"}, ("option.unknown-value", "gradeint")),
        ({}, {"exams": ["agreemnt"]}, ("option.unknown-value", "agreemnt")),
        ({}, {"exams": []}, ("option.missing",)),
        ({}, {"seed": -1}, ("option.out-of-range", "seed")),
    ],
)
def test_verdicts_on_something_else_are_refused(
    changed: dict[str, Any], given: dict[str, Any], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        verax.compare({"a": asked(), "b": asked(**changed)}, **given)
    assert "\n" not in str(error.value)


def test_verdicts_alone_need_no_corpus_and_a_manifest_is_not_believed() -> None:
    found = verax.compare({"a": asked(), "b": asked()}, sample=3)
    assert (found.table()["difference"] == 0).all()
    other = verdict_of([0.1, 0.2], [0.3, 0.2])
    with raises("result.incomparable"):
        verax.compare({"a": asked(), "b": verax.Verdict(other.tables, asked().manifest)})


def test_exams_that_verdicts_have_in_common() -> None:
    one = asked(exams=["dispersion"])
    found = verax.compare({"a": asked(), "b": one})
    assert found.manifest["exams"] == ["dispersion"]
    assert not any(m.startswith("tau") for m in found.table()["measure"])


@pytest.mark.slow
def test_models_of_different_corpora_need_one_named() -> None:
    small = "planted:documents=72,length=12"
    told: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 1, "device": "cpu"}
    corpora = [verax.load_corpus("planted", documents=n, length=12) for n in (60, 90)]
    models = [verax.train(corpus, **told) for corpus in corpora]
    with raises("corpus.not-named"):
        verax.compare({"a": models[0], "b": models[1]})
    few = {"inputs": "gradient", "items": "gradient"}
    found = verax.compare({"a": models[0], "b": models[1]}, corpora[1], "agreement", **few)
    assert found.manifest["documents"] == len(corpora[1].test)
    by_name = verax.compare({"a": models[0], "b": models[1]}, small, "agreement", sample=4, **few)
    assert by_name.manifest["documents"] == 4
    verdict = verax.examine(models[0], corpora[0], "agreement", **few)
    with raises("result.incomparable"):
        verax.compare({"a": verdict, "b": models[1]}, None, "agreement", **few)
    with raises("result.incomparable"):
        verax.compare({"a": verdict, "b": verdict}, small)
    assert verax.compare({"a": verdict, "b": verdict}, corpora[0]).groups == ["a", "b"]


def test_models_of_several_tokenizers_are_compared_on_one_corpus(
    make_model: Make, planted: verax.Corpus
) -> None:
    models = {"words": make_model(tokenizer="words"), "short": make_model(max_length=5)}
    found = verax.compare(models, planted, "replacement", permutations=1, progress=False)
    assert found.groups == ["words", "short"]
    assert found.manifest["fingerprint"] == planted.fingerprint


def test_models_that_name_no_corpus_need_one(make_model: Make) -> None:
    with raises("corpus.not-named"):
        verax.compare([make_model(), make_model()])


# -- adversaries


def against(lam: float, base_seed: int | None = 0, seed: int = 1, **told: Any) -> verax.Verdict:
    found = made(seed, **{"epochs": 80, "patience": 10, "metric": "loss", **told})
    found.manifest["model"]["adversary"] = {"lam": lam, "base_seed": base_seed}
    return found


def test_adversaries_are_told_apart_by_lam_and_base() -> None:
    found = names(made(), against(0.0), against(1.0), against(1.0, seed=2))
    assert found == {"verdict 1": [0], "adversary λ=0": [1], "adversary λ=1": [1, 2]}
    found = names(made(), against(1.0), against(1.0, base_seed=5))
    assert list(found) == [
        "verdict 1",
        "adversary λ=1, base of the adversary=0",
        "adversary λ=1, base of the adversary=5",
    ]
    found = names(against(0.1), against(1.0, epochs=5))
    assert list(found) == ["epochs=80, adversary λ=0.1", "epochs=5, adversary λ=1"]
    found = names(made(), made(encoder="conv"), against(0.3, encoder="conv"))
    assert list(found) == ["encoder=bilstm", "encoder=conv", "encoder=conv, adversary λ=0.3"]


def test_one_adversary_twice_is_refused() -> None:
    with raises("option.duplicate"):
        grouped([made(), against(1.0), against(1.0)])


def test_a_guided_model_is_not_the_one_without_a_guide() -> None:
    told = made(1)
    told.manifest["model"]["guide"] = {"seed": 3}
    assert list(names(made(1), told)) == ["verdict 1", "guide=3"]


def test_options_that_an_encoder_does_not_use_make_no_groups() -> None:
    """As in a study, where such models are one cell."""
    for one, other in (
        ({"encoder": "none", "hidden_size": 10}, {"encoder": "none"}),
        ({"encoder": "mlp", "dropout_encoder": 0.5}, {"encoder": "mlp"}),
        ({"encoder": "conv", "layers": 1}, {"encoder": "conv"}),
        ({"encoder": "bilstm", "layers": 1}, {"encoder": "bilstm"}),
        ({"encoder": "transformer", "layers": 2}, {"encoder": "transformer"}),
        ({"encoder": "conv", "dropout_encoder": 0.3}, {"encoder": "conv"}),
    ):
        found = names(made(0, **one), made(1, **other), made(2, encoder="bigru"))
        assert sorted(found.values()) == [[0, 1], [2]]
