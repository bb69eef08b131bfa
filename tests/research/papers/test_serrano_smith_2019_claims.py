"""What claims of Serrano & Smith rest on, number by number, and where they cannot be told."""

from __future__ import annotations

import pandas as pd
import pytest
from made_up_results import crossed, made_up_results
from test_serrano_smith_2019_worlds import (
    CASES,
    RANKINGS,
    TENTHS,
    as_the_paper_has_it,
    made,
    setting,
)

from research.papers import Claim, PaperResults, paper
from research.papers.results import SUMMARY
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES

PAPER = paper("serrano-smith-2019")

EVERY = pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: str(claim.id))


def claim_of(number: int) -> Claim:
    return PAPER.claims[number - 1]


def nothing() -> PaperResults:
    cells = pd.DataFrame(columns=["cell", "part", "corpus", "seed"])
    return PaperResults(cells, pd.DataFrame(columns=SUMMARY))


@EVERY
def test_cannot_be_told_without_any_cell(claim: Claim) -> None:
    found = claim.check(nothing())
    assert found.verdict == CANNOT
    assert found.why == "no finished cell has what this compares"


@EVERY
def test_cannot_be_told_where_cells_have_other_numbers_only(claim: Claim) -> None:
    cells = crossed(part=["imdb"], corpus=["imdb"], hierarchical=[True, False], encoder=["bigru"])
    results = made_up_results(cells, lambda cell: {("erasure.documents", "documents", "value"): 10})
    assert claim.check(results).verdict == CANNOT


@pytest.mark.parametrize("number", [4, 7, 12, 13, 14, 15])
def test_cannot_be_told_where_an_architecture_it_compares_is_missing(number: int) -> None:
    whole = as_the_paper_has_it()
    rest = whole.cells[whole.cells["hierarchical"] & (whole.cells["encoder"] == "bigru")]
    results = PaperResults(rest, whole.summary)
    assert claim_of(number).check(results).verdict == CANNOT


