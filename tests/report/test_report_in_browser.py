"""The whole report in a browser: it loads by itself and shows what the model says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_up_documents import HOSTILE

import verax
from verax.exams import Verdict
from verax.models import AttentionClassifier
from verax.report import report

Open = Callable[..., Any]
EXAMS = ["erasure", "replacement", "single_token", "adversary"]


@pytest.fixture(scope="module")
def judged(planted: verax.Corpus) -> tuple[AttentionClassifier, Verdict]:
    model = verax.train(planted, encoder="conv", epochs=3, lr=1e-2, hidden_size=16)
    return model, verax.examine(model, planted, exams=EXAMS, split="test", gallery=12)


@pytest.fixture(scope="module")
def written(
    judged: tuple[AttentionClassifier, Verdict], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    judged[1].report(path)
    return path


def number(page: Any, place: int) -> float:
    return float(page.get_attribute(f"[data-class='{place}']", "data-probability"))


def own_probabilities(model: AttentionClassifier, tokens: list[str], gone: list[int]) -> np.ndarray:
    """The model's head on the context that is left, the states as they were."""
    trace = model.trace([" ".join(tokens)])
    items, weights = trace.items[0, trace.mask[0]], trace.weights[0, trace.mask[0]]
    assert len(items) == len(tokens)
    left = torch.ones(len(items), dtype=torch.bool)
    left[gone] = False
    context = (weights[left, None] * items[left]).sum(0) / weights[left].sum().clamp(min=1e-30)
    with torch.no_grad():
        logits = model.head(context[None])[0].double()
    if len(logits) == 1:
        logits = torch.cat([torch.zeros(1, dtype=torch.float64), logits])
    return np.asarray(logits.softmax(-1))


@pytest.mark.slow
def test_the_smallest_set_flips_what_is_shown_and_numbers_are_the_models_own(
    open_page: Open, written: Path, judged: tuple[AttentionClassifier, Verdict]
) -> None:
    model, _ = judged
    page = open_page(written)
    data = json.loads(page.text_content("#explorer-data"))
    flips = [d for d in data["models"][0]["documents"] if d["flips"] and not d["everything"]]
    assert flips
    for about in flips[:3]:
        page.fill("#explorer-root input[type=search]", f"#{about['id']}")
        page.click(f"[data-document='{about['id']}']")
        for c, p in enumerate(about["probabilities"]):
            assert number(page, c) == pytest.approx(p, abs=1e-6)
        page.click("[data-order=minimal]")
        gone: list[int] = []
        for item in about["orders"]["minimal"]:
            assert page.get_attribute(".explorer-decision", "data-flipped") == "false"
            page.click("[data-act=step]")
            gone.append(item)
            wanted = own_probabilities(model, data["texts"][about["text"]], gone)
            assert [number(page, c) for c in range(2)] == pytest.approx(wanted.tolist(), abs=1e-6)
        assert page.get_attribute(".explorer-decision", "data-flipped") == "true"


@pytest.mark.slow
def test_every_chart_has_marks_that_can_be_seen(open_page: Open, written: Path) -> None:
    page = open_page(written)
    charts = page.eval_on_selector_all(
        "figure[data-exam]",
        """(figures) => figures.map((figure) => {
            const marks = figure.querySelectorAll("svg :is(path, rect, circle, line, text)");
            const seen = [...marks].filter((mark) => {
                const box = mark.getBoundingClientRect();
                return box.width > 0 || box.height > 0;
            });
            return [figure.dataset.exam, seen.length];
        })""",
    )
    assert {exam for exam, _ in charts} == set(EXAMS)
    assert all(marks > 10 for _, marks in charts)


