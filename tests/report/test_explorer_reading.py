"""The document explorer in a browser: by keyboard, with hostile texts, long ones, and sentences."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from typing import Any

import made_up_documents
import numpy as np
import pytest
from made_up_documents import BIAS, CLASSES, WORDS, after, erased, flipped, held, one_model, shown

Open = Callable[..., Any]


@pytest.mark.slow
def test_the_keyboard_alone_erases_the_smallest_set(open_page: Open) -> None:
    small = made_up_documents.small_document()
    page = open_page(made_up_documents.page(one_model(small)))

    def tab_to(selector: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"Tab never reaches {selector}")

    tab_to(".explorer-rows")
    tab_to("[data-order=minimal]")
    page.keyboard.press("Enter")
    tab_to("[data-act=reset]")
    page.keyboard.press("Space")
    tab_to(".explorer-word")
    for item in small["orders"]["minimal"]:
        assert not flipped(page)
        page.keyboard.press("Home")
        for _ in range(item):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter" if item % 2 else "Space")
    assert erased(page) == sorted(small["orders"]["minimal"])
    assert flipped(page)
    page.keyboard.press("End")
    focused = "document.activeElement.dataset.item"
    assert page.evaluate(focused) == str(len(WORDS) - 1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(focused) == str(len(WORDS) - 2)


@pytest.mark.slow
def test_arrows_move_between_lines_and_documents(open_page: Open) -> None:
    documents = [
        made_up_documents.drawn_document(k, WORDS * 12, BIAS, k, minimal=[0]) for k in (5, 6, 7)
    ]
    page = open_page(
        made_up_documents.page(one_model(*documents)), viewport={"width": 375, "height": 700}
    )
    page.focus("[data-item='2']")
    page.keyboard.press("ArrowDown")
    below = page.evaluate("document.activeElement.dataset.item")
    assert int(below) > 2
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") == pytest.approx(
        page.evaluate("document.querySelector('[data-item]').getBoundingClientRect().top")
    )
    page.focus(".explorer-rows")
    page.keyboard.press("ArrowDown")
    assert "Document 6" in page.inner_text("h3")
    page.keyboard.press("End")
    assert "Document 7" in page.inner_text("h3")
    chosen = page.get_attribute(".explorer-rows", "aria-activedescendant")
    assert page.get_attribute(f"#{chosen}", "data-document") == "7"


@pytest.mark.slow
def test_hostile_texts_show_as_text_and_run_nothing(open_page: Open) -> None:
    hostile = [t + "\ud800" if t == "__proto__" else t for t in made_up_documents.HOSTILE]
    about = made_up_documents.drawn_document(1, hostile, BIAS, 1, minimal=[0])
    model = made_up_documents.model(
        [about], BIAS, classes=made_up_documents.HOSTILE[:3], name=made_up_documents.HOSTILE[3]
    )
    for heat in model["heats"].values():
        heat["about"] = heat["label"] = made_up_documents.HOSTILE[2]
    page = open_page(
        made_up_documents.page({"models": [model, {**model, "name": made_up_documents.HOSTILE[1]}]})
    )
    page.click("[data-item='0']")
    page.click("[data-act=flip]")
    for heat in ("gradient", "alone"):
        page.click(f"[data-heat={heat}]")
    page.fill("input[type=search]", "<script>")
    page.check("[data-beside]")
    assert page.evaluate("window.hacked") is None
    assert (
        page.eval_on_selector_all("#explorer-root :is(script, img, svg, iframe)", "e => e.length")
        == 0
    )
    texts = page.eval_on_selector_all(
        ".explorer-reading:first-child .explorer-word", "words => words.map(w => w.textContent)"
    )
    plain = re.compile(r"[\x00-\x1f\u202c\u202e\u2028\u2029]")
    for text, token in zip(texts, hostile, strict=True):
        if not plain.search(token) and token.strip():
            assert text == token
        else:
            assert text.strip()
            assert not plain.search(text)
    assert len(texts[hostile.index("x" * 50_000)]) == 50_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    isolated = "w => getComputedStyle(w).unicodeBidi"
    assert page.eval_on_selector(".explorer-word", isolated) == "isolate"


UNSEEN = "\u00ad\u061c\u180e\u200b\u2060\u2063\u2065\u2067\u206a\u2800\u3164\ufeff"


@pytest.mark.slow
def test_letters_that_show_nothing_or_turn_the_text_are_written_out(open_page: Open) -> None:
    page = open_page(
        made_up_documents.page(
            one_model(made_up_documents.drawn_document(1, [*UNSEEN, "a"], BIAS, 1))
        )
    )
    texts = page.locator(".explorer-word").all_inner_texts()
    assert texts == [*(f"\\u{ord(letter):04x}" for letter in UNSEEN), "a"]


@pytest.mark.slow
def test_on_a_phone_what_is_computed_stays_labelled_and_the_flip_is_scrolled_to(
    open_page: Open,
) -> None:
    words = [f"word{k}" for k in range(600)]
    logits = np.tile([0.0, 0.1, 0.0], (600, 1))
    logits[:, 0] = 0.101
    logits[520, 1] = 9
    about = made_up_documents.document(1, words, np.full(600, 1 / 600), logits, BIAS, minimal=[520])
    page = open_page(
        made_up_documents.page(one_model(about)), viewport={"width": 390, "height": 780}
    )
    seen = """(place) => {
        const box = place.getBoundingClientRect();
        const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return place.contains(at);
    }"""
    page.evaluate("document.querySelector('.explorer-controls').scrollIntoView({block: 'end'})")
    page.click("[data-order=minimal]")
    assert not page.eval_on_selector("[data-item='520']", seen)
    page.click("[data-act=flip]")
    assert flipped(page)
    assert page.eval_on_selector("[data-item='520']", seen)
    page.evaluate("document.querySelector('.explorer-text').scrollIntoView()")
    assert page.eval_on_selector(".explorer-label", seen)
    assert page.eval_on_selector(".explorer-label", "(e) => e.getBoundingClientRect().top") < 300


@pytest.mark.slow
def test_2000_words_are_erased_within_100_ms_a_click(open_page: Open) -> None:
    words = [f"word{k}" for k in range(2000)]
    page = open_page(
        made_up_documents.page(
            one_model(made_up_documents.drawn_document(1, words, BIAS, 1, minimal=[0]))
        )
    )
    times = page.evaluate(
        """() => [3, 700, 1999, 40, 1500, 3, 1000].map((item) => {
            const word = document.querySelector(`[data-item="${item}"]`);
            const start = performance.now();
            word.click();
            document.body.getBoundingClientRect();
            word.getBoundingClientRect();
            return performance.now() - start;
        })"""
    )
    assert statistics.median(times) < 100
    switched = page.evaluate(
        """() => ["gradient", "alone", "attention"].map((heat) => {
            const start = performance.now();
            document.querySelector(`[data-heat="${heat}"]`).click();
            document.body.getBoundingClientRect();
            return performance.now() - start;
        })"""
    )
    assert statistics.median(switched) < 300


@pytest.mark.slow
def test_sentences_are_erased_whole(open_page: Open) -> None:
    about = made_up_documents.drawn_document(4, WORDS, BIAS, 4, items=[[0, 3], [3, 5], [6, 9]])
    model = made_up_documents.model([about], BIAS, classes=CLASSES, attended="sentences")
    page = open_page(made_up_documents.page({"models": [model]}))
    texts = page.eval_on_selector_all(".explorer-word", "words => words.map(w => w.textContent)")
    assert texts == ["a gorgeous ,", "witty film", "never quite forgives"]
    assert page.inner_text(".explorer-unread") == "that"
    page.click("[data-item='1']")
    np.testing.assert_allclose(shown(page), after(*held(about), BIAS, [1]), atol=1e-9)
    assert "sentence is deleted from the text" in page.inner_text(".explorer-truth")
    assert "1 of 3 sentences" in page.inner_text(".explorer-mass")