def test_where_nothing_is_negative_nothing_has_to_be_near() -> None:
    def none_is_negative(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
        numbers["erasure.delta_js", "attention", "negative_share"] = 0.0
        del numbers["erasure.delta_js", "attention", "negative_near_zero_share"]

    found = claim_of(1).check(made(none_is_negative))
    assert (found.verdict, len(found.parts)) == (REPLICATES, 2)


@pytest.mark.parametrize(
    ("share", "model", "verdicts"),
    [
        (14.0, "", [REPLICATES, REPLICATES]),
        (30.0, "HANrnn", [DOES_NOT, REPLICATES]),
        (30.0, "FLAN", [REPLICATES, REPLICATES]),  # only the majority is said of others
        (60.0, "FLANconv", [REPLICATES, IN_PART]),
    ],
)
def test_the_vast_majority_is_said_of_hanrnn_alone(
    share: float, model: str, verdicts: list[str]
) -> None:
    key = ("erasure.delta_js", "attention", "negative_share")
    found = claim_of(1).check(made(setting(share, key, only=model)))
    assert [part.verdict for part in found.parts[:2]] == verdicts


def test_share_of_negatives_at_small_delta_alpha() -> None:
    """30 and 12 of 50 lie in the first two tenths."""
    found = claim_of(2).check(made(seeds=(1,)))
    assert [c.a.value for c in found.comparisons] == pytest.approx([84.0] * 6)


def test_rise_of_medians() -> None:
    """With medians s·x², at the middles of tenths: s(0.65² + 0.75² + 0.85²)/3 at 0.75,
    s(0.35² + 0.45²)/2 at 0.4, s·0.05² at 0.05."""
    found = claim_of(3).check(made(seeds=(1,)))
    (hanrnn,) = [c for c in found.comparisons if c.label == "imdb HANrnn" and c.b is not None]
    high, middle = (0.65**2 + 0.75**2 + 0.85**2) / 3, (0.35**2 + 0.45**2) / 2
    assert hanrnn.difference == pytest.approx(0.2 * ((high - middle) - (middle - 0.05**2)))


@pytest.mark.slow
def test_tenths_with_few_documents_have_no_say() -> None:
    rows = [("erasure.delta_js_by_alpha", row, "documents") for row in TENTHS]
    found = claim_of(3).check(made(setting(9, *rows)))
    assert found.verdict == CANNOT
    assert claim_of(4).check(made(setting(9, *rows))).verdict == CANNOT
    assert len(claim_of(4).check(made(setting(9, *rows[2:]))).comparisons) == 6


def test_random_items_share_of_flips() -> None:
    """HANrnn: 2 of 2 + 8, of which half is 10%; FLANrnn: 0.3 of 0.3 + 6."""
    found = claim_of(5).check(made(seeds=(1,)))
    (rnn,) = [c for c in found.comparisons if c.label == "imdb FLANrnn : HANrnn"]
    assert rnn.difference == pytest.approx(10 - 100 * 0.3 / 6.3)


def test_flips_of_the_top_item_are_both_and_only_top() -> None:
    found = claim_of(6).check(made(seeds=(1,)))
    assert [c.a.value for c in found.parts[1].comparisons] == pytest.approx(
        [9, 9, 12, 6.5, 6.5, 10]
    )


def test_no_encoder_is_compared_within_its_family() -> None:
    found = claim_of(7).check(made(seeds=(1,)))
    by_label = {c.label: c.difference for c in found.comparisons}
    assert by_label == pytest.approx(
        {
            "imdb HANnoenc : HANrnn": 89 - 85.5,
            "imdb HANnoenc : HANconv": 89 - 85.5,
            "imdb FLANnoenc : FLANrnn": 93.2 - 89.5,
            "imdb FLANnoenc : FLANconv": 93.2 - 89.5,
        }
    )


@pytest.mark.parametrize(
    ("below", "verdict"), [("HANrnn", REPLICATES), ("HAN", IN_PART), ("", DOES_NOT)]
)
def test_ten_of_sixteen_is_a_tally(below: str, verdict: str) -> None:
    """3 of 4 is as large a share, 2 of 4 is smaller by chance perhaps, and 0 of 4 is not."""
    key = ("erasure.pairs", "attention:gradient", "more_of_flips")
    found = claim_of(10).check(made(setting(45.0, key, only=below)))
    assert found.verdict == verdict
    assert found.theirs == "10 of 16 models"
    assert found.reported[0].favourable == 0  # 30% of all documents


@pytest.mark.parametrize(("faster", "verdict"), [(161, REPLICATES), (159, DOES_NOT)])
def test_ratio_of_faster_to_slower(faster: int, verdict: str) -> None:
    """100 documents are slower: the bound is 160 faster ones."""
    key = ("erasure.pairs", "attention:gradient", "more")
    assert claim_of(11).check(made(setting(faster, key))).verdict == verdict


def test_only_flanrnn_has_to_be_high() -> None:
    rows = [("erasure.fraction", ranking, "median") for ranking in ("attention", "random")]
    assert claim_of(12).check(made(setting(0.1, *rows, only="HANrnn"))).verdict == REPLICATES


def test_each_order_of_flanrnn_is_a_part() -> None:
    rows = [("erasure.fraction", ranking, "median") for ranking in ("gradient", "product")]
    found = claim_of(12).check(made(setting(0.1, *rows, only="FLANrnn")))
    verdicts = {part.name: part.verdict for part in found.parts}
    assert verdicts == {
        "random": REPLICATES,
        "attention": REPLICATES,
        "some near 1": REPLICATES,
        "gradient": DOES_NOT,
        "product": DOES_NOT,
    }
    assert found.verdict == IN_PART


def test_drop_from_rnn_to_conv() -> None:
    """Averaged over orders: FLANs (0.19 + 0.3 + 0.35 + 0.35)/4, HANs (0.02 + 3·0.03)/4."""
    found = claim_of(13).check(made(seeds=(1,)))
    by_label = {c.label: c.difference for c in found.comparisons}
    flan, han = 1.19 / 4, 0.11 / 4
    assert by_label["imdb FLANrnn : FLANconv"] == pytest.approx(flan - 0.1)
    assert by_label["imdb HANrnn : HANconv"] == pytest.approx(han)
    assert by_label["imdb FLAN : 2 HAN"] == pytest.approx(flan - 2 * han)


def test_a_han_that_goes_the_wrong_way_does_not_make_it_weaker() -> None:
    """HANrnn's fraction falls by 0.4: its change is larger than FLAN's, whatever its sign."""
    rows = [("erasure.fraction", ranking, "median") for ranking in RANKINGS]
    found = claim_of(13).check(made(setting(0.1, *rows, only="HANrnn")))
    assert {part.name: part.verdict for part in found.parts} == {
        "FLAN": REPLICATES,
        "HAN": DOES_NOT,
        "HAN less": DOES_NOT,
    }


def test_about_a_quarter_of_the_mass() -> None:
    """0.8 less 0.59 is about 0.25; less 0.61 is not."""
    key = ("erasure.mass", "gradient", "median")
    for mass, verdict in ((0.59, REPLICATES), (0.61, DOES_NOT)):
        found = claim_of(16).check(made(setting(mass, key)))
        assert found.parts[1].verdict == verdict


def test_gradient_may_flip_more_in_ten_of_twenty_four() -> None:
    """4 of 6 is no smaller a share than 14 of 24, 3 of 6 is half, 0 of 6 is too few."""
    key = ("erasure.contingency", "gradient", CASES[1])
    for only, verdict in (("noenc", REPLICATES), ("HAN", IN_PART), ("", DOES_NOT)):
        found = claim_of(17).check(made(setting(30, key, only=only)))
        assert [part.verdict for part in found.parts] == [REPLICATES, verdict]
