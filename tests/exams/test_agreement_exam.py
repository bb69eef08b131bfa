"""The agreement exam: by hand where a model is looked up, against SciPy where it is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from agreement_values import LABELS, by_sentence, values
from scipy import stats
from summaries import numbers

import verax
from support.documents import corpus_of, per_document
from support.internals import AGREEMENT_REASONS as REASONS
from support.internals import AgreementExam, AgreementOptions, exclusion_id, pairs
from support.models import look_up_model
from verax.exams.authoring import wide
from verax.importance import score
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
SLOTS = [
    {"encoder": "bilstm"},
    {"encoder": "conv", "projection": "sparsemax"},
    {"encoder": "transformer", "projection": "sparsegen", "lam": 0.9},
    {"hierarchical": True, "projection": "sparsemax"},
]


def _names(slot: dict[str, object]) -> str:
    return "-".join(str(value) for value in slot.values())


def scipys(
    a: np.ndarray, b: np.ndarray, rank: Callable[..., object], part: str = "statistic"
) -> float:
    """SciPy's correlation, NaN where it has none: it warns of constants, and of one position."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(getattr(rank(a, b), part))


# -- by hand

# A word's weight before normalising, and what it says.
WORDS = {
    "a": (4, -2.0),
    "b": (2, -5.0),
    "c": (1, 6.0),
    "d": (4, -1.0),
    "e": (2, 5.0),
    "f": (1, 5.0),
    "k": (1, 1.0),
    "l": (1, 3.0),
    "o": (4, 0.0),
    "n": (1, 0.0),
}
TEXTS = ["a b c", "d e f", "a", "k l", "o n"]


@pytest.fixture(scope="module")
def by_hand() -> verax.Verdict:
    scores = {word: (math.log(weight), say) for word, (weight, say) in WORDS.items()}
    corpus = corpus_of(TEXTS, labels=[0, 0, 1, 1, 0])
    return verax.examine(look_up_model(scores), corpus, "agreement")


def test_agreement_by_hand(by_hand: verax.Verdict) -> None:
    """With softmax, ∂z/∂h_i = α_i (head + (ℓ_i − z) query / √3), so that in units of σ′(z)

    gradient         α_i √(1 + (ℓ_i − z)² / 3)
    gradient-input   α_i |ℓ_i| with attention detached; its norm is α_i
    leave-one-out    |σ(z) − σ(z − α_i (ℓ_i − z) / (1 − α_i))|

    "a b c"  α 4, 2, 1 sevenths, z = −12/7: gradient .58 .61 .65, product 1.14 1.43 .86,
             deletion .06 .25 .10. Attention agrees with these on none, two and one of three pairs.
    "d e f"  the same α, z = 11/7: gradient 1.02 .63 .32, product .57 1.43 .71, deletion .17 .28
             .10. It agrees on all, one and two.
    "a"      one word.
    "k l"    attention is constant.
    "o n"    neither says anything: deletion and product are constantly zero, the gradient is α.
    """
    nan, third = math.nan, 1 / 3
    expected = {
        "gradient": [-1, 1, nan, nan, 1],
        "gradient-detached": [1, 1, nan, nan, 1],
        "gradient-input-detached": [third, -third, nan, nan, nan],
        "leave-one-out": [-third, third, nan, nan, nan],
        "leave-one-out-renormalised": [-third, third, nan, nan, nan],
    }
    found, why = values(by_hand), values(by_hand, "reason")
    assert found.index.tolist() == [10, 11, 12, 13, 14]
    assert {second for _, first, second, _ in found if first == "attention"} == set(expected)
    for on, first, second, over in found:
        if first == "attention":  # all weights are positive: the support is everything
            column = found[on, first, second, over]
            np.testing.assert_allclose(column, expected[second], atol=1e-12)
            reasons = [REASONS[int(code)] for code in why[on, first, second, over]]
            assert reasons[2:4] == ["one position", "first constant"]
            assert reasons[4] == ("second constant" if math.isnan(column[14]) else "defined")
            # of three words two orders are all alike or all opposite; of two, both
            p = [(1 / 3 if abs(x) > 0.9 else 1) for x in column.iloc[:2]]
            p += [nan, nan, 1 if column[14] == 1 else nan]
            np.testing.assert_allclose(values(by_hand, "p")[on, first, second, over], p)


