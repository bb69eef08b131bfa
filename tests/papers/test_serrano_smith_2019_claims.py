"""What claims of Serrano & Smith rest on, number by number, and where they are undecided."""

from __future__ import annotations

import pandas as pd
import pytest
from made_up_results import crossed, made_up_results
from test_serrano_smith_2019_worlds import CASES, TENTHS, as_the_paper_has_it, made, setting

from verax.papers.claims import Claim
from verax.papers.results import SUMMARY, PaperResults
from verax.papers.serrano_smith_2019 import PAPER

EVERY = pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: str(claim.id))


def claim_of(number: int) -> Claim:
    return PAPER.claims[number - 1]


def nothing() -> PaperResults:
    cells = pd.DataFrame(columns=["cell", "part", "corpus", "seed"])
    return PaperResults(cells, pd.DataFrame(columns=SUMMARY))


@EVERY
def test_undecided_without_any_cell(claim: Claim) -> None:
    found = claim.check(nothing())
    assert found.verdict == "undecided"
    assert found.why.startswith("no finished cell has what this needs: the erasure exam, of ")


@EVERY
def test_undecided_where_cells_have_other_numbers_only(claim: Claim) -> None:
    cells = crossed(part=["imdb"], corpus=["imdb"], hierarchical=[True, False], encoder=["bigru"])
    results = made_up_results(cells, lambda cell: {("erasure.documents", "documents", "value"): 10})
    assert claim.check(results).verdict == "undecided"


@pytest.mark.parametrize("number", [4, 7, 12, 13, 14, 15])
def test_undecided_where_an_architecture_it_compares_is_missing(number: int) -> None:
    whole = as_the_paper_has_it()
    rest = whole.cells[whole.cells["hierarchical"] & (whole.cells["encoder"] == "bigru")]
    results = PaperResults(rest, whole.summary)
    assert claim_of(number).check(results).verdict == "undecided"


@EVERY
def test_told_as_json_has_it(claim: Claim) -> None:
    told = claim.to_dict(claim.check(as_the_paper_has_it()))
    assert (told["id"], told["verdict"]) == (claim.id, "holds")
    assert all(one["a"]["cells"] for one in told["comparisons"])


def test_any_corpus_will_do_and_is_named() -> None:
    results = made(corpora=("planted", "mine.csv"))
    assert claim_of(6).check(results).why.endswith("Judged on planted and mine.csv.")


def test_negative_shares_are_held_against_fifteen_percent() -> None:
    results = made(setting(14.0, ("erasure.delta_js", "attention", "negative_share")))
    found = claim_of(1).check(results)
    assert [c.difference for c in found.comparisons[:6]] == pytest.approx([1.0] * 6)
    assert "negative for 14.0% of documents (below 15% in 6 of 6 models)" in found.why


def test_where_nothing_is_negative_nothing_has_to_be_near() -> None:
    def none_is_negative(name: str, numbers: dict[tuple[str, str, str], float]) -> None:
        numbers["erasure.delta_js", "attention", "negative_share"] = 0.0
        del numbers["erasure.delta_js", "attention", "negative_near_zero_share"]

    assert claim_of(1).check(made(none_is_negative, seeds=(1,))).verdict == "holds"


def test_share_of_negatives_at_small_delta_alpha() -> None:
    """30 and 12 of 50 lie in the first two tenths."""
    found = claim_of(2).check(made(seeds=(1,)))
    assert [c.a.value for c in found.comparisons] == pytest.approx([84.0] * 6)


def test_rise_of_medians() -> None:
    """With medians s·x², at the middles of tenths: s(0.65² + 0.75² + 0.85²)/3 at 0.75,
    s(0.35² + 0.45²)/2 at 0.4, s·0.05² at 0.05."""
    found = claim_of(3).check(made(seeds=(1,)))
    (hanrnn,) = [c for c in found.comparisons if c.label == "imdb HANrnn, rise"]
    high, middle = (0.65**2 + 0.75**2 + 0.85**2) / 3, (0.35**2 + 0.45**2) / 2
    assert hanrnn.difference == pytest.approx(0.2 * ((high - middle) - (middle - 0.05**2)))


