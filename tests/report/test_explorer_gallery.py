"""The document explorer's gallery, its heat and its models side by side, in a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import made_up_documents
import numpy as np
import pytest
from made_up_documents import decoded

from support.internals import explorer_part
from support.internals import page as report_page

Open = Callable[..., Any]

WORDS = ["a", "gorgeous", ",", "witty", "film"]
BIAS = np.array([0.1, -0.1])


def drawn(number: int, seed: int | None = None, **more: Any) -> dict[str, Any]:
    seed = number if seed is None else seed
    return made_up_documents.drawn_document(number, more.pop("tokens", WORDS), BIAS, seed, **more)


def listed(page: Any) -> list[int]:
    rows = page.eval_on_selector_all(
        "[data-document]", "rows => rows.map(r => Number(r.dataset.document))"
    )
    return list(rows)


def heats(page: Any, reading: int = 0) -> np.ndarray:
    found = page.evaluate(
        """(n) => {
            const reading = document.querySelectorAll(".explorer-reading")[n];
            return [...reading.querySelectorAll(".explorer-word")].map((word) => {
                const heat = Number(word.style.getPropertyValue("--heat"));
                return word.classList.contains("explorer-negative") ? -heat : heat;
            });
        }""",
        reading,
    )
    return np.array(found)


@pytest.mark.slow
def test_200_documents_are_listed_by_those_in_sight(open_page: Open) -> None:
    documents = [drawn(k, surprise=(float(k), 0.1, 0.1)) for k in range(200)]
    page = open_page(made_up_documents.page({"models": [made_up_documents.model(documents, BIAS)]}))
    assert listed(page)[:3] == [0, 1, 2]
    assert len(listed(page)) < 30
    page.eval_on_selector(".explorer-rows", "rows => { rows.scrollTop = rows.scrollHeight; }")
    page.wait_for_selector("[data-document='199']")
    assert len(listed(page)) < 30
    page.click("[data-document='199']")
    assert "Document 199" in page.inner_text("h3")
    page.select_option("select", label="largest excess")
    assert page.inner_text(".explorer-found") == "200 documents"
    assert 199 in listed(page)[:3]


@pytest.mark.slow
def test_documents_are_ordered_by_each_surprise_with_the_unknown_last(open_page: Open) -> None:
    surprises = [(1.0, 0.3, 0.5), (3.0, None, -0.2), (2.0, 0.6, None), (2.0, 0.1, 0.9)]
    documents = [drawn(k, surprise=s) for k, s in enumerate(surprises)]
    page = open_page(made_up_documents.page({"models": [made_up_documents.model(documents, BIAS)]}))
    wanted = {
        "most surprising": [0, 1, 2, 3],
        "largest excess": [1, 2, 3, 0],
        "most divergent adversary": [2, 0, 3, 1],
        "attention far from gradient": [1, 0, 3, 2],
    }
    for label, order in wanted.items():
        page.select_option("select", label=label)
        assert listed(page) == order


@pytest.mark.slow
def test_each_document_shows_the_measure_by_which_it_ranks_or_why_it_has_none(
    open_page: Open,
) -> None:
    surprises = {"excess": (0.0, 0.3, 0.5), "jsd": (0.0, 0.6, 0.5), "tau": (None, 0.1, -0.25)}
    documents = [
        {**drawn(k, surprise=s), "ranked_by": by, "flips": True}
        for k, (by, s) in enumerate(surprises.items())
    ]
    documents.append({**drawn(3, surprise=(None, 0.2, None)), "ranked_by": None, "flips": False})
    page = open_page(made_up_documents.page({"models": [made_up_documents.model(documents, BIAS)]}))

    def told() -> list[str]:
        return list(page.locator(".explorer-row-head > span").all_inner_texts())

    assert told() == ["excess 0", "JSD 0.6", "τ −0.25", "nothing flips it"]
    page.select_option("select", label="largest excess")
    assert told() == ["excess 0", "excess 0", "attention: never", "nothing flips it"]
    page.select_option("select", label="attention far from gradient")
    assert told() == ["τ −0.25", "τ 0.5", "τ 0.5", "no τ"]


@pytest.mark.slow
def test_where_nothing_matches_that_is_said_and_nothing_is_open(open_page: Open) -> None:
    page = open_page(
        made_up_documents.page({"models": [made_up_documents.model([drawn(1), drawn(2)], BIAS)]})
    )
    page.click("[data-document='2']")
    page.fill("input[type=search]", "nowhere")
    said = "None of 2 documents has “nowhere” in its words, number or class."
    assert page.inner_text(".explorer-found") == said
    assert not page.is_visible(".explorer-rows")
    assert not page.is_visible(".explorer-reading")
    page.fill("input[type=search]", "")
    assert "Document 2" in page.inner_text("h3")
    assert page.is_visible(".explorer-text")


@pytest.mark.slow
def test_a_class_that_is_a_number_says_that_it_is_a_class(open_page: Open) -> None:
    about = drawn(1)
    page = open_page(
        made_up_documents.page(
            {"models": [made_up_documents.model([about], BIAS, classes=("0", "1"))]}
        )
    )
    assert page.locator(".explorer-class").all_inner_texts() == ["class 0", "class 1"]
    page.click("[data-item='1']")
    assert f"P(class {about['decision']}) changes" in page.inner_text(".explorer-truth")
    page.fill("input[type=search]", f"class {about['decision']}")
    assert listed(page) == [1]


@pytest.mark.slow
def test_search_is_by_word_by_number_and_by_class(open_page: Open) -> None:
    documents = [drawn(k, label=k % 2) for k in range(3)]
    documents.append(drawn(31, tokens=["Tedious", "film", "2"], label=0))
    page = open_page(made_up_documents.page({"models": [made_up_documents.model(documents, BIAS)]}))
    named = [
        d["id"]
        for d in documents
        if "positive" in {("negative", "positive")[d[k]] for k in ("decision", "label")}
    ]
    searches = {"tedious": [31], "#31": [31], "2": [2, 31], "film gorgeous": [0, 1, 2]}
    for words, wanted in {**searches, "POSITIVE": named, "nowhere": []}.items():
        page.fill("input[type=search]", words)
        assert listed(page) == wanted, words
    page.fill("input[type=search]", "")
    assert page.inner_text(".explorer-found") == "4 documents"


@pytest.mark.slow
def test_heat_is_the_value_over_the_largest_and_signs_have_their_own_hue(open_page: Open) -> None:
    about = drawn(1)
    page = open_page(made_up_documents.page({"models": [made_up_documents.model([about], BIAS)]}))
    for heat in ("attention", "gradient", "leave-one-out"):
        page.click(f"[data-heat={heat}]")
        values = decoded(
            about[{"attention": "weights", "gradient": "gradient"}.get(heat, "deleted")]
        )
        if heat == "leave-one-out":
            values = -values  # what deleting it costs the decision
        np.testing.assert_allclose(heats(page), values / np.abs(values).max(), atol=5.1e-4)
        assert made_up_documents.HEATS[heat] in page.inner_text(".explorer-legend")
        assert page.locator(".explorer-two").count() == (heat == "gradient")
    page.click("[data-heat=alone]")
    logits = decoded(about["logits"]).reshape(-1, len(BIAS))
    alone = [made_up_documents.softmax(row)[about["decision"]] for row in logits]
    np.testing.assert_allclose(heats(page), alone, atol=5.1e-4)
    assert page.get_attribute("[data-heat=alone]", "aria-pressed") == "true"
    page.hover("[data-item='3']")
    weight = f"{decoded(about['weights'])[3]:.3g}"
    pointed = page.inner_text(".explorer-pointed")
    assert pointed.startswith(f"witty attention {weight} · gradient ")
    assert f"probability alone {alone[3]:.3g}" in pointed


@pytest.mark.slow
def test_models_are_turned_or_set_side_by_side_on_one_scale(open_page: Open) -> None:
    first, second = drawn(1, 1), drawn(1, 2)
    alone = drawn(8, 8)
    models = [
        made_up_documents.model([first, alone], BIAS, name="softmax"),
        made_up_documents.model([second], BIAS, name="sparsemax"),
    ]
    page = open_page(made_up_documents.page({"models": models}))
    both = [decoded(d["weights"]) for d in (first, second)]
    top = max(w.max() for w in both)
    np.testing.assert_allclose(heats(page), both[0] / top, atol=5.1e-4)
    page.click("[data-item='2']")
    page.click("[data-model='1']")
    np.testing.assert_allclose(heats(page), both[1] / top, atol=5.1e-4)
    assert page.get_attribute("[data-item='2']", "aria-pressed") == "true"
    page.check("[data-beside]")
    for reading, weights in enumerate(both):
        np.testing.assert_allclose(heats(page, reading), weights / top, atol=5.1e-4)
    page.uncheck("[data-beside]")
    assert page.locator(".explorer-reading").count() == 1
    page.click("[data-model='0']")
    page.click("[data-document='8']")
    page.check("[data-beside]")
    assert page.locator(".explorer-reading").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("width", [1024, 1280])
def test_the_title_tells_the_model_apart_and_all_buttons_are_in_one_row(
    open_page: Open, width: int
) -> None:
    about = made_up_documents.small_document()
    models = [
        made_up_documents.model(
            [about], made_up_documents.BIAS, name=name, classes=made_up_documents.CLASSES
        )
        for name in ("softmax", "sparsemax")
    ]
    found = json.dumps(made_up_documents.packed_data({"models": models}))
    whole = report_page("A page", "", [explorer_part(found)], explorer=True)
    page = open_page(whole, viewport={"width": width, "height": 900})
    assert page.inner_text("h3").startswith("Document 12 · softmax · decided ")
    tops = page.eval_on_selector_all(
        ".explorer-controls button", "all => all.map((b) => b.getBoundingClientRect().top)"
    )
    assert len(tops) == 8
    assert len(set(tops)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_readable_on_the_strongest_heat(open_page: Open, scheme: str) -> None:
    """WCAG's contrast of ink on heat laid over paper is at least 4.5."""
    weights = np.array([1.0, 0.0])
    logits = np.array([[1.0, 0.0], [-1.0, 3.0]])
    about = made_up_documents.document(1, ["most", "none"], weights, logits, BIAS)
    about["gradient"] = made_up_documents.encoded([-1.0, 1.0])
    page = open_page(
        made_up_documents.page({"models": [made_up_documents.model([about], BIAS)]}),
        color_scheme=scheme,
    )
    page.click("[data-heat=gradient]")
    drawn_with = """(w) => {
        const rgba = (colour) => {
            const brush = new OffscreenCanvas(1, 1).getContext("2d");
            brush.fillStyle = getComputedStyle(w.parentElement).backgroundColor;
            brush.fillRect(0, 0, 1, 1);
            brush.fillStyle = colour;
            brush.fillRect(0, 0, 1, 1);
            return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const style = getComputedStyle(w);
        return [rgba(style.color), rgba(style.backgroundColor), rgba("transparent")];
    }"""
    for item in (0, 1):
        ink, heat, paper = page.eval_on_selector(f"[data-item='{item}']", drawn_with)
        assert contrast(ink, heat) >= 4.5
        assert contrast(heat, paper) >= 1.7