def test_gradients_and_deletion_by_hand(by_hand: verax.Verdict) -> None:
    """From the most important on: of "a b c" gradient has c b a, product b a c, deletion b c a; of
    "d e f" d e f, e f d and e d f. Detached, the gradient is attention.
    """
    found, third = values(by_hand), 1 / 3
    columns = [key for key in found if key[1] != "attention"]
    assert {over for _, _, _, over in columns} == {"all"}
    assert [key[:3] for key in columns] == [
        ("inputs", "gradient", "leave-one-out"),
        ("inputs", "gradient-detached", "leave-one-out"),
        ("inputs", "gradient-input-detached", "leave-one-out"),
        ("items", "gradient", "leave-one-out"),
        ("items", "gradient-detached", "leave-one-out"),
    ]
    for key in columns:
        expected = [-third, third] if key[1] == "gradient-detached" else [third, third]
        np.testing.assert_allclose(found[key].iloc[:2], expected, atol=1e-12)


def test_the_summary_counts_what_it_leaves_out(by_hand: verax.Verdict) -> None:
    found = numbers(by_hand, "agreement")
    assert found.columns.tolist() == [
        "tau",
        "sd",
        "median",
        "significant",
        "documents",
        "out_one_position",
        "out_first_constant",
        "out_second_constant",
        "out_not_a_number",
    ]
    gradient = found.loc["inputs:attention:gradient"]
    # three words are too few: a third of their orders are as far from chance
    assert gradient.tolist()[:5] == pytest.approx([1 / 3, 2 / math.sqrt(3), 1, 0, 3])
    assert gradient.tolist()[5:] == [1, 1, 0, 0]
    deletion = found.loc["items:attention:leave-one-out"]
    assert deletion.tolist() == pytest.approx([0, math.sqrt(2) / 3, 0, 0, 2, 1, 1, 1, 0])
    # of gradient and deletion, "k l" has neither: its two words move alike
    assert found.loc["items:gradient:leave-one-out", "documents"] == 2
    documents = numbers(by_hand, "agreement.documents")["value"]
    assert documents["documents"] == 5
    assert documents["items"] == documents["support"] == 11 / 5
    # decisions are no, yes, no, yes, and no for a tie; labels no, no, yes, yes, no
    assert documents["accuracy"] == pytest.approx(60)


def test_agreement_on_the_support_by_hand() -> None:
    """Sparsemax of 1.6, 1.3, 1.1 and less is α = .6, .3, .1, 0 …; on the support
    ∂z/∂h_i = α_i head + (ℓ_i − mean ℓ) query / √3, elsewhere nothing.

    "p q r s"    ℓ = 0, 0, 9: gradient norms √(.36 + 3), √(.09 + 3), √(.01 + 12), 0. On the support
                 one pair of three agrees: −⅓; with s, below all by both, four of six: ⅓.
    "p q r s t"  s and t tie by both: seven agree, two do not, of nine that are untied: 5/9.
    "u s"        one word has all: one position in the support, two in all, which agree.
    """
    words = {"p": (1.6, 0), "q": (1.3, 0), "r": (1.1, 9), "s": (-1, 4), "t": (-2, -3), "u": (4, 1)}
    model = look_up_model(words, "sparsemax")
    verdict = verax.examine(model, corpus_of(["p q r s", "p q r s t", "u s"]), "agreement")
    found, why = values(verdict), values(verdict, "reason")
    for on in ("inputs", "items"):
        whole = found[on, "attention", "gradient", "all"]
        np.testing.assert_allclose(whole, [1 / 3, 5 / 9, 1], atol=1e-12)
        inside = found[on, "attention", "gradient", "support"]
        np.testing.assert_allclose(inside, [-1 / 3, -1 / 3, math.nan], atol=1e-12)
        assert why[on, "attention", "gradient", "support"].tolist() == [0, 0, 1]
    instances = per_document(verdict, "agreement_instances")
    assert instances["words"].tolist() == instances["items"].tolist() == [4, 5, 2]
    assert instances["support"].tolist() == [3, 3, 1]
    assert instances["support_share"].tolist() == pytest.approx([3 / 4, 3 / 5, 1 / 2])
    assert numbers(verdict, "agreement.on_support")["out_one_position"].eq(1).all()


# -- against SciPy


def expected_agreement(
    model: AttentionClassifier,
    corpus: verax.Corpus,
    rank: Callable[[np.ndarray, np.ndarray], float],
) -> pd.DataFrame:
    """What `values` must give, for the default options, a document and a pair at a time."""
    options = AgreementOptions()
    rows = []
    for trace in model.traces(corpus.test):
        for on in ("inputs", "items"):
            found = {
                name: score(name, model, trace, on) for name in getattr(options, on).split(",")
            }
            if on == "inputs":
                found = {name: by_sentence(scores, trace) for name, scores in found.items()}
            found["attention"] = trace.weights.double()
            for first, second in pairs([name for name in found if name != "attention"]):
                for over in ("all", "support") if first == "attention" else ("all",):
                    where = trace.mask & (trace.weights > 0) if over == "support" else trace.mask
                    for row, identity in enumerate(trace.ids):
                        a, b = (found[n][row][where[row]].numpy() for n in (first, second))
                        labels = (on, first, second, over)
                        rows.append((identity, *labels, rank(a, b)))
    frame = pd.DataFrame(rows, columns=["id", *LABELS, "value"])
    return frame.pivot(index="id", columns=LABELS, values="value")


