"""Options belong to their exam: given by name, or under the exam's where two share a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd
import pytest
import torch

import verax
from support.errors import raises
from verax.cli import main
from verax.exams import Exam, load_verdict, register, unregister
from verax.exams.authoring import Measure, Table, number_cell, option, summary_frame
from verax.models import AttentionClassifier, Trace

Make = Callable[..., AttentionClassifier]


@dataclass(frozen=True)
class FactorOptions:
    factor: float = option(1.0, "what every number of items is multiplied by", minimum=0)
    draws: int = option(5, "of the same name as an option of erasure", minimum=1)


@dataclass(frozen=True)
class OtherOptions:
    """Of the same names, declared apart."""

    factor: float = option(1.0, "what every number of items is multiplied by", minimum=0)
    draws: int = option(5, "of the same name as an option of erasure", minimum=1)


class Counting(Exam):
    """The number of items of a document, times a factor."""

    options_class = FactorOptions
    charts = None

    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        everyone = torch.ones(len(trace), dtype=torch.bool)
        items = trace.mask.sum(-1) * self.options.factor
        self.builder.add(self.name, trace.ids, {"items": items}, everyone)

    @classmethod
    def summarise(cls, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        values = tables[cls.name]["value"]
        mean = (float(values.mean()), float("nan"), float("nan"))
        return summary_frame(cls.name, [number_cell(cls.name, "all", "items", mean, len(values))])


class FirstToy(Counting):
    name = "first_toy"
    summary_tables = (Table("first_toy", "items", (Measure("items", "items"),)),)
    tidy_tables = ("first_toy",)


class SecondToy(Counting):
    name = "second_toy"
    options_class = OtherOptions
    summary_tables = (Table("second_toy", "items", (Measure("items", "items"),)),)
    tidy_tables = ("second_toy",)


@pytest.fixture
def toys() -> Iterator[list[str]]:
    """Two exams with options of the same names."""
    names = [register(exam).name for exam in (FirstToy, SecondToy)]
    yield names
    for name in names:
        unregister(name)


def permuted(verdict: verax.Verdict) -> int:
    table = verdict.tables["replacement"]
    return int(table.loc[table["attention"] == "permuted", "draw"].nunique())


def test_a_keyword_finds_its_exam(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    flat = verax.examine(model, planted, ["replacement", "single_token"], permutations=3, curves=2)
    assert permuted(flat) == 3
    assert flat.manifest["options"] == {
        "replacement": {"permutations": 3},
        "single_token": {"curves": 2},
    }
    told = {"replacement": {"permutations": 3}, "single_token": {"curves": 2}}
    under = verax.examine(model, planted, ["replacement", "single_token"], **told)
    assert under.manifest["options"] == flat.manifest["options"]
    pd.testing.assert_frame_equal(under.summary(), flat.summary())


def test_an_option_of_two_exams_is_given_under_ones_name(
    toys: list[str], make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model()
    with raises("option.ambiguous", "factor", "first_toy", "second_toy") as e:
        verax.examine(model, planted, toys, factor=2.0)
    assert "\n" not in str(e.value)
    found = verax.examine(
        model, planted, toys, first_toy={"factor": 2.0}, second_toy={"factor": 3.0}
    )
    once = verax.examine(model, planted, toys)
    for name, factor in (("first_toy", 2.0), ("second_toy", 3.0)):
        items = once.value(f"{name}.all.items")
        assert found.value(f"{name}.all.items") == pytest.approx(factor * items)
        assert found.manifest["options"][name] == {"factor": factor, "draws": 5}
    one = verax.examine(model, planted, toys, second_toy={"factor": 3.0})
    assert one.value("first_toy.all.items") == once.value("first_toy.all.items")
    assert one.value("second_toy.all.items") == found.value("second_toy.all.items")


def test_an_option_of_one_of_the_exams_taken_needs_no_exams_name(
    toys: list[str], make_model: Make, planted: verax.Corpus
) -> None:
    found = verax.examine(make_model(), planted, ["first_toy", "single_token"], factor=2.0, draws=9)
    assert found.manifest["options"]["first_toy"] == {"factor": 2.0, "draws": 9}


def test_erasure_keeps_its_own_draws(
    toys: list[str], make_model: Make, planted: verax.Corpus
) -> None:
    model, exams = make_model(), ["erasure", "first_toy"]
    with raises("option.ambiguous", "draws", "first_toy"):
        verax.examine(model, planted, exams, draws=2)
    given = {"erasure": {"draws": 2}, "first_toy": {"draws": 3}, "factor": 4.0}
    options = verax.examine(model, planted, exams, **given).manifest["options"]
    assert options["erasure"]["draws"] == 2
    assert options["first_toy"] == {"draws": 3, "factor": 4.0}


@pytest.mark.slow
def test_on_the_command_line_too(
    toys: list[str], planted: verax.Corpus, make_model: Make, tmp_path: object
) -> None:
    folder, out = f"{tmp_path}/model", f"{tmp_path}/verdict"
    model = make_model()
    model.record = {}
    model.save(folder)
    command = ["examine", folder, "--corpus", "planted", "--documents", "60", "--out", out]
    command += ["--exams", ",".join(toys), "--first_toy.factor", "2"]
    assert main(command) == 0
    options = load_verdict(out).manifest["options"]
    assert [options[name]["factor"] for name in toys] == [2.0, 1.0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"permutation": 3}, ("option.unknown", "permutations")),
        ({"draws": 3}, ("option.unknown", "draws")),
        (
            {"replacement": {"permutation": 3}},
            ("option.unknown", "replacement", "permutations"),
        ),
        ({"replacement": {"permutations": 0}}, ("option.out-of-range", "permutations")),
        ({"replacement": 3}, ("option.wrong-type",)),
        ({"erasure": {"draws": 3}}, ("option.not-applicable", "erasure")),
        ({"replacment": {"permutations": 3}}, ("option.unknown", "replacment", "replacement")),
    ],
)
def test_what_is_refused_is_one_line(
    make_model: Make, planted: verax.Corpus, given: dict[str, object], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        verax.examine(make_model(), planted, "replacement", **given)
    assert "\n" not in str(error.value)


def test_an_exams_table_has_the_exams_name() -> None:
    class Astray(FirstToy):
        name = "astray"

    with raises("plugin.invalid", "astray", "first_toy"):
        register(Astray)


@pytest.mark.slow
def test_what_exams_inherit_from_one_class_is_one_option(
    make_model: Make, planted: verax.Corpus
) -> None:
    model, exams = make_model(), ["deletion", "sufficiency", "plausibility"]
    given = {"rankings": "attention", "operator": "mask", "sufficiency": {"operator": "delete"}}
    for ordered in (given, dict(reversed(given.items()))):
        options = verax.examine(model, planted, exams, sample=5, **ordered).manifest["options"]
        assert {exam: options[exam]["rankings"] for exam in exams} == dict.fromkeys(
            exams, "attention"
        )
        assert options["deletion"]["operator"] == "mask"
        assert options["sufficiency"]["operator"] == "delete"
        assert "operator" not in options["plausibility"]
