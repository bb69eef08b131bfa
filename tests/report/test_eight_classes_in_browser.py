"""A report of eight classes, many documents and right-to-left words: nothing is cut at 1280 px."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axes import axis_labels

import verax
from verax.drawing.chart import made
from verax.drawing.series import Series
from verax.exams.erasure.charts.single import scatter

CUES = ["שמח", "عظيم", "טוב", "جميل", "רע", "سيئ", "ארוך", "قصير"]
OTHERS = ["הזה", "مساء", "מאוד", "كان", "film"]
DOCUMENTS = 120
WINDOW = {"width": 1280, "height": 900}

BOXES = """(all) => all.map((one) => {
    const box = one.getBoundingClientRect();
    return { left: box.left, right: box.right, top: box.top, bottom: box.bottom,
             inside: one.scrollWidth <= one.clientWidth + 1, words: one.textContent };
})"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(DOCUMENTS + 96):
        place = number % 8
        words = [CUES[place], *rng.choice(OTHERS, int(rng.integers(2, 7)))]
        text = " ".join(words if number % 2 else words[::-1])
        split = "test" if number < DOCUMENTS else "validation" if number % 6 == 0 else "train"
        rows.append((text, f"class number {place} of eight", split))
    corpus = verax.load_corpus(pd.DataFrame(rows, columns=["text", "label", "split"]))
    tiny: dict[str, Any] = {"embedding_size": 8, "hidden_size": 8, "device": "cpu"}
    model = verax.train(corpus, encoder="none", epochs=1, lr=0.05, **tiny)
    path = tmp_path_factory.mktemp("eight") / "report.html"
    exams = ["erasure", "replacement"]
    verax.examine(model, corpus, exams, gallery=4).report(path)
    return path


@pytest.fixture
def page(open_page: Callable[..., Any], written: Path) -> Any:
    return open_page(written, viewport=WINDOW)


@pytest.mark.slow
def test_nothing_is_wider_than_the_page_nor_is_the_eighth_class_cut(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= WINDOW["width"]
    charts = page.eval_on_selector_all(".drawing", BOXES)
    assert len(charts) > 4
    assert all(chart["inside"] for chart in charts)
    matrix = page.locator(".scroll", has_text="confusion matrix")
    heads = matrix.locator("thead th").evaluate_all(BOXES)
    assert [head["words"].strip() for head in heads[-2:]] == ["class number 7 of eight", "all"]
    around = matrix.bounding_box()
    assert heads[-1]["right"] <= around["x"] + around["width"] + 1
    classes = page.eval_on_selector_all("#explorer-root [data-class]", BOXES)
    (explorer,) = page.eval_on_selector_all("#explorer-root", BOXES)
    assert len(classes) == 8
    for shown in classes:
        assert shown["bottom"] > shown["top"]
        assert shown["bottom"] <= explorer["bottom"] + 1
        assert explorer["left"] - 1 <= shown["left"] <= shown["right"] <= explorer["right"] + 1


@pytest.mark.slow
def test_words_are_shown_in_their_direction_and_order(page: Any) -> None:
    """Of a text that begins in Hebrew or Arabic the first word stands at the right."""
    for number in range(4):
        page.locator("[data-document]").nth(number).click()
        text = page.locator("#explorer-root .explorer-text")
        assert text.get_attribute("dir") == "auto"
        words = text.locator(".explorer-word").evaluate_all(BOXES)
        first = next(word["words"] for word in words if word["words"] != "film")
        assert not first.isascii()
        direction = text.evaluate("(one) => getComputedStyle(one).direction")
        assert direction == "rtl"
        lines: dict[int, list[float]] = {}
        for word in words:
            lines.setdefault(round(word["top"]), []).append(word["left"])
        for places in lines.values():
            assert places == sorted(places, reverse=True)


@pytest.mark.parametrize("scale", [1.6e-4, 3e-5])
@pytest.mark.parametrize("names", [("one",), ("one", "other")])
def test_differences_however_small_leave_room_for_the_picture(
    scale: float, names: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(0)
    points = pd.DataFrame(
        {
            "model": [names[n % len(names)] for n in range(DOCUMENTS)],
            "delta_alpha": rng.uniform(0, 0.5, DOCUMENTS),
            "delta_js": rng.uniform(-scale, scale, DOCUMENTS),
        }
    )
    svg = made("delta", "erasure", "ΔJS", "Points.", scatter(Series("model", names), points)).svg()
    width = float(svg.split('width="', 1)[1].split('"', 1)[0])
    assert width <= 570
    labels = [label for axis in axis_labels(svg) for label in axis]
    assert max(map(len, labels)) <= len("−0.0015")
