"""The vocabulary of papers' files: axes, points, claims and tables as data."""

from __future__ import annotations

from typing import Any

import pytest
from made_up_results import crossed, made_up_results

from research.papers import NAMES, Finding, paper
from research.papers.exhibits import exhibits_of
from research.papers.judging import claims_of, judge, set_aside
from research.papers.points import Grid, Point, Value
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES
from support.errors import raises

KEY = ("t", "r", "c")
GRID = Grid(
    "made up",
    axes={
        "encoder": ["bilstm", "mlp"],
        "row": {"first": "r", "second": "s"},
        "model": {"plain": {"where": {"encoder": "mlp"}, "published": "Plain"}},
        "rows": {"rows": "t/c", "words": "seed_words"},
    },
    parts={"main": ["sst", "imdb"], "deep": "layers-*"},
    published={"imdb": "IMDb", "sst": "SST", "yelp": "Yelp"},
    ordered=True,
    criteria={"weak": 0.5},
)
RESULTS = made_up_results(
    [
        {"part": part, **own}
        for part in ("sst", "layers-sst")
        for own in crossed(corpus=["sst", "planted", "imdb"], encoder=["bilstm", "mlp"])
        if part == "sst" or own["encoder"] == "mlp"
    ],
    lambda own: {KEY: 0.4 if own["encoder"] == "mlp" else 0.6, ("t", "s", "c"): 0.1},
)


def start(part: str | None = "main") -> Point:
    return GRID.start(RESULTS, part)


def names(axis: str, choice: Any = None) -> list[Any]:
    return [value.name for value in start().choose(axis, choice)]


def check(**claim: Any) -> Finding:
    defaults = {"part": "main", "over": {"corpus": None}, "label": "{corpus}"}
    return judge(GRID, {**defaults, **claim}, RESULTS)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_read_and_numbers_its_claims(name: str) -> None:
    read = paper(name)
    ids = [claim.id for claim in read.claims]
    assert ids == sorted(set(ids))
    assert (ids[0], read.grid is not None) == (1, True)
    assert read.grid is not None
    assert read.name == name


def test_corpora_come_in_the_papers_order_and_those_it_alone_has_if_asked_for() -> None:
    assert names("corpus") == ["imdb", "sst", "planted"]
    assert names("corpus", "as_run") == ["sst", "planted", "imdb"]
    assert names("corpus", "printed") == ["imdb", "sst", "yelp", "planted"]
    assert names("corpus", {"without": ["sst"]}) == ["imdb", "planted"]
    assert names("corpus", ["sst", "imdb"]) == ["sst", "imdb"]


def test_an_axis_is_a_list_a_mapping_or_rows_of_the_results() -> None:
    assert names("encoder") == ["bilstm", "mlp"]
    assert names("row", "second") == ["second"]
    assert names("rows") == ["r", "s"]
    assert names("model", {"published": "Plain"}) == ["plain"]
    with raises("option.unknown-value", "mpl", "mlp"):
        names("encoder", "mpl")


def test_the_first_axis_is_outermost_and_all_select_cells() -> None:
    points = start().over({"corpus": ["sst", "imdb"], "encoder": None})
    texts = [point.text("{corpus} {encoder}") for point in points]
    assert texts == ["sst bilstm", "sst mlp", "imdb bilstm", "imdb mlp"]
    values = [point.number("t/r/c") for point in points]
    assert [number and number.value for number in values] == pytest.approx([0.6, 0.4] * 2)
    assert points[0].where == {"part": ("sst", "imdb"), "corpus": "sst", "encoder": "bilstm"}


def test_a_part_may_be_a_pattern() -> None:
    assert start("deep").where == {"part": ("layers-sst",)}
    assert start("layers-sst").where == {"part": "layers-sst"}


def test_labels_are_names_facts_templates_or_plain_texts() -> None:
    (point,) = start().over({"corpus": "sst", "model": "plain"})
    labels = ("model", "model.published", "{corpus}: {model}", "exact", None)
    shown = [point.look_up(label) for label in labels]
    assert shown == ["plain", "Plain", "sst: plain", "exact", None]
    with pytest.raises(AttributeError, match="'plain' has no 'colour'"):
        point.look_up("model.colour")


def test_numbers_are_of_the_summary_or_of_a_function() -> None:
    (point,) = start().over({"corpus": "sst", "encoder": "mlp"})
    for source, expected in (
        ("t/r/c", 0.4),
        ("minus t/r/c t/s/c", 0.3),
        ("mean t/r/c t/s/c", 0.25),
        ("times weak t/r/c", 0.2),
        ("distance t/r/c 0.5", 0.1),
    ):
        number = point.number(source)
        assert number is not None
        assert number.value == pytest.approx(expected), source
    assert point.number("mean t/r/c t/never/c") is None
    with raises("option.unknown-value", "nothing"):
        point.number("nothing t/r/c")


