"""The document explorer in a browser: what it shows is what the model would say."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import made_up_documents
import numpy as np
import pytest
from made_up_documents import BIAS, WORDS, after, decoded, erased, flipped, held, one_model, shown

Open = Callable[..., Any]


@pytest.fixture
def small() -> dict[str, Any]:
    return made_up_documents.small_document()


@pytest.mark.slow
def test_probabilities_are_the_models_own_whatever_is_erased(
    open_page: Open, small: dict[str, Any]
) -> None:
    page = open_page(made_up_documents.page(one_model(small)))
    weights, logits = held(small)
    np.testing.assert_allclose(shown(page), small["probabilities"], atol=1e-6)
    everything = range(len(WORDS))
    for gone in [(0,), (4, 7), (1, 2, 3, 5), everything]:
        for item in gone:
            page.click(f"[data-item='{item}']")
        wanted = after(weights, logits, BIAS, gone)
        np.testing.assert_allclose(shown(page), wanted, atol=1e-9)
        assert page.inner_text("[data-class='1'] .explorer-number") == f"{wanted[1]:.4f}"
        assert int(page.get_attribute(".explorer-decision", "data-decision")) == wanted.argmax()
        assert flipped(page) == (wanted.argmax() != small["decision"])
        mass = float(page.get_attribute(".explorer-mass", "data-mass"))
        assert mass == pytest.approx(weights[list(gone)].sum(), abs=1e-9)
        page.click("[data-act=reset]")
        assert erased(page) == []


@pytest.mark.slow
def test_the_smallest_set_flips_the_decision_and_one_word_fewer_does_not(
    open_page: Open, small: dict[str, Any]
) -> None:
    page = open_page(made_up_documents.page(one_model(small)))
    least = small["orders"]["minimal"]
    page.click("[data-order=minimal]")
    page.click("[data-act=flip]")
    assert erased(page) == sorted(least)
    assert flipped(page)
    for item in least:
        page.click(f"[data-item='{item}']")
        assert not flipped(page)
        page.click(f"[data-item='{item}']")
    page.click("[data-act=back]")
    assert len(erased(page)) == len(least) - 1
    page.click("[data-act=step]")
    assert flipped(page)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["attention", "gradient"])
def test_an_order_is_followed_until_the_decision_first_differs(
    open_page: Open, small: dict[str, Any], order: str
) -> None:
    page = open_page(made_up_documents.page(one_model(small)))
    weights, logits = held(small)
    items = small["orders"][order]
    prefixes = (items[:k] for k in range(1, len(items) + 1))
    first = next(
        gone
        for gone in prefixes
        if after(weights, logits, BIAS, gone).argmax() != small["decision"]
    )
    page.click(f"[data-order={order}]")
    for k in range(1, len(first) + 1):
        assert not flipped(page)
        page.click("[data-act=step]")
        assert erased(page) == sorted(items[:k])
    assert flipped(page)
    page.click("[data-act=reset]")
    page.click("[data-act=flip]")
    assert erased(page) == sorted(first)


@pytest.mark.slow
def test_the_adversary_brings_its_own_weights_and_orders(
    open_page: Open, small: dict[str, Any]
) -> None:
    page = open_page(made_up_documents.page(one_model(small)))
    weights, logits = held(small, small["adversary"]["weights"])
    page.click("[data-adversary]")
    assert page.get_attribute("[data-adversary]", "aria-pressed") == "true"
    said = page.inner_text(".explorer-said")
    assert all(word in said for word in ("0.6012", "0.05", "decision is the same", "Certified"))
    np.testing.assert_allclose(shown(page), after(weights, logits, BIAS, []), atol=1e-9)
    page.click("[data-item='2']")
    np.testing.assert_allclose(shown(page), after(weights, logits, BIAS, [2]), atol=1e-9)
    page.click("[data-order=attention]")
    page.click("[data-act=step]")
    assert erased(page) == [int(weights.argmax())]
    page.click("[data-order=gradient]")
    page.click("[data-act=step]")
    assert erased(page) == [int(slopes(weights, logits, small["decision"]).argmax())]
    page.click("[data-order=minimal]")
    assert not flipped(page)
    page.click("[data-act=flip]")
    least = made_up_documents.smallest_set(weights, logits, BIAS, small["decision"])
    assert least is not None
    assert flipped(page)
    assert len(erased(page)) == len(least)
    page.click("[data-adversary]")
    np.testing.assert_allclose(shown(page), small["probabilities"], atol=1e-6)


def slopes(weights: np.ndarray, logits: np.ndarray, held: int) -> np.ndarray:
    """∂p/∂α_i of the decided class by central differences, α free: its sum need not stay one."""

    def probability(free: np.ndarray) -> float:
        return float(made_up_documents.softmax(free @ (logits - BIAS) + BIAS)[held])

    steps = 1e-6 * np.eye(len(weights))
    return np.array([probability(weights + s) - probability(weights - s) for s in steps]) / 2e-6


@pytest.mark.slow
def test_a_decision_that_only_the_bias_can_change_and_one_that_nothing_can(
    open_page: Open,
) -> None:
    weights, bias = np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.0])
    stubborn = made_up_documents.document(1, ["a"] * 3, weights, np.tile([0.0, 1.0], (3, 1)), bias)
    never = made_up_documents.document(2, ["b"] * 3, weights, np.tile([1.0, 0.0], (3, 1)), bias)
    page = open_page(
        made_up_documents.page({"models": [made_up_documents.model([stubborn, never], bias)]})
    )
    page.click("[data-order=minimal]")
    assert "everything" in page.inner_text(".explorer-progress")
    page.click("[data-act=step]")
    page.click("[data-act=step]")
    assert not flipped(page)
    page.click("[data-act=step]")
    assert flipped(page)
    np.testing.assert_allclose(shown(page), made_up_documents.softmax(bias), atol=1e-12)
    page.click("[data-document='2']")
    page.click("[data-order=minimal]")
    assert page.inner_text(".explorer-progress") == "No erasure changes this decision."


@pytest.mark.slow
def test_what_is_computed_is_labelled_with_the_true_deletion_beside_it(
    open_page: Open, small: dict[str, Any]
) -> None:
    page = open_page(made_up_documents.page(one_model(small)))
    label = page.inner_text(".explorer-label")
    assert label.startswith("computed in this page")
    assert label.endswith("the text is not read again")
    weights, logits = held(small)
    page.click("[data-item='4']")
    here = after(weights, logits, BIAS, [4]) - after(weights, logits, BIAS, [])
    truly = decoded(small["deleted"])[4]
    numbers = re.findall(r"[+−]\d\.\d{4}", page.inner_text(".explorer-truth"))
    assert [float(n.replace("−", "-")) for n in numbers] == pytest.approx(
        [here[small["decision"]], truly], abs=5.1e-5
    )
    # of several, what each does by itself, the strongest first
    for item in (5, 1, 3):
        page.click(f"[data-item='{item}']")
    deleted = decoded(small["deleted"])
    strongest = sorted((4, 5, 1, 3), key=lambda i: -abs(deleted[i]))
    told = page.inner_text(".explorer-truth")
    here = after(weights, logits, BIAS, (4, 5, 1, 3)) - after(weights, logits, BIAS, [])
    numbers = re.findall(r"[+−]\d\.\d{4}", told)
    assert [float(n.replace("−", "-")) for n in numbers] == pytest.approx(
        [here[small["decision"]], *deleted[strongest[:3]]], abs=5.1e-5
    )
    assert all(f"\u2068{WORDS[i]}\u2069" in told for i in strongest[:3])
    assert "and 1 more; what deleting them together does was not measured" in told


@pytest.mark.slow
def test_pairs_of_words_all_agree_with_the_closed_form(
    open_page: Open, small: dict[str, Any]
) -> None:
    page = open_page(made_up_documents.page(one_model(small)))
    weights, logits = held(small)
    pairs = list(itertools.combinations(range(len(WORDS)), 2))
    found = page.evaluate(
        """(pairs) => pairs.map((pair) => {
            const word = (i) => document.querySelector(`[data-item="${i}"]`);
            const toggle = () => pair.forEach((i) => word(i).click());
            toggle();
            const rows = [...document.querySelectorAll("[data-class]")];
            const p = rows.map((row) => Number(row.dataset.probability));
            toggle();
            return p;
        })""",
        pairs,
    )
    wanted = [after(weights, logits, BIAS, pair) for pair in pairs]
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def unsure(classes: int) -> dict[str, Any]:
    """One model: a document whose adversary moves its probability by less than 0.05, but decides
    otherwise.

    Weight is on an item that barely decides for class 0; the adversary's is on one that barely
    decides for class 1. All else is left as likely as it was.
    """
    logits = np.zeros((3, classes))
    logits[0, 0] = logits[1, 1] = 0.05
    logits[2, 0] = 1
    weights, other = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    bias = np.zeros(classes)
    about = made_up_documents.document(
        1, ["so", "la", "ti"], weights, logits, bias, adversary=other
    )
    moved = after(other, logits, bias, [])
    assert abs(moved[0] - about["probabilities"][0]) < 0.05
    assert (about["decision"], moved.argmax()) == (0, 1)
    return made_up_documents.model([about], bias, classes=[f"kind {c}" for c in range(classes)])


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 20])
def test_an_adversary_that_decides_otherwise_is_said_to(open_page: Open, classes: int) -> None:
    page = open_page(made_up_documents.page({"models": [unsure(classes)]}))
    page.click("[data-adversary]")
    assert flipped(page)
    assert page.inner_text(".explorer-decision") == "⇄ kind 1, another than the model’s"
    said = page.inner_text(".explorer-said")
    assert "Probability of kind 0 kept within ε = 0.05; the decision is another: kind 1" in said
    assert "Certified: no attention that keeps this probability within ε diverges more." in said
    for order in ("attention", "gradient", "minimal"):
        page.click(f"[data-order={order}]")
        already = "With nothing erased the decision is another already."
        assert page.inner_text(".explorer-progress") == already
        assert page.get_attribute("[data-act=flip]", "aria-disabled") == "true"
        page.eval_on_selector("[data-act=flip]", "b => b.click()")
        assert erased(page) == []
    page.click("[data-adversary]")
    assert not flipped(page)
    assert page.inner_text(".explorer-said") == ""