def test_tenths_with_few_documents_have_no_say() -> None:
    rows = [("erasure.delta_js_by_alpha", row, "documents") for row in TENTHS]
    found = claim_of(3).check(made(setting(9, *rows)))
    assert found.verdict == "undecided"
    assert "with 10 documents or more in the tenths of Δα" in found.why
    assert claim_of(4).check(made(setting(9, *rows))).verdict == "undecided"
    assert claim_of(4).check(made(setting(9, *rows[2:]), seeds=(1,))).verdict == "holds"


def test_random_items_share_of_flips() -> None:
    """HANrnn: 2 of 2 + 8, of which half is 10%; FLANrnn: 0.3 of 0.3 + 6."""
    found = claim_of(5).check(made(seeds=(1,)))
    (rnn,) = [c for c in found.comparisons if c.label == "imdb FLANrnn : HANrnn"]
    assert rnn.difference == pytest.approx(10 - 100 * 0.3 / 6.3)


def test_flips_of_the_top_item_are_both_and_only_top() -> None:
    found = claim_of(6).check(made(seeds=(1,)))
    assert [c.a.value for c in found.comparisons] == pytest.approx([9, 9, 12, 6.5, 6.5, 10])


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


def test_ten_of_sixteen_may_have_exceptions() -> None:
    """Of four models with an encoder three are needed: one may be below half, however far."""
    key = ("erasure.pairs", "attention:gradient", "more_of_flips")
    assert claim_of(10).check(made(setting(1.0, key, only="HANrnn"))).verdict == "holds"
    assert claim_of(10).check(made(setting(45.0, key, only="HAN"))).verdict == "fails"


def test_claim_10_has_both_denominators() -> None:
    why = claim_of(10).check(as_the_paper_has_it()).why
    assert "for 60.0% of the documents that either order flips, more than half in 4 of 4" in why
    assert "of all documents, 30.0%, more than half in 0 of 4" in why


@pytest.mark.parametrize(("faster", "verdict"), [(161, "holds"), (159, "fails")])
def test_ratio_of_faster_to_slower(faster: int, verdict: str) -> None:
    """100 documents are slower: the bound is 160 faster ones."""
    key = ("erasure.pairs", "attention:gradient", "more")
    found = claim_of(11).check(made(setting(faster, key)))
    assert found.verdict == verdict
    assert f"the least ratio is {faster / 100:.2f}" in found.why


def test_ratio_without_a_slower_one() -> None:
    results = made(setting(0, ("erasure.pairs", "attention:gradient", "fewer")), seeds=(1,))
    found = claim_of(11).check(results)
    assert (found.verdict, found.why.count("inf")) == ("holds", 1)


def test_only_flanrnn_has_to_be_high() -> None:
    rows = [("erasure.fraction", ranking, "median") for ranking in ("attention", "random")]
    assert claim_of(12).check(made(setting(0.1, *rows, only="HANrnn"))).verdict == "holds"


def test_drop_from_rnn_to_conv() -> None:
    """Averaged over orders: FLANs (0.19 + 0.3 + 0.35 + 0.35)/4, HANs (0.02 + 3·0.03)/4."""
    found = claim_of(13).check(made(seeds=(1,)))
    by_label = {c.label: c.difference for c in found.comparisons}
    flan, han = 1.19 / 4, 0.11 / 4
    assert by_label["imdb FLANrnn : FLANconv"] == pytest.approx(flan - 0.1)
    assert by_label["imdb HANrnn : HANconv"] == pytest.approx(han)
    assert by_label["imdb FLAN : 2 HAN"] == pytest.approx(flan - 2 * han)


def test_about_a_quarter_of_the_mass() -> None:
    """0.8 less 0.59 is about 0.25; less 0.61 is not."""
    key = ("erasure.mass", "gradient", "median")
    assert claim_of(16).check(made(setting(0.59, key), seeds=(1,))).verdict == "holds"
    assert claim_of(16).check(made(setting(0.61, key), seeds=(1,))).verdict == "fails"


def test_gradient_may_flip_more_in_ten_of_twenty_four() -> None:
    """Of six models four are needed: two may go the other way."""
    more = setting(30, ("erasure.contingency", "gradient", CASES[1]), only="noenc")
    assert claim_of(17).check(made(more, seeds=(1,))).verdict == "holds"
    most = setting(30, ("erasure.contingency", "gradient", CASES[1]), only="HAN")
    assert claim_of(17).check(made(most, seeds=(1,))).verdict == "fails"
