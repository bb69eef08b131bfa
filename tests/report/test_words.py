"""The verdict in words: each limit from both sides, and headlines for every mix of leanings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from testimony import Cell, cell, more_than_random, optimal, part_optimal, survives, witness

import verax
from verax.exams.erasure.summary import PART
from verax.report.cells import study_witnesses
from verax.report.headline import caveats, headline, short
from verax.report.sections import cards, exam_part, first_screen
from verax.report.witness import Witness
from verax.report.words import ASIDE, OPEN, statements

TAU = ("agreement", "agreement", "inputs: attention : leave-one-out", "τ-b")
ALONE = ("single_token", "single_token", "correct decisions", "a token alone")
CONFIDENCE = ("single_token", "single_token", "correct decisions", "confidence")
LEAKS = (cell(*ALONE, 0.9, 0.88, 0.92), cell(*CONFIDENCE, 0.93, 0.91, 0.95))
JSD = cell("adversary", "adversary", "ε = 0.05", "JSD", 0.5, 0.4, 0.6)
ABOVE = more_than_random(20.0, 10.0, 30.0)
TRUE = part_optimal(90.0, 85.0, 95.0)
HELD = ("adversary", "adversary", "ε = 0.05", "held back")


def leaning(*cells: Cell, **manifest: object) -> str:
    (said,) = statements(witness(*cells, **manifest))
    return said.leaning


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([part_optimal(90.0, 81.0, 95.0), ABOVE], "for"),
        ([part_optimal(90.0, 79.0, 95.0), ABOVE], "open"),
        ([part_optimal(90.0, 81.0, 95.0), more_than_random(2.0, -1.0, 5.0)], "open"),
        ([part_optimal(90.0, 81.0, 95.0)], "open"),
        ([part_optimal(90.0, 81.0, 95.0), more_than_random(-4.0, -7.0, -1.0)], "against"),
        ([part_optimal(30.0, 20.0, 49.0), ABOVE], "against"),
        ([part_optimal(30.0, 20.0, 51.0), ABOVE], "open"),
        ([optimal(30.0, 20.0, 49.0)], "against"),
        ([optimal(100.0, 99.0, 100.0)], "open"),
        ([cell(*TAU, 0.7, 0.61, 0.8)], "for"),
        ([cell(*TAU, 0.2, 0.1, 0.29)], "against"),
        ([cell(*TAU, 0.4, 0.31, 0.5)], "open"),
        ([survives(97.0, 95.5, 99.0)], "against"),
        ([survives(70.0, 60.0, 79.0)], "for"),
        ([survives(96.0, 94.0, 98.0)], "open"),
        ([JSD, cell(*HELD, 0.3, 0.21, 0.4)], "for"),
        ([JSD, cell(*HELD, 0.03, 0.01, 0.049)], "against"),
        ([JSD, cell(*HELD, 0.1, 0.04, 0.19)], "open"),
    ],
)
def test_an_exam_leans_only_where_all_of_its_interval_is_beyond_a_limit(
    cells: list[Cell], expected: str
) -> None:
    assert leaning(*cells) == expected


@pytest.mark.parametrize(
    ("alone", "confidence", "expected"),
    [
        ((0.90, 0.88, 0.92), (0.93, 0.91, 0.95), "against"),  # the two intervals meet
        ((0.55, 0.53, 0.59), (0.93, 0.91, 0.95), "for"),
        ((0.70, 0.68, 0.72), (0.93, 0.91, 0.95), "open"),
        ((0.60, 0.58, 0.62), (0.61, 0.59, 0.63), "open"),  # the model itself is not sure
    ],
)
def test_single_token_is_held_against_confidence_and_chance(
    alone: tuple[float, ...], confidence: tuple[float, ...], expected: str
) -> None:
    assert leaning(cell(*ALONE, *alone), cell(*CONFIDENCE, *confidence)) == expected


def test_without_an_interval_the_number_itself_is_judged() -> None:
    nothing = float("nan")
    assert leaning(part_optimal(81.0, nothing, nothing), ABOVE) == "for"


@pytest.mark.parametrize(
    ("cells", "beginning", "told"),
    [
        ([TRUE, ABOVE, survives(70, 60, 75)], "Nothing found here speaks against", "2 for"),
        ([optimal(10, 5, 15), survives(99, 98, 100)], "Do not take this attention", "2 against"),
        ([TRUE, ABOVE, survives(99, 98, 100)], "This attention tells part of", "1 for, 1"),
        ([optimal(60, 50, 70)], "The one exam taken here leaves open", "1 open"),
        ([], "The exams taken here do not ask", "not asked"),
    ],
)
def test_the_headline_counts_exams(cells: list[Cell], beginning: str, told: str) -> None:
    said = statements(witness(*cells))
    assert headline(said).startswith(beginning)
    assert short(said).startswith(told)


def test_an_accurate_model_is_not_believed_for_it() -> None:
    accurate = cell("erasure", "documents", "accuracy", "value", 100.0, 99.0, 100.0, "percent")
    (said,) = statements(witness(accurate))
    assert said.leaning == ASIDE
    assert headline([said]).startswith("The exams taken here do not ask")


def test_numbers_come_with_intervals_and_with_what_they_are_compared_to() -> None:
    random = part_optimal(7.2, 4.0, 12.6, "random (5 draws)")
    first = part_optimal(6.8, 3.7, 12.1, "random")
    (said,) = statements(witness(part_optimal(30.6, 23.7, 38.5), first, random))
    assert "30.6% (23.7% to 38.5%)" in said.sentence
    assert said.compared == "in random order 7.2%"


def test_sentences_are_not_called_words() -> None:
    (said,) = statements(witness(optimal(30.0, 20.0, 40.0), attended="sentences"))
    assert "most attended sentences" in said.label
    assert "word" not in said.sentence


def test_caveats_say_how_many_were_examined() -> None:
    told = caveats(witness(documents=150, sampled_from=854))
    assert any("150 of 854" in line for line in told)
    assert not any(" of " in line and "854" in line for line in caveats(witness(documents=150)))


def counted(**counts: float) -> list[Cell]:
    rows = {"examined": "examined", "all": "flips only when all weight is erased"}
    rows["never"] = "no erasure flips it"
    return [
        cell("erasure", "documents", rows[name], "value", number, unit="count")
        for name, number in counts.items()
    ]


def test_documents_that_change_only_when_all_is_erased_are_told() -> None:
    cells = [part_optimal(19.5, 12.0, 29.0), *counted(examined=250, all=100, never=63)]
    (said,) = statements(witness(*cells, n=87))
    assert said.of == (
        "of 87 documents that change before all is erased; 100 change only then, 63 never"
    )
    assert "in 87 of 250 documents" in said.sentence
    assert "100 more change only when all is erased, where nothing is shorter" in said.sentence
    page = first_screen([witness(*cells, n=87)]).inner
    for told in (said.of, said.limits, "19.5%", "✗ speaks against it"):
        assert told in page


def test_of_too_few_documents_nothing_is_said() -> None:
    (said,) = statements(witness(part_optimal(0.0, 0.0, 16.8), ABOVE, n=19))
    assert said.leaning == OPEN
    assert "too few to judge" in said.sentence
    (said,) = statements(witness(part_optimal(*[float("nan")] * 3), optimal(100, 98, 100), n=0))
    assert said.leaning == OPEN
    assert "in 0 documents: too few to judge" in said.sentence


def test_results_that_do_not_tell_them_apart_cannot_speak_for_attention() -> None:
    (said,) = statements(witness(optimal(100, 98, 100), *counted(all=250)))
    assert said.leaning == OPEN
    assert "(250) that change only when all is erased" in said.sentence
    assert "with those that change only when all is erased" in said.label
    assert "cannot speak for attention" in said.sentence


def test_uniform_attention_is_never_spoken_for(
    make_model: Callable[..., verax.AttentionClassifier], planted: verax.Corpus
) -> None:
    model = make_model(encoder="none", projection="uniform")
    verdict = verax.examine(model, planted, ["erasure", "single_token"], draws=2)
    assert not verdict.summary("excess").loc["attention", PART] > 0
    judged = Witness.of("uniform", verdict)
    assert "for" not in [one.leaning for one in statements(judged)]
    assert any("uniform by construction" in line for line in caveats(judged))
    # not even by numbers that would speak for another
    praised = witness(TRUE, ABOVE, survives(70, 60, 75), model=verdict.manifest["model"])
    assert [one.leaning for one in statements(praised)] == ["open", "open"]


@pytest.mark.parametrize(
    ("kept", "confidence", "expected"),
    [
        ((97.0, 95.0, 98.0), None, "against"),
        ((58.1, 50.0, 65.0), None, "open"),  # what flips decisions does not say the same
        ((97.0, 95.0, 98.0), (0.6, 0.55, 0.65), "open"),  # nor does much move a model near ½
        ((97.0, 95.0, 98.0), (0.9, 0.85, 0.95), "against"),
    ],
)
def test_another_attention_must_keep_decisions_of_a_model_that_is_sure(
    kept: tuple[float, ...], confidence: tuple[float, ...] | None, expected: str
) -> None:
    cells = [
        JSD,
        cell(*HELD, 0.03, 0.01, 0.049),
        cell(*HELD[:3], "decisions kept", *kept, "percent"),
    ]
    if confidence is not None:
        cells.append(
            cell("single_token", "single_token", "all decisions", "confidence", *confidence)
        )
    (said,) = statements(witness(*cells))
    assert said.leaning == expected
    assert said.number.value == 0.03  # what is shown is what is judged
    assert f"decisions kept {kept[0]}%" in said.compared
    assert "JSD" in said.compared


def test_with_twenty_classes_a_small_change_keeps_no_decision() -> None:
    """The decided class has 0.06, so that 0.05 allows nearly everything."""
    cells = [JSD, cell(*HELD, 2.9e-17, 1e-17, 4e-17)]
    cells.append(cell(*HELD[:3], "decisions kept", 47.7, 40.0, 55.0, "percent"))
    (said,) = statements(witness(*cells, classes=[str(k) for k in range(20)]))
    assert said.leaning == OPEN
    assert "holds it back by 0.000 (0.000 to 0.000)" in said.sentence
    assert "Too few decisions are kept" in said.sentence


def test_single_token_is_not_counted_where_classes_are_unknown() -> None:
    (said,) = statements(witness(*LEAKS, classes=[]))
    assert said.leaning == ASIDE
    assert "not judged: the number of classes is not known" in said.compared
    assert short([said]) == "not asked"


def test_a_study_packed_without_its_tables_knows_classes_and_documents() -> None:
    results = verax.open_study(Path(__file__).parents[2] / "results/tutek-snajder-2020/sst")
    found = {w.name: w for w in study_witnesses(results)}
    leanings = {}
    for name in ("additive, tying, freeze embeddings", "dot, no grounding"):
        own = found[name]
        said = next(one for one in statements(own) if one.exam == "single_token")
        leanings[name.split(",")[0]] = said.leaning
        assert own.item == "word"
        assert "1,3" in said.of or "1,4" in said.of  # of 1,725 documents those decided right
    assert leanings == {"additive": "for", "dot": "against"}


def test_limits_are_on_the_page() -> None:
    cells = [
        survives(96.0, 94.0, 98.0),
        cell(*TAU, 0.4, 0.31, 0.5),
        JSD,
        cell(*HELD, 0.1, 0.0, 0.2),
    ]
    page = first_screen([witness(*cells)]).inner
    for told in (
        "for it below 80%, against it above 95%",
        "for it above 0.6, against it below 0.3",
    ):
        assert told in page
    assert "for it above 0.2, against it below 0.05" in page
    assert page.count("of 100 documents") == 3
    one, three = witness(*LEAKS, name="two"), witness(*LEAKS, name="three", classes=list("abc"))
    page = exam_part("single_token", [one, three], []).inner
    assert "<bdi>two</bdi>: It speaks for it below 0.6, " in page
    assert "<bdi>three</bdi>: It speaks for it below 0.433, " in page


def test_a_leaning_is_told_in_words_and_by_a_sign() -> None:
    own = witness(survives(97.0, 95.5, 99.0))
    assert "✗ speaks against it" in cards(statements(own))
    assert 'aria-label="speaks against it">✗</span>' in first_screen([own, own]).inner


@pytest.mark.parametrize(
    ("majority", "told"), [(0.52, "largest class in 52.0%"), (float("nan"), "random in 50.0%")]
)
def test_a_model_that_may_have_learned_nothing_is_told_of(majority: float, told: str) -> None:
    def of(value: float, low: float, high: float) -> str:
        right = cell("erasure", "documents", "accuracy", "value", value, low, high, "percent")
        own = witness(right)
        return " ".join(caveats(Witness("", own.summary, own.manifest, majority=majority)))

    assert "learned nothing" in of(55.0, 48.0, 62.0)
    assert told in of(55.0, 48.0, 62.0)
    assert "learned nothing" not in of(60.0, 53.0, 67.0)