def test_a_claim_compares_with_a_bound_or_with_another_point() -> None:
    over = {"corpus": None, "encoder": "bilstm"}
    for changes, verdict in (
        ({"above": "weak"}, REPLICATES),
        ({"below": "weak"}, DOES_NOT),
        ({"b": {"encoder": "mlp", "by": 0.1}}, REPLICATES),
        ({"b": {"encoder": "mlp", "by": 0.3}}, DOES_NOT),
        ({"b": {"encoder": "mlp"}, "alike": 0.25}, REPLICATES),
        ({"b": {"encoder": "mlp"}, "alike": 0.1}, DOES_NOT),
        ({"b": {"encoder": "mlp"}, "alike": 0.25, "given": 0.5}, REPLICATES),
        ({"b": {"encoder": "mlp"}, "alike": 0.25, "given": 0.7}, CANNOT),
    ):
        assert check(over=over, number="t/r/c", **changes).verdict == verdict, changes


def test_a_share_may_be_needed_and_a_part_may_have_no_say() -> None:
    over = {"corpus": None, "encoder": None}
    half: dict[str, Any] = {"over": over, "number": "t/r/c", "above": "weak"}
    assert check(**half, need="1/2").verdict == REPLICATES
    assert check(**half).verdict == IN_PART
    parts = {"all": {"above": 0}}
    found = check(**half, parts=parts, reported={"high": {"above": "weak"}})
    assert (found.verdict, found.parts[0].name, found.reported[0].name) == (
        REPLICATES,
        "all",
        "high",
    )
    assert (found.reported[0].favourable, found.reported[0].of) == (3, 6)


def test_a_tally_is_the_papers_number_and_its_need() -> None:
    half = {"over": {"corpus": None, "encoder": None}, "number": "t/r/c", "above": "weak"}
    found = check(**half, tally=[8, 16])
    assert (found.verdict, found.theirs, found.ours) == (REPLICATES, "8 of 16", "3 of 6")
    assert check(**half, tally=[16, 16]).verdict == DOES_NOT


def test_lines_are_templates_of_parts_criteria_and_tallies() -> None:
    over = {"encoder": ["bilstm", "mlp"], "corpus": None}
    parts = {"high": {"each": "encoder", "over": over, "number": "t/r/c", "above": "weak"}}
    ours = "{high.span:.1f}; {high[mlp].tally} of mlp"
    found = check(parts=parts, theirs="above {weak}", ours=ours)
    assert (found.theirs, found.ours) == ("above 0.5", "0.4–0.6; 0 of 3 of mlp")
    verdicts = {part.name: part.verdict for part in found.parts}
    assert verdicts == {"bilstm": REPLICATES, "mlp": DOES_NOT}
    assert found.verdict == IN_PART


def test_what_is_missing_is_said() -> None:
    claim = claims_of(
        GRID,
        [{"text": "a", "where": "b", "over": {"corpus": None}, "number": "t/never/c", "above": 1}],
        {"label": "{corpus}", "needs": "a thing"},
    )[0]
    found = claim.check(RESULTS)
    assert (found.verdict, found.why, found.parts) == (CANNOT, "a thing", ())


def test_a_corpus_is_set_aside_where_a_rule_is_true_of_most_models() -> None:
    rule = {"over": {"encoder": None}, "number": "t/r/c", "part": "main"}
    rule |= {"reason": "low", "detail": "it is below"}
    assert set_aside(GRID, {**rule, "below": "weak"}, RESULTS) == {}  # half is not most
    found = set_aside(GRID, {**rule, "below": 0.7}, RESULTS)
    assert set(found) == {"sst", "planted", "imdb"}
    assert found["sst"].detail == "it is below in 2 of 2 models"


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"bellow": 1}, ("option.unknown", "bellow")),
        ({"parts": {"a": {"abov": 1}}}, ("option.unknown", "abov")),
        ({"above": 1, "cause": {"weather": "it rained"}}, ("option.unknown", "weather")),
        ({"number": "t/r/c"}, ("option.conflict", "1")),
    ],
)
def test_what_nothing_reads_is_refused(claim: dict[str, Any], expected: tuple[str, ...]) -> None:
    with raises(*expected):
        claims_of(GRID, [{"text": "a", "where": "b", **claim}], {})


def test_a_table_has_a_row_for_each_point_and_measure() -> None:
    data: dict[str, Any] = {
        "title": "a table",
        "over": {"corpus": ["sst"], "encoder": None},
        "number": "t/{}/c",
        "measures": {"R": "r", "S": "s"},
        "blocks": [{"labels": {"by": "exam"}}, {"over": {"row": None}, "labels": {"by": "row"}}],
    }
    (exhibit,) = exhibits_of(GRID, {"table1": data}, {"part": "main"})
    made = exhibit.make(RESULTS)
    assert list(made)[:4] == ["corpus", "encoder", "by", "measure"]
    assert made["by"].tolist() == (["exam"] * 2 + ["first"] * 2 + ["second"] * 2) * 2
    assert made["value"].tolist() == pytest.approx([0.6, 0.1] * 3 + [0.4, 0.1] * 3)
    with raises("option.unknown", "label"):
        exhibits_of(GRID, {"table1": {**data, "label": {}}}, {})


def test_a_value_is_written_by_its_name() -> None:
    assert f"{Value(0.5):.2f} {Value('dot', {}, {'id': 'd'}).id}" == "0.50 d"