@pytest.mark.slow
@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_kendall_is_scipys(make_model: Make, few: verax.Corpus, slot: dict[str, object]) -> None:
    model = make_model(**slot)
    verdict = verax.examine(model, few, "agreement")
    for measure, part in (("kendall", "statistic"), ("p", "pvalue")):
        found = values(verdict, measure)
        expected = expected_agreement(
            model, few, lambda a, b, part=part: scipys(a, b, stats.kendalltau, part)
        )
        assert found.notna().to_numpy().any()
        assert found.index.equals(expected.index)
        np.testing.assert_allclose(found, expected[list(found)], atol=1e-12)


def overlap(a: np.ndarray, b: np.ndarray, k: int = 3) -> float:
    """Shared among the k highest, of equals the earlier."""
    tops = [set(sorted(range(len(x)), key=lambda i: (-x[i], i))[:k]) for x in (a, b)]
    return len(tops[0] & tops[1]) / min(k, len(a))


@pytest.mark.slow
def test_spearman_and_the_top_where_asked_for(make_model: Make, few: verax.Corpus) -> None:
    model = make_model(encoder="conv", projection="sparsemax")
    verdict = verax.examine(model, few, "agreement", spearman=True, top_k=3)
    rank = {"spearman": lambda a, b: scipys(a, b, stats.spearmanr), "overlap": overlap}
    for measure, by in rank.items():
        found = values(verdict, measure)
        expected = expected_agreement(model, few, by)
        np.testing.assert_allclose(found, expected[list(found)], atol=1e-12)
        for table, over in (("agreement", "all"), ("agreement.on_support", "support")):
            shown = numbers(verdict, table)[measure]
            for on, first, second, part in found:
                if part == over:
                    value = shown[f"{on}:{first}:{second}"]
                    assert value == pytest.approx(found[on, first, second, part].mean())
    plain = verax.examine(model, few, "agreement")
    assert set(plain.tables["agreement"]["measure"]) == {"kendall", "reason", "p"}


@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_detached_gradients_of_items_are_attention(
    make_model: Make, few: verax.Corpus, slot: dict[str, object]
) -> None:
    """∂p/∂h_i is α_i times what all items share: no tie is lost and no order changed."""
    verdict = verax.examine(make_model(**slot), few, "agreement", inputs="", spearman=True)
    row = "items:attention:gradient-detached"
    for over, table in (("all", "agreement"), ("support", "agreement.on_support")):
        key = ("items", "attention", "gradient-detached", over)
        for measure in ("kendall", "spearman"):
            assert set(values(verdict, measure)[key].dropna()) <= {1.0}
        assert numbers(verdict, table).loc[row, "tau"] == 1
        assert numbers(verdict, table).loc[row, "sd"] == 0


def test_a_decision_near_certainty_keeps_the_order_of_what_made_it() -> None:
    """p (1 − p) is e⁻⁴⁰⁰, whose square no number holds; it is a factor that all words share."""
    model = look_up_model({"a": (0.7, 400.0), "b": (0.2, 401.0), "c": (0.1, 399.0)})
    verdict = verax.examine(model, corpus_of(["a b c"]), "agreement")
    for on in ("inputs", "items"):
        assert values(verdict)[on, "attention", "gradient-detached", "all"].tolist() == [1]


def test_a_value_or_a_reason(make_model: Make, few: verax.Corpus) -> None:
    verdict = verax.examine(make_model(projection="sparsegen", lam=0.99), few, "agreement")
    found, why = values(verdict), values(verdict, "reason")
    assert found.isna().to_numpy().any()
    assert (found.isna() == (why != 0)).to_numpy().all()
    assert found.stack(LABELS, future_stack=True).dropna().between(-1, 1).all()


# -- what must not matter


@pytest.mark.slow
@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_the_token_budget_changes_no_number(
    make_model: Make, few: verax.Corpus, slot: dict[str, object]
) -> None:
    """But for rounding, which can turn round two scores that nearly tie."""
    model = make_model(**slot)
    corpus = replace(few, test=few.test.take(np.arange(6)))  # one batch, or three
    whole, cut = (verax.examine(model, corpus, "agreement", max_tokens=n) for n in (10**5, 60))
    one, other = values(whole), values(cut)
    assert one.index.equals(other.index)
    assert one.columns.equals(other.columns)
    difference = (one - other).abs().to_numpy()
    assert np.nanmax(difference) < 0.1
    assert np.nanmean(difference) < 1e-3
    for name in ("words", "items", "support", "correct"):
        instances = [per_document(v, "agreement_instances")[name] for v in (whole, cut)]
        assert instances[0].equals(instances[1])