def contrast(one: list[int], other: list[int]) -> float:
    def luminance(colour: list[int]) -> float:
        parts = np.array(colour) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.slow
def test_a_phone_shows_it_without_scrolling_sideways_and_nothing_moves_unasked(
    open_page: Open,
) -> None:
    page = open_page(
        made_up_documents.page(
            {"models": [made_up_documents.model([drawn(1, tokens=WORDS * 30, minimal=[0])], BIAS)]}
        ),
        viewport={"width": 375, "height": 700},
        reduced_motion="reduce",
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert (
        page.eval_on_selector(".explorer-bar i", "b => getComputedStyle(b).transitionDuration")
        == "0s"
    )


@pytest.mark.slow
def test_without_documents_it_says_so(open_page: Open) -> None:
    page = open_page(made_up_documents.page({"models": []}))
    assert page.inner_text("#explorer-root") == "No documents were kept to look at."


@pytest.mark.slow
def test_of_many_classes_the_one_decided_for_is_on_top(open_page: Open) -> None:
    bias = np.zeros(20)
    about = made_up_documents.drawn_document(1, WORDS, bias, 2)
    classes = [f"group {c}" for c in range(20)]
    page = open_page(
        made_up_documents.page(
            {"models": [made_up_documents.model([about], bias, classes=classes)]}
        )
    )
    tops = """(rows) => {
        const top = (row) => row.getBoundingClientRect().top;
        return rows.sort((a, b) => top(a) - top(b)).map((row) => Number(row.dataset.class));
    }"""
    shown = page.eval_on_selector_all("[data-class]", tops)
    assert shown == np.argsort(-np.array(about["probabilities"]), kind="stable").tolist()
    page.click("[data-order=minimal]")
    page.click("[data-act=flip]")
    decided = int(page.get_attribute(".explorer-decision", "data-decision"))
    assert page.eval_on_selector_all("[data-class]", tops)[:2] == [decided, about["decision"]]