LETTERS = """(drawings) => drawings.map((drawing) => {
    const scale = drawing.querySelector("svg").getScreenCTM().a;
    const sizes = [...drawing.querySelectorAll("svg text")].map((t) => t.getAttribute("font-size"));
    const beyond = drawing.scrollWidth - drawing.clientWidth;
    return [scale * Math.min(...sizes.map(parseFloat)), beyond > 2, drawing.dataset.more || ""];
})"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_letters_of_charts_can_be_read_and_what_is_beyond_the_edge_is_hinted_at(
    open_page: Open, written: Path, width: int
) -> None:
    page = open_page(written, viewport={"width": width, "height": 800})
    told = page.eval_on_selector_all(".drawing", LETTERS)
    assert min(size for size, _, _ in told) >= 10.5
    assert all(more == ("right" if beyond else "") for _, beyond, more in told)
    if width == 390:
        assert any(beyond for _, beyond, _ in told)
        page.eval_on_selector_all(
            ".drawing", "(all) => all.forEach((one) => { one.scrollLeft = 9999; })"
        )
        page.wait_for_function("!document.querySelector('[data-more~=right]')")
        assert page.locator("[data-more=left]").count() == sum(beyond for _, beyond, _ in told)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_chart_is_saved_from_the_page(open_page: Open, written: Path, kind: str) -> None:
    page = open_page(written)
    with page.expect_download() as download:
        page.locator(f"[data-save={kind}]").first.click()
    saved = Path(download.value.path()).read_bytes()
    assert download.value.suggested_filename.endswith(f".{kind}")
    assert saved.startswith(b"<svg" if kind == "svg" else b"\x89PNG")
    assert b"var(" not in saved


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 375])
def test_it_fits_its_window_and_turns_dark(open_page: Open, written: Path, width: int) -> None:
    page = open_page(written, viewport={"width": width, "height": 800}, color_scheme="light")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.click("#theme")
    assert page.evaluate(paper) != light
    text = "getComputedStyle(document.querySelector('.explorer-text')).backgroundColor"
    assert page.evaluate(text) == page.evaluate(paper)


@pytest.mark.slow
def test_the_keyboard_reaches_the_contents_and_the_explorer(open_page: Open, written: Path) -> None:
    page = open_page(written, reduced_motion="reduce")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hash") == "#main"
    page.focus("nav a[href='#explorer']")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#explorer').getBoundingClientRect().top < 200")
    reached = False
    for _ in range(40):
        page.keyboard.press("Tab")
        reached = page.evaluate("document.activeElement.matches('.explorer-word')")
        if reached:
            break
    assert reached
    page.keyboard.press("Space")
    assert page.get_attribute(".explorer-mass", "data-erased") == "1"


@pytest.mark.slow
def test_boxes_are_stops_of_the_keyboard_only_where_they_scroll(
    open_page: Open, written: Path
) -> None:
    stops = """(boxes) => boxes.filter((box) => box.checkVisibility()).map((box) => [
        box.tabIndex === 0,
        box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight,
    ])"""
    page = open_page(written, viewport={"width": 1280, "height": 800})
    wide = page.eval_on_selector_all(".drawing, .scroll", stops)
    page.set_viewport_size({"width": 375, "height": 800})
    page.wait_for_function(
        "() => [...document.querySelectorAll('.scroll')].some((box) => box.tabIndex === 0)"
    )
    narrow = page.eval_on_selector_all(".drawing, .scroll", stops)
    for told in (wide, narrow):
        assert all(stop == scrolls for stop, scrolls in told)
    assert sum(stop for stop, _ in wide) < len(wide) / 2


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> verax.Corpus:
    """Tokens, classes and the corpus's very name are hostile."""
    path = tmp_path_factory.mktemp("hostile") / "<img src=x onerror=hacked=8>.jsonl"
    draw = np.random.default_rng(0)
    names = HOSTILE[:2]
    tokens = [token.replace(" ", "/") for token in HOSTILE if token.strip()]
    rows = (
        {"tokens": [tokens[i] for i in draw.permutation(len(tokens))], "label": names[k % 2]}
        for k in range(30)
    )
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return verax.load_corpus(path, tokens_column="tokens")


@pytest.mark.slow
def test_hostile_texts_are_shown_and_run_nothing(
    open_page: Open, hostile: verax.Corpus, tmp_path: Path
) -> None:
    how = {"tokenizer": "whitespace", "lowercase": False}
    model = verax.train(hostile, encoder="none", epochs=1, hidden_size=8, **how)
    verdict = verax.examine(model, hostile, exams=EXAMS, split="train", gallery=5)
    report({HOSTILE[0]: verdict, HOSTILE[3]: verdict}, tmp_path / "hostile.html")
    page = open_page(tmp_path / "hostile.html")
    page.click("[data-item='0']")
    page.check("[data-beside]")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#explorer-root :is(script, img, svg)").count() == 0
    texts = page.eval_on_selector_all(
        ".explorer-reading:first-child .explorer-word", "words => words.map(w => w.textContent)"
    )
    image = HOSTILE[2].replace(" ", "/")  # a token has no blanks
    assert {HOSTILE[0], HOSTILE[1], image, "שלום", "x" * 50_000} <= set(texts)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_200_long_documents_make_less_than_6_MB(open_page: Open, tmp_path: Path) -> None:
    corpus = verax.load_corpus("planted", documents=300, sentences=10, length=230, evidence=4)
    model = verax.train(corpus, encoder="none", epochs=1, hidden_size=8)
    verdict = verax.examine(model, corpus, exams=["erasure"], split="train", gallery=200)
    verdict.report(tmp_path / "long.html")
    page = open_page(tmp_path / "long.html")
    data = json.loads(page.text_content("#explorer-data"))
    assert len(data["models"][0]["documents"]) == 200
    assert np.mean([len(tokens) for tokens in data["texts"]]) > 200
    assert (tmp_path / "long.html").stat().st_size < 6e6
    longest = max(data["models"][0]["documents"], key=lambda d: len(data["texts"][d["text"]]))
    page.fill("#explorer-root input[type=search]", f"#{longest['id']}")
    page.click(f"[data-document='{longest['id']}']")
    times = page.evaluate(
        """() => [5, 60, 200, 5, 150].map((item) => {
            const word = document.querySelector(`[data-item="${item}"]`);
            const start = performance.now();
            word.click();
            document.body.getBoundingClientRect();
            return performance.now() - start;
        })"""
    )
    assert np.median(times) < 100