def test_the_order_of_documents_does_not_matter(make_model: Make, few: verax.Corpus) -> None:
    model = make_model(encoder="conv")
    turned = few.test.take(np.arange(len(few.test))[::-1])
    one = verax.examine(model, few, "agreement")
    other = verax.examine(model, replace(few, test=turned), "agreement")
    for name, table in one.tables.items():
        assert table.drop(columns="value").equals(other.tables[name].drop(columns="value"))
        np.testing.assert_allclose(table["value"], other.tables[name]["value"], atol=0.05)


def test_without_an_encoder_an_input_is_its_item(make_model: Make, few: verax.Corpus) -> None:
    """Deleting a word is then deleting its item: without weight it has no part, to the last digit.

    Else rounding would rank what attention ties. Scores that nearly tie may yet change places.
    """
    model = make_model(encoder="none", projection="sparsemax")
    with torch.no_grad():
        model.embedding.weight.mul_(20)  # spread the scores: many words get no weight
    verdict = verax.examine(model, few, "agreement")
    assert verdict.value("agreement.documents.support") < 10
    found = values(verdict)
    for name in ("gradient", "gradient-detached", "leave-one-out"):
        on_inputs = found["inputs", "attention", name, "all"]
        np.testing.assert_allclose(on_inputs, found["items", "attention", name, "all"], atol=0.01)
    for trace in model.traces(few.test):
        unattended = trace.mask & (trace.weights == 0)
        assert (score("leave-one-out", model, trace)[unattended] == 0).all()


# -- the summary


@pytest.mark.slow
def test_summaries_are_numpys_over_the_tables(make_model: Make, few: verax.Corpus) -> None:
    verdict = verax.examine(make_model(projection="sparsemax"), few, "agreement")
    found, why, p = (values(verdict, name) for name in ("kendall", "reason", "p"))
    summary = verdict.summary()
    assert set(summary["exam"]) == {"agreement"}
    for key in found:
        on, first, second, over = key
        table = "agreement" if over == "all" else "agreement.on_support"
        rows = summary[summary["table"] == table]
        cells = rows[rows["row"] == f"{on}:{first}:{second}"].set_index("column")
        there = found[key].dropna().to_numpy()
        assert cells.loc["tau", "value"] == pytest.approx(np.mean(there))
        if np.ptp(there):
            ends = stats.t.interval(0.95, len(there) - 1, np.mean(there), stats.sem(there))
            assert cells.loc["tau", ["low", "high"]].tolist() == pytest.approx(ends)
        assert cells.loc["sd", "value"] == pytest.approx(np.std(there, ddof=1))
        assert cells.loc["median", "value"] == pytest.approx(np.median(there))
        assert (cells.loc[["tau", "sd", "median", "significant"], "n"] == len(there)).all()
        share = stats.binomtest(int((p[key] <= 0.05).sum()), len(there))
        expected = [share.statistic, *share.proportion_ci(method="wilson")]
        cell = cells.loc["significant", ["value", "low", "high"]]
        assert (cell / 100).tolist() == pytest.approx(expected)
        assert cells.loc["documents", "value"] == len(there)
        for code, reason in enumerate(REASONS[1:], start=1):
            assert cells.loc[exclusion_id(reason), "value"] == (why[key] == code).sum()
        out = cells.index.str.startswith("out_")
        assert cells.loc[out, "value"].sum() + len(there) == len(few.test)
    instances = per_document(verdict, "agreement_instances")
    documents = numbers(verdict, "agreement.documents")["value"]
    assert documents["items"] == pytest.approx(instances["items"].mean())
    assert documents["support"] == pytest.approx(instances["support"].mean())
    assert documents["accuracy"] == pytest.approx(100 * instances["correct"].mean())


def test_a_share_is_its_count_over_all(make_model: Make, few: verax.Corpus) -> None:
    """To the last digit, so that the two exams that measure it say the same."""
    model = make_model(projection="sparsegen", lam=0.99)
    verdict = verax.examine(model, few, ["agreement", "dispersion"], influence="none")
    found = per_document(verdict, "agreement_instances")
    assert found["support_share"].tolist() == (found["support"] / found["items"]).tolist()
    assert found.equals(per_document(verdict, "dispersion_instances"))


def test_no_labels_means_no_accuracy(make_model: Make) -> None:
    model = make_model()
    exam = AgreementExam(AgreementOptions(), 0, {})
    exam.see(model, model.trace(["w1 w2 w3", "w4 w5"]))
    assert wide(exam.tables()["agreement_instances"])["correct"].isna().all()
